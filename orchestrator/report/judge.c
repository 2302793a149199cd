/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of a verdict, gathered. What could not be found out is handed to the
 * oracle as such and never as a good sign: an error of a measurement, a file without
 * a row, a target without one all count against clean.
 */
#include "report/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "farm/seeds.h"
#include "farm/sweep.h"
#include "report/fields.h"
#include "report/model_target.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/rotation.h"
#include "store/runs.h"

void judge_target_clear(struct judge_target *t)
{
    free(t->start_failure);
    free(t->skipped);
    json_decref(t->sweep);
    json_decref(t->end);
    json_decref(t->reach);
    free(t->reach_error);
    free(t->floor_error);
    free(t->seeds_sha256);
    free(t->seeds_error);
    json_decref(t->programs_changed);
    memset(t, 0, sizeof(*t));
}

/* The rows of a run and what is made of them. */
struct bench {
    struct run_row run;
    struct target_row *rows;
    struct result_row *results;
    struct artifact_row *artifacts, *lost;
    size_t n_rows, n_results, n_artifacts, n_lost;
    struct verdict_target *facts; /* one for each target of the plan */
    json_t **seeds;               /* of each, what the run before fuzzing came to */
    size_t n_facts;
};

static void bench_clear(struct bench *b)
{
    for (size_t i = 0; i < b->n_rows; i++)
        target_row_clear(&b->rows[i]);
    for (size_t i = 0; i < b->n_results; i++)
        result_row_clear(&b->results[i]);
    for (size_t i = 0; i < b->n_facts; i++) {
        strv_clear(&b->facts[i].reach_missing);
        strv_clear(&b->facts[i].programs_changed);
        json_decref(b->seeds[i]);
    }
    free(b->seeds);
    free(b->rows);
    free(b->results);
    free(b->facts);
    artifact_rows_free(b->artifacts, b->n_artifacts);
    artifact_rows_free(b->lost, b->n_lost);
    run_row_clear(&b->run);
}

static int bench_load(struct db *db, const struct plan *plan, struct bench *b, struct err *err)
{
    const char *id = plan->run_id;
    int r;

    if ((r = runs_get(db, plan->campaign, id, &b->run, err)) < 0 ||
        (r = runs_targets(db, id, &b->rows, &b->n_rows, err)) < 0 ||
        (r = results_list(db, id, &b->results, &b->n_results, err)) < 0 ||
        (r = artifact_list(db, id, &b->artifacts, &b->n_artifacts, err)) < 0 ||
        (r = artifact_lost(db, id, &b->lost, &b->n_lost, err)) < 0)
        return r;
    b->n_facts = plan->n_targets;
    b->facts = xcalloc(b->n_facts > 0 ? b->n_facts : 1, sizeof(*b->facts));
    b->seeds = xcalloc(b->n_facts > 0 ? b->n_facts : 1, sizeof(*b->seeds));
    return 0;
}

static struct target_row *row_of(struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->n_rows; i++) {
        if (strcmp(b->rows[i].name, name) == 0)
            return &b->rows[i];
    }
    return NULL;
}

static void add_reach(const struct plan_target *pt, const struct judge_target *jt,
                      struct verdict_target *v)
{
    v->reach_judged = pt->reach_required.n > 0;
    if (!v->reach_judged || !jt->measured)
        return;
    v->reach_failed = jt->reach == NULL;
    for (size_t i = 0; !v->reach_failed && i < pt->reach_required.n; i++) {
        const char *id = pt->reach_required.v[i];

        if (fields_int(jt->reach, id) <= 0)
            strv_add(&v->reach_missing, id);
    }
}

static void add_seeds(struct bench *b, size_t i, const struct target_row *row)
{
    struct verdict_target *v = &b->facts[i];
    json_t *extra = fields_parse(row != NULL ? row->extra : NULL);
    const char *why;

    b->seeds[i] = json_incref(json_object_get(extra, "seeds"));
    json_decref(extra);
    why = fields_text(b->seeds[i], "why");
    v->seeds_total = fields_int(b->seeds[i], "total");
    v->seeds_failed = fields_int(b->seeds[i], "failed");
    v->seeds_left = fields_int(b->seeds[i], "left");
    v->seeds_left_out = json_is_true(json_object_get(b->seeds[i], "left_out"));
    v->seeds_why = why[0] != '\0' ? why : NULL;
}

static void add_programs(const struct judge_target *jt, struct verdict_target *v)
{
    const json_t *role;
    size_t i;

    json_array_foreach (jt->programs_changed, i, role)
        strv_add(&v->programs_changed, json_is_string(role) ? json_string_value(role) : "program");
}

static void add_sweep(const struct plan_target *pt, const struct judge_target *jt,
                      struct verdict_target *v)
{
    const char *why = fields_text(jt->sweep, "why");

    v->sweep_due = jt->started && pt->sanitizer.path != NULL && !pt->no_sweep &&
                   !json_is_true(json_object_get(jt->sweep, "complete"));
    v->sweep_left = fields_int(jt->sweep, "left");
    v->sweep_why = why[0] != '\0' ? why : NULL;
}

