/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign's figures, clocks and causes of a pause as the rows have them: what a fuzzd needs to go on with a run that another one, or an
 * earlier one of its own, had counted. A row that is not there or is odd counts from nothing, and is told.
 */
#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "farm/campaign.h"

static int64_t number(const json_t *j, const char *key)
{
    return (int64_t)json_number_value(json_object_get(j, key));
}

/* Figures of the sessions before, as the row's extra has them. */
static void restore_instance(struct instance *in, const json_t *j)
{
    const char *reason = json_string_value(json_object_get(j, "reason"));

    in->execs_total = number(j, "execs_done");
    in->execs_base = number(j, "execs_base");
    in->edges_max = number(j, "edges_found");
    in->restarts = (int)number(j, "restarts");
    in->oom_kills = number(j, "oom_kills");
    in->oom_from = number(j, "oom_from");
    in->oom_live = number(j, "oom_live");
    in->fuzzed_ms = number(j, "fuzz_ms");
    in->stats.corpus_count = number(j, "corpus_count");
    in->stats.total_edges = number(j, "total_edges");
    in->stats.pending_favs = number(j, "pending_favs");
    in->stats.stability_pct = json_number_value(json_object_get(j, "stability"));
    in->breaker.ever_fuzzed = in->fuzzed_ms > 0 || in->execs_total > 0;
    if (reason != NULL)
        (void)strlcpy(in->reason, reason, sizeof(in->reason));
    if (json_is_string(json_object_get(j, "state")) &&
        strcmp(json_string_value(json_object_get(j, "state")),
               instance_state_name(INSTANCE_FAILED)) == 0)
        in->state = INSTANCE_FAILED;
}

/* What had ended stays as it ended; text of a row becomes one of the fixed words again. */
static const char *known_reason(const char *s)
{
    static const char *const words[] = {"budget",  "execs",   "plateau", "finding",
                                        "stopped", "skipped", "failed"};

    for (size_t i = 0; s != NULL && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], s) == 0)
            return words[i];
    return "failed";
}

static void restore_target(struct target *t, const struct target_row *row)
{
    json_t *extra = row->extra != NULL ? json_loads(row->extra, 0, NULL) : NULL;
    const json_t *j;
    size_t i;

    json_array_foreach (json_object_get(extra, "instances"), i, j) {
        const char *name = json_string_value(json_object_get(j, "name"));

        for (size_t k = 0; name != NULL && k < t->spec->n_instances; k++)
            if (strcmp(t->spec->instances[k].name, name) == 0)
                restore_instance(t->instances[k], j);
    }
    seeds_from_json(t, json_object_get(extra, "seeds"));
    sweep_from_json(t, json_object_get(extra, "sweep"));
    if (json_is_string(json_object_get(extra, "failure")))
        (void)strlcpy(t->failure, json_string_value(json_object_get(extra, "failure")),
                      sizeof(t->failure));
    t->started_at_ms = row->started_at_ms;
    t->ended_at_ms = row->ended_at_ms;
    t->last_edge_at_ms = row->last_find_ms;
    t->saved_at_ms = number(extra, "at_ms");
    t->saved_ms = number(extra, "monotonic_ms");
    t->ever_up = t->up = json_is_true(json_object_get(extra, "up"));
    if (json_is_string(json_object_get(extra, "skipped")))
        (void)strlcpy(t->skipped, json_string_value(json_object_get(extra, "skipped")),
                      sizeof(t->skipped));
    t->saved_held = json_is_true(json_object_get(extra, "frozen"));
    t->half_quiet_at_end = json_is_true(json_object_get(extra, "half_quiet"));
    for (size_t k = 0; k < t->spec->n_instances; k++)
        t->edges_seen += t->instances[k]->edges_max;
    budget_restore(&t->budget, row->fuzz_ms, number(extra, "last_edge_ms"));
    if (strcmp(row->state, "ended") == 0 || strcmp(row->state, "failed") == 0) {
        t->state = strcmp(row->state, "ended") == 0 ? TARGET_ENDED : TARGET_FAILED;
        t->end_reason = known_reason(row->end_reason);
    } else if (strcmp(row->state, "running") == 0) {
        t->state = TARGET_RUNNING;
    }
    json_decref(extra);
}

static void restore_rows(struct campaign *c)
{
    struct target_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (runs_targets(c->farm->db, c->plan->run_id, &rows, &n, &err) < 0)
        log_warn("campaign %s: cannot read its figures: %s, counting anew", c->plan->campaign,
                 err.msg);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < c->plan->n_targets; k++)
            if (strcmp(c->plan->targets[k].name, rows[i].name) == 0)
                restore_target(c->targets[k], &rows[i]);
        target_row_clear(&rows[i]);
    }
    free(rows);
}

static void restore_freeze(struct campaign *c, const struct run_row *row)
{
    json_t *extra = row->extra != NULL ? json_loads(row->extra, 0, NULL) : NULL;

    freeze_from_json(&c->freeze, json_object_get(extra, "frozen"), clock_now_ms(), clock_wall_ms());
    if (number(extra, "queued_at_ms") > 0 && number(extra, "queued_at_ms") < c->queued_at_ms)
        c->queued_at_ms = number(extra, "queued_at_ms");
    c->guard.on[GUARD_PRESSURE] = freeze_holds(&c->freeze, FREEZE_PRESSURE);
    c->guard.on[GUARD_FLOOR] = freeze_holds(&c->freeze, FREEZE_FLOOR);
    c->guard.on[GUARD_DISK] = freeze_holds(&c->freeze, FREEZE_DISK);
    json_decref(extra);
}

void campaign_restore(struct campaign *c, const struct run_row *row)
{
    restore_rows(c);
    restore_freeze(c, row);
}
