/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl selftest: does a campaign find what it has to? Each planted bug is built and
 * fuzzed by a fuzzd of its own, in a private state directory, until an allowed verdict
 * comes or its budget is over; each target without a bug has to stay clean. Whatever
 * ends this, a signal too, ends that fuzzd and removes its directory.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/manyrun.h"
#include "ctl/given.h"
#include "ctl/selftest.h"
#include "sys/proc.h"

#define DEFAULT_SPEC "conf/campaigns/prerelease.ini"
#define POLL_MS      100
#define END_WAIT_MS  60000

struct options {
    struct strv plants, targets;
    int jobs; /* 0: the cores */
    bool keep;
    const char *spec;
};

static int options_parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"plant", required_argument, NULL, 'p'},
        {"target", required_argument, NULL, 't'},
        {"jobs", required_argument, NULL, MANYRUN_OPT_JOBS},
        {"keep", no_argument, NULL, 'k'},
        {0},
    };
    static const char *const names[] = {"campaign file", NULL};
    struct manyrun_limits limits = {0};
    int opt;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "j:", longs, NULL)) != -1) {
        switch (opt) {
        case 'p':
            strv_add(&o->plants, optarg);
            break;
        case 't':
            strv_add(&o->targets, optarg);
            break;
        case 'j':
        case MANYRUN_OPT_JOBS:
            if (manyrun_option(&cmd_selftest, &limits, MANYRUN_OPT_JOBS, optarg) != EXIT_DONE)
                return EXIT_USAGE;
            o->jobs = limits.jobs;
            break;
        case 'k':
            o->keep = true;
            break;
        default:
            return cmd_usage(&cmd_selftest);
        }
    }
    opt = cmd_words(&cmd_selftest, NULL, argv + optind, names, 0);
    if (opt != EXIT_DONE)
        return opt;
    o->spec = optind < argc ? argv[optind] : DEFAULT_SPEC;
    if (optind == argc && access(DEFAULT_SPEC, R_OK) != 0)
        return cmd_fail(&cmd_selftest, EXIT_USAGE,
                        "no campaign file given, and no " DEFAULT_SPEC " here");
    return EXIT_DONE;
}

static bool chosen(const struct strv *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i], name) == 0)
            return true;
    return list->n == 0;
}

static size_t target_index(const struct spec *spec, const char *name)
{
    size_t i = 0;

    while (i < spec->n_targets && strcmp(spec->targets[i].name, name) != 0)
        i++;
    return i;
}

/* Each name that was asked for is one that there is. */
static int check_names(const struct spec *spec, const struct options *o)
{
    for (size_t i = 0; i < o->targets.n; i++)
        if (target_index(spec, o->targets.v[i]) == spec->n_targets)
            return given_no_target(&cmd_selftest, NULL, spec, o->targets.v[i]);
    for (size_t i = 0; i < o->plants.n; i++) {
        bool found = false;

        for (size_t k = 0; k < spec->n_plants; k++)
            found |= strcmp(spec->plants[k].name, o->plants.v[i]) == 0;
        if (!found)
            return cmd_fail(&cmd_selftest, EXIT_USAGE, "%s has no plant %s", o->spec,
                            o->plants.v[i]);
    }
    return EXIT_DONE;
}

static void add_item(struct selftest *st, struct selftest_item it)
{
    it.execs_done = it.found_execs = it.found_ms = -1;
    st->items = xreallocarray(st->items, st->n_items + 1, sizeof(*st->items));
    st->items[st->n_items++] = it;
}

/* The plants of each target, and the target itself with the most of their bounds. */
static void choose_items(struct selftest *st, const struct options *o)
{
    const struct spec *spec = st->spec;

    for (size_t t = 0; t < spec->n_targets; t++) {
        struct selftest_item control = {.target = t, .cores = 1};

        if (!chosen(&o->targets, spec->targets[t].name))
            continue;
        for (size_t i = 0; i < spec->n_plants; i++) {
            const struct spec_plant *p = &spec->plants[i];

            if (strcmp(p->target, spec->targets[t].name) != 0 || !chosen(&o->plants, p->name))
                continue;
            add_item(st,
                     (struct selftest_item){.plant = p,
                                            .target = t,
                                            .execs = p->execs,
                                            .wall_ms = p->wall_ms,
                                            .cores = p->variant == SPEC_VARIANT_CMPLOG ? 2 : 1});
            control.execs = p->execs > control.execs ? p->execs : control.execs;
            control.wall_ms = p->wall_ms > control.wall_ms ? p->wall_ms : control.wall_ms;
        }
        if (control.execs > 0)
            add_item(st, control);
    }
}

