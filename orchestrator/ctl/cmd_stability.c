/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl stability: whether a program does the same with an input each time and whatever it was given before.
 * Of a campaign file the seeds of its targets are run, else what is named.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "corpus/inputs.h"
#include "corpus/stability.h"
#include "ctl/cmd.h"
#include "ctl/given.h"
#include "ctl/manyrun.h"
#include "ctl/replay_scope.h"
#include "plan/elfprobe.h"
#include "report/fields.h"
#include "report/stability.h"
#include "spec/spec.h"

#define BUDGET_MS   (600 * INT64_C(1000))
#define PROGRESS_MS 200

struct stability_verb {
    const struct cmd_env *env;
    const char *harness;
    struct strv args;
    int runs;
    uint64_t seed;
    struct manyrun_limits limits; /* not given: as the spec says, or the default */
    int64_t budget_ms;
    json_t *targets;
    bool failed, unread;
    bool vacuous; /* of a target nothing was run, for want of time */
    int64_t began_ms, shown_ms;
    bool progress;
};

/* One program with its inputs. */
struct stability_subject {
    const char *name, *path; /* name of a target, or NULL */
    const struct strv *args, *env;
    struct manyrun_limits limits;
    struct inputs inputs;
};

static void show_progress(void *ctx, uint64_t runs)
{
    struct stability_verb *v = ctx;
    int64_t now_ms;
    char rate[32];

    if (!v->progress || runs % 64 != 0)
        return;
    now_ms = clock_now_ms();
    if (now_ms - v->shown_ms < PROGRESS_MS || now_ms <= v->began_ms)
        return;
    v->shown_ms = now_ms;
    fprintf(
        stderr, "\r\033[K%llu runs, %s/s", (unsigned long long)runs,
        format_count(rate, sizeof(rate), 1000.0 * (double)runs / (double)(now_ms - v->began_ms)));
    (void)fflush(stderr);
}

/* ---- one program ---- */
static void show(struct stability_verb *v, const struct stability_subject *t, json_t *j)
{
    cleanup_free char *line = stability_line(j);
    const json_t *n;
    size_t i;

    json_array_foreach (json_object_get(j, "not_run"), i, n) {
        printf("not run: ");
        fields_print(stdout, n, "file");
        printf(": %s\n", fields_text(n, "why"));
    }
    if (!v->env->quiet)
        stability_print(j, "", 0, stdout);
    printf("%s%s%s\n", t->name != NULL ? t->name : "", t->name != NULL ? ": " : "", line);
}

static void take(struct stability_verb *v, const struct stability_subject *t,
                 const struct stability_opts *o, const struct stability_result *r)
{
    json_t *j = stability_json(o, r, STABILITY_TOLD);

    v->failed = v->failed || r->count[STABILITY_STATEFUL] + r->count[STABILITY_FLAKY] > 0;
    v->unread = v->unread || r->unread > 0;
    v->vacuous = v->vacuous || (r->checked == 0 && r->left > 0);
    (void)json_object_set_new(j, "target", fields_string(t->name));
    (void)json_object_set_new(j, "program", fields_string(t->path));
    if (!v->env->json)
        show(v, t, j);
    (void)json_array_append_new(v->targets, j);
}

