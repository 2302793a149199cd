/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl distill: the smallest corpus that covers what many inputs cover. The output folder is made
 * beside its place and gets its name when it is whole; one that is there and not empty is never
 * touched.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "corpus/distill.h"
#include "corpus/outfolder.h"
#include "ctl/cmd.h"
#include "ctl/distill_spec.h"
#include "ctl/given.h"
#include "ctl/manyrun.h"
#include "ctl/replay_scope.h"
#include "plan/elfprobe.h"
#include "report/fields.h"

#define CAP_MIN       (INT64_C(1) << 20)
#define UNSTABLE_MANY 20 /* one in so many is told as a fault of the program */

struct job {
    const struct cmd_env *env;
    char *harness, *out;
    const char *target, *engine;
    struct strv args, keep_paths, against_paths;
    struct inputs inputs, against;
    struct elfprobe elf;
    enum runner_engine runs;
    bool edges_only;
    int64_t cap_bytes;
    struct manyrun_limits limits;
    struct manyrun_progress progress;
};

static void show_progress(void *ctx, size_t done, size_t all)
{
    struct job *d = ctx;

    manyrun_progress_show(&d->progress, done, all, "");
}

static int write_corpus(const struct job *d, const struct distill_result *r, uint64_t *ret_bytes,
                        struct err *err)
{
    cleanup_free struct outfolder_file *files = xcalloc(r->n_chosen + 1, sizeof(*files));

    for (size_t i = 0; i < r->n_chosen; i++)
        files[i].index = r->chosen[i];
    return outfolder_write(d->out, &d->inputs, files, r->n_chosen, &manyrun_stop, ret_bytes, err);
}

/* ---- what is printed ---- */
static void print_covered(const struct job *d, const struct distill_result *r, uint64_t bytes)
{
    const char *what = d->edges_only ? "edges" : "edges and counts";
    char in[32], out[32];

    if (d->against.n > 0 && r->new_tuples == 0)
        printf("nothing new: ");
    printf("%zu of %zu input%s, %s of %s, ", r->n_chosen, d->inputs.n,
           text_plural((int64_t)d->inputs.n), format_bytes(out, sizeof(out), (int64_t)bytes),
           format_bytes(in, sizeof(in), (int64_t)r->input_bytes));
    if (d->against.n == 0)
        printf("cover the same %zu %s", r->tuples, what);
    else if (r->new_tuples > 0)
        printf("add %zu %s to the %zu of --against", r->new_tuples, what,
               r->tuples - r->new_tuples);
    else
        printf("%s; --against covers all %zu %s", r->n_chosen > 0 ? "are kept" : "are needed",
               r->tuples, what);
}

static void print_result(const struct job *d, const struct distill_result *r, uint64_t bytes)
{
    size_t count[DISTILL_ASIDES] = {0};
    char took[32];

    for (size_t i = 0; i < r->n_aside; i++) {
        cleanup_free char *name = fields_safe(d->inputs.v[r->aside[i].index]);
        const int code = r->aside[i].code;

        count[r->aside[i].why]++;
        printf("set aside, %s: %s%s%s\n", distill_aside_name(r->aside[i].why), name,
               code < 0 ? ": " : "", code < 0 ? inputs_why(code) : "");
    }
    print_covered(d, r, bytes);
    printf(" (%zu different map%s, %s)\n", r->maps, text_plural((int64_t)r->maps),
           format_duration(took, sizeof(took), clock_now_ms() - d->progress.began_ms));
    for (int i = 0; i < DISTILL_ASIDES; i++) {
        if (count[i] > 0)
            printf("%zu set aside: %s\n", count[i], distill_aside_name((enum distill_aside)i));
    }
    if (count[DISTILL_UNSTABLE] * UNSTABLE_MANY > d->inputs.n)
        printf(
            "that many unstable ones are the program's doing: fuzzctl stability tells which edges "
            "vary, and after which inputs\n");
    if (r->smallest > 0)
        printf("for want of memory (--cap) only the %d smallest inputs of an edge were compared\n",
               r->smallest);
}

/* A corpus of nothing is no failure, and must not be taken for one of something: said in any case. */
static void warn_empty(const struct job *d, const struct distill_result *r)
{
    size_t count[DISTILL_ASIDES] = {0};
    cleanup_free char *why = xstrdup("");

    if (r->n_chosen > 0 || r->n_aside == 0)
        return;
    for (size_t i = 0; i < r->n_aside; i++)
        count[r->aside[i].why]++;
    for (int i = 0; i < DISTILL_ASIDES; i++) {
        char *more = count[i] > 0 ? xasprintf("%s%s%zu %s", why, why[0] != '\0' ? ", " : "",
                                              count[i], distill_aside_name((enum distill_aside)i))
                                  : NULL;
        if (more != NULL) {
            free(why);
            why = more;
        }
    }
    (void)cmd_fail(&cmd_distill, EXIT_DONE,
                   "the corpus in %s is empty: %zu of %zu input%s set aside (%s)%s", d->out,
                   r->n_aside, d->inputs.n, d->inputs.n == 1 ? " was" : "s were", why,
                   r->n_aside < d->inputs.n ? ", the others add nothing" : "");
}

