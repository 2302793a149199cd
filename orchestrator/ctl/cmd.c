/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb table and what verbs share. A verb is one file with one struct cmd_entry; its row here is all that makes it known to
 * fuzzctl, to its help and to completion.
 */
#include "ctl/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "sys/cgroup.h"
#include "sys/lock.h"

#define LOST_MAX     10
#define LOST_WAIT_US 200000
#define SILENCE_MS                                                                                 \
    4000 /* of an answer that is waited for without end, before fuzzd is asked whether it lives */
#define PING_MS 2000

const struct cmd_entry *const cmd_table[] = {
    &cmd_run,       &cmd_start,    &cmd_stop,   &cmd_pause,     &cmd_resume, &cmd_status,
    &cmd_wait,      &cmd_list,     &cmd_logs,   &cmd_artifacts, &cmd_report, &cmd_bundle,
    &cmd_selftest,  &cmd_verify,   &cmd_check,  &cmd_plan,      &cmd_replay, &cmd_distill,
    &cmd_stability, &cmd_coverage, &cmd_corpus, &cmd_init,      &cmd_doctor, &cmd_version,
    &cmd_help,      NULL,
};

int cmd_fail(const struct cmd_entry *e, int code, const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    size_t size = text == NULL ? 1 : 4 * strlen(text) + 1;
    cleanup_free char *safe = xmalloc(size);
    safe[0] = '\0';
    if (text != NULL)
        text_printable(safe, size, text);
    free(text);
    fprintf(stderr, "fuzzctl %s: %s\n", e->name, safe);
    return code;
}

int cmd_usage(const struct cmd_entry *e)
{
    fprintf(stderr, "usage: fuzzctl %s%s%s\n", e->name, e->usage[0] == '\0' ? "" : " ", e->usage);
    return EXIT_USAGE;
}

int cmd_state_check(const struct cmd_env *env)
{
    struct err err = {0};
    int rc = env->state_dir == NULL ? err_set(&err, -ENOENT, "%s", env->state_why)
                                    : path_state_check(env->state_dir, &err);

    if (rc == 0)
        return EXIT_DONE;
    (void)fprintf(stderr, "fuzzctl: %s\n", err.msg);
    return rc == -ENOTEMPTY ? EXIT_USAGE : EXIT_ERROR;
}

struct db *cmd_open_db(const struct cmd_entry *e, const struct cmd_env *env, int *ret_code)
{
    struct db *db = NULL;
    struct err err = {0};
    int rc = db_open(env->state_dir, false, &db, &err);

    if (rc == 0)
        return db;
    if (rc == -ENOENT)
        *ret_code = cmd_fail(e, EXIT_NO_CAMPAIGN, "no campaign has ever run in %s", env->state_dir);
    else
        *ret_code = cmd_fail(e, EXIT_ERROR, "%s", err.msg);
    return NULL;
}

int cmd_run_find(const struct cmd_entry *e, const struct cmd_env *env, const char *name,
                 struct db **ret_db, struct run_row *ret)
{
    int code = EXIT_DONE;
    struct db *db = cmd_open_db(e, env, &code);

    if (db == NULL)
        return code;
    struct err err = {0};
    int rc = runs_get(db, name, NULL, ret, &err);
    if (rc == 0 && ret_db != NULL)
        *ret_db = db;
    else
        db_close(db);
    if (rc == 0)
        return EXIT_DONE;
    if (rc != -ENOENT)
        return cmd_fail(e, EXIT_ERROR, "%s", err.msg);
    if (name == NULL)
        return cmd_fail(e, EXIT_NO_CAMPAIGN, "no campaign has ever run in %s", env->state_dir);
    return cmd_fail(e, EXIT_NO_CAMPAIGN, "no campaign named %s", name);
}

/* How many runs the index says have not ended, or a negative errno: nothing may be said of an index that cannot be read. */
static int unfinished_runs(const struct cmd_env *env, struct err *err)
{
    struct db *db = NULL;
    struct run_row *rows = NULL;
    size_t n = 0;
    int rc = db_open(env->state_dir, false, &db, err);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    rc = runs_list(db, true, &rows, &n, err);
    for (size_t i = 0; i < n; i++)
        run_row_clear(&rows[i]);
    free(rows);
    db_close(db);
    return rc < 0 ? rc : n > 0;
}

/*
 * What a fuzzd that was killed leaves of its cgroups, when no other will be started to remove it. Only empty ones, and only while
 * nobody holds the state directory: one that starts now makes its own.
 */
static void remove_left_cgroups(const struct cmd_env *env)
{
    cleanup_free char *path = path_join(env->state_dir, "fuzzd.lock");
    cleanup_close int bar = lock_bar(path);
    struct cgroup_root *root;
    char prefix[32];

    if (bar < 0 || cgroup_prefix(env->state_dir, prefix, sizeof(prefix)) < 0)
        return;
    root = cgroup_root_open("/sys/fs/cgroup", prefix, NULL);
    cgroup_remove_empty(root);
    cgroup_root_free(root);
}

