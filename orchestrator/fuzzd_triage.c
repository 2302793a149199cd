/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an artifact in the store to the verdict of its run.
 *
 * Each new content becomes one job; its answer becomes one row before anybody is told. An answer that cannot be stored is
 * kept until it can be, and a job that found no space is run again; the run does not end before. A job that fails otherwise
 * leaves its input without a result, which blocks the verdict "clean" and is tried again by the next daemon.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/sort.h"
#include "fuzzd.h"
#include "store/artifact.h"
#include "store/results.h"
#include "triage/job.h"

#define TRIAGE_RUNS        3
#define TRIAGE_WAIT_MS     30000 /* of a run that was stopped */
#define TRIAGE_WAIT_END_MS 5000  /* when fuzzd itself was told to end */
#define STUCK_END_MS       5000  /* of a verdict that cannot be stored, when the daemon is to end */

struct input {
    TAILQ_ENTRY(input) link;
    struct run *run;
    const struct plan_target *target; /* of the campaign's plan */
    char sha256[65], name[256];
    bool hang;
    json_t *answer; /* not stored yet */
    bool again;     /* the job is to be run again */
    char *why;      /* it is late; NULL: nothing is wrong */
};

static void input_free(struct input *in)
{
    TAILQ_REMOVE(&in->run->inputs, in, link);
    json_decref(in->answer);
    free(in->why);
    free(in);
}

/* What ends a campaign with stop_on = first: something that reproduced. */
static bool is_finding(const struct result_row *r)
{
    return r->reproduced > 0 && r->bucket != NULL && strcmp(r->class_, "unreproduced") != 0;
}

static void fill_facts(const struct campaign *c, size_t i, struct finish_facts *ret)
{
    campaign_target_facts(c, i, &ret->started, &ret->start_failure, &ret->instances_given_up,
                          &ret->saturated);
    ret->skipped = campaign_skipped(c, i);
    ret->sweep = campaign_sweep_json(c, i);
}

static bool in_triage(const struct run *run, const struct plan_target *t)
{
    const struct input *in;

    TAILQ_FOREACH (in, &run->inputs, link)
        if (in->target == t)
            return true;
    return false;
}

static void on_judged(void *ctx, size_t i, enum verdict verdict, const char *words)
{
    struct run *run = ctx;

    gate_free(run->gates[i]);
    run->gates[i] = NULL;
    campaign_judged(run->campaign, i, verdict == VERDICT_CLEAN, words);
}

void run_judge_waited(struct run *run)
{
    struct daemon *d = run->d;
    const struct plan *plan = campaign_plan(run->campaign);

    for (size_t i = 0; i < plan->n_targets; i++) {
        struct finish_facts facts = {0};
        struct err err = {0};

        if (run->gates[i] != NULL || !campaign_wants_judging(run->campaign, i) ||
            in_triage(run, &plan->targets[i]) || !run_target_swept(run, i))
            continue;
        fill_facts(run->campaign, i, &facts);
        if (gate_start(d->loop, d->db, d->queue, plan, i, &facts, on_judged, run, &run->gates[i],
                       &err) < 0)
            campaign_judged(run->campaign, i, false, err.msg);
        json_decref(facts.sweep);
    }
}

/* A full disk, told by a job: there is nothing wrong with its input. */
static bool found_no_space(const json_t *answer)
{
    const char *text = json_string_value(json_object_get(answer, "error"));

    return text != NULL &&
           (strstr(text, strerror(ENOSPC)) != NULL || strstr(text, strerror(EDQUOT)) != NULL);
}

/* Whether the same row may go in another time: it did not for what the host is short of. */
static bool may_fit_later(int r)
{
    return r == -ENOSPC || r == -EIO || r == -ENOMEM || r == -EROFS || r == -EBUSY;
}

