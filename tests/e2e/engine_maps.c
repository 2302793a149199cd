/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_maps PROGRAM IN OUT [SCRATCH ARGS...]: runs each file of IN by our fork-server client and writes its coverage map to OUT, a
 * file each, in the form of "afl-showmap -r": index and count of what is not 0, but for the first, which the runtime marks. Says last
 * what the server's greeting was: protocol, where test cases lie, whether it has a dictionary.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/path.h"
#include "engine/forkserver.h"
#include "plan/elfprobe.h"

static int one(struct forkserver *fs, const char *in, const char *out)
{
    struct forkserver_run run;
    struct err err = {0};
    char *data = NULL;
    size_t size, i;
    FILE *f;

    if (file_read(AT_FDCWD, in, FORKSERVER_INPUT_BYTES, &data, &size) < 0 ||
        forkserver_run(fs, data, size, &run, &err) < 0 || (f = fopen(out, "w")) == NULL) {
        fprintf(stderr, "%s: %s\n", in, err.msg);
        free(data);
        return 1;
    }
    for (i = 1; i < forkserver_map_bytes(fs); i++) {
        if (forkserver_map(fs)[i] != 0)
            fprintf(f, "%06zu:%u\n", i, (unsigned)forkserver_map(fs)[i]);
    }
    free(data);
    return fclose(f) != 0;
}

int main(int argc, char **argv)
{
    struct forkserver_opts o = {0};
    struct forkserver *fs = NULL;
    const struct handshake *hs;
    struct elfprobe elf;
    struct strv args = {0};
    struct err err = {0};
    struct dirent **names = NULL;
    int bad = 0, n;

    if (argc < 4 || argc == 5)
        return 2;
    o.path = argv[1];
    if (argc > 5) {
        o.scratch = argv[4];
        for (int i = 5; i < argc; i++)
            strv_add(&args, argv[i]);
        o.args = &args;
    }
    if (elfprobe_read(o.path, &elf, &err) == 0) {
        o.persistent = elf.persistent;
        o.deferred = elf.deferred;
    }
    /* In afl-showmap's order: the first run of a child may differ from the others. */
    n = scandir(argv[2], &names, NULL, alphasort);
    if (n < 0 || forkserver_open(&o, &fs, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        char *in = path_join(argv[2], names[i]->d_name),
             *out = path_join(argv[3], names[i]->d_name);

        if (names[i]->d_name[0] != '.')
            bad += one(fs, in, out);
        free(in);
        free(out);
        free(names[i]);
    }
    free(names);
    hs = forkserver_greeting(fs);
    printf("%s, test cases %s, dictionary %s\n", handshake_protocol_text(hs->protocol),
           hs->shm_testcase ? "shared" : "by file",
           (hs->options & (hs->protocol == HANDSHAKE_NEW ? 0x800U : 0x10000000U)) != 0 ? "offered"
                                                                                       : "none");
    forkserver_close(fs);
    strv_clear(&args);
    return bad > 0;
}
