/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target judged before its run has ended. The measurements are made again at the end
 * of the run, whose verdict is the one that is kept: what is drawn here decides only
 * whether the targets that wait may start.
 */
#include "report/gate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "report/judge.h"
#include "report/measure.h"
#include "triage/job.h"

struct gate_ask {
    struct gate *g;
    enum measure what;
};

struct gate {
    struct db *db;
    struct queue *q;
    const struct plan *plan;
    size_t target;
    struct judge_target *targets; /* in the plan's order; one of them is filled */
    struct gate_ask asks[MEASURE_COUNT];
    int n_open;
    sd_event_source *teller;
    gate_fn *done;
    void *ctx;
};

static int on_tell(sd_event_source *s, void *ctx)
{
    struct gate *g = ctx;
    struct judge j = {.db = g->db, .plan = g->plan, .targets = g->targets};
    struct strv reasons = {0};
    struct err err = {0};
    enum verdict v = VERDICT_NONE;
    char words[512];

    (void)s;
    if (judge_target(&j, g->target, &v, &reasons, &err) < 0)
        (void)snprintf(words, sizeof(words), "it could not be judged: %.400s", err.msg);
    else
        (void)snprintf(words, sizeof(words), "%s%s%s", verdict_name(v),
                       v != VERDICT_CLEAN && reasons.n > 0 ? ", " : "",
                       v != VERDICT_CLEAN && reasons.n > 0 ? reasons.v[0] : "");
    strv_clear(&reasons);
    g->done(g->ctx, g->target, v, words);
    return 0;
}

static void on_answer(void *ctx, const json_t *answer)
{
    struct gate_ask *a = ctx;
    struct gate *g = a->g;

    measure_take(a->what, &g->targets[g->target], answer);
    if (--g->n_open == 0)
        (void)sd_event_source_set_enabled(g->teller, SD_EVENT_ONESHOT);
}

static void push_measures(struct gate *g)
{
    const struct plan_target *pt = &g->plan->targets[g->target];
    struct judge_target *t = &g->targets[g->target];

    t->measured = t->started;
    for (int i = 0; i < MEASURE_COUNT; i++) {
        if (!measure_applies((enum measure)i, pt) || (i != MEASURE_SEEDS && !t->started))
            continue;
        g->asks[i] = (struct gate_ask){g, (enum measure)i};
        g->n_open++;
        queue_push(g->q, job_for_user(measure_job((enum measure)i, g->plan, pt), g->plan), g, false,
                   on_answer, &g->asks[i]);
    }
}

int gate_start(sd_event *loop, struct db *db, struct queue *q, const struct plan *plan,
               size_t target, const struct finish_facts *facts, gate_fn *done, void *ctx,
               struct gate **ret, struct err *err)
{
    struct gate *g = xcalloc(1, sizeof(*g));
    struct judge_target *t;
    int r;

    g->db = db;
    g->q = q;
    g->plan = plan;
    g->target = target;
    g->done = done;
    g->ctx = ctx;
    g->targets = xcalloc(plan->n_targets, sizeof(*g->targets));
    t = &g->targets[target];
    t->started = facts->started;
    str_set(&t->start_failure, facts->start_failure);
    t->instances_given_up = facts->instances_given_up;
    t->saturated = facts->saturated;
    t->sweep = json_incref(facts->sweep);
    t->edges_floor = -1;
    r = sd_event_add_defer(loop, &g->teller, on_tell, g);
    if (r >= 0)
        r = sd_event_source_set_enabled(g->teller, SD_EVENT_OFF);
    if (r < 0) {
        gate_free(g);
        return err_sys(err, r, "cannot add to the event loop");
    }
    push_measures(g);
    *ret = g;
    return 0;
}

void gate_free(struct gate *g)
{
    if (g == NULL)
        return;
    if (g->teller != NULL)
        queue_drop(g->q, g);
    sd_event_source_disable_unref(g->teller);
    judge_target_clear(&g->targets[g->target]);
    free(g->targets);
    free(g);
}