int cmd_live(const struct cmd_entry *e, const struct cmd_env *env, struct client **ret)
{
    struct err err = {0};
    int rc = client_open(env->state_dir, false, ret, &err);

    *ret = rc == 0 ? *ret : NULL;
    if (rc == 0)
        return EXIT_DONE;
    if (rc != -ENOENT && rc != -ECONNREFUSED)
        return cmd_fail(e, EXIT_NO_DAEMON, "%s", err.msg);
    rc = unfinished_runs(env, &err);
    if (rc < 0)
        return cmd_fail(e, EXIT_ERROR, "%s", err.msg);
    if (rc == 0) {
        remove_left_cgroups(env);
        return EXIT_DONE;
    }
    rc = client_open(env->state_dir, true, ret, &err);
    if (rc < 0) {
        *ret = NULL;
        return cmd_fail(e, EXIT_NO_DAEMON, "%s", err.msg);
    }
    return EXIT_DONE;
}

int cmd_adopt(const struct cmd_entry *e, const struct cmd_env *env)
{
    struct client *c = NULL;
    int code = cmd_live(e, env, &c);

    client_close(c);
    return code == EXIT_ERROR ? code : EXIT_DONE;
}

static bool connection_lost(int rc)
{
    return rc == -ECONNRESET || rc == -EPIPE;
}

/* Says so when fuzzd answers nobody: stopped by a signal, or held up by its disk. */
static void tell_if_silent(const struct cmd_entry *e, const struct cmd_env *env)
{
    cleanup_free char *path = path_join(env->state_dir, "fuzzd.lock");
    char holder[256] = "";
    struct client *c = NULL;
    struct err err = {0};
    json_t *answer = NULL;
    int rc = client_open(env->state_dir, false, &c, &err);

    if (rc == 0)
        rc = client_call(c, "ping", NULL, PING_MS, &answer, &err);
    json_decref(answer);
    client_close(c);
    if (rc != -ETIMEDOUT)
        return;
    (void)lock_holder(path, holder, sizeof(holder));
    (void)cmd_fail(e, EXIT_DONE, "fuzzd (%s) does not answer: waiting until it does",
                   holder[0] != '\0' ? holder : "of unknown pid");
}

/* One call. Before an answer is waited for without end, the user is told when there is nobody to give it. */
static int call_once(const struct cmd_entry *e, const struct cmd_env *env, struct client *c,
                     const char *verb, const json_t *args, int64_t timeout_ms, json_t **ret,
                     struct err *err)
{
    int rc = client_call(c, verb, args, timeout_ms < 0 ? SILENCE_MS : timeout_ms, ret, err);

    if (timeout_ms >= 0 || rc != -ETIMEDOUT)
        return rc;
    tell_if_silent(e, env);
    return client_call_again(c, -1, ret, err);
}

int cmd_request(const struct cmd_entry *e, const struct cmd_env *env, struct client **c,
                const char *verb, const json_t *args, int64_t timeout_ms, bool patient,
                json_t **ret, struct err *err)
{
    int64_t until_ms = clock_now_ms() + timeout_ms;

    for (int lost = 0;; lost++) {
        int rc = call_once(e, env, *c, verb, args, timeout_ms, ret, err);

        while (rc == -EINTR && patient) {
            int64_t left_ms = until_ms - clock_now_ms();

            rc = client_call_again(*c, timeout_ms < 0 ? -1 : left_ms > 0 ? left_ms : 0, ret, err);
        }
        if (!connection_lost(rc) || lost == LOST_MAX)
            return rc;
        client_close(*c);
        *c = NULL;
        if (lost > 0) /* one that dies each time is not asked in a tight loop */
            (void)usleep(LOST_WAIT_US);
        if (cmd_live(e, env, c) != EXIT_DONE)
            return err_set(err, -ECONNREFUSED, "fuzzd ended, and no other can be reached");
        if (*c == NULL) {
            *ret = NULL;
            return 0;
        }
        if (timeout_ms > 0) {
            timeout_ms = until_ms - clock_now_ms();
            if (timeout_ms < 0)
                timeout_ms = 0;
        }
    }
}

int cmd_call(const struct cmd_entry *e, const struct cmd_env *env, struct client **c,
             const char *verb, json_t *args, int64_t timeout_ms, json_t **ret)
{
    struct err err = {0};
    int rc = cmd_request(e, env, c, verb, args, timeout_ms, true, ret, &err);

    json_decref(args);
    if (rc == -ETIMEDOUT)
        return EXIT_TIMEOUT;
    return rc < 0 ? cmd_fail(e, EXIT_NO_DAEMON, "%s", err.msg) : EXIT_DONE;
}

int cmd_answer(const struct cmd_entry *e, const json_t *answer)
{
    if (json_is_true(json_object_get(answer, "ok")))
        return EXIT_DONE;
    const char *text = json_string_value(json_object_get(answer, "error"));
    json_int_t code = json_integer_value(json_object_get(answer, "exit"));
    return cmd_fail(e, code > 0 && code < 256 ? (int)code : EXIT_ERROR, "%s",
                    text != NULL ? text : "fuzzd refused without a reason");
}

int cmd_unstored(const struct cmd_entry *e, const json_t *answer)
{
    const char *why = json_string_value(json_object_get(answer, "unstored"));

    if (why == NULL)
        return EXIT_DONE;
    return cmd_fail(
        e, EXIT_ERROR,
        "done, but it could not be stored, and is lost if fuzzd dies before it can be: %s", why);
}

void cmd_print_json(const json_t *j)
{
    /* Whole: written page by page, a reader of many instances would be woken for each. */
    cleanup_free char *text = json_dumps(j, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

    if (text != NULL)
        (void)fputs(text, stdout);
    putchar('\n');
}

void cmd_print_json_take(json_t *j)
{
    cmd_print_json(j);
    json_decref(j);
}
