/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: which target starts when, and when it is over.
 *
 * All that may start or end targets happens in on_pump, in a turn of the loop of its own: the callbacks of targets only ask
 * for it, so that no target is ended or started from inside another's event.
 */
#include "farm/campaign.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "farm/collect.h"
#include "farm/cores.h"
#include "farm/hostguard.h"

#define TICK_MS 1000
#define SAVE_MS 5000

void campaign_ask_pump(struct campaign *c)
{
    (void)sd_event_source_set_enabled(c->pump, SD_EVENT_ONESHOT);
}

/* Whatever it was lent stands still before anything of it runs. */
static void on_target_starting(struct target *t)
{
    struct campaign *c = t->owner;

    cores_settle(c->farm);
}

static void on_target_up(struct target *t)
{
    struct campaign *c = t->owner;

    c->saved_ms = 0; /* the clock of its budget runs from here, whoever counts it */
    campaign_ask_pump(c);
}

static void on_target_ended(struct target *t)
{
    struct campaign *c = t->owner;

    if (t->lock_fd >= 0)
        (void)close(t->lock_fd);
    t->lock_fd = -1;
    c->saved_ms = 0;
    if (c->farm->ev->target_ended != NULL)
        c->farm->ev->target_ended(c->farm->ctx, c, t->spec);
    campaign_ask_pump(c);
}

static const struct target_ops target_callbacks = {
    .starting = on_target_starting, .up = on_target_up, .ended = on_target_ended};

/*
 * In file order: one that must wait for cores holds back those after it, one that waits for a target does not. True when one
 * waits for cores of others.
 */
static bool start_targets(struct campaign *c)
{
    char words[sizeof(c->targets[0]->failure)];
    int used = 0;

    for (size_t i = 0; i < c->plan->n_targets; i++) {
        used += target_cores(c->targets[i]);
        if (c->targets[i]->state == TARGET_PLANNED)
            seeds_ask(c->targets[i]);
    }
    for (size_t i = 0; i < c->plan->n_targets; i++) {
        struct target *t = c->targets[i];
        int n = (int)t->spec->n_instances;
        const char *refusal;

        if (t->state != TARGET_PLANNED || campaign_waits_for(c, t) != NULL)
            continue;
        if (t->seeds.state != SEEDS_DONE)
            return false;
        refusal = seeds_refusal(t, words, sizeof(words));
        if (refusal != NULL) {
            target_fail(t, refusal);
            continue;
        }
        if (!c->plan->oversubscribe && used > 0 && used + n > c->plan->cores)
            return false;
        if (target_start(t) < 0)
            return true;
        used += n;
        c->saved_ms = 0;
    }
    return false;
}

static bool seeds_run(const struct campaign *c)
{
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if (c->targets[i]->seeds.state == SEEDS_ASKED ||
            c->targets[i]->seeds.state == SEEDS_STORING)
            return true;
    return false;
}

static bool first_settled(const struct campaign *c)
{
    if (campaign_ever_up(c) || c->freeze.causes != 0)
        return true;
    for (size_t i = 0; i < c->plan->n_targets; i++) {
        const struct target *t = c->targets[i];

        if (t->state == TARGET_ENDED || t->state == TARGET_FAILED)
            return true;
        if (target_given_up(t) > 0)
            return true;
    }
    if (seeds_run(c))
        return false;
    /* Every core is taken by somebody else: there is nothing to wait for within a start. */
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if (target_active(c->targets[i]))
            return false;
    return true;
}

