/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl resume: lets a paused campaign go on, or goes on with an interrupted run by its queues and with what is left of its budget. The programs of such a run must
 * be those it was planned with: figures and verdict of one run never speak of two builds. They are hashed here, as the daemon does not block.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/file.h"
#include "ctl/cmd.h"
#include "plan/plan.h"
#include "store/runs.h"

static int check_program(const struct run_row *row, const struct plan_program *p)
{
    if (p->path == NULL || p->sha256 == NULL || p->sha256[0] == '\0')
        return EXIT_DONE;
    int rc = file_has_sha256(p->path, p->sha256);
    if (rc == -ENOENT)
        return cmd_fail(&cmd_resume, EXIT_ERROR, "run %s cannot be resumed: %s is gone", row->id,
                        p->path);
    if (rc < 0)
        return cmd_fail(&cmd_resume, EXIT_ERROR, "run %s cannot be resumed: %s: %s", row->id,
                        p->path, strerror(-rc));
    if (rc == 0)
        return cmd_fail(&cmd_resume, EXIT_ERROR,
                        "run %s cannot be resumed: %s was built anew since; start a new run",
                        row->id, p->path);
    return EXIT_DONE;
}

static int check_run(const struct cmd_env *env, const struct run_row *row)
{
    struct plan *plan = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    if (plan_load(env->state_dir, row->dir, &plan, &err) < 0)
        return cmd_fail(&cmd_resume, EXIT_ERROR, "run %s cannot be resumed: %s", row->id, err.msg);
    for (size_t i = 0; i < plan->n_targets && code == EXIT_DONE; i++) {
        const struct plan_target *t = &plan->targets[i];
        const struct plan_program *programs[] = {&t->harness, &t->cmplog, &t->sanitizer, &t->replay,
                                                 &t->laf};

        for (size_t k = 0; k < sizeof(programs) / sizeof(programs[0]) && code == EXIT_DONE; k++)
            code = check_program(row, programs[k]);
    }
    plan_free(plan);
    return code;
}

/* Whatever ended: is it there, and are its programs? A live one is the daemon's business. */
static int check_index(struct cmd_env *env, const char *name)
{
    struct run_row row = {0};
    int code = cmd_run_find(&cmd_resume, env, name, NULL, &row);

    if (code == EXIT_DONE && strcmp(row.state, "ended") == 0)
        code = check_run(env, &row);
    run_row_clear(&row);
    return code;
}

static json_t *about(const char *name)
{
    return name != NULL ? json_pack("{s:s}", "name", name) : json_object();
}

static int call(struct cmd_env *env, struct client **c, const char *name, json_t **ret)
{
    struct err err = {0};
    int code;

    if (*c == NULL && client_open(env->state_dir, true, c, &err) < 0) {
        *c = NULL;
        return cmd_fail(&cmd_resume, EXIT_NO_DAEMON, "%s", err.msg);
    }
    code = cmd_call(&cmd_resume, env, c, "resume", about(name), -1, ret);
    /* It is on its way to the end that can be resumed: after a stop, or after the host came back. */
    if (code == EXIT_DONE && name != NULL && json_is_true(json_object_get(*ret, "ending"))) {
        json_t *ended = NULL;

        if (!env->quiet && !env->json)
            fprintf(stderr, "campaign %s is ending, waiting for it\n", name);
        code = cmd_call(&cmd_resume, env, c, "wait", about(name), -1, &ended);
        json_decref(ended);
        json_decref(*ret);
        *ret = NULL;
        if (code == EXIT_DONE)
            code = check_index(env, name);
        if (code == EXIT_DONE)
            code = cmd_call(&cmd_resume, env, c, "resume", about(name), -1, ret);
    }
    if (code == EXIT_DONE && *ret == NULL)
        return cmd_fail(&cmd_resume, EXIT_NO_DAEMON, "fuzzd went away before it answered");
    if (code == EXIT_DONE && json_is_true(json_object_get(*ret, "ending")))
        return cmd_fail(&cmd_resume, EXIT_LOCKED, "the campaign is ending; try again");
    return code;
}

static void say(const json_t *answer)
{
    const char *which = json_string_value(json_object_get(answer, "campaign"));
    const char *run = json_string_value(json_object_get(answer, "run"));
    const char *state = json_string_value(json_object_get(answer, "state"));
    const char *why = json_string_value(json_object_get(answer, "why"));
    const json_t *changed = json_object_get(answer, "changed");

    if (changed == NULL)
        printf("run %s of campaign %s resumed, %s\n", run, which, state);
    else if (json_is_true(changed) && why == NULL)
        printf("campaign %s goes on\n", which);
    else if (json_is_true(changed))
        printf("campaign %s is not paused any more\n", which);
    else if (why == NULL)
        printf("campaign %s is not paused\n", which);
    if (why != NULL)
        printf("campaign %s is frozen: %s; it goes on by itself\n", which, why);
}

static int resume_exec(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"campaign", NULL};
    int code = cmd_plain(&cmd_resume, NULL, argc, argv, names, 0);

    if (code != EXIT_DONE)
        return code;
    const char *name = argv[optind];
    struct client *c = NULL;
    json_t *answer = NULL;
    code = cmd_live(&cmd_resume, env, &c);

    if (code == EXIT_DONE && name != NULL)
        code = check_index(env, name);
    else if (code == EXIT_DONE && c == NULL)
        code = cmd_fail(&cmd_resume, EXIT_USAGE, "no campaign is running: name the one to resume");
    if (code == EXIT_DONE)
        code = call(env, &c, name, &answer);
    client_close(c);
    if (code == EXIT_DONE)
        code = cmd_answer(&cmd_resume, answer);
    const char *state = json_string_value(json_object_get(answer, "state"));
    const char *why = json_string_value(json_object_get(answer, "reason"));
    if (code == EXIT_DONE && state != NULL && strcmp(state, "interrupted") == 0) {
        code = cmd_fail(&cmd_resume, EXIT_DEGRADED, "it ended before it fuzzed again: %s",
                        why != NULL ? why : "stopped");
    } else if (code == EXIT_DONE && state != NULL && strcmp(state, "failed") == 0) {
        code = cmd_fail(&cmd_resume, EXIT_FAILED_START, "it did not start again: %s",
                        why != NULL ? why : "no reason known");
    } else if (code == EXIT_DONE && env->json) {
        cmd_print_json(answer);
    } else if (code == EXIT_DONE && !env->quiet) {
        say(answer);
    }
    if (code == EXIT_DONE)
        code = cmd_unstored(&cmd_resume, answer);
    json_decref(answer);
    return code;
}

const struct cmd_entry cmd_resume = {
    .name = "resume",
    .usage = "[NAME]",
    .help = "let a paused campaign, or an interrupted run, go on",
    .exec = resume_exec,
};
