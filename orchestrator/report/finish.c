/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last steps of a run, one after the other: triage to the end, measure, judge,
 * bundle, close. Each begins only when the one before has answered, and every step
 * is taken from an event source of its own, so that no call from outside and no
 * answer of the queue can free anything under its own feet.
 */
#include "report/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "report/endjobs.h"
#include "report/judge.h"
#include "report/measure.h"
#include "report/model.h"
#include "store/results.h"
#include "triage/job.h"

#define RETRY_MS 5000

enum step { STEP_TRIAGE, STEP_CORPUS, STEP_MEASURE, STEP_BUNDLE, STEP_FILES };
#define ASK_BUNDLE MEASURE_COUNT    /* beside the measurements */
#define ASK_END    (ASK_BUNDLE + 1) /* and what the table of endjobs has */

/* A job that was pushed; kept until the end, as its answer may come at any time. */
struct ask {
    struct finish *f;
    int what; /* enum measure, ASK_BUNDLE, or from ASK_END on */
    struct judge_target *target;
    char *bucket;
    bool answered;
    struct ask *next;
};

struct finish {
    struct db *db;
    char *state_dir;
    struct queue *q;
    const void *owner;
    const struct plan *plan;
    struct judge_target *targets; /* in the plan's order */
    bool interrupted;
    char *interrupted_why;
    finish_fn *done;
    void *ctx;

    enum step step;
    size_t endjob;                    /* of STEP_CORPUS: the kind that is under way */
    sd_event_source *stepper, *timer; /* one shot each */
    int64_t patience_ms;              /* of an interrupted run, for each step; -1 without bound */
    bool time_is_up;
    struct ask *asks;
    size_t n_open;
    bool waits;    /* something may yet bring artifacts */
    char *held;    /* why triage is not over although the queue is empty */
    char *trouble; /* why the rows cannot be written */
    int64_t trouble_since_ms;
    enum verdict verdict;
    struct strv reasons;
};

static void wake(struct finish *f)
{
    (void)sd_event_source_set_enabled(f->stepper, SD_EVENT_ONESHOT);
}

static void arm(struct finish *f, int64_t ms)
{
    (void)sd_event_source_set_time_relative(f->timer, (uint64_t)ms * 1000);
    (void)sd_event_source_set_enabled(f->timer, SD_EVENT_ONESHOT);
}

/* ---- Jobs ---- */

static void take_answer(struct ask *a, const json_t *answer)
{
    struct finish *f = a->f;

    if (a->what >= ASK_END) {
        if (a->target->end == NULL)
            a->target->end = json_object();
        (void)json_object_set_new(a->target->end, endjobs[a->what - ASK_END].key,
                                  endjob_result(answer));
    } else if (a->what != ASK_BUNDLE) {
        measure_take((enum measure)a->what, a->target, answer);
    } else if (!json_is_true(json_object_get(answer, "ok"))) {
        cleanup_free char *why = measure_error(answer);

        strv_addf(&f->reasons, "bundle of %s could not be made: %s", a->bucket, why);
    }
    a->answered = true;
    f->n_open--;
}

static void on_answer(void *ctx, const json_t *answer)
{
    struct ask *a = ctx;

    take_answer(a, answer);
    wake(a->f);
}

/* The user waits for the stop: what has not answered by now is an error of that job. */
static void give_up(struct finish *f)
{
    json_t *late = job_answer_error("not done in time");

    queue_drop(f->q, f);
    for (struct ask *a = f->asks; a != NULL; a = a->next) {
        if (!a->answered)
            take_answer(a, late);
    }
    json_decref(late);
}

static void ask(struct finish *f, int what, struct judge_target *target, const char *bucket,
                json_t *job)
{
    struct ask *a = xcalloc(1, sizeof(*a));

    a->f = f;
    a->what = what;
    a->target = target;
    str_set(&a->bucket, bucket);
    a->next = f->asks;
    f->asks = a;
    f->n_open++;
    /* A bundle runs nothing, and its folder is ours. */
    if (what != ASK_BUNDLE)
        job = job_for_user(job, f->plan);
    queue_push(f->q, job, f, false, on_answer, a);
}

/* A target that never ran has no corpus to measure, and an interrupted run is not worth the time. */
static void ask_measures(struct finish *f)
{
    for (size_t i = 0; i < f->plan->n_targets; i++) {
        const struct plan_target *pt = &f->plan->targets[i];
        struct judge_target *t = &f->targets[i];

        t->measured = !f->interrupted && t->started;
        for (int k = 0; k < MEASURE_COUNT; k++) {
            enum measure what = (enum measure)k;

            if (what == MEASURE_SEEDS || (t->measured && measure_applies(what, pt)))
                ask(f, k, t, NULL, measure_job(what, f->plan, pt));
        }
    }
}