static int load(struct selftest *st, const struct options *o)
{
    struct spec_faults faults = {0};
    struct err err = {0};
    int r = spec_load(o->spec, NULL, &st->spec, &faults, &err), code;
    bool told = spec_faults_errors(&faults) > 0;

    spec_faults_print(&faults, o->spec, stderr);
    spec_faults_clear(&faults);
    if (r < 0)
        return told ? EXIT_USAGE : cmd_fail(&cmd_selftest, EXIT_USAGE, "%s", err.msg);
    st->spec_path = xstrdup(st->spec->path);
    code = check_names(st->spec, o);
    if (code == EXIT_DONE)
        choose_items(st, o);
    if (code == EXIT_DONE && st->n_items == 0)
        code = cmd_fail(&cmd_selftest, EXIT_VACUOUS,
                        st->spec->n_plants == 0
                            ? "%s has no planted bug: no [plant NAME], no plants = FILE"
                            : "%s has no plant of that choice",
                        o->spec);
    return code;
}

static int make_dir(struct selftest *st)
{
    const char *tmp = getenv("TMPDIR");

    st->dir = xasprintf("%s/fuzzctl-selftest.XXXXXX", tmp != NULL && *tmp == '/' ? tmp : "/tmp");
    if (mkdtemp(st->dir) == NULL) {
        int code = cmd_fail(&cmd_selftest, EXIT_ERROR, "%s: %s", st->dir, strerror(errno));

        free(st->dir);
        st->dir = NULL;
        return code;
    }
    st->state = path_join(st->dir, "state");
    return EXIT_DONE;
}

static int own_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* ---- The run ---- */

static int cores_used(const struct selftest *st)
{
    int n = 0;

    for (size_t i = 0; i < st->n_items; i++)
        if (st->items[i].state == SELFTEST_FUZZING || st->items[i].state == SELFTEST_STOPPING)
            n += st->items[i].cores;
    return n;
}

static struct selftest_item *item_in(struct selftest *st, enum selftest_state state)
{
    for (size_t i = 0; i < st->n_items; i++)
        if (st->items[i].state == state)
            return &st->items[i];
    return NULL;
}

/* One build at a time, and one ahead of what fuzzes. */
static void go_on_building(struct selftest *st)
{
    struct selftest_item *it = item_in(st, SELFTEST_BUILDING);

    if (it != NULL) {
        selftest_build_poll(st, it);
        return;
    }
    it = item_in(st, SELFTEST_TODO);
    if (it == NULL || item_in(st, SELFTEST_BUILT) != NULL)
        return;
    if (it->cores > st->jobs) {
        selftest_fail(it, "it takes %d cores, and there %s %d", it->cores,
                      st->jobs == 1 ? "is" : "are", st->jobs);
        return;
    }
    selftest_build(st, it);
    if (it->state == SELFTEST_BUILDING)
        selftest_progress(st, it, "building");
}

static void go_on(struct selftest *st)
{
    go_on_building(st);
    for (size_t i = 0; i < st->n_items; i++) {
        struct selftest_item *it = &st->items[i];

        if (it->state == SELFTEST_BUILT && cores_used(st) + it->cores <= st->jobs) {
            selftest_start(st, it);
            if (it->state == SELFTEST_FUZZING)
                selftest_progress(st, it, "fuzzing");
        } else if (it->state == SELFTEST_FUZZING || it->state == SELFTEST_STOPPING) {
            selftest_poll(st, it);
        }
    }
}

