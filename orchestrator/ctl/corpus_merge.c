/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl corpus merge: several corpora as one new folder. What it is made of is read only, and the
 * folder gets its name when it is whole. An input is the first of its content, in the order named.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "corpus/contents.h"
#include "corpus/outfolder.h"
#include "ctl/corpus.h"
#include "ctl/corpus_harness.h"
#include "ctl/given.h"
#include "ctl/unread.h"
#include "report/fields.h"

struct run {
    const struct cmd_env *env;
    struct corpus_harness harness;
    const char *spec, *target, *out;
    struct inputs inputs;
    char **roots; /* as named, one an input, borrowed */
    struct contents contents;
    size_t kept, covered; /* covered: nothing new */
    json_t *aside;        /* with --harness: what did not end well */
    uint64_t bytes;
};

static int collect(struct run *r, char **words, int n)
{
    int code = given_output_check(&cmd_corpus, "merge", "", r->out, words, (size_t)n);

    for (int i = 0; i < n && code == EXIT_DONE; i++) {
        const size_t before = r->inputs.n;

        code = given_inputs_add(&cmd_corpus, "merge", &r->inputs, words[i]);
        r->roots = xreallocarray(r->roots, r->inputs.n + 1, sizeof(*r->roots));
        for (size_t k = before; k < r->inputs.n; k++)
            r->roots[k] = words[i];
    }
    return code == EXIT_DONE ? given_inputs_check(&cmd_corpus, "merge", &r->inputs) : code;
}

/* Of those chosen, by number, the ones that add coverage to those before them; *n shrinks. */
static int choose_by_cover(struct run *r, size_t *chosen, size_t *n)
{
    struct inputs inputs = {0};
    struct edge_count c = corpus_harness_count(&r->harness, r->env, &inputs);
    struct edges_result e;
    struct err err = {0};
    size_t k = 0;
    int rc;

    for (size_t i = 0; i < *n; i++)
        inputs_add_from(&inputs, &r->inputs, chosen[i]);
    c.limits.jobs = 1; /* "before" is by the order of the names */
    rc = edge_count(&c, &e, &err);
    inputs_clear(&inputs);
    if (rc < 0)
        return cmd_fail(&cmd_corpus, rc == -EINVAL || rc == -ENOENT ? EXIT_USAGE : EXIT_ERROR,
                        "merge: %s",
                        rc == -ECANCELED ? "interrupted; nothing was written" : err.msg);
    for (size_t i = 0; i < *n; i++) {
        const char *shown = r->inputs.v[chosen[i]];

        if (e.end[i] != EDGES_OK)
            (void)json_array_append_new(r->aside,
                                        json_pack("{s:o, s:s}", "file", fields_string(shown), "why",
                                                  edges_end_name((enum edges_end)e.end[i])));
        else if (e.adds[i])
            chosen[k++] = chosen[i];
        else
            r->covered++;
    }
    *n = k;
    edges_result_clear(&e);
    return EXIT_DONE;
}

static int write_out(struct run *r, const size_t *chosen, size_t n)
{
    cleanup_free struct outfolder_file *files = xcalloc(n + 1, sizeof(*files));
    struct strv names = {0};
    struct err err = {0};
    int rc;

    for (size_t i = 0; i < n; i++) {
        const char *shown = r->inputs.v[chosen[i]];

        strv_take(&names, contents_name(r->roots[chosen[i]], shown));
    }
    for (size_t i = 0; i < n; i++)
        files[i] = (struct outfolder_file){chosen[i], names.v[i]};
    rc = outfolder_write(r->out, &r->inputs, files, n, &manyrun_stop, &r->bytes, &err);
    strv_clear(&names);
    r->kept = n;
    return rc < 0 ? cmd_fail(&cmd_corpus, EXIT_ERROR, "merge: %s", err.msg) : EXIT_DONE;
}

static void tell(const struct run *r)
{
    const json_t *j;
    char bytes[32];
    size_t i;

    if (r->env->json) {
        cmd_print_json_take(json_pack(
            "{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:O, s:o}", "version", 1, "inputs",
            (json_int_t)r->inputs.n, "kept", (json_int_t)r->kept, "kept_bytes",
            (json_int_t)r->bytes, "copies", (json_int_t)r->contents.count[CONTENTS_COPY], "covered",
            (json_int_t)r->covered, "unread", (json_int_t)r->contents.count[CONTENTS_UNREAD],
            "set_aside", r->aside, "unread_files", unread_json(&r->inputs, &r->contents)));
        return;
    }
    if (r->env->quiet)
        return;
    unread_print(&r->inputs, &r->contents);
    json_array_foreach (r->aside, i, j) {
        printf("set aside, %s: ", fields_text(j, "why"));
        fields_print(stdout, j, "file");
        putchar('\n');
    }
    printf("%zu of %zu input%s, %s; copies: %zu", r->kept, r->inputs.n,
           text_plural((int64_t)r->inputs.n), format_bytes(bytes, sizeof(bytes), (int64_t)r->bytes),
           r->contents.count[CONTENTS_COPY]);
    if (r->harness.path != NULL)
        printf(", nothing new: %zu, set aside: %zu", r->covered, json_array_size(r->aside));
    if (r->contents.count[CONTENTS_UNREAD] > 0)
        printf(", not read: %zu", r->contents.count[CONTENTS_UNREAD]);
    putchar('\n');
}

