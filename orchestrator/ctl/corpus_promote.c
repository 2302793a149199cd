/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl corpus promote: inputs into the committed seeds of a target. Each file is judged by itself; the exit code tells the worst. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "corpus/promote.h"
#include "ctl/corpus.h"
#include "report/fields.h"

struct run {
    const struct cmd_env *env;
    struct promote *p;
    const struct spec_target *t;
    const char *slug;
    json_t *list; /* with --json */
};

static const char *words(int r)
{
    return r == 0 ? "promoted" : r == -EEXIST ? "present" : r == -EBADMSG ? "refused" : "error";
}

static json_t *strv_json(const struct strv *sv)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sv->n; i++)
        (void)json_array_append_new(list, fields_string(sv->v[i]));
    return list;
}

static void tell(const struct run *run, const char *word, int r, const struct promote_result *res,
                 const struct err *err)
{
    cleanup_free char *safe = fields_safe(word), *reaches = xstrdup("");

    if (run->env->json) {
        (void)json_array_append_new(
            run->list,
            json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "file", fields_string(word),
                      "result", words(r), "seed", fields_string(res->name), "sha256",
                      fields_string(res->sha256), "class", fields_string(res->class_), "kind",
                      fields_string(res->kind), "reaches", strv_json(&res->reaches), "error",
                      fields_string(r < 0 ? err->msg : NULL)));
        return;
    }
    if (r < 0 && r != -EEXIST) {
        (void)fprintf(stderr, "fuzzctl corpus promote: %s: %s\n", safe, err->msg);
        return;
    }
    if (run->env->quiet)
        return;
    for (size_t i = 0; i < res->reaches.n; i++) {
        char *more = xasprintf("%s %s", reaches, res->reaches.v[i]);

        free(reaches);
        reaches = more;
    }
    if (r == 0)
        (void)printf("%s: %s/%s%s%s\n", safe, run->t->seeds, res->name,
                     res->reaches.n > 0 ? ", first to reach" : "", reaches);
    else
        (void)printf("%s: %s\n", safe, err->msg);
}

static int one_file(const struct run *run, const char *word)
{
    struct corpus_source src = {0};
    struct promote_result res = {0};
    struct err err = {0};
    int r = corpus_source_find(run->env, word, &src, &err);

    if (r == 0)
        r = promote_add(run->p,
                        &(struct promote_input){.path = src.path,
                                                .origin = {.campaign = src.campaign,
                                                           .run = src.run,
                                                           .instance = src.instance,
                                                           .file = src.file},
                                                .was = src.was,
                                                .slug = run->slug},
                        &res, &err);
    tell(run, word, r, &res, &err);
    promote_result_clear(&res);
    corpus_source_clear(&src);
    if (r == 0 || r == -EEXIST)
        return EXIT_DONE;
    return r == -EBADMSG ? EXIT_FINDINGS : r == -ENOENT ? EXIT_USAGE : EXIT_ERROR;
}

static int with_target(struct run *run, const char *spec_path, char **words_given, int n)
{
    struct spec *spec = NULL;
    struct err err = {0};
    int code = EXIT_DONE;
    int r = corpus_target_find(run->env, spec_path, words_given[0], &spec, &run->t, &err);

    if (r < 0)
        return cmd_fail(&cmd_corpus, EXIT_USAGE, "promote: %s", err.msg);
    r = promote_open(run->t, &run->p, &err);
    if (r < 0) {
        code = cmd_fail(&cmd_corpus,
                        r == -EAGAIN   ? EXIT_LOCKED
                        : r == -EINVAL ? EXIT_USAGE
                                       : EXIT_ERROR,
                        "promote: %s", err.msg);
        spec_free(spec);
        return code;
    }
    for (int i = 1; i < n; i++) {
        int one = one_file(run, words_given[i]);

        /* An error outweighs a refusal, and a name that is none either. */
        if (code == EXIT_DONE || one == EXIT_USAGE || (one == EXIT_ERROR && code != EXIT_USAGE))
            code = one;
    }
    if (run->env->json) {
        json_t *j =
            json_pack("{s:i, s:o, s:o, s:O}", "version", 1, "target", fields_string(run->t->name),
                      "seeds", fields_string(run->t->seeds), "files", run->list);
        cmd_print_json(j);
        json_decref(j);
    }
    promote_close(run->p);
    spec_free(spec);
    return code;
}

static int promote_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {
        {"spec", required_argument, NULL, 's'}, {"name", required_argument, NULL, 'n'}, {0}};
    cleanup_free char *slug = NULL;
    static const char *const names[] = {"target", "input", CMD_MORE, NULL};
    const char *spec_path = NULL;
    int opt;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 's') {
            spec_path = optarg;
        } else if (opt == 'n') {
            free(slug);
            slug = promote_slug(optarg);
        } else {
            return cmd_sub_usage(&cmd_corpus, &corpus_promote);
        }
    }
    opt = cmd_words(&cmd_corpus, &corpus_promote, argv + optind, names, 2);
    if (opt != EXIT_DONE)
        return opt;
    if (slug != NULL && slug[0] == '\0')
        return cmd_fail(&cmd_corpus, EXIT_USAGE, "promote: --name has no letter or digit");
    struct run run = {.env = env, .slug = slug, .list = json_array()};
    int code = with_target(&run, spec_path, argv + optind, argc - optind);
    json_decref(run.list);
    return code;
}

const struct cmd_sub corpus_promote = {
    .name = "promote",
    .usage = "[--spec FILE] [--name TEXT] TARGET FILE|BUCKET|SHA256...",
    .help = "replay inputs and add those that pass to the target's committed seeds",
    .exec = promote_exec,
};