/* Stores an answer. False: not now, in is kept for later, for the reason in err. */
static bool store_answer(struct input *in, const json_t *answer, struct err *err)
{
    struct run *run = in->run;
    const struct plan *plan = campaign_plan(run->campaign);
    struct result_row row = {0};
    bool finding = false;
    int r = job_result_parse(answer, plan->run_id, in->target->name, in->sha256, &row, err);

    if (r < 0 && found_no_space(answer)) {
        in->again = true;
        return false;
    }
    if (r == 0)
        r = results_put(run->d->db, &row, err);
    if (r == -ENOSPC)
        campaign_no_space(run->campaign);
    if (may_fit_later(r)) {
        result_row_clear(&row);
        if (in->answer == NULL)
            in->answer = json_deep_copy(answer);
        return false;
    }
    if (r < 0) {
        if (log_limit_pass(&run->judged, clock_now_ms()))
            log_warn("%s/%s: input %.12s has no result: %s", plan->campaign, in->target->name,
                     in->sha256, err->msg);
    } else {
        finding = is_finding(&row);
        if (log_limit_pass(&run->judged, clock_now_ms()))
            log_info("%s/%s: input %.12s: %s, %d of %d", plan->campaign, in->target->name,
                     in->sha256, row.class_, row.reproduced, row.runs);
    }
    result_row_clear(&row);
    input_free(in);
    if (finding)
        campaign_finding(run->campaign);
    run_judge_waited(run);
    return true;
}

/* For as long as an input is late. False when the finish waits for none any more. */
static bool hold_finish(struct run *run)
{
    const struct input *in;

    TAILQ_FOREACH (in, &run->inputs, link)
        if (in->why != NULL)
            break;
    return finish_hold(run->finish, in != NULL ? in->why : campaign_sweep_trouble(run->campaign));
}

static void on_result(void *ctx, const json_t *answer)
{
    struct input *in = ctx;
    struct run *run = in->run;
    struct err err = {0};

    if (!store_answer(in, answer, &err)) {
        if (in->why == NULL && log_limit_pass(&run->judged, clock_now_ms()))
            log_warn("%s/%s: input %.12s: %s, trying again", campaign_plan(run->campaign)->campaign,
                     in->target->name, in->sha256, err.msg);
        str_set(&in->why, err.msg);
    }
    (void)hold_finish(run);
    run_sweep_look(run);
    finish_poke(run->finish);
}

static void run_input(struct input *in)
{
    struct daemon *d = in->run->d;
    cleanup_free char *blob = artifact_blob_path(d->state_dir, in->sha256);
    json_t *job = job_input_make(campaign_plan(in->run->campaign), in->target, blob, in->sha256,
                                 in->hang ? "hang" : "crash", in->name, TRIAGE_RUNS,
                                 campaign_oom_kills(in->run->campaign, in->target->name));

    in->again = false;
    queue_set_free_core(d->queue, farm_has_free_core(d->farm));
    queue_push(d->queue, job_for_user(job, campaign_plan(in->run->campaign)), in->run, in->hang,
               on_result, in);
}

static void push_input(struct run *run, const struct plan_target *t, const char *sha256, bool hang,
                       const char *name)
{
    struct input *in = xcalloc(1, sizeof(*in));

    in->run = run;
    in->target = t;
    in->hang = hang;
    memcpy(in->sha256, sha256, sizeof(in->sha256) - 1);
    (void)strlcpy(in->name, name, sizeof(in->name));
    TAILQ_INSERT_TAIL(&run->inputs, in, link);
    run_input(in);
}