static int merge(struct run *r)
{
    cleanup_free size_t *chosen = xcalloc(r->inputs.n + 1, sizeof(*chosen));
    size_t n = 0;
    int code = EXIT_DONE;

    if (contents_find(&r->inputs, &manyrun_stop, &r->contents) < 0)
        return cmd_fail(&cmd_corpus, EXIT_ERROR, "merge: interrupted; nothing was written");
    for (size_t i = 0; i < r->inputs.n; i++) {
        if (r->contents.kind[i] == CONTENTS_FIRST)
            chosen[n++] = i;
    }
    if (r->harness.path != NULL)
        code = choose_by_cover(r, chosen, &n);
    if (code == EXIT_DONE && manyrun_stop != 0)
        code = cmd_fail(&cmd_corpus, EXIT_ERROR, "merge: interrupted; nothing was written");
    if (code == EXIT_DONE)
        code = write_out(r, chosen, n);
    if (code == EXIT_DONE)
        tell(r);
    return code;
}

static int prepare(struct run *r, int argc, char **argv)
{
    static const struct option options[] = {{"harness", required_argument, NULL, 'h'},
                                            {"target", required_argument, NULL, 'g'},
                                            {"spec", required_argument, NULL, 's'},
                                            MANYRUN_OPTIONS,
                                            {0}};
    struct err err = {0};
    int opt, code = EXIT_DONE;

    optind = 1;
    while (code == EXIT_DONE && (opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'h')
            str_set(&r->harness.path, optarg);
        else if (opt == 'g')
            r->target = optarg;
        else if (opt == 's')
            r->spec = optarg;
        else if (opt == '?')
            return cmd_sub_usage(&cmd_corpus, &corpus_merge);
        else
            code = manyrun_option(&cmd_corpus, &r->harness.limits, opt, optarg);
    }
    if (code != EXIT_DONE)
        return code;
    if (argc - optind < 1)
        return cmd_misuse(&cmd_corpus, &corpus_merge, "no folder to write to is named");
    if (argc - optind < 2)
        return cmd_misuse(&cmd_corpus, &corpus_merge,
                          "no file or folder of inputs is named behind %s", argv[optind]);
    if (r->spec == NULL && r->target != NULL)
        return cmd_misuse(&cmd_corpus, &corpus_merge, "--target %s: --spec is missing", r->target);
    if (r->spec != NULL && r->harness.path != NULL)
        return cmd_misuse(&cmd_corpus, &corpus_merge, "--harness and --spec do not go together");
    if (r->spec != NULL)
        code = corpus_harness_spec(&r->harness, "merge", r->spec, r->target);
    if (code == EXIT_DONE && r->spec != NULL && r->harness.path == NULL)
        code = cmd_fail(&cmd_corpus, EXIT_USAGE, "merge: the harness of %s is not there",
                        r->harness.t->name);
    if (code == EXIT_DONE)
        code = corpus_harness_check(&r->harness, "merge");
    r->out = argv[optind];
    if (code == EXIT_DONE && outfolder_check(r->out, &err) < 0)
        code = cmd_fail(&cmd_corpus, EXIT_USAGE, "merge: %s", err.msg);
    return code == EXIT_DONE ? collect(r, argv + optind + 1, argc - optind - 1) : code;
}

static int merge_exec(struct cmd_env *env, int argc, char **argv)
{
    struct run r = {.env = env, .aside = json_array()};
    int ours = 1, code;

    while (ours < argc && strcmp(argv[ours], "--") != 0)
        ours++;
    for (int i = ours + 1; i < argc; i++)
        strv_add(&r.harness.args, argv[i]);
    code = prepare(&r, ours, argv);
    if (code == EXIT_DONE) {
        manyrun_catch();
        code = merge(&r);
    }
    contents_clear(&r.contents);
    corpus_harness_clear(&r.harness);
    json_decref(r.aside);
    free(r.roots);
    inputs_clear(&r.inputs);
    return code;
}

const struct cmd_sub corpus_merge = {
    .name = "merge",
    .usage = "FOLDER PATH... [--harness PROGRAM | --spec FILE [--target NAME]] [--timeout TIME]\n"
             "                            [--memory SIZE] [-- ARGUMENTS]",
    .help = "several corpora as one new folder, each content once, or only what adds coverage",
    .exec = merge_exec,
    .stateless = true,
};