static json_t *shown_json(const struct job *d, size_t index)
{
    return fields_string(d->inputs.v[index]);
}

static void print_json(const struct job *d, const struct distill_result *r, uint64_t bytes)
{
    json_t *chosen = json_array(), *aside = json_array();

    for (size_t i = 0; i < r->n_chosen; i++)
        (void)json_array_append_new(chosen, shown_json(d, r->chosen[i]));
    for (size_t i = 0; i < r->n_aside; i++)
        (void)json_array_append_new(
            aside, json_pack("{s:o, s:s, s:o}", "file", shown_json(d, r->aside[i].index), "why",
                             distill_aside_name(r->aside[i].why), "error",
                             r->aside[i].code < 0 ? json_string(inputs_why(r->aside[i].code))
                                                  : json_null()));
    cmd_print_json_take(json_pack(
        "{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:I, s:o, s:o}", "version", 1, "inputs",
        (json_int_t)d->inputs.n, "input_bytes", (json_int_t)r->input_bytes, "kept",
        (json_int_t)r->n_chosen, "kept_bytes", (json_int_t)bytes, "maps", (json_int_t)r->maps,
        "tuples", (json_int_t)r->tuples, "new_tuples", (json_int_t)r->new_tuples, "peak_bytes",
        (json_int_t)r->peak_bytes, "smallest", r->smallest, "ms",
        (json_int_t)(clock_now_ms() - d->progress.began_ms), "chosen", chosen, "set_aside", aside));
}

/* ---- the verb ---- */
static int collect(const struct job *d, const struct strv *paths, struct inputs *list)
{
    int code = given_output_check(&cmd_distill, NULL, "-o ", d->out, paths->v, paths->n);

    for (size_t i = 0; i < paths->n && code == EXIT_DONE; i++)
        code = given_inputs_add(&cmd_distill, NULL, list, paths->v[i]);
    return code;
}

static int run(struct job *d, size_t must)
{
    struct distill_opts o = {.inputs = &d->inputs,
                             .must = must,
                             .against = &d->against,
                             .edges_only = d->edges_only,
                             .cap_bytes = (size_t)d->cap_bytes,
                             .jobs = d->limits.jobs,
                             .cancel = &manyrun_stop,
                             .progress = show_progress,
                             .ctx = d};
    cleanup_free char *preload = path_find_preload();
    struct replay_scope *scope = NULL;
    struct distill_result r;
    struct strv procs = {0};
    struct err err = {0};
    uint64_t bytes = 0;
    int rc = replay_scope_open(d->limits.memory_bytes, &procs, &scope, &err);

    if (rc == 0) {
        o.engine = d->runs;
        o.program = replay_scope_program(scope, &d->elf, d->harness, &d->args, &procs, preload,
                                         d->limits.timeout_ms, d->limits.memory_bytes);
        rc = distill_run(&o, &r, &err);
    }
    replay_scope_close(scope);
    strv_clear(&procs);
    manyrun_progress_clear(&d->progress);
    if (rc == -ECANCELED)
        return cmd_fail(&cmd_distill, EXIT_ERROR, "interrupted; nothing was written");
    if (rc < 0)
        return cmd_fail(&cmd_distill, EXIT_ERROR, "%s", err.msg);
    rc = write_corpus(d, &r, &bytes, &err);
    if (rc < 0)
        (void)cmd_fail(&cmd_distill, EXIT_ERROR, "%s", err.msg);
    else if (d->env->json)
        print_json(d, &r, bytes);
    else if (!d->env->quiet)
        print_result(d, &r, bytes);
    if (rc == 0)
        warn_empty(d, &r);
    distill_result_clear(&r);
    return rc < 0 ? EXIT_ERROR : EXIT_DONE;
}

static int parse_limits(struct job *d, int opt)
{
    if (opt == 'c')
        return parse_size_bytes(optarg, &d->cap_bytes) == 0 && d->cap_bytes >= CAP_MIN
                   ? EXIT_DONE
                   : cmd_fail(&cmd_distill, EXIT_USAGE,
                              "--cap %s: allowed is a size of 1M or more, as in 512M or 4G",
                              optarg);
    return manyrun_option(&cmd_distill, &d->limits, opt, optarg);
}