static int run(struct stability_verb *v, const struct stability_subject *t)
{
    struct stability_opts o = {.inputs = &t->inputs,
                               .runs = v->runs,
                               .seed = v->seed,
                               .budget_ms = v->budget_ms,
                               .cancel = &manyrun_stop,
                               .progress = show_progress,
                               .ctx = v};
    cleanup_free char *preload = path_find_preload();
    struct replay_scope *scope = NULL;
    struct stability_result r;
    struct strv procs = {0};
    struct elfprobe elf;
    struct err err = {0};
    int rc;

    rc = given_program(&cmd_stability, NULL, t->name != NULL ? "harness" : "--harness", t->path,
                       true, &elf);
    if (rc == EXIT_DONE)
        rc = given_inputs_check(&cmd_stability, NULL, &t->inputs);
    if (rc != EXIT_DONE)
        return rc;
    rc = replay_scope_open(t->limits.memory_bytes, &procs, &scope, &err);
    if (rc == 0) {
        o.program = replay_scope_program(scope, &elf, t->path, t->args, &procs, preload,
                                         t->limits.timeout_ms, t->limits.memory_bytes);
        o.program.env = t->env;
        v->began_ms = clock_now_ms();
        rc = stability_run(&o, &r, &err);
    }
    replay_scope_close(scope);
    strv_clear(&procs);
    if (v->progress)
        fputs("\r\033[K", stderr);
    if (rc == -ECANCELED)
        return cmd_fail(&cmd_stability, EXIT_ERROR, "interrupted");
    if (rc < 0)
        return cmd_fail(&cmd_stability, EXIT_ERROR, "%s", err.msg);
    take(v, t, &o, &r);
    stability_result_clear(&r);
    return EXIT_DONE;
}

/* ---- what is named ---- */
static int run_named(struct stability_verb *v, char **paths, int n)
{
    struct stability_subject t = {.path = v->harness, .args = &v->args, .limits = v->limits};
    int code = EXIT_DONE;

    manyrun_defaults(&t.limits);
    for (int i = 0; i < n && code == EXIT_DONE; i++)
        code = given_inputs_add(&cmd_stability, NULL, &t.inputs, paths[i]);
    if (code == EXIT_DONE)
        code = run(v, &t);
    inputs_clear(&t.inputs);
    return code;
}

static int run_target(struct stability_verb *v, const struct spec_target *s)
{
    struct stability_subject t = {
        .name = s->name, .path = s->harness, .args = &s->args, .env = &s->env, .limits = v->limits};
    struct err err = {0};
    int code = EXIT_DONE;

    if (t.limits.timeout_ms == 0)
        t.limits.timeout_ms = s->limits.hang_timeout_ms;
    if (t.limits.memory_bytes == 0)
        t.limits.memory_bytes = s->limits.memory_bytes;
    manyrun_defaults(&t.limits);
    if (s->seeds == NULL || inputs_add(&t.inputs, s->seeds, &err) < 0)
        code = cmd_fail(&cmd_stability, EXIT_USAGE, "target %s: %s", s->name,
                        s->seeds == NULL ? "has no seeds" : err.msg);
    if (code == EXIT_DONE)
        code = run(v, &t);
    inputs_clear(&t.inputs);
    return code;
}

static bool is_wanted(const char *name, char **names, int n)
{
    bool wanted = n == 0;

    for (int i = 0; i < n; i++)
        wanted = wanted || strcmp(names[i], name) == 0;
    return wanted;
}

static int check_names(const struct spec *spec, char **names, int n)
{
    for (int i = 0; i < n; i++) {
        bool met = false;

        for (size_t k = 0; k < spec->n_targets; k++)
            met = met || strcmp(spec->targets[k].name, names[i]) == 0;
        if (!met)
            return given_no_target(&cmd_stability, NULL, spec, names[i]);
    }
    return EXIT_DONE;
}

/* What could not be run of one target does not keep the others from it; of several codes the first is told. */
static int run_spec(struct stability_verb *v, const char *path, char **names, int n)
{
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    int code, first = EXIT_DONE;

    if (spec_load(path, NULL, &spec, &faults, &err) < 0) {
        if (faults.n > 0)
            spec_faults_print(&faults, path, stderr);
        else
            (void)cmd_fail(&cmd_stability, EXIT_USAGE, "%s", err.msg);
        spec_faults_clear(&faults);
        return EXIT_USAGE;
    }
    first = check_names(spec, names, n);
    for (size_t i = 0; i < spec->n_targets && first != EXIT_USAGE && manyrun_stop == 0; i++) {
        if (!is_wanted(spec->targets[i].name, names, n))
            continue;
        code = run_target(v, &spec->targets[i]);
        if (first == EXIT_DONE)
            first = code;
    }
    spec_free(spec);
    spec_faults_clear(&faults);
    return first;
}

