/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl start: plans the spec here (probing may take a while, and the daemon never blocks), hands the finished plan to
 * fuzzd, and returns once the first instance fuzzes or has failed.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/cmd.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "spec/spec.h"
#include "store/runs.h"

#define START_TRIES 3
#define LOOK_MS     500 /* at an interrupt that came just before the wait */

int cmd_spec_options(const struct cmd_entry *e, int argc, char **argv, struct spec_overrides *ov,
                     const char **ret_file)
{
    static const struct option options[] = {
        {"budget", required_argument, NULL, 'b'},
        {"execs", required_argument, NULL, 'e'},
        {"cores", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},
        {"name", required_argument, NULL, 'n'},
        {"oversubscribe", no_argument, NULL, 'o'},
        {0},
    };
    static const char *const names[] = {"campaign file", NULL};
    int opt;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (opt) {
        case 'b':
            ov->budget = optarg;
            break;
        case 'e':
            ov->execs = optarg;
            break;
        case 'c':
            ov->cores = optarg;
            break;
        case 's':
            ov->seed = optarg;
            break;
        case 'n':
            ov->name = optarg;
            break;
        case 'o':
            ov->oversubscribe = true;
            break;
        default:
            return cmd_usage(e);
        }
    }
    *ret_file = argv[optind];
    return cmd_words(e, NULL, argv + optind, names, 1);
}

static bool run_known(const struct cmd_env *env, const char *run)
{
    struct db *db = NULL;
    struct run_row row = {0};
    struct err err = {0};
    bool known = false;

    if (db_open(env->state_dir, false, &db, &err) < 0)
        return false;
    known = runs_get(db, NULL, run, &row, &err) == 0;
    run_row_clear(&row);
    db_close(db);
    return known;
}

/*
 * By a connection of its own, as the other waits for the end of the start, which this brings about. False when it is to be
 * asked again: fuzzd may read this before it has read the start.
 */
static bool ask_stop(const struct cmd_env *env, const char *campaign, const char *run)
{
    json_t *args = json_pack("{s:s, s:s}", "name", campaign, "run", run), *answer = NULL;
    struct client *c = NULL;
    bool stopped;

    if (client_open(env->state_dir, false, &c, NULL) == 0)
        (void)client_call(c, "stop", args, -1, &answer, NULL);
    stopped = json_is_true(json_object_get(answer, "ok"));
    client_close(c);
    json_decref(args);
    json_decref(answer);
    return stopped;
}

/*
 * Asks, and asks again when fuzzd dies over it. A run that it had written down is not started twice: the next fuzzd goes
 * on with it, and *ret_answer says no more than that.
 */
static int call_start(const struct cmd_entry *e, const struct cmd_env *env,
                      const volatile sig_atomic_t *interrupted, const char *campaign,
                      const char *run, const json_t *args, struct client **ret_c,
                      json_t **ret_answer)
{
    struct err err = {0};
    bool stopped = false;

    for (int i = 0; i < START_TRIES; i++) {
        struct client *c = NULL;
        int rc;

        if (client_open(env->state_dir, true, &c, &err) < 0)
            break;
        rc = client_call(c, "start", args, LOOK_MS, ret_answer, &err);
        while (rc == -EINTR || rc == -ETIMEDOUT) {
            if (interrupted != NULL && *interrupted != 0 && !stopped)
                stopped = ask_stop(env, campaign, run);
            rc = client_call_again(c, LOOK_MS, ret_answer, &err);
        }
        if (rc == 0) {
            *ret_c = c;
            return EXIT_DONE;
        }
        client_close(c);
        if (rc != -ECONNRESET && rc != -EPIPE)
            break;
        if (run_known(env, run)) {
            *ret_answer = json_pack("{s:b, s:s, s:s, s:s}", "ok", true, "campaign", campaign, "run",
                                    run, "state", "running");
            return cmd_live(e, env, ret_c);
        }
    }
    return cmd_fail(e, EXIT_NO_DAEMON, "%s", err.msg);
}