static bool run_all(struct selftest *st)
{
    bool *told = xcalloc(st->n_items, sizeof(*told)), all = false;

    while (!all && manyrun_stop == 0) {
        struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

        go_on(st);
        all = true;
        for (size_t i = 0; i < st->n_items; i++) {
            struct selftest_item *it = &st->items[i];

            if (selftest_done(it) && !told[i]) {
                told[i] = true;
                selftest_progress(st, it, it->state == SELFTEST_PASSED ? "ok:" : "FAILED:");
            }
            all &= selftest_done(it);
        }
        if (!all)
            (void)nanosleep(&pause, NULL);
    }
    free(told);
    return all;
}

/* ---- The way out ---- */

static json_t *ask(struct selftest *st, const char *verb, const json_t *args)
{
    json_t *answer = NULL;
    struct err err = {0};
    int r = client_call(st->client, verb, args, END_WAIT_MS, &answer, &err);

    while (r == -EINTR)
        r = client_call_again(st->client, END_WAIT_MS, &answer, &err);
    return answer;
}

/* True when no fuzzd is left in the private state directory. */
static bool end_daemon(struct selftest *st)
{
    json_t *args = json_pack("{s:b}", "all", true), *answer;
    struct proc_id id = {0};
    bool known;

    if (st->client == NULL) {
        json_decref(args);
        return true;
    }
    answer = ask(st, "ping", NULL);
    known = proc_identify((pid_t)json_integer_value(json_object_get(answer, "pid")), &id) == 0;
    json_decref(answer);
    json_decref(ask(st, "stop", args));
    json_decref(args);
    json_decref(ask(st, "shutdown", NULL));
    client_close(st->client);
    st->client = NULL;
    for (int i = 0; known && proc_alive(&id); i++) {
        struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

        if (i * POLL_MS > END_WAIT_MS)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

static void clean_up(struct selftest *st, bool keep)
{
    for (size_t i = 0; i < st->n_items; i++) {
        selftest_build_stop(&st->items[i]);
        free(st->items[i].run);
        st->items[i].run = NULL;
    }
    db_close(st->db);
    if (!end_daemon(st))
        (void)cmd_fail(&cmd_selftest, EXIT_ERROR, "its fuzzd does not end; kept: %s", st->dir);
    else if (keep && st->dir != NULL)
        fprintf(stderr, "fuzzctl selftest: kept: %s\n", st->dir);
    else if (st->dir != NULL)
        (void)path_remove_tree(st->dir);
    spec_free(st->spec);
    free(st->items);
    free(st->spec_path);
    free(st->dir);
    free(st->state);
}

static int tell(const struct selftest *st, bool all)
{
    size_t passed = 0;

    for (size_t i = 0; i < st->n_items; i++)
        passed += st->items[i].state == SELFTEST_PASSED;
    if (st->env->json) {
        json_t *j = selftest_json(st);

        cmd_print_json(j);
        json_decref(j);
    } else if (!st->env->quiet || passed < st->n_items) {
        if (all)
            selftest_table(st);
        printf("%zu passed, %zu failed\n", passed, st->n_items - passed);
    }
    if (!all)
        return cmd_fail(&cmd_selftest, EXIT_DEGRADED, "interrupted");
    return passed == st->n_items ? EXIT_DONE : EXIT_FINDINGS;
}

static int selftest_exec(struct cmd_env *env, int argc, char **argv)
{
    struct selftest st = {.env = env};
    struct options o = {0};
    int code = options_parse(argc, argv, &o);

    manyrun_catch_all();
    (void)unsetenv("FUZZ_RUNTIME_SECS"); /* the bounds are the plants' */
    st.jobs = o.jobs > 0 ? o.jobs : own_cores();
    if (code == EXIT_DONE)
        code = load(&st, &o);
    if (code == EXIT_DONE)
        code = make_dir(&st);
    if (code == EXIT_DONE)
        code = tell(&st, run_all(&st));
    clean_up(&st, o.keep);
    strv_clear(&o.plants);
    strv_clear(&o.targets);
    return code;
}

const struct cmd_entry cmd_selftest = {
    .name = "selftest",
    .usage = "[SPEC] [--plant ID]... [--target NAME]... [--jobs N] [--keep] [--json]",
    .help = "find planted bugs, each in its budget; targets without one must be clean",
    .exec = selftest_exec,
    .stateless = true,
};