static int parse_options(struct job *d, int argc, char **argv)
{
    static const struct option options[] = {{"harness", required_argument, NULL, 'h'},
                                            {"target", required_argument, NULL, 'g'},
                                            {"engine", required_argument, NULL, 'n'},
                                            {"edges-only", no_argument, NULL, 'e'},
                                            {"keep", required_argument, NULL, 'k'},
                                            {"against", required_argument, NULL, 'a'},
                                            {"cap", required_argument, NULL, 'c'},
                                            MANYRUN_OPTIONS,
                                            {0}};
    int opt, code = EXIT_DONE;

    optind = 1;
    while (code == EXIT_DONE && (opt = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
        switch (opt) {
        case 'h':
            str_set(&d->harness, optarg);
            break;
        case 'g':
            d->target = optarg;
            break;
        case 'n':
            d->engine = optarg;
            break;
        case 'o':
            str_set(&d->out, optarg);
            break;
        case 'e':
            d->edges_only = true;
            break;
        case 'k':
            strv_add(&d->keep_paths, optarg);
            break;
        case 'a':
            strv_add(&d->against_paths, optarg);
            break;
        case '?':
            return cmd_usage(&cmd_distill);
        default:
            code = parse_limits(d, opt);
        }
    }
    return code;
}

/* Of a spec's target the program, its arguments and limits, and its seeds, which are kept. */
static int from_spec(struct job *d, const char *path)
{
    return distill_spec_read(path, d->target, &d->harness, &d->args, &d->keep_paths,
                             d->limits.timeout_ms == 0 ? &d->limits.timeout_ms : NULL,
                             d->limits.memory_bytes == 0 ? &d->limits.memory_bytes : NULL);
}

static int check_usage(const struct job *d, int argc)
{
    if (d->harness == NULL && d->target == NULL)
        return cmd_misuse(&cmd_distill, NULL, "neither --harness nor --target is given");
    if (d->harness != NULL && d->target != NULL)
        return cmd_misuse(&cmd_distill, NULL, "--harness and --target do not go together");
    if (d->target != NULL && optind >= argc)
        return cmd_misuse(&cmd_distill, NULL, "--target %s: no campaign file is named", d->target);
    if (optind + (d->target != NULL) >= argc)
        return cmd_misuse(&cmd_distill, NULL, "no file or folder of inputs is named");
    if (d->out == NULL)
        return cmd_misuse(&cmd_distill, NULL, "-o is missing: the folder to write to");
    return EXIT_DONE;
}

static int prepare(struct job *d, int argc, char **argv, size_t *ret_must)
{
    struct strv paths = {0};
    struct err err = {0};
    int code = parse_options(d, argc, argv);

    if (code == EXIT_DONE)
        code = check_usage(d, argc);
    if (code == EXIT_DONE && d->target != NULL)
        code = from_spec(d, argv[optind++]);
    if (code == EXIT_DONE)
        code = given_program(&cmd_distill, NULL, d->target != NULL ? "harness" : "--harness",
                             d->harness, true, &d->elf);
    if (code == EXIT_DONE)
        code = manyrun_engine(&cmd_distill, d->engine, true, d->harness, &d->elf, &d->runs);
    if (code == EXIT_DONE && outfolder_check(d->out, &err) < 0)
        code = cmd_fail(&cmd_distill, EXIT_USAGE, "-o %s", err.msg);
    if (code == EXIT_DONE)
        code = collect(d, &d->keep_paths, &d->inputs);
    *ret_must = d->inputs.n;
    for (int i = optind; i < argc; i++)
        strv_add(&paths, argv[i]);
    if (code == EXIT_DONE)
        code = collect(d, &paths, &d->inputs);
    if (code == EXIT_DONE)
        code = collect(d, &d->against_paths, &d->against);
    if (code == EXIT_DONE)
        code = given_inputs_check(&cmd_distill, NULL, &d->inputs);
    strv_clear(&paths);
    return code;
}

static int distill_exec(struct cmd_env *env, int argc, char **argv)
{
    struct job d = {.env = env, .engine = "auto"};
    int ours = 1, code;
    size_t must = 0;

    while (ours < argc && strcmp(argv[ours], "--") != 0)
        ours++;
    for (int i = ours + 1; i < argc; i++)
        strv_add(&d.args, argv[i]);
    code = prepare(&d, ours, argv, &must);
    if (code == EXIT_DONE) {
        manyrun_catch();
        manyrun_defaults(&d.limits);
        manyrun_progress_begin(&d.progress, env);
        code = run(&d, must);
    }
    free(d.harness);
    free(d.out);
    strv_clear(&d.args);
    strv_clear(&d.keep_paths);
    strv_clear(&d.against_paths);
    inputs_clear(&d.inputs);
    inputs_clear(&d.against);
    return code;
}

const struct cmd_entry cmd_distill = {
    .name = "distill",
    .usage = "--harness PROGRAM PATH... -o FOLDER [--keep PATH] [--against PATH] [--edges-only]\n"
             "                       [--engine auto|fork|batch] [--jobs N] [--timeout TIME] "
             "[--memory SIZE] [--cap SIZE]\n"
             "                       [--json] [-- ARGUMENTS]\n"
             "       fuzzctl distill --target NAME SPEC PATH... -o FOLDER [...]",
    .help = "the smallest corpus that covers what many inputs cover",
    .exec = distill_exec,
    .stateless = true,
};