static void add_target(struct bench *b, const struct judge *j, size_t i)
{
    const struct plan_target *pt = &j->plan->targets[i];
    const struct judge_target *jt = &j->targets[i];
    const struct target_row *row = row_of(b, pt->name);
    struct verdict_target *v = &b->facts[i];
    const struct target_rows rows = {.results = b->results,
                                     .artifacts = b->artifacts,
                                     .lost = b->lost,
                                     .n_results = b->n_results,
                                     .n_artifacts = b->n_artifacts,
                                     .n_lost = b->n_lost};
    struct target_counts c;

    target_count(pt->name, &rows, &c);
    *v = (struct verdict_target){
        .name = pt->name,
        .end_reason = row != NULL ? row->end_reason : NULL,
        .started = jt->started,
        .start_failure = jt->start_failure,
        .skipped = jt->skipped,
        .execs_done = row != NULL ? row->execs_done : 0,
        .edges_found = row != NULL ? row->edges_found : 0,
        .edges_floor = jt->edges_floor,
        .findings = c.crashes + c.ooms + c.timeouts + c.unreproduced_crashes,
        .findings_flaky = c.flaky,
        .unreproduced_crashes = c.unreproduced_crashes,
        .unreproduced_timeouts = c.unreproduced_timeouts,
        .corpus_failed = jt->corpus_failed,
        .pending = c.pending,
        .unsaved = c.unsaved,
        .lost = c.lost,
        .seeds_unknown = jt->seeds_sha256 == NULL || pt->seeds_sha256 == NULL,
        .instances_given_up = jt->instances_given_up,
        .saturated = jt->saturated,
    };
    v->seeds_changed = !v->seeds_unknown && strcmp(jt->seeds_sha256, pt->seeds_sha256) != 0;
    add_programs(jt, v);
    add_reach(pt, jt, v);
    add_seeds(b, i, row);
    add_sweep(pt, jt, v);
}

/* True when a crash or hang file on disk has no row, or when that cannot be told. */
static bool target_evidence_lost(const struct judge *j, size_t i)
{
    static const char *const ours[] = {SEEDS_INSTANCE, SWEEP_INSTANCE};
    const struct plan_target *pt = &j->plan->targets[i];

    for (size_t k = 0; pt->sync_dir != NULL && k < sizeof(ours) / sizeof(ours[0]); k++) {
        cleanup_free char *dir = path_join(pt->sync_dir, ours[k]);
        const struct artifact_source src = {
            .run = j->plan->run_id, .target = pt->name, .instance = ours[k], .out_dir = dir};

        if (artifact_unrecorded(j->db, &src, NULL) != 0)
            return true;
    }
    for (size_t k = 0; k < pt->n_instances; k++) {
        for (int n = rotation_last(pt->instances[k].out_dir); n > 0; n--) {
            cleanup_free char *name = rotation_of(pt->instances[k].name, n);
            cleanup_free char *dir = rotation_of(pt->instances[k].out_dir, n);
            const struct artifact_source src = {
                .run = j->plan->run_id, .target = pt->name, .instance = name, .out_dir = dir};

            if (artifact_unrecorded(j->db, &src, NULL) != 0)
                return true;
        }
    }
    return false;
}

static bool evidence_lost(const struct judge *j)
{
    for (size_t i = 0; i < j->plan->n_targets; i++)
        if (target_evidence_lost(j, i))
            return true;
    return false;
}

int judge_target(const struct judge *j, size_t i, enum verdict *ret_verdict,
                 struct strv *ret_reasons, struct err *err)
{
    struct bench b = {0};
    int r = bench_load(j->db, j->plan, &b, err);

    if (r == 0) {
        struct verdict_facts f = {
            .targets = &b.facts[i], .n_targets = 1, .evidence_lost = target_evidence_lost(j, i)};

        add_target(&b, j, i);
        *ret_verdict = verdict_of(&f, ret_reasons);
    }
    bench_clear(&b);
    return r;
}

static json_t *strings_json(const struct strv *sv)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sv->n; i++)
        (void)json_array_append_new(list, fields_string(sv->v[i]));
    return list;
}

static char *reasons_text(const struct strv *reasons)
{
    json_t *list = strings_json(reasons);
    char *text = json_dumps(list, JSON_COMPACT);

    json_decref(list);
    return text;
}

static void put_text(json_t *extra, const char *key, const char *value)
{
    if (value != NULL)
        (void)json_object_set_new(extra, key, fields_string(value));
    else
        (void)json_object_del(extra, key);
}

static char *target_extra(const char *old, const struct plan_target *pt,
                          const struct judge_target *jt, const struct verdict_target *v,
                          enum verdict own)
{
    json_t *extra = fields_parse(old);
    char *text;