/* The targets share the time of a run that was stopped; half of it is for coming up and for what is written. */
static void ask_endjobs(struct finish *f)
{
    const struct endjob *e = &endjobs[f->endjob];
    int64_t budget_ms = f->patience_ms >= 0 ? f->patience_ms / 2 / (int64_t)(f->plan->n_targets + 1)
                                            : ENDJOB_BUDGET_MS;

    for (size_t i = 0; i < f->plan->n_targets; i++) {
        const struct plan_target *pt = &f->plan->targets[i];

        if (f->targets[i].started && e->applies(f->plan, pt))
            ask(f, ASK_END + (int)f->endjob, &f->targets[i], NULL,
                e->make(f->plan, pt, f->state_dir, budget_ms));
    }
}

static int ask_bundles(struct finish *f, struct err *err)
{
    struct bucket_row *rows = NULL;
    size_t n = 0;
    int r = results_buckets(f->db, f->plan->run_id, &rows, &n, err);

    for (size_t i = 0; i < n; i++)
        ask(f, ASK_BUNDLE, NULL, rows[i].id,
            job_bundle_make(f->state_dir, f->plan->run_id, rows[i].id));
    bucket_rows_free(rows, n);
    return r;
}

/* ---- Steps ---- */

static int judge(struct finish *f, struct err *err)
{
    struct judge j = {.db = f->db,
                      .plan = f->plan,
                      .targets = f->targets,
                      .interrupted = f->interrupted,
                      .interrupted_why = f->interrupted_why};
    int r = judge_run(&j, &f->verdict, &f->reasons, err);

    return r < 0 ? r : ask_bundles(f, err);
}