static int on_pump(sd_event_source *s, void *userdata)
{
    struct campaign *c = userdata;

    (void)s;
    if (c->told_ended) /* the rows are the verdict's now */
        return 0;
    if (!c->interrupted)
        campaign_skip_targets(c);
    cores_settle(c->farm);
    if (c->interrupted || c->freeze.causes != 0 || !start_targets(c))
        cores_leave(c);
    if (c->saved_ms == 0)
        campaign_save(c);
    if (!c->told_started && first_settled(c)) {
        c->told_started = true;
        if (c->farm->ev->started != NULL)
            c->farm->ev->started(c->farm->ctx, c);
    }
    if (!c->told_ended && campaign_fuzzing_ended(c)) {
        c->told_ended = true;
        c->tick = sd_event_source_disable_unref(c->tick);
        campaign_forget_freeze(c);
        campaign_save(c);
        if (c->farm->ev->fuzzing_ended != NULL)
            c->farm->ev->fuzzing_ended(c->farm->ctx, c);
    }
    return 0;
}

static int on_tick(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct campaign *c = userdata;
    int64_t now_ms = clock_now_ms();
    bool planned = false;

    (void)usec;
    for (size_t i = 0; i < c->plan->n_targets; i++) {
        target_tick(c->targets[i], now_ms);
        planned |= c->targets[i]->state == TARGET_PLANNED;
    }
    if (now_ms - c->saved_ms >= SAVE_MS)
        campaign_save(c);
    if (planned || !c->told_started)
        campaign_ask_pump(c);
    (void)sd_event_source_set_time_relative(s, TICK_MS * 1000ULL);
    (void)sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
    return 0;
}

static int add_sources(struct campaign *c, struct err *err)
{
    int r = sd_event_add_defer(c->farm->loop, &c->pump, on_pump, c);

    if (r >= 0)
        r = sd_event_add_time_relative(c->farm->loop, &c->tick, CLOCK_MONOTONIC, TICK_MS * 1000ULL,
                                       50000, on_tick, c);
    if (r < 0)
        return err_sys(err, r, "cannot set up the event loop");
    return 0;
}

static struct campaign *campaign_new(struct farm *farm, struct plan *plan)
{
    struct campaign *c = xcalloc(1, sizeof(*c));

    c->farm = farm;
    c->plan = plan;
    c->lock_fd = -1;
    c->targets = xcalloc(plan->n_targets + 1, sizeof(*c->targets));
    for (size_t i = 0; i < plan->n_targets; i++)
        c->targets[i] = target_new(farm, plan, &plan->targets[i], &target_callbacks, c);
    c->usage = usage_new(plan->run_dir);
    TAILQ_INSERT_TAIL(&farm->campaigns, c, link);
    return c;
}

int campaign_prepare(struct farm *farm, struct plan *plan, int64_t started_at_ms,
                     struct campaign **ret, struct err *err)
{
    struct campaign *c = campaign_new(farm, plan);
    int r;

    c->started_at_ms = started_at_ms;
    c->queued_at_ms = clock_wall_ms();
    if (plan->n_targets == 0)
        r = err_set(err, -EINVAL, "the plan has no target");
    else
        r = campaign_take_locks(c, err);
    if (r == 0)
        r = add_sources(c, err);
    if (r < 0) {
        campaign_close(c);
        return r;
    }
    hostguard_watch(farm->guard);
    *ret = c;
    return 0;
}

int campaign_start(struct farm *farm, struct plan *plan, const char *spec_text,
                   struct campaign **ret, struct err *err)
{
    struct campaign *c;
    int r = campaign_prepare(farm, plan, clock_wall_ms(), &c, err);

    if (r < 0)
        return r;
    r = campaign_check_files(c, err);
    if (r == 0)
        r = campaign_make_run_dir(c, spec_text, err);
    if (r == 0)
        r = campaign_put(c, err); /* before anything runs: the next fuzzd must know of it */
    if (r < 0) {
        campaign_close(c);
        return r;
    }
    log_info("campaign %s: run %s started", plan->campaign, plan->run_id);
    hostguard_look(farm->guard, c); /* before the first instance, not a second after it */
    *ret = c;
    return 0;
}

