/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_maps PROGRAM IN OUT: runs each file of IN by our fork-server client and writes its coverage map to OUT, a file each, in the
 * form of "afl-showmap -r": index and count of what is not 0, but for the first, which the runtime marks.
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
    struct elfprobe elf;
    struct err err = {0};
    struct dirent *de;
    int bad = 0;
    DIR *dir;

    if (argc != 4)
        return 2;
    o.path = argv[1];
    if (elfprobe_read(o.path, &elf, &err) == 0) {
        o.persistent = elf.persistent;
        o.deferred = elf.deferred;
    }
    dir = opendir(argv[2]);
    if (dir == NULL || forkserver_open(&o, &fs, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    while ((de = readdir(dir)) != NULL) {
        char *in = path_join(argv[2], de->d_name), *out = path_join(argv[3], de->d_name);

        if (de->d_name[0] != '.')
            bad += one(fs, in, out);
        free(in);
        free(out);
    }
    closedir(dir);
    forkserver_close(fs);
    return bad > 0;
}