static int write_form(const char *dir, const char *name, const json_t *model,
                      void (*form)(const json_t *model, FILE *out))
{
    cleanup_free char *path = path_join(dir, name);
    cleanup_free char *text = NULL;
    size_t size = 0;

    if (form == NULL) {
        text = json_dumps(model, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        size = text != NULL ? strlen(text) : 0;
    } else {
        FILE *out = open_memstream(&text, &size);

        if (out == NULL)
            return -errno;
        form(model, out);
        if (fclose(out) != 0)
            return -errno;
    }
    return text != NULL ? file_write_atomic(AT_FDCWD, path, text, size, 0600) : -ENOMEM;
}

static int write_files(struct finish *f, struct err *err)
{
    cleanup_free char *dir = path_join(f->plan->run_dir, "report");
    json_t *model = NULL;
    int r = report_model(f->db, f->state_dir, f->plan->campaign, f->plan->run_id, &model, err);

    if (r < 0)
        return r;
    if ((r = path_mkdirs_below(f->state_dir, dir, 0700)) == 0 &&
        (r = write_form(dir, "report.json", model, NULL)) == 0)
        r = write_form(dir, "report.md", model, report_md);
    json_decref(model);
    return r < 0 ? err_sys(err, r, "cannot write the report into %s", dir) : 0;
}

static void begin(struct finish *f, enum step next)
{
    f->step = next;
    f->time_is_up = false;
    if (f->patience_ms >= 0)
        arm(f, f->patience_ms);
    else
        (void)sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
}

/* True when the step's jobs have answered, or have had their time. */
static bool answered(struct finish *f)
{
    if (f->n_open > 0 && f->patience_ms >= 0 && f->time_is_up)
        give_up(f);
    return f->n_open == 0;
}

/* One step forward: 1 go on at once, 0 wait, -errno try again later. */
static int step(struct finish *f, struct err *err)
{
    int r = 0;

    switch (f->step) {
    case STEP_TRIAGE:
        if ((queue_pending(f->q, f->owner) > 0 || f->held != NULL || f->waits) && !f->time_is_up)
            return 0;
        str_set(&f->held, NULL);
        queue_drop(f->q, f->owner);
        begin(f, STEP_CORPUS);
        ask_endjobs(f);
        return 1;
    case STEP_CORPUS:
        if (!answered(f))
            return 0;
        if (++f->endjob < endjobs_count) {
            ask_endjobs(f);
            return 1;
        }
        begin(f, STEP_MEASURE);
        ask_measures(f);
        return 1;
    case STEP_MEASURE:
        if (!answered(f))
            return 0;
        strv_clear(&f->reasons);
        if ((r = judge(f, err)) < 0)
            return r;
        begin(f, STEP_BUNDLE);
        return 1;
    case STEP_BUNDLE:
        if (!answered(f))
            return 0;
        if ((r = judge_close(f->db, f->plan, f->verdict, &f->reasons, err)) < 0)
            return r;
        begin(f, STEP_FILES);
        return 1;
    case STEP_FILES:
        break;
    }
    return 0;
}

/* Tells and leaves: f may be gone behind this. */
static void tell_done(struct finish *f, enum verdict v)
{
    finish_fn *done = f->done;

    f->done = NULL;
    if (done != NULL)
        done(f->ctx, v);
}

/* The verdict stands; that its files cannot be written is one more line of it. */
static void end_files(struct finish *f)
{
    struct err err = {0};

    if (write_files(f, &err) < 0) {
        strv_add(&f->reasons, err.msg);
        (void)judge_close(f->db, f->plan, f->verdict, &f->reasons, &err);
    }
    tell_done(f, f->verdict);
}

static int on_step(sd_event_source *s, void *ctx)
{
    struct finish *f = ctx;
    struct err err = {0};
    int r;

    (void)s;
    if (f->done == NULL)
        return 0;
    while ((r = step(f, &err)) > 0)
        ;
    if ((r < 0 || f->held != NULL) && f->trouble == NULL)
        f->trouble_since_ms = clock_now_ms();
    str_set(&f->trouble, r < 0 ? err.msg : f->held);
    if (r < 0)
        arm(f, RETRY_MS);
    else if (f->step == STEP_FILES)
        end_files(f);
    return 0;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
    struct finish *f = ctx;

    (void)s;
    (void)usec;
    f->time_is_up = true;
    wake(f);
    return 0;
}

static int make_sources(struct finish *f, sd_event *loop)
{
    int r = sd_event_add_defer(loop, &f->stepper, on_step, f);

    if (r >= 0)
        r = sd_event_add_time_relative(loop, &f->timer, CLOCK_MONOTONIC, 0, 100000, on_timer, f);
    if (r >= 0)
        r = sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
    return r;
}

int finish_start(sd_event *loop, struct db *db, const char *state_dir, struct queue *q,
                 const void *owner, const struct plan *plan, const struct finish_facts *facts,
                 bool interrupted, const char *interrupted_why, int64_t triage_wait_ms,
                 finish_fn *done, void *ctx, struct finish **ret, struct err *err)
{
    struct finish *f = xcalloc(1, sizeof(*f));
    int r;

    f->db = db;
    f->state_dir = xstrdup(state_dir);
    f->q = q;
    f->owner = owner;
    f->plan = plan;
    f->interrupted = interrupted;
    str_set(&f->interrupted_why, interrupted_why);
    f->done = done;
    f->ctx = ctx;
    f->targets = xcalloc(plan->n_targets > 0 ? plan->n_targets : 1, sizeof(*f->targets));
    for (size_t i = 0; i < plan->n_targets; i++) {
        struct judge_target *t = &f->targets[i];

        t->started = facts[i].started;
        str_set(&t->start_failure, facts[i].start_failure);
        str_set(&t->skipped, facts[i].skipped);
        t->instances_given_up = facts[i].instances_given_up;
        t->saturated = facts[i].saturated;
        t->sweep = json_incref(facts[i].sweep);
        t->edges_floor = -1;
    }
    if ((r = make_sources(f, loop)) < 0) {
        finish_free(f);
        return err_sys(err, r, "cannot add to the event loop");
    }
    queue_release(q, owner);
    f->patience_ms = !interrupted ? -1 : triage_wait_ms > 0 ? triage_wait_ms : 0;
    begin(f, STEP_TRIAGE);
    *ret = f;
    return 0;
}

void finish_poke(struct finish *f)
{
    if (f != NULL)
        wake(f);
}

bool finish_hold(struct finish *f, const char *why)
{
    if (f == NULL)
        return true;
    if (f->step != STEP_TRIAGE)
        return false;
    str_set(&f->held, why);
    wake(f);
    return true;
}

void finish_wait(struct finish *f, bool wait)
{
    if (f == NULL || f->step != STEP_TRIAGE)
        return;
    f->waits = wait;
    wake(f);
}

void finish_stop(struct finish *f, const char *why, int64_t wait_ms)
{
    if (f == NULL || (f->patience_ms >= 0 && f->patience_ms <= wait_ms))
        return;
    if (f->step == STEP_TRIAGE && !f->interrupted) {
        f->interrupted = true;
        str_set(&f->interrupted_why, why);
    }
    f->patience_ms = wait_ms;
    arm(f, wait_ms);
}

void finish_swept(struct finish *f, size_t target, json_t *j)
{
    if (f == NULL || f->step != STEP_TRIAGE)
        return;
    json_decref(f->targets[target].sweep);
    f->targets[target].sweep = json_incref(j);
}

const char *finish_trouble(const struct finish *f, int64_t *ret_for_ms)
{
    if (f == NULL || f->trouble == NULL)
        return NULL;
    *ret_for_ms = clock_now_ms() - f->trouble_since_ms;
    return f->trouble;
}

void finish_free(struct finish *f)
{
    if (f == NULL)
        return;
    if (f->stepper != NULL)
        queue_drop(f->q, f);
    f->stepper = sd_event_source_disable_unref(f->stepper);
    f->timer = sd_event_source_disable_unref(f->timer);
    for (struct ask *a = f->asks, *next; a != NULL; a = next) {
        next = a->next;
        free(a->bucket);
        free(a);
    }
    for (size_t i = 0; i < f->plan->n_targets; i++)
        judge_target_clear(&f->targets[i]);
    free(f->targets);
    strv_clear(&f->reasons);
    free(f->interrupted_why);
    free(f->held);
    free(f->trouble);
    free(f->state_dir);
    free(f);
}
