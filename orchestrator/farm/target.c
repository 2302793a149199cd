/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target from its first core to its last artifact.
 *
 * It ends only once every instance has ended, and an instance ends only once its files were gathered: what
 * the end of a target tells is complete.
 */
#include "farm/target.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/cores.h"

#define START_SLICE_MS 50
#define SLOW_TICKS     5 /* between two looks at what changes rarely */

static void maybe_ended(struct target *t)
{
    int64_t now_ms = clock_now_ms();
    size_t given_up = 0;

    if (!target_active(t) || (t->state == TARGET_RUNNING && t->to_start > 0))
        return;
    for (size_t i = 0; i < t->spec->n_instances; i++) {
        if (instance_active(t->instances[i]))
            return;
        if (t->instances[i]->state == INSTANCE_FAILED)
            given_up++;
    }
    t->half_quiet_at_end = budget_half_quiet(&t->budget, now_ms);
    budget_stop(&t->budget, now_ms);
    t->ended_at_ms = clock_wall_ms();
    if (t->end_reason == NULL) {
        t->end_reason = "failed";
        t->state = TARGET_FAILED;
    } else {
        t->state = TARGET_ENDED;
    }
    log_info("%s/%s: ended (%s), %zu of %zu instances given up", t->plan->campaign, t->spec->name,
             t->end_reason, given_up, t->spec->n_instances);
    t->ops->ended(t);
}

static void on_up(struct instance *in)
{
    struct target *t = in->owner;

    if (!t->held)
        budget_run(&t->budget, clock_now_ms());
    if (t->up)
        return;
    t->up = t->ever_up = true;
    t->ops->up(t);
}

static void on_failed(struct instance *in)
{
    /* Peers go on syncing from a dead main unless the mark is gone: they elect another then. */
    cleanup_free char *main_node = path_join(in->out_dir, "is_main_node");

    (void)path_unlink_below(in->farm->state_dir, main_node);
    maybe_ended(in->owner);
}

static void on_ended(struct instance *in)
{
    maybe_ended(in->owner);
}

static const struct instance_ops instance_callbacks = {
    .up = on_up, .failed = on_failed, .ended = on_ended};

struct target *target_new(struct farm *farm, const struct plan *plan,
                          const struct plan_target *spec, const struct target_ops *ops, void *owner)
{
    struct target *t = xcalloc(1, sizeof(*t));

    t->farm = farm;
    t->plan = plan;
    t->spec = spec;
    t->ops = ops;
    t->owner = owner;
    t->lock_fd = -1;
    budget_init(&t->budget, plan->budget_ms, plan->execs, plan->plateau_ms);
    t->instances = xcalloc(spec->n_instances + 1, sizeof(*t->instances));
    for (size_t i = 0; i < spec->n_instances; i++)
        t->instances[i] =
            instance_new(farm, plan, spec, &spec->instances[i], &instance_callbacks, t);
    return t;
}

void target_free(struct target *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; t->instances != NULL && i < t->spec->n_instances; i++)
        instance_free(t->instances[i]);
    free(t->instances);
    t->starter = sd_event_source_disable_unref(t->starter);
    seeds_clear(t);
    sweep_clear(t);
    if (t->lock_fd >= 0)
        (void)close(t->lock_fd);
    free(t);
}

/* One takes a while: folders, a cgroup, a process. Many are started in several turns, so that fuzzd answers between them. */
static void start_some(struct target *t)
{
    int64_t from_ms = clock_now_ms();

    while (t->to_start > 0 && clock_now_ms() - from_ms < START_SLICE_MS) {
        struct instance *in = t->instances[t->spec->n_instances - t->to_start--];

        if (in->state == INSTANCE_PLANNED)
            instance_event(in, INSTANCE_EV_START);
    }
    if (t->to_start == 0 && target_given_up(t) > 0)
        maybe_ended(t);
}

static int on_starter(sd_event_source *s, void *userdata)
{
    struct target *t = userdata;

    if (t->state != TARGET_RUNNING)
        t->to_start = 0;
    else if (!t->held)
        start_some(t);
    if (t->to_start > 0 && !t->held)
        (void)sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
    return 0;
}

