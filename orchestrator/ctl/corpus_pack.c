/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl corpus pack: a corpus as one file, which is read in one go. Names stay as they are below what was named; of several places
 * each gets a folder.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "corpus/pack.h"
#include "ctl/corpus.h"
#include "ctl/given.h"
#include "ctl/manyrun.h"
#include "report/fields.h"

struct run {
    const struct cmd_env *env;
    const char *out;
    struct inputs inputs;
    struct strv names; /* one an input */
    uint64_t bytes;
};

/* The last component of a place that may end in slashes; without a dot in front, which would hide what is in it. Caller frees. */
static char *label_of(const char *place)
{
    size_t end = strlen(place), at;
    char *label;

    while (end > 1 && place[end - 1] == '/')
        end--;
    for (at = end; at > 0 && place[at - 1] != '/';)
        at--;
    label = xstrndup(place + at, end - at);
    for (char *p = label; *p == '.'; p++)
        *p = '_';
    if (label[0] == '\0')
        str_set(&label, "_");
    return label;
}

/* The folder of each place: its label, with a number where an earlier one has it. */
static void labels_make(struct strv *labels, char **places, int n)
{
    for (int i = 0; i < n; i++) {
        cleanup_free char *label = label_of(places[i]);
        int same = 1;

        for (int k = 0; k < i; k++) {
            cleanup_free char *other = label_of(places[k]);

            same += strcmp(other, label) == 0;
        }
        if (same > 1)
            strv_addf(labels, "%s-%d", label, same);
        else
            strv_add(labels, label);
    }
}

/* The names of the inputs from first on, which are of place. */
static void name_all(struct run *r, size_t first, const char *place, const char *label)
{
    const size_t n = strlen(place);

    for (size_t i = first; i < r->inputs.n; i++) {
        const char *path = r->inputs.v[i], *slash = strrchr(path, '/');

        if (strcmp(path, place) == 0) { /* a file that was named itself */
            strv_add(&r->names, slash != NULL ? slash + 1 : path);
            continue;
        }
        path += strncmp(path, place, n) == 0 ? n : 0;
        path += strspn(path, "/");
        strv_take(&r->names, label != NULL ? path_join(label, path) : xstrdup(path));
    }
}

static int collect(struct run *r, char **places, int n)
{
    struct strv labels = {0};
    int code = given_output_check(&cmd_corpus, "pack", "-o ", r->out, places, (size_t)n);

    labels_make(&labels, places, n);
    for (int i = 0; i < n && code == EXIT_DONE; i++) {
        const size_t first = r->inputs.n;

        code = given_inputs_add(&cmd_corpus, "pack", &r->inputs, places[i]);
        if (code == EXIT_DONE)
            name_all(r, first, places[i], n > 1 ? labels.v[i] : NULL);
    }
    strv_clear(&labels);
    return code == EXIT_DONE ? given_inputs_check(&cmd_corpus, "pack", &r->inputs) : code;
}

static int pack(struct run *r)
{
    struct err err = {0};
    char bytes[32];

    if (pack_write(r->out, &r->inputs, (const char *const *)r->names.v, &manyrun_stop, &r->bytes,
                   &err) < 0)
        return cmd_fail(&cmd_corpus, EXIT_ERROR, "pack: %s", err.msg);
    if (r->env->json)
        cmd_print_json_take(json_pack("{s:i, s:o, s:I, s:I}", "version", 1, "file",
                                      fields_string(r->out), "inputs", (json_int_t)r->inputs.n,
                                      "bytes", (json_int_t)r->bytes));
    else if (!r->env->quiet)
        printf("%zu input%s, %s\n", r->inputs.n, text_plural((int64_t)r->inputs.n),
               format_bytes(bytes, sizeof(bytes), (int64_t)r->bytes));
    return EXIT_DONE;
}

static int pack_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {{0}};
    struct run r = {.env = env};
    struct err err = {0};
    int opt, code = EXIT_DONE;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
        if (opt != 'o')
            return cmd_sub_usage(&cmd_corpus, &corpus_pack);
        r.out = optarg;
    }
    if (optind >= argc)
        return cmd_misuse(&cmd_corpus, &corpus_pack, "no file or folder of inputs is named");
    if (r.out == NULL)
        return cmd_misuse(&cmd_corpus, &corpus_pack, "-o is missing: the file to write to");
    if (pack_check(r.out, &err) < 0)
        return cmd_fail(&cmd_corpus, EXIT_USAGE, "pack: -o %s", err.msg);
    manyrun_catch();
    code = collect(&r, argv + optind, argc - optind);
    if (code == EXIT_DONE)
        code = pack(&r);
    strv_clear(&r.names);
    inputs_clear(&r.inputs);
    return code;
}

const struct cmd_sub corpus_pack = {
    .name = "pack",
    .usage = "PATH... -o FILE.tar[.zst]",
    .help = "a corpus as one file, which the other commands read as they do a folder, and faster",
    .exec = pack_exec,
    .stateless = true,
};