/* ---- the verb ---- */
static int parse_number(const char *option, uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t n;

    if (parse_u64(optarg, max, &n) < 0 || n < min)
        return cmd_fail(&cmd_stability, EXIT_USAGE, "%s %s: allowed is %llu to %llu", option,
                        optarg, (unsigned long long)min, (unsigned long long)max);
    *ret = n;
    return EXIT_DONE;
}

static int parse_options(struct stability_verb *v, int argc, char **argv)
{
    static const struct option options[] = {
        {"harness", required_argument, NULL, 'h'},
        {"seed", required_argument, NULL, 's'},
        {"budget", required_argument, NULL, 'b'},
        {"timeout", required_argument, NULL, MANYRUN_OPT_TIMEOUT},
        {"memory", required_argument, NULL, MANYRUN_OPT_MEMORY},
        {0}};
    int opt, code = EXIT_DONE;
    uint64_t runs = STABILITY_RUNS;

    optind = 1;
    while (code == EXIT_DONE && (opt = getopt_long(argc, argv, "k:", options, NULL)) != -1) {
        if (opt == 'h')
            v->harness = optarg;
        else if (opt == 'k')
            code = parse_number("-k", 2, STABILITY_RUNS_MAX, &runs);
        else if (opt == 's')
            code = parse_number("--seed", 0, INT64_MAX, &v->seed);
        else if (opt == '?')
            code = cmd_usage(&cmd_stability);
        else if (opt != 'b')
            code = manyrun_option(&cmd_stability, &v->limits, opt, optarg);
        else if (parse_duration_ms(optarg, &v->budget_ms) < 0 || v->budget_ms <= 0)
            code = cmd_fail(&cmd_stability, EXIT_USAGE,
                            "--budget %s: allowed is a time, as in 30s or 10m", optarg);
    }
    v->runs = (int)runs;
    return code;
}

static int conclude(struct stability_verb *v, int code)
{
    if (v->failed)
        code = EXIT_FINDINGS;
    else if (code == EXIT_DONE && v->unread)
        code = EXIT_ERROR;
    else if (code == EXIT_DONE && v->vacuous)
        code = EXIT_VACUOUS;
    if (v->env->json && json_array_size(v->targets) > 0)
        cmd_print_json(
            json_pack("{s:i, s:i, s:O}", "version", 1, "exit_code", code, "targets", v->targets));
    return code;
}

static int stability_exec(struct cmd_env *env, int argc, char **argv)
{
    struct stability_verb v = {.env = env, .seed = 1, .budget_ms = BUDGET_MS};
    int ours = 1, code;

    while (ours < argc && strcmp(argv[ours], "--") != 0)
        ours++;
    for (int i = ours + 1; i < argc; i++)
        strv_add(&v.args, argv[i]);
    code = parse_options(&v, ours, argv);
    if (code == EXIT_DONE && optind >= ours)
        code = cmd_misuse(&cmd_stability, NULL, "no %s is named",
                          v.harness != NULL ? "file or folder of inputs" : "campaign file");
    if (code == EXIT_DONE && v.harness == NULL && ours < argc)
        code = cmd_fail(&cmd_stability, EXIT_USAGE, "-- goes with --harness");
    if (code == EXIT_DONE) {
        manyrun_catch();
        v.progress = isatty(STDERR_FILENO) && !env->quiet;
        v.targets = json_array();
        code = v.harness != NULL ? run_named(&v, argv + optind, ours - optind)
                                 : run_spec(&v, argv[optind], argv + optind + 1, ours - optind - 1);
        code = conclude(&v, code);
        json_decref(v.targets);
    }
    strv_clear(&v.args);
    return code;
}

const struct cmd_entry cmd_stability = {
    .name = "stability",
    .usage = "SPEC [TARGET...] [-k RUNS] [--seed N] [--timeout TIME] [--budget TIME] "
             "[--memory SIZE] [--json]\n"
             "       fuzzctl stability --harness PROGRAM [...] PATH... [-- ARGUMENTS]",
    .help = "run inputs again and shuffled: which do not do the same each time, and after which",
    .exec = stability_exec,
    .stateless = true,
};