void campaign_stop(struct campaign *c, const char *why)
{
    if (c->told_ended || c->interrupted)
        return;
    c->interrupted = true;
    (void)strlcpy(c->why, why, sizeof(c->why));
    log_info("campaign %s: stopping: %s", c->plan->campaign, why);
    campaign_forget_freeze(c);
    for (size_t i = 0; i < c->plan->n_targets; i++)
        target_end(c->targets[i], "stopped");
    c->saved_ms = 0; /* whoever goes on with this run goes on with its stop */
    campaign_ask_pump(c);
}

void campaign_finding(struct campaign *c)
{
    if (c->plan->stop_on != SPEC_STOP_FIRST)
        return;
    for (size_t i = 0; i < c->plan->n_targets; i++)
        target_end(c->targets[i], "finding");
    campaign_ask_pump(c);
}

void campaign_close(struct campaign *c)
{
    if (c == NULL)
        return;
    cores_leave(c);
    TAILQ_REMOVE(&c->farm->campaigns, c, link);
    sd_event_source_disable_unref(c->tick);
    sd_event_source_disable_unref(c->pump);
    for (size_t i = 0; i < c->plan->n_targets; i++)
        target_free(c->targets[i]);
    free(c->targets);
    usage_free(c->usage);
    if (c->lock_fd >= 0)
        (void)close(c->lock_fd);
    if (TAILQ_EMPTY(&c->farm->campaigns))
        cgroup_prune(c->farm->cgroups);
    plan_free(c->plan);
    free(c);
}

const struct plan *campaign_plan(const struct campaign *c)
{
    return c->plan;
}

bool campaign_fuzzing_ended(const struct campaign *c)
{
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if ((c->targets[i]->state != TARGET_ENDED && c->targets[i]->state != TARGET_FAILED) ||
            c->targets[i]->seeds.state == SEEDS_STORING)
            return false;
    return true;
}

bool campaign_ever_up(const struct campaign *c)
{
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if (c->targets[i]->up)
            return true;
    return false;
}

const char *campaign_start_failure(const struct campaign *c)
{
    const char *why = NULL;

    if (campaign_ever_up(c))
        return NULL;
    for (size_t i = 0; i < c->plan->n_targets && why == NULL; i++)
        why = target_start_failure(c->targets[i]);
    return why;
}

bool campaign_given_up(const struct campaign *c)
{
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if (target_given_up(c->targets[i]) > 0)
            return true;
    return false;
}

const char *campaign_interrupted(const struct campaign *c)
{
    return c->interrupted ? c->why : NULL;
}

const char *campaign_unstored(const struct campaign *c)
{
    return c->unstored[0] != '\0' ? c->unstored : NULL;
}

void campaign_target_facts(const struct campaign *c, size_t i, bool *ret_started,
                           const char **ret_start_failure, int *ret_given_up, bool *ret_saturated)
{
    const struct target *t = c->targets[i];

    *ret_started = t->ever_up;
    *ret_start_failure = t->ever_up ? NULL : target_start_failure(t);
    *ret_given_up = target_given_up(t);
    *ret_saturated = target_saturated(t);
}

void campaign_seeds_answer(struct campaign *c, const char *target, const json_t *answer)
{
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if (strcmp(c->plan->targets[i].name, target) == 0)
            seeds_answer(c->targets[i], answer);
}

const char *campaign_state_name(const struct campaign *c)
{
    if (campaign_fuzzing_ended(c))
        return "triage";
    if (c->freeze.causes != 0)
        return "frozen";
    for (size_t i = 0; i < c->plan->n_targets; i++)
        if (target_active(c->targets[i]))
            return "running";
    return seeds_run(c) ? "seeds" : "waiting";
}

struct campaign *campaign_of(const struct instance *in)
{
    const struct target *t = in->owner;

    return t->owner;
}

void campaign_count_artifact(struct campaign *c, struct instance *in,
                             const struct artifact_seen *seen)
{
    struct target *t = in->owner;

    (void)c;
    if (!seen->new_content)
        return;
    if (seen->kind == ARTIFACT_HANG)
        t->hangs++;
    else
        t->crashes++;
}
