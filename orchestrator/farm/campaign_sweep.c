/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep as fuzzd sees it: by number of the target in the plan. When it is due is decided
 * there; here is told what the farm knows for that.
 */
#include "farm/campaign.h"

void campaign_sweep_answer(struct campaign *c, size_t i, const json_t *answer, bool last)
{
    sweep_answer(c->targets[i], answer, last);
}

void campaign_sweep_collect(struct campaign *c, size_t i)
{
    sweep_collect(c->targets[i]);
}

bool campaign_sweep_storing(const struct campaign *c, size_t i)
{
    return c->targets[i]->sweep.storing;
}

bool campaign_sweep_may_run(const struct campaign *c, size_t i)
{
    const struct target *t = c->targets[i];

    return t->state == TARGET_RUNNING && t->up && !t->held && c->freeze.causes == 0;
}

bool campaign_sweep_complete(const struct campaign *c, size_t i)
{
    return c->targets[i]->sweep.complete;
}

int64_t campaign_sweep_left(const struct campaign *c, size_t i)
{
    return c->targets[i]->sweep.left;
}

int64_t campaign_sweep_entries(const struct campaign *c, size_t i)
{
    const struct target *t = c->targets[i];
    int64_t sum = 0;

    for (size_t k = 0; k < t->spec->n_instances; k++)
        sum += t->instances[k]->stats.corpus_count;
    return sum;
}

json_t *campaign_sweep_json(const struct campaign *c, size_t i)
{
    return sweep_to_json(c->targets[i]);
}

const char *campaign_sweep_trouble(const struct campaign *c)
{
    for (size_t i = 0; i < c->plan->n_targets; i++) {
        const struct sweep *s = &c->targets[i]->sweep;

        if (s->trouble[0] != '\0')
            return s->trouble;
        if (s->no_space && s->why[0] != '\0')
            return s->why;
    }
    return NULL;
}

bool campaign_target_ended(const struct campaign *c, size_t i)
{
    return c->targets[i]->state == TARGET_ENDED || c->targets[i]->state == TARGET_FAILED;
}

bool campaign_target_started(const struct campaign *c, size_t i)
{
    return c->targets[i]->ever_up;
}
