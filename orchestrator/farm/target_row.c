/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target as it is kept in state.db: figures over its instances, and what the next fuzzd needs to go on with its clock.
 */
#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "farm/target.h"

static json_t *instance_extra(struct instance *in, int64_t now_ms)
{
    const struct stats *st = &in->stats;
    json_t *j = json_object();

    json_object_set_new(j, "name", json_string(in->spec->name));
    json_object_set_new(j, "role", json_string(plan_role_name(in->spec->role)));
    json_object_set_new(j, "state", json_string(instance_state_name(in->state)));
    json_object_set_new(j, "reason", json_string(in->reason));
    json_object_set_new(j, "restarts", json_integer(in->restarts));
    if (in->rotation > 1)
        json_object_set_new(j, "rotations", json_integer(in->rotation - 1));
    json_object_set_new(j, "oom_kills", json_integer(in->oom_kills));
    json_object_set_new(j, "oom_from", json_integer(in->oom_from));
    json_object_set_new(j, "oom_live", json_integer(in->oom_live));
    json_object_set_new(j, "fuzz_ms", json_integer(instance_fuzz_ms(in, now_ms)));
    json_object_set_new(j, "execs_done", json_integer(in->execs_total));
    json_object_set_new(j, "execs_base", json_integer(in->execs_base));
    json_object_set_new(j, "execs_per_sec", json_real(st->execs_per_sec));
    json_object_set_new(j, "edges_found", json_integer(in->edges_max));
    json_object_set_new(j, "total_edges", json_integer(st->total_edges));
    json_object_set_new(j, "corpus_count", json_integer(st->corpus_count));
    json_object_set_new(j, "pending_favs", json_integer(st->pending_favs));
    json_object_set_new(j, "cycles_done", json_integer(st->cycles_done));
    json_object_set_new(j, "stability", json_real(st->stability_pct));
    return j;
}

void target_fill_row(const struct target *t, int64_t now_ms, struct target_row *ret)
{
    struct target_row r = {
        .run = xstrdup(t->plan->run_id),
        .name = xstrdup(t->spec->name),
        .state = xstrdup(target_state_name(t)),
        /* A reason is part of the row once the target has ended, not while it ends. */
        .end_reason = t->end_reason != NULL && !target_active(t) ? xstrdup(t->end_reason) : NULL,
        .started_at_ms = t->started_at_ms,
        .ended_at_ms = t->ended_at_ms,
        .fuzz_ms = budget_fuzz_ms(&t->budget, now_ms),
        .execs_done = target_execs(t),
        .edges_found = target_edges(t),
        .corpus_seeds = t->spec->n_seeds,
        .execs_per_sec = target_execs_per_sec(t),
        .last_find_ms = t->last_edge_at_ms,
        .edges_floor = -1,
    };
    json_t *extra = json_object(), *list = json_array(), *seeds = seeds_to_json(t);
    json_t *sweep = sweep_to_json(t);
    double stability = 0;

    for (size_t i = 0; i < t->spec->n_instances; i++) {
        struct instance *in = t->instances[i];
        const struct stats *st = &in->stats;

        if (st->corpus_count > r.corpus_count)
            r.corpus_count = st->corpus_count;
        if (st->total_edges > r.total_edges)
            r.total_edges = st->total_edges;
        if (st->stability_pct > 0 && (stability <= 0 || st->stability_pct < stability))
            stability = st->stability_pct;
        r.restarts += in->restarts;
        r.oom_kills += instance_oom_kills(in);
        (void)json_array_append_new(list, instance_extra(in, now_ms));
    }
    r.stability = stability;
    (void)json_object_set_new(extra, "instances", list);
    (void)json_object_set_new(extra, "at_ms", json_integer(clock_wall_ms()));
    (void)json_object_set_new(extra, "monotonic_ms", json_integer(now_ms));
    (void)json_object_set_new(extra, "frozen", json_boolean(t->held));
    if (seeds != NULL)
        (void)json_object_set_new(extra, "seeds", seeds);
    if (sweep != NULL)
        (void)json_object_set_new(extra, "sweep", sweep);
    if (t->failure[0] != '\0')
        (void)json_object_set_new(extra, "failure", json_string(t->failure));
    if (t->skipped[0] != '\0')
        (void)json_object_set_new(extra, "skipped", json_string(t->skipped));
    (void)json_object_set_new(extra, "up", json_boolean(t->ever_up));
    (void)json_object_set_new(extra, "half_quiet", json_boolean(t->half_quiet_at_end));
    (void)json_object_set_new(extra, "last_edge_ms", json_integer(t->budget.last_edge_ms));
    r.extra = json_dumps(extra, JSON_COMPACT);
    json_decref(extra);
    *ret = r;
}