static int request_start(const struct cmd_entry *e, const struct cmd_env *env,
                         const volatile sig_atomic_t *interrupted, const struct plan *plan,
                         const struct spec *spec, struct client **ret_c, json_t **ret_answer)
{
    json_t *args = json_pack("{s:o, s:s%, s:s}", "plan", plan_to_json(plan), "spec_text",
                             spec->text, spec->text_size, "spec_path", spec->path);
    if (args == NULL)
        return cmd_fail(e, EXIT_USAGE, "%s: is not UTF-8", spec->path);
    int code =
        call_start(e, env, interrupted, plan->campaign, plan->run_id, args, ret_c, ret_answer);
    json_decref(args);
    if (code == EXIT_DONE)
        code = cmd_answer(e, *ret_answer);
    if (code != EXIT_DONE) {
        json_decref(*ret_answer);
        *ret_answer = NULL;
        client_close(*ret_c);
        *ret_c = NULL;
    }
    return code;
}

int cmd_start_file(const struct cmd_entry *e, const struct cmd_env *env,
                   const volatile sig_atomic_t *interrupted, int argc, char **argv,
                   struct client **ret_c, char **ret_name, char **ret_run)
{
    struct spec_overrides ov = {0};
    const char *file = NULL;
    int code = cmd_spec_options(e, argc, argv, &ov, &file);

    if (code != EXIT_DONE)
        return code;
    struct plan *plan = NULL;
    struct spec *spec = NULL;
    struct spec_faults faults = {0};
    struct err err = {0};
    int rc = plan_from_spec_file(file, &ov, env->state_dir, false, &plan, &spec, &faults, &err);
    spec_faults_print(&faults, file, stderr);
    bool told = spec_faults_errors(&faults) > 0;
    spec_faults_clear(&faults);
    if (rc < 0) {
        spec_free(spec);
        return told ? EXIT_USAGE
                    : cmd_fail(e, rc == -ENOENT || rc == -EINVAL ? EXIT_USAGE : EXIT_ERROR, "%s",
                               err.msg);
    }
    json_t *answer = NULL;
    code = interrupted != NULL && *interrupted != 0
               ? cmd_fail(e, EXIT_DEGRADED, "interrupted; nothing was started")
               : request_start(e, env, interrupted, plan, spec, ret_c, &answer);
    if (code == EXIT_DONE) {
        const char *state = json_string_value(json_object_get(answer, "state"));
        const char *reason = json_string_value(json_object_get(answer, "reason"));
        const char *why = json_string_value(json_object_get(answer, "why"));
        size_t n_instances = 0;

        for (size_t i = 0; i < plan->n_targets; i++)
            n_instances += plan->targets[i].n_instances;
        if (state != NULL && strcmp(state, "failed") == 0) {
            code = cmd_fail(e, EXIT_FAILED_START, "%s: %s", plan->campaign,
                            reason != NULL ? reason : "no instance came up");
        } else if (state != NULL && strcmp(state, "interrupted") == 0) {
            code = cmd_fail(e, EXIT_DEGRADED, "%s: ended before it fuzzed: %s", plan->campaign,
                            reason != NULL ? reason : "stopped");
        } else if (env->json) {
            cmd_print_json(answer);
        } else if (!env->quiet) {
            bool waits = state != NULL && strcmp(state, "waiting") == 0;

            printf("campaign %s %s: run %s, %zu target%s, %zu instance%s\n", plan->campaign,
                   waits ? "waits for a free core" : "started", plan->run_id, plan->n_targets,
                   text_plural((int64_t)plan->n_targets), n_instances,
                   text_plural((int64_t)n_instances));
            if (waits)
                puts("fuzzctl doctor tells who has the cores");
            if (state != NULL && strcmp(state, "frozen") == 0)
                printf("it is frozen: %s\n", why != NULL ? why : "see status");
            (void)fflush(stdout);
        }
        str_set(ret_name, plan->campaign);
        str_set(ret_run, plan->run_id);
    }
    json_decref(answer);
    plan_free(plan);
    spec_free(spec);
    return code;
}

static int start_exec(struct cmd_env *env, int argc, char **argv)
{
    struct client *c = NULL;
    cleanup_free char *name = NULL;
    cleanup_free char *run = NULL;
    int code = cmd_start_file(&cmd_start, env, NULL, argc, argv, &c, &name, &run);

    client_close(c);
    return code;
}

const struct cmd_entry cmd_start = {
    .name = "start",
    .usage = "FILE [--budget TIME] [--execs N] [--cores N] [--seed N] [--name NAME]",
    .help = "start a campaign; returns once it fuzzes",
    .exec = start_exec,
};
