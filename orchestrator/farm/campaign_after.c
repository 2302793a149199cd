/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets that wait for others. Only one that ended clean lets its followers start; what ended in any other way, and what
 * was skipped itself, has them skipped. The judging is done by others; here is kept who waits for whose.
 */
#include <bsd/string.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "farm/campaign.h"

static struct target *target_named(const struct campaign *c, const char *name)
{
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if (strcmp(c->plan->targets[i].name, name) == 0)
            return c->targets[i];
    return NULL;
}

static bool has_ended(const struct target *t)
{
    return t->state == TARGET_ENDED || t->state == TARGET_FAILED;
}

static bool waits_for(const struct target *t, const struct target *other)
{
    for (size_t k = 0; k < t->spec->after.n; k++)
        if (strcmp(t->spec->after.v[k], other->spec->name) == 0)
            return true;
    return false;
}

const struct target *campaign_waits_for(const struct campaign *c, const struct target *t)
{
    for (size_t k = 0; k < t->spec->after.n; k++) {
        const struct target *other = target_named(c, t->spec->after.v[k]);

        if (other != NULL && other->gate != TARGET_CLEAN)
            return other;
    }
    return NULL;
}

bool campaign_wants_judging(const struct campaign *c, size_t i)
{
    const struct target *t = c->targets[i];

    if (c->interrupted || c->told_ended || !has_ended(t) || t->gate != TARGET_UNJUDGED ||
        t->skipped[0] != '\0')
        return false;
    for (size_t k = 0; k < c->plan->n_targets; k++)
        if (c->targets[k]->state == TARGET_PLANNED && waits_for(c->targets[k], t))
            return true;
    return false;
}

void campaign_judged(struct campaign *c, size_t i, bool clean, const char *words)
{
    struct target *t = c->targets[i];

    if (!campaign_wants_judging(c, i))
        return;
    t->gate = clean ? TARGET_CLEAN : TARGET_NOT_CLEAN;
    (void)strlcpy(t->gate_why, words, sizeof(t->gate_why));
    log_info("%s/%s: judged for those that wait for it: %s", c->plan->campaign, t->spec->name,
             clean ? "clean" : words);
    campaign_ask_pump(c);
}

const char *campaign_skipped(const struct campaign *c, size_t i)
{
    return c->targets[i]->skipped[0] != '\0' ? c->targets[i]->skipped : NULL;
}

static void skip(struct campaign *c, struct target *t, const struct target *other)
{
    if (other->skipped[0] != '\0')
        (void)snprintf(t->skipped, sizeof(t->skipped), "it waits for %s, which was skipped itself",
                       other->spec->name);
    else
        (void)snprintf(t->skipped, sizeof(t->skipped),
                       "it waits for %s, which did not end clean: %s", other->spec->name,
                       other->gate_why);
    log_info("%s/%s: skipped, %s", c->plan->campaign, t->spec->name, t->skipped);
    target_end(t, "skipped");
}

void campaign_skip_targets(struct campaign *c)
{
    bool again;

    do {
        again = false;
        for (size_t i = 0; i < c->plan->n_targets; i++) {
            struct target *t = c->targets[i];

            for (size_t k = 0; t->state == TARGET_PLANNED && k < t->spec->after.n; k++) {
                const struct target *other = target_named(c, t->spec->after.v[k]);

                if (other == NULL || (other->gate != TARGET_NOT_CLEAN && other->skipped[0] == '\0'))
                    continue;
                skip(c, t, other);
                again = true;
            }
        }
    } while (again);
}