/* What could not be stored or run is tried again. */
static void try_again(struct run *run)
{
    struct input *in, *next;
    struct err err = {0};

    if (!hold_finish(run))
        return;
    TAILQ_FOREACH_SAFE (in, &run->inputs, link, next) {
        if (in->again)
            run_input(in);
        else if (in->answer != NULL && !store_answer(in, in->answer, &err))
            break; /* the others will fare no better */
    }
    (void)hold_finish(run);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "TARGET/SHA256" of each input that is with the queue, sorted. */
static void list_queued(const struct run *run, struct strv *ret)
{
    const struct input *in;

    TAILQ_FOREACH (in, &run->inputs, link)
        strv_addf(ret, "%s/%s", in->target->name, in->sha256);
    if (ret->n > 1)
        array_sort(ret->v, ret->n, sizeof(ret->v[0]), by_text);
}

static bool is_queued(const struct strv *queued, const char *target, const char *sha256)
{
    cleanup_free char *key = xasprintf("%s/%s", target, sha256);

    return queued->n > 0 &&
           bsearch(&key, queued->v, queued->n, sizeof(queued->v[0]), by_text) != NULL;
}

void run_push_untriaged(struct run *run)
{
    const struct plan *plan = campaign_plan(run->campaign);
    struct strv queued = {0};
    struct artifact_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (artifact_untriaged(run->d->db, plan->run_id, &rows, &n, &err) < 0) {
        log_warn("%s: cannot list inputs without a result: %s", plan->campaign, err.msg);
        return;
    }
    list_queued(run, &queued); /* no content of a target is listed twice */
    for (size_t i = 0; i < n; i++) {
        const struct plan_target *t = plan_target_find(plan, rows[i].target);
        const char *slash = rows[i].file != NULL ? strrchr(rows[i].file, '/') : NULL;

        if (t != NULL && !is_queued(&queued, t->name, rows[i].sha256))
            push_input(run, t, rows[i].sha256, strcmp(rows[i].kind, "hang") == 0,
                       slash != NULL ? slash + 1 : "");
    }
    strv_clear(&queued);
    artifact_rows_free(rows, n);
}

static struct run *run_of(struct daemon *d, const struct campaign *c)
{
    struct run *run;

    TAILQ_FOREACH (run, &d->runs, link)
        if (run->campaign == c)
            return run;
    return NULL;
}

static void on_artifact(void *ctx, struct campaign *c, const struct plan_target *t,
                        const struct artifact_seen *seen)
{
    struct run *run = run_of(ctx, c);

    if (run == NULL || log_limit_pass(&run->found, clock_now_ms()))
        log_info("%s/%s: %s %s", campaign_plan(c)->campaign, t->name,
                 seen->kind == ARTIFACT_HANG ? "hang" : "crash", seen->name);
    if (run != NULL && seen->new_content)
        push_input(run, t, seen->sha256, seen->kind == ARTIFACT_HANG, seen->name);
}

static void on_seeds(void *ctx, struct campaign *c, const struct plan_target *t, const char *dir)
{
    struct run *run = run_of(ctx, c);

    if (run != NULL)
        run_push_seeds(run, t, dir);
}

static void on_started(void *ctx, struct campaign *c)
{
    struct daemon *d = ctx;
    struct run *run = run_of(d, c);

    queue_set_free_core(d->queue, farm_has_free_core(d->farm));
    if (run != NULL)
        serve_started(run);
}

static void on_space(void *ctx, struct campaign *c)
{
    struct run *run = run_of(ctx, c);

    if (run != NULL) {
        try_again(run);
        run_push_untriaged(run);
    }
}

static void on_target_ended(void *ctx, struct campaign *c, const struct plan_target *t)
{
    struct daemon *d = ctx;
    struct run *run = run_of(d, c);

    (void)t;
    queue_set_free_core(d->queue, farm_has_free_core(d->farm));
    if (run != NULL) {
        run_sweep_look(run);
        run_judge_waited(run);
    }
}

static void on_swept(void *ctx, struct campaign *c, const struct plan_target *t)
{
    struct run *run = run_of(ctx, c);

    if (run == NULL)
        return;
    run_sweep_stored(run, t);
    (void)hold_finish(run);
    finish_poke(run->finish);
}

/* In a turn of its own: the finish that told it is on the stack here. */
static void on_verdict(void *ctx, enum verdict verdict)
{
    struct run *run = ctx;

    run->verdict = verdict;
    run->over = true;
    (void)sd_event_source_set_enabled(run->d->reaper, SD_EVENT_ONESHOT);
}

static void on_fuzzing_ended(void *ctx, struct campaign *c)
{
    struct daemon *d = ctx;
    struct run *run = run_of(d, c);
    const struct plan *plan = campaign_plan(c);
    struct finish_facts *facts;
    struct err err = {0};
    int r;

    if (run == NULL)
        return;
    run_drop_seeds(run);
    queue_release(d->queue, run);
    facts = xcalloc(plan->n_targets, sizeof(*facts));
    for (size_t i = 0; i < plan->n_targets; i++)
        fill_facts(c, i, &facts[i]);
    r = finish_start(d->loop, d->db, d->state_dir, d->queue, run, plan, facts,
                     campaign_interrupted(c) != NULL, campaign_interrupted(c),
                     d->terminating ? TRIAGE_WAIT_END_MS : TRIAGE_WAIT_MS, on_verdict, run,
                     &run->finish, &err);
    for (size_t i = 0; i < plan->n_targets; i++)
        json_decref(facts[i].sweep);
    free(facts);
    finish_wait(run->finish, !run_swept(run));
    (void)hold_finish(run);
    if (r < 0) {
        log_error("campaign %s: cannot draw the verdict: %s", plan->campaign, err.msg);
        on_verdict(run, VERDICT_NONE);
    }
}

const struct farm_events triage_events = {
    .artifact = on_artifact,
    .seeds = on_seeds,
    .swept = on_swept,
    .started = on_started,
    .target_ended = on_target_ended,
    .space = on_space,
    .fuzzing_ended = on_fuzzing_ended,
};

struct run *run_new(struct daemon *d, struct campaign *c)
{
    struct run *run = xcalloc(1, sizeof(*run));

    run->d = d;
    run->campaign = c;
    run->gates = xcalloc(campaign_plan(c)->n_targets, sizeof(*run->gates));
    TAILQ_INIT(&run->inputs);
    TAILQ_INIT(&run->asked);
    TAILQ_INSERT_TAIL(&d->runs, run, link);
    run_sweep_start(run);
    return run;
}

void run_free(struct run *run)
{
    if (run == NULL)
        return;
    TAILQ_REMOVE(&run->d->runs, run, link);
    finish_free(run->finish);
    for (size_t i = 0; i < campaign_plan(run->campaign)->n_targets; i++)
        gate_free(run->gates[i]);
    free(run->gates);
    run_drop_seeds(run);
    queue_drop(run->d->queue, run);
    run_sweep_stop(run);
    while (!TAILQ_EMPTY(&run->inputs))
        input_free(TAILQ_FIRST(&run->inputs));
    campaign_close(run->campaign);
    free(run);
}

void run_stop(struct run *run, const char *why)
{
    campaign_stop(run->campaign, why);
    finish_stop(run->finish, why, run->d->terminating ? TRIAGE_WAIT_END_MS : TRIAGE_WAIT_MS);
}

/* What was not logged one by one. */
static void log_held(struct run *run)
{
    int64_t found = log_limit_held(&run->found), judged = log_limit_held(&run->judged);

    if (found > 0 || judged > 0)
        log_info("campaign %s: %lld more input%s found, %lld more judged",
                 campaign_plan(run->campaign)->campaign, (long long)found, text_plural(found),
                 (long long)judged);
}

void daemon_reap(struct daemon *d)
{
    struct run *run, *next;

    TAILQ_FOREACH_SAFE (run, &d->runs, link, next) {
        if (!run->over)
            continue;
        log_held(run);
        log_info("campaign %s: %s", campaign_plan(run->campaign)->campaign,
                 verdict_name(run->verdict) != NULL ? verdict_name(run->verdict) : "no verdict");
        serve_started(run);
        serve_over(run);
        run_free(run);
    }
    queue_set_free_core(d->queue, farm_has_free_core(d->farm));
}

void daemon_look_at_ends(struct daemon *d)
{
    struct run *run;

    TAILQ_FOREACH (run, &d->runs, link) {
        int64_t for_ms = 0;
        const char *why;

        log_held(run);
        try_again(run);
        why = finish_trouble(run->finish, &for_ms);

        if (why == NULL)
            why = campaign_trouble(run->campaign, &for_ms);
        if (why != NULL && !run->stuck)
            log_warn("campaign %s: cannot be finished: %s, trying again",
                     campaign_plan(run->campaign)->campaign, why);
        run->stuck = why != NULL;
        if (why == NULL || run->over)
            continue;
        if (for_ms >= (d->terminating ? STUCK_END_MS : TRIAGE_WAIT_MS))
            serve_stuck(run, why);
        if (for_ms >= STUCK_END_MS && d->terminating)
            on_verdict(run, VERDICT_NONE); /* the next fuzzd finishes it */
    }
}
