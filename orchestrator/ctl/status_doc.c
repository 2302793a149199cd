/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of "status --json". Live campaigns are the daemon's words, taken as they are; the others come from the index in the same
 * shape, so that a reader need not know whether a daemon runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "ctl/cmd.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

#define DAEMON_TIMEOUT_MS 10000

static json_t *target_from_index(const struct target_row *t, int64_t crashes, int64_t ooms,
                                 int64_t timeouts, size_t buckets)
{
    json_t *extra = t->extra != NULL ? json_loads(t->extra, 0, NULL) : NULL;
    json_t *skipped = json_incref(json_object_get(extra, "skipped"));
    json_t *seeds = json_incref(json_object_get(extra, "seeds"));
    json_t *sweep = json_incref(json_object_get(extra, "sweep"));
    json_t *failure = json_incref(json_object_get(extra, "start_failure"));

    json_decref(extra);
    return json_pack(
        "{s:o*, s:o*, s:o*, s:o*, s:s, s:s, s:s?, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:i, s:[]}",
        "skipped", skipped, "seeds", seeds, "sweep", sweep, "reason", failure, "name", t->name,
        "state", t->state, "end_reason", t->end_reason, "execs_done", (json_int_t)t->execs_done,
        "execs_per_sec", t->execs_per_sec, "edges_found", (json_int_t)t->edges_found, "crashes",
        (json_int_t)crashes, "ooms", (json_int_t)ooms, "timeouts", (json_int_t)timeouts,
        "oom_kills", (json_int_t)t->oom_kills, "buckets", (int)buckets, "instances");
}

/* Inputs of a target by class, from its buckets. */
static json_t *target_counted(const struct target_row *t, const struct bucket_row *buckets,
                              size_t n)
{
    int64_t crashes = 0, ooms = 0, timeouts = 0;
    size_t mine = 0;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(buckets[i].target, t->name) != 0)
            continue;
        mine++;
        if (strcmp(buckets[i].class_, "oom") == 0)
            ooms += buckets[i].inputs;
        else if (strcmp(buckets[i].class_, "timeout") == 0)
            timeouts += buckets[i].inputs;
        else
            crashes += buckets[i].inputs;
    }
    return target_from_index(t, crashes, ooms, timeouts, mine);
}

static json_t *campaign_from_index(struct db *db, const struct run_row *run)
{
    struct target_row *targets = NULL;
    struct bucket_row *buckets = NULL;
    struct artifact_row *lost = NULL;
    size_t n_targets = 0, n_buckets = 0, n_lost = 0;
    struct err err = {0};
    char started[32], ended[32];
    int64_t end_ms = run->ended_at_ms != 0 ? run->ended_at_ms : clock_wall_ms();
    json_t *list = json_array();

    (void)runs_targets(db, run->id, &targets, &n_targets, &err);
    (void)results_buckets(db, run->id, &buckets, &n_buckets, &err);
    (void)artifact_lost(db, run->id, &lost, &n_lost, &err);
    artifact_rows_free(lost, n_lost);
    for (size_t i = 0; i < n_targets; i++) {
        json_array_append_new(list, target_counted(&targets[i], buckets, n_buckets));
        target_row_clear(&targets[i]);
    }
    free(targets);
    bucket_rows_free(buckets, n_buckets);
    return json_pack("{s:s, s:s, s:s, s:s?, s:s, s:s, s:I, s:I, s:I, s:o}", "name", run->campaign,
                     "run", run->id, "state", run->state, "verdict", run->verdict, "started",
                     clock_iso8601(started, sizeof started, run->started_at_ms), "ended",
                     clock_iso8601(ended, sizeof ended, run->ended_at_ms), "elapsed_s",
                     (json_int_t)(clock_span_ms(run->started_at_ms, end_ms) / 1000), "budget_s",
                     (json_int_t)(run->budget_ms / 1000), "lost", (json_int_t)n_lost, "targets",
                     list);
}

static bool campaign_listed(const json_t *campaigns, const char *name)
{
    size_t i;
    const json_t *c;

    json_array_foreach (campaigns, i, c) {
        const char *have = json_string_value(json_object_get(c, "name"));
        if (have != NULL && strcmp(have, name) == 0)
            return true;
    }
    return false;
}

/* Appends the newest run of each campaign that is not listed yet. 0 or a negative errno. */
static int campaigns_from_index(const struct cmd_env *env, const char *name, json_t *campaigns,
                                struct err *err)
{
    struct db *db = NULL;
    struct run_row *rows = NULL;
    size_t n = 0;
    int rc = db_open(env->state_dir, false, &db, err);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    rc = runs_list(db, false, &rows, &n, err);
    for (size_t i = 0; i < n; i++) {
        if ((name == NULL || strcmp(rows[i].campaign, name) == 0) &&
            !campaign_listed(campaigns, rows[i].campaign))
            json_array_append_new(campaigns, campaign_from_index(db, &rows[i]));
        run_row_clear(&rows[i]);
    }
    free(rows);
    db_close(db);
    return rc;
}

static json_t *no_daemon(void)
{
    return json_pack("{s:i, s:n, s:[]}", "version", 1, "fuzzd", "campaigns");
}

json_t *cmd_status_doc(const struct cmd_entry *e, const struct cmd_env *env, struct client **c,
                       const char *name, int *ret_code)
{
    json_t *doc = NULL;

    if (*c != NULL) {
        json_t *args = json_object();
        json_t *answer = NULL;
        struct err err = {0};

        int rc = cmd_request(e, env, c, "status", args, DAEMON_TIMEOUT_MS, false, &answer, &err);
        json_decref(args);
        if (rc < 0) {
            *ret_code = cmd_fail(e, EXIT_NO_DAEMON, "%s", rc == -EINTR ? "interrupted" : err.msg);
            return NULL;
        }
        *ret_code = answer != NULL ? cmd_answer(e, answer) : EXIT_DONE;
        doc = json_incref(json_object_get(answer, "status"));
        if (answer == NULL) {
            doc = no_daemon();
        } else if (*ret_code != EXIT_DONE || !json_is_array(json_object_get(doc, "campaigns"))) {
            json_decref(answer);
            json_decref(doc);
            return NULL;
        }
        json_decref(answer);
    } else {
        doc = no_daemon();
    }
    json_t *campaigns = json_object_get(doc, "campaigns");
    for (size_t i = json_array_size(campaigns); name != NULL && i-- > 0;) {
        const char *have = json_string_value(json_object_get(json_array_get(campaigns, i), "name"));
        if (have == NULL || strcmp(have, name) != 0)
            json_array_remove(campaigns, i);
    }
    struct err why = {0};
    if (campaigns_from_index(env, name, campaigns, &why) < 0) {
        json_decref(doc);
        *ret_code = cmd_fail(e, EXIT_ERROR, "%s", why.msg);
        return NULL;
    }
    *ret_code = EXIT_DONE;
    if (name != NULL && json_array_size(campaigns) == 0) {
        json_decref(doc);
        *ret_code = cmd_fail(e, EXIT_NO_CAMPAIGN, "no campaign named %s", name);
        return NULL;
    }
    return doc;
}
