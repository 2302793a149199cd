/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the queues of which target are swept: while it fuzzes, whenever there is something new and no other job that could
 * run is waiting, so that an artifact never waits for more than one job of bounded size; once it has ended, until nothing is
 * left, before its verdict. Everything goes through the queue of triage, with its low weight.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "fuzzd.h"
#include "triage/job.h"
#include "triage/job_sweep.h"

#define LOOK_MS      1000
#define BETWEEN_MS   3000  /* of one target, while it fuzzes */
#define TROUBLE_MS   60000 /* the same, when it could not be run */
#define NO_SPACE_MS  3000
#define LAST_TRIES   3 /* of a target that has ended; a full disk has no bound */
#define LAST_WAIT_MS 1000

enum phase { SWEEP_BEGINS, SWEEP_RUNS, SWEEP_OVER };

struct sweeping {
    struct run *run;
    size_t i; /* number of the target */
    enum phase phase;
    bool in_flight, last; /* a job, and whether it began when the target had ended */
    int64_t entries;      /* in its queues by AFL++'s figures, at the last job */
    int64_t next_ms;
    int tries;
};

struct sweeper {
    sd_event_source *tick;
    size_t n;
    struct sweeping of[]; /* the plan's targets */
};

/* Shows what the target came to, and lets go of the verdict when nothing is to come any more. */
static void tell_finish(struct sweeping *s)
{
    struct run *run = s->run;
    json_t *j = campaign_sweep_json(run->campaign, s->i);

    finish_swept(run->finish, s->i, j);
    json_decref(j);
    finish_wait(run->finish, !run_swept(run));
}

static void over(struct sweeping *s)
{
    s->phase = SWEEP_OVER;
    tell_finish(s);
    run_judge_waited(s->run);
}

static void on_answer(void *ctx, const json_t *answer)
{
    struct sweeping *s = ctx;
    bool no_space = json_is_true(json_object_get(answer, "no_space"));
    bool bad = !json_is_true(json_object_get(answer, "ok")) ||
               json_is_string(json_object_get(answer, "why"));

    s->in_flight = false;
    s->tries = bad && !no_space ? s->tries + 1 : 0;
    s->next_ms = clock_now_ms() + (no_space  ? NO_SPACE_MS
                                   : s->last ? (bad ? LAST_WAIT_MS : 0)
                                   : bad     ? TROUBLE_MS
                                             : BETWEEN_MS);
    campaign_sweep_answer(s->run->campaign, s->i, answer, s->last);
}

static void push(struct sweeping *s, bool last)
{
    struct run *run = s->run;
    struct daemon *d = run->d;
    const struct plan *plan = campaign_plan(run->campaign);

    s->in_flight = true;
    s->last = last;
    s->entries = campaign_sweep_entries(run->campaign, s->i);
    queue_push(d->queue,
               job_for_user(job_sweep_make(plan, &plan->targets[s->i], d->state_dir, last), plan),
               run, false, on_answer, s);
}

static void look(struct sweeping *s)
{
    struct run *run = s->run;
    const struct campaign *c = run->campaign;
    bool ended = campaign_target_ended(c, s->i);

    if (s->phase == SWEEP_OVER || s->in_flight || campaign_sweep_storing(c, s->i))
        return;
    /* What a failure while it fuzzed puts off must not put off the verdict. */
    if (clock_now_ms() < s->next_ms && (!ended || s->last))
        return;
    if (ended && (!campaign_target_started(c, s->i) || campaign_sweep_complete(c, s->i))) {
        over(s);
    } else if (ended && s->last && s->tries >= LAST_TRIES) {
        over(s); /* told as it is */
    } else if (ended && !queue_busy(run->d->queue, run)) {
        push(s, true);
    } else if (!ended && campaign_sweep_may_run(c, s->i) && !queue_busy(run->d->queue, NULL) &&
               (campaign_sweep_left(c, s->i) > 0 ||
                campaign_sweep_entries(c, s->i) != s->entries)) {
        push(s, false);
    }
}

static void look_all(struct run *run)
{
    for (size_t i = 0; i < run->sweeper->n; i++)
        look(&run->sweeper->of[i]);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct run *run = userdata;

    (void)usec;
    look_all(run);
    (void)sd_event_source_set_time_relative(source, LOOK_MS * 1000ULL);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

void run_sweep_start(struct run *run)
{
    const struct plan *plan = campaign_plan(run->campaign);
    struct sweeper *sw = xcalloc(1, sizeof(*sw) + plan->n_targets * sizeof(sw->of[0]));
    int r;

    sw->n = plan->n_targets;
    run->sweeper = sw;
    for (size_t i = 0; i < sw->n; i++) {
        sw->of[i] = (struct sweeping){.run = run, .i = i};
        if (!job_sweep_applies(&plan->targets[i]))
            sw->of[i].phase = SWEEP_OVER;
        else
            campaign_sweep_collect(run->campaign, i);
    }
    r = sd_event_add_time_relative(run->d->loop, &sw->tick, CLOCK_MONOTONIC, LOOK_MS * 1000ULL,
                                   100000, on_tick, run);
    if (r < 0)
        log_error("campaign %s: no sanitizer sweep: %s", plan->campaign, strerror(-r));
}

void run_sweep_stop(struct run *run)
{
    if (run->sweeper != NULL)
        sd_event_source_disable_unref(run->sweeper->tick);
    free(run->sweeper);
    run->sweeper = NULL;
}

/* What failed is in the store: on with what is left, in the time of a stop too. */
void run_sweep_stored(struct run *run, const struct plan_target *t)
{
    if (run->sweeper == NULL)
        return;
    for (size_t i = 0; i < run->sweeper->n; i++) {
        struct sweeping *s = &run->sweeper->of[i];

        if (t != &campaign_plan(run->campaign)->targets[i] || s->phase == SWEEP_OVER)
            continue;
        s->phase = SWEEP_RUNS;
        tell_finish(s);
        look(s);
    }
}

void run_sweep_look(struct run *run)
{
    if (run->sweeper != NULL)
        look_all(run);
}

bool run_target_swept(const struct run *run, size_t i)
{
    return run->sweeper == NULL || run->sweeper->of[i].phase == SWEEP_OVER;
}

bool run_swept(const struct run *run)
{
    for (size_t i = 0; run->sweeper != NULL && i < run->sweeper->n; i++)
        if (run->sweeper->of[i].phase != SWEEP_OVER)
            return false;
    return true;
}