void target_start_instances(struct target *t)
{
    int r = 0;

    t->to_start = t->spec->n_instances;
    start_some(t);
    if (t->to_start == 0)
        return;
    if (t->starter == NULL)
        r = sd_event_add_defer(t->farm->loop, &t->starter, on_starter, t);
    if (r >= 0)
        r = sd_event_source_set_priority(t->starter, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_source_set_enabled(t->starter, SD_EVENT_ONESHOT);
    while (r < 0 && t->to_start > 0)
        start_some(t);
}

int target_start(struct target *t)
{
    int r = cores_take(t);

    if (r < 0)
        return r;
    t->state = TARGET_RUNNING;
    if (t->started_at_ms == 0) /* a run that is gone on with began before */
        t->started_at_ms = clock_wall_ms();
    t->ops->starting(t);
    target_start_instances(t);
    return 0;
}

void target_end(struct target *t, const char *reason)
{
    if (t->state != TARGET_PLANNED && t->state != TARGET_RUNNING)
        return;
    t->end_reason = reason;
    if (t->state == TARGET_PLANNED) {
        t->state = TARGET_ENDED;
        t->ended_at_ms = clock_wall_ms();
        t->ops->ended(t);
        return;
    }
    t->state = TARGET_ENDING;
    for (size_t i = 0; i < t->spec->n_instances; i++)
        instance_event(t->instances[i], INSTANCE_EV_STOP);
    maybe_ended(t);
}

void target_fail(struct target *t, const char *words)
{
    if (t->state != TARGET_PLANNED)
        return;
    (void)strlcpy(t->failure, words, sizeof(t->failure));
    log_warn("%s/%s: does not start: %s", t->plan->campaign, t->spec->name, t->failure);
    t->end_reason = "failed";
    t->state = TARGET_FAILED;
    t->ended_at_ms = clock_wall_ms();
    t->ops->ended(t);
}

void target_hold(struct target *t, bool hold)
{
    int64_t now_ms = clock_now_ms();

    if (t->state != TARGET_PLANNED && t->state != TARGET_RUNNING)
        return;
    t->held = hold;
    if (hold)
        budget_stop(&t->budget, now_ms);
    else if (t->budget.started)
        budget_run(&t->budget, now_ms);
    for (size_t i = 0; i < t->spec->n_instances; i++)
        instance_hold(t->instances[i], hold);
    if (!hold && t->to_start > 0)
        (void)sd_event_source_set_enabled(t->starter, SD_EVENT_ONESHOT);
}

static void note_edges(struct target *t, int64_t now_ms)
{
    int64_t sum = 0;

    for (size_t i = 0; i < t->spec->n_instances; i++)
        sum += t->instances[i]->edges_max;
    if (sum <= t->edges_seen)
        return;
    t->edges_seen = sum;
    t->last_edge_at_ms = clock_wall_ms();
    budget_new_edge(&t->budget, now_ms);
}

void target_tick(struct target *t, int64_t now_ms)
{
    const char *over;

    if (t->state != TARGET_RUNNING)
        return;
    for (size_t i = 0; i < t->spec->n_instances; i++) {
        struct instance *in = t->instances[i];
        /* What changes rarely is looked at in turn, not of all at once. */
        bool slow = (t->ticks + i) % SLOW_TICKS == 0;

        /* One that starts has a clock of its own. */
        if (in->state == INSTANCE_FUZZING && !in->draining) {
            instance_tick(in, now_ms);
            if (slow || !instance_watches(in))
                instance_watch_files(in);
        }
        if (slow)
            instance_look_oom(in);
    }
    t->ticks++;
    note_edges(t, now_ms);
    over = budget_over(&t->budget, now_ms, target_execs(t));
    if (over != NULL)
        target_end(t, over);
}

bool target_active(const struct target *t)
{
    return t->state == TARGET_RUNNING || t->state == TARGET_ENDING;
}

int target_cores(const struct target *t)
{
    int n = 0;

    for (size_t i = 0; i < t->spec->n_instances; i++)
        n += t->instances[i]->cpu_fd >= 0 || instance_active(t->instances[i]);
    return n;
}

int target_given_up(const struct target *t)
{
    int n = 0;

    for (size_t i = 0; i < t->spec->n_instances; i++)
        n += t->instances[i]->state == INSTANCE_FAILED;
    return n;
}

bool target_saturated(const struct target *t)
{
    bool pending = false;

    for (size_t i = 0; i < t->spec->n_instances; i++)
        pending |= t->instances[i]->stats.pending_favs > 0;
    return t->ever_up && !pending && t->half_quiet_at_end;
}

const char *target_start_failure(const struct target *t)
{
    if (t->up)
        return NULL;
    if (t->failure[0] != '\0')
        return t->failure;
    for (size_t i = 0; i < t->spec->n_instances; i++)
        if (t->instances[i]->reason[0] != '\0')
            return t->instances[i]->reason;
    return NULL;
}

int64_t target_execs(const struct target *t)
{
    int64_t sum = 0;

    for (size_t i = 0; i < t->spec->n_instances; i++)
        sum += t->instances[i]->execs_total;
    return sum;
}

double target_execs_per_sec(const struct target *t)
{
    const int64_t fuzz_ms = budget_fuzz_ms(&t->budget, clock_now_ms());
    double sum = 0;

    if (t->state >= TARGET_ENDING)
        return fuzz_ms > 0 ? (double)target_execs(t) * 1000.0 / (double)fuzz_ms : 0;
    for (size_t i = 0; i < t->spec->n_instances; i++)
        if (t->instances[i]->state == INSTANCE_FUZZING)
            sum += t->instances[i]->stats.execs_per_sec;
    return sum;
}

/* Builds differ in what an edge is: the plain harness counts, and another only where none ran. */
static bool plain_build(const struct instance *in)
{
    return in->spec->role != PLAN_SAN && in->spec->role != PLAN_LAF &&
           in->spec->role != PLAN_CMPLOG;
}

int64_t target_edges(const struct target *t)
{
    int64_t plain = 0, any = 0;

    for (size_t i = 0; i < t->spec->n_instances; i++) {
        const struct instance *in = t->instances[i];

        if (in->edges_max > any)
            any = in->edges_max;
        if (plain_build(in) && in->edges_max > plain)
            plain = in->edges_max;
    }
    return plain > 0 ? plain : any;
}

void target_on_artifact(void *ctx, const struct artifact_source *src,
                        const struct artifact_seen *seen)
{
    struct target *t = ctx;
    struct farm *farm = t->farm;

    (void)src;
    if (seen->unsaved)
        return;
    if (seen->new_content && seen->kind == ARTIFACT_HANG)
        t->hangs++;
    else if (seen->new_content)
        t->crashes++;
    if (farm->ev->artifact != NULL)
        farm->ev->artifact(farm->ctx, t->owner, t->spec, seen);
}

const char *target_state_name(const struct target *t)
{
    switch (t->state) {
    case TARGET_PLANNED:
        return "planned";
    case TARGET_RUNNING:
    case TARGET_ENDING:
        return "running";
    case TARGET_ENDED:
        return "ended";
    case TARGET_FAILED:
        return "failed";
    }
    return "?";
}