    if (!json_is_object(extra)) {
        json_decref(extra);
        extra = json_object();
    }
    put_text(extra, "verdict", verdict_name(own));
    put_text(extra, "skipped", jt->skipped);
    put_text(extra, "start_failure", jt->started ? NULL : jt->start_failure);
    if (jt->end != NULL)
        (void)json_object_update(extra, jt->end);
    if (jt->sweep != NULL)
        (void)json_object_set(extra, "sweep", jt->sweep);
    put_text(extra, "reach_error", jt->reach_error);
    put_text(extra, "floor_error", jt->floor_error);
    put_text(extra, "seeds_sha256", jt->seeds_sha256);
    put_text(extra, "seeds_error", jt->seeds_error);
    (void)json_object_set_new(extra, "seeds_changed",
                              v->seeds_unknown ? json_null() : json_boolean(v->seeds_changed));
    (void)json_object_set_new(extra, "programs_changed", strings_json(&v->programs_changed));
    (void)json_object_set_new(extra, "saturated", json_boolean(jt->saturated));
    (void)json_object_set_new(extra, "corpus_failed", json_integer(jt->corpus_failed));
    (void)json_object_set_new(extra, "instances_given_up", json_integer(jt->instances_given_up));
    (void)json_object_set_new(extra, "reach_required", strings_json(&pt->reach_required));
    (void)json_object_set_new(extra, "reach_missing", strings_json(&v->reach_missing));
    (void)json_object_set(extra, "reach", jt->reach != NULL ? jt->reach : json_null());
    text = json_dumps(extra, JSON_COMPACT);
    json_decref(extra);
    return text;
}

static int put_target(const struct judge *j, struct bench *b, size_t i, struct err *err)
{
    const struct plan_target *pt = &j->plan->targets[i];
    struct verdict_facts own = {.targets = &b->facts[i],
                                .n_targets = 1,
                                .interrupted = j->interrupted,
                                .interrupted_why = j->interrupted_why};
    struct target_row *row = row_of(b, pt->name), missing = {0};
    struct strv reasons = {0};
    enum verdict v = verdict_of(&own, &reasons);
    char *extra;
    int r;

    strv_clear(&reasons);
    if (row == NULL) {
        missing.run = xstrdup(j->plan->run_id);
        missing.name = xstrdup(pt->name);
        missing.state = xstrdup("planned");
        row = &missing;
    }
    row->edges_floor = j->targets[i].edges_floor;
    extra = target_extra(row->extra, pt, &j->targets[i], &b->facts[i], v);
    str_set(&row->extra, extra);
    free(extra);
    r = runs_put_target(j->db, row, err);
    target_row_clear(&missing);
    return r;
}

static int put_all(const struct judge *j, struct bench *b, enum verdict v,
                   const struct strv *reasons, struct err *err)
{
    cleanup_free char *text = reasons_text(reasons);
    int r = db_begin(j->db, err);

    if (r < 0)
        return r;
    str_set(&b->run.verdict, verdict_name(v));
    str_set(&b->run.reasons, text);
    r = runs_put(j->db, &b->run, err);
    for (size_t i = 0; r == 0 && i < b->n_facts; i++)
        r = put_target(j, b, i, err);
    if (r == 0)
        r = db_commit(j->db, err);
    if (r < 0)
        db_rollback(j->db);
    return r;
}

int judge_run(const struct judge *j, enum verdict *ret_verdict, struct strv *ret_reasons,
              struct err *err)
{
    struct bench b = {0};
    struct strv reasons = {0};
    enum verdict v = VERDICT_NONE;
    int r = bench_load(j->db, j->plan, &b, err);

    if (r == 0) {
        struct verdict_facts f = {.targets = b.facts,
                                  .n_targets = b.n_facts,
                                  .interrupted = j->interrupted,
                                  .interrupted_why = j->interrupted_why,
                                  .evidence_lost = evidence_lost(j)};

        for (size_t i = 0; i < b.n_facts; i++)
            add_target(&b, j, i);
        v = verdict_of(&f, &reasons);
        r = put_all(j, &b, v, &reasons, err);
    }
    if (r == 0) {
        *ret_verdict = v;
        for (size_t i = 0; i < reasons.n; i++)
            strv_add(ret_reasons, reasons.v[i]);
    }
    strv_clear(&reasons);
    bench_clear(&b);
    return r;
}

/* The end of the last target: triage is not part of the time that a budget is compared with. */
static int64_t end_of_fuzzing_ms(const struct bench *b)
{
    int64_t end_ms = 0;

    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->rows[i].ended_at_ms > end_ms)
            end_ms = b->rows[i].ended_at_ms;
    }
    return end_ms > 0 ? end_ms : clock_wall_ms();
}

int judge_close(struct db *db, const struct plan *plan, enum verdict verdict,
                const struct strv *reasons, struct err *err)
{
    cleanup_free char *text = reasons_text(reasons);
    struct bench b = {0};
    int r = bench_load(db, plan, &b, err);

    if (r == 0) {
        str_set(&b.run.state, "ended");
        str_set(&b.run.verdict, verdict_name(verdict));
        str_set(&b.run.reasons, text);
        if (b.run.ended_at_ms == 0)
            b.run.ended_at_ms = end_of_fuzzing_ms(&b);
        r = runs_put(db, &b.run, err);
    }
    bench_clear(&b);
    return r;
}
