/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a run with a queue made up here: what each answer, and each missing one, does to the verdict, the rows and
 * the files. queue.h is implemented below, so that the archive's own is not linked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sqlite3.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "fault.h"
#include "report/fields.h"
#include "report/finish.h"
#include "report/model.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"
#include "triage/queue.h"

#define RUN  "01KABCDEFGHJKMNPQRSTVWXYZ0"
#define SEED "5eed000000000000000000000000000000000000000000000000000000000000"

static int run_owner; /* its address stands for the run */

/* ---- The made-up queue: answers from a table, one a turn of the loop ---- */

struct item {
    json_t *job;
    const void *owner;
    queue_fn *fn;
    void *ctx;
    struct item *next;
};
struct queue {
    struct item *items;
    sd_event_source *pump;
    bool stalled; /* "bundle" and "seeds" jobs never answer */
    const char *answers[4];
    size_t inputs; /* "input" jobs of the owner that never answer */
    char pushed[512];
};
static const char *const kinds[] = {"reach", "floor", "seeds", "bundle"};

static int on_pump(sd_event_source *s, void *ctx)
{
    struct queue *q = ctx;
    struct item *it = q->items;
    json_t *answer = NULL;

    if (it == NULL)
        return 0;
    q->items = it->next;
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(fields_text(it->job, "job"), kinds[i]) == 0)
            answer = json_loads(q->answers[i], 0, NULL);
    }
    assert_non_null(answer);
    (void)sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
    it->fn(it->ctx, answer);
    json_decref(answer);
    json_decref(it->job);
    free(it);
    return 0;
}

void queue_push(struct queue *q, json_t *job, const void *owner, bool wait_core, queue_fn *fn,
                void *ctx)
{
    struct item *it = xcalloc(1, sizeof(*it)), **end = &q->items;

    (void)wait_core;
    *it = (struct item){.job = job, .owner = owner, .fn = fn, .ctx = ctx};
    (void)snprintf(q->pushed + strlen(q->pushed), sizeof(q->pushed) - strlen(q->pushed), "%s ",
                   fields_text(job, "job"));
    while (*end != NULL)
        end = &(*end)->next;
    *end = it;
    if (!q->stalled)
        (void)sd_event_source_set_enabled(q->pump, SD_EVENT_ONESHOT);
}

size_t queue_pending(const struct queue *q, const void *owner)
{
    size_t n = owner == &run_owner ? q->inputs : 0;

    for (const struct item *it = q->items; it != NULL; it = it->next)
        n += it->owner == owner;
    return n;
}

void queue_release(struct queue *q, const void *owner)
{
    (void)q;
    (void)owner;
}

void queue_drop(struct queue *q, const void *owner)
{
    if (owner == &run_owner)
        q->inputs = 0;
    for (struct item **p = &q->items; *p != NULL;) {
        struct item *it = *p;

        if (it->owner != owner) {
            p = &it->next;
            continue;
        }
        *p = it->next;
        json_decref(it->job);
        free(it);
    }
}

/* ---- One run of one target ---- */

static struct world {
    char *state;
    struct db *db;
    sd_event *loop;
    struct queue q;
    struct plan plan;
    struct plan_target target;
    struct plan_instance instance;
    struct finish_facts facts;
    struct target_row row;
    bool interrupted;
    bool stopped; /* when it had begun */
    int64_t wait_ms;
    bool done;
    enum verdict verdict;
} w;

static int setup(void **ctx)
{
    char dir[] = "/tmp/fz-finish.XXXXXX";
    struct err err;

    (void)ctx;
    memset(&w, 0, sizeof(w));
    assert_non_null(mkdtemp(dir));
    w.state = xstrdup(dir);
    assert_int_equal(db_open(w.state, true, &w.db, &err), 0);
    assert_true(sd_event_new(&w.loop) >= 0);
    assert_true(sd_event_add_defer(w.loop, &w.q.pump, on_pump, &w.q) >= 0);
    assert_true(sd_event_source_set_enabled(w.q.pump, SD_EVENT_OFF) >= 0);
    w.q.answers[0] = "{\"ok\":true,\"reach\":{\"e_io\":3,\"e_ok\":9}}";
    w.q.answers[1] = "{\"ok\":true,\"edges\":7}";
    w.q.answers[2] = "{\"ok\":true,\"sha256\":\"" SEED "\",\"n\":1}";
    w.q.answers[3] = "{\"ok\":true,\"path\":\"/x\"}";

    w.instance.name = xstrdup("main");
    w.target.name = xstrdup("t");
    w.target.seeds = xstrdup("/seeds");
    w.target.seeds_sha256 = xstrdup(SEED);
    w.target.harness.path = xstrdup("/bin/harness");
    w.target.harness.kit = true;
    strv_add(&w.target.reach_required, "e_io");
    w.target.instances = &w.instance;
    w.target.n_instances = 1;
    w.plan.campaign = xstrdup("c");
    w.plan.run_id = xstrdup(RUN);
    w.plan.run_dir = xasprintf("%s/campaigns/c/R1", w.state);
    w.plan.targets = &w.target;
    w.plan.n_targets = 1;
    w.instance.out_dir = xasprintf("%s/out/t/main", w.plan.run_dir);
    assert_int_equal(path_mkdirs(w.instance.out_dir, 0700), 0);
    w.facts.started = true;
    w.row = (struct target_row){.run = xstrdup(RUN),
                                .name = xstrdup("t"),
                                .state = xstrdup("ended"),
                                .end_reason = xstrdup("budget"),
                                .ended_at_ms = 5000,
                                .execs_done = 1000,
                                .edges_found = 50,
                                .edges_floor = -1,
                                .extra = xstrdup("{\"instances\":[]}")};
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    target_row_clear(&w.row);
    free(w.instance.name);
    free(w.instance.out_dir);
    free(w.target.name);
    free(w.target.seeds);
    free(w.target.seeds_sha256);
    free(w.target.harness.path);
    strv_clear(&w.target.reach_required);
    free(w.plan.campaign);
    free(w.plan.run_id);
    free(w.plan.run_dir);
    sd_event_source_unref(w.q.pump);
    sd_event_unref(w.loop);
    db_close(w.db);
    assert_null(w.q.items);
    assert_int_equal(path_remove_tree(w.state), 0);
    free(w.state);
    return 0;
}

static void on_done(void *ctx, enum verdict v)
{
    (void)ctx;
    w.done = true;
    w.verdict = v;
}

static void put_rows(void)
{
    struct run_row r = {.id = xstrdup(RUN),
                        .campaign = xstrdup("c"),
                        .dir = xstrdup(w.plan.run_dir),
                        .state = xstrdup("triage"),
                        .started_at_ms = 1000};

    assert_int_equal(runs_put(w.db, &r, NULL), 0);
    assert_int_equal(runs_put_target(w.db, &w.row, NULL), 0);
    run_row_clear(&r);
}

/* A crash file taken in, with a result unless class_ is NULL. */
static void put_artifact(const char *class_, const char *bucket, int reproduced)
{
    cleanup_free char *path = path_join(w.instance.out_dir, "crashes/id:000000");
    cleanup_free char *dir = path_dirname(path);
    struct artifact_source src = {
        .run = RUN, .target = "t", .instance = "main", .out_dir = w.instance.out_dir};
    struct result_row r = {0};

    assert_int_equal(path_mkdirs(dir, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, "x", 1, 0600), 0);
    assert_int_equal(artifact_scan(w.db, w.state, &src, NULL, NULL, NULL, NULL, NULL), 1);
    if (class_ == NULL)
        return;
    r.run = xstrdup(RUN);
    r.target = xstrdup("t");
    r.sha256 = xmalloc(65);
    hash_sha256_hex("x", 1, r.sha256);
    r.class_ = xstrdup(class_);
    str_set(&r.bucket, bucket);
    r.reproduced = reproduced;
    r.runs = 3;
    assert_int_equal(results_put(w.db, &r, NULL), 0);
    result_row_clear(&r);
}

/* Runs to the end and gives back the report. */
static json_t *finish_run(void)
{
    cleanup_free char *md = path_join(w.plan.run_dir, "report/report.md");
    cleanup_free char *json = path_join(w.plan.run_dir, "report/report.json");
    struct finish *f = NULL;
    struct err err;
    json_t *m = NULL, *kept;
    int64_t until_ms = clock_now_ms() + 5000;

    assert_int_equal(finish_start(w.loop, w.db, w.state, &w.q, &run_owner, &w.plan, &w.facts,
                                  w.interrupted, "stopped by a user", w.wait_ms, on_done, NULL, &f,
                                  &err),
                     0);
    assert_false(w.done); /* never from within the call */
    if (w.stopped) {
        assert_true(sd_event_run(w.loop, 100000) >= 0);
        finish_stop(f, "stopped by a user", w.wait_ms);
        finish_stop(f, "another", w.wait_ms + 100000);
    }
    while (!w.done && clock_now_ms() < until_ms)
        assert_true(sd_event_run(w.loop, 100000) >= 0);
    assert_true(w.done);
    finish_poke(f); /* late ones are harmless */
    assert_true(sd_event_run(w.loop, 1000) >= 0);
    finish_free(f);
    assert_int_equal(report_model(w.db, w.state, "c", RUN, &m, &err), 0);
    assert_string_equal(fields_text(m, "state"), "ended");
    assert_string_equal(fields_text(m, "verdict"), verdict_name(w.verdict));
    assert_int_equal(fields_int(m, "elapsed_s"), 4);
    assert_int_equal(access(md, R_OK), 0);
    kept = json_load_file(json, 0, NULL);
    assert_string_equal(fields_text(kept, "verdict"), verdict_name(w.verdict));
    json_decref(kept);
    return m;
}

static const char *reason(const json_t *m, size_t i)
{
    const char *s = json_string_value(json_array_get(json_object_get(m, "reasons"), i));

    return s != NULL ? s : "";
}

static const json_t *target_of(const json_t *m)
{
    return json_array_get(json_object_get(m, "targets"), 0);
}

static void expect(enum verdict v, const char *first_reason)
{
    json_t *m = finish_run();

    assert_string_equal(verdict_name(w.verdict), verdict_name(v));
    assert_string_equal(reason(m, 0), first_reason);
    json_decref(m);
}

#define CLEAN_REASON "t: ended as planned (budget), 1000 executions, 50 edges, no finding"

static void a_clean_run_keeps_what_was_measured(void **ctx)
{
    json_t *m;
    const json_t *t;

    (void)ctx;
    put_rows();
    m = finish_run();
    t = target_of(m);
    assert_int_equal(w.verdict, VERDICT_CLEAN);
    assert_string_equal(reason(m, 0), CLEAN_REASON);
    assert_string_equal(fields_text(t, "verdict"), "clean");
    assert_int_equal(fields_int(t, "edges_floor"), 7);
    assert_int_equal(fields_int(json_object_get(t, "reach"), "e_io"), 3);
    assert_true(json_is_false(json_object_get(t, "seeds_changed")));
    assert_true(json_is_array(json_object_get(t, "instances"))); /* the farm's part is kept */
    assert_string_equal(w.q.pushed, "seeds floor reach ");
    json_decref(m);
}

static void a_finding_gets_its_bundle_before_the_report(void **ctx)
{
    (void)ctx;
    put_rows();
    put_artifact("crash", "aaaa11112222", 3);
    expect(VERDICT_FINDINGS, "t: 1 input with a finding");
    assert_string_equal(w.q.pushed, "seeds floor reach bundle ");
}

static void a_bundle_that_fails_is_a_reason_and_no_lost_verdict(void **ctx)
{
    json_t *m;

    (void)ctx;
    w.q.answers[3] = "{\"ok\":false,\"error\":\"No space left on device\"}";
    put_rows();
    put_artifact("crash", "aaaa11112222", 3);
    m = finish_run();
    assert_int_equal(w.verdict, VERDICT_FINDINGS);
    assert_string_equal(reason(m, 1),
                        "bundle of aaaa11112222 could not be made: No space left on device");
    json_decref(m);
}

static void an_unreproduced_crash_is_a_finding(void **ctx)
{
    (void)ctx;
    put_rows();
    put_artifact("unreproduced", "aaaa11112222", 0);
    expect(VERDICT_FINDINGS, "t: 1 input with a finding, 1 of them not reproduced");
}

static void a_seed_that_fails_is_a_finding(void **ctx)
{
    (void)ctx;
    w.q.answers[0] = "{\"ok\":true,\"reach\":{\"e_io\":3},\"failed\":5}";
    put_rows();
    expect(VERDICT_FINDINGS, "t: 5 inputs of its seeds or queues fail when replayed");
}

static void an_artifact_without_a_result_is_not_clean(void **ctx)
{
    (void)ctx;
    put_rows();
    put_artifact(NULL, NULL, 0);
    expect(VERDICT_DEGRADED, "t: 1 artifact not triaged");
}

static void put_lost(void)
{
    cleanup_free char *path = path_join(w.instance.out_dir, "hangs/id:000000");
    cleanup_free char *dir = path_dirname(path);
    struct artifact_source src = {
        .run = RUN, .target = "t", .instance = "main", .out_dir = w.instance.out_dir};

    assert_int_equal(path_mkdirs(dir, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, "", 0, 0600), 0);
    assert_int_equal(artifact_scan(w.db, w.state, &src, NULL, NULL, NULL, NULL, NULL), 1);
}

static void an_input_lost_to_a_full_disk_is_not_clean(void **ctx)
{
    (void)ctx;
    put_rows();
    put_lost();
    expect(VERDICT_DEGRADED, "t: 1 crash or hang file is empty, what was found is lost (a full "
                             "disk, or afl-fuzz killed as it saved)");
}

static void a_finding_beside_a_lost_input_stays_a_finding(void **ctx)
{
    (void)ctx;
    put_rows();
    put_lost();
    put_artifact("crash", "aaaa11112222", 3);
    expect(VERDICT_FINDINGS, "t: 1 input with a finding");
}

static void a_file_without_a_row_is_not_clean(void **ctx)
{
    cleanup_free char *path = path_join(w.instance.out_dir, "crashes/id:000000");
    cleanup_free char *dir = path_dirname(path);

    (void)ctx;
    put_rows();
    assert_int_equal(path_mkdirs(dir, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, "x", 1, 0600), 0);
    expect(VERDICT_DEGRADED, "the record of crash and hang files is not complete");
}

static void reach_that_cannot_be_measured_is_vacuous(void **ctx)
{
    (void)ctx;
    w.q.answers[0] = "{\"ok\":false,\"error\":\"no counts\"}";
    put_rows();
    expect(VERDICT_VACUOUS, "t: its required reach ids could not be measured");
}

static void reach_that_is_missing_is_vacuous(void **ctx)
{
    (void)ctx;
    w.q.answers[0] = "{\"ok\":true,\"reach\":{\"e_ok\":1,\"e_io\":0}}";
    put_rows();
    expect(VERDICT_VACUOUS, "t: required reach id \"e_io\" was never reached");
}

static void an_answer_of_another_shape_is_an_error(void **ctx)
{
    (void)ctx;
    w.q.answers[0] = "{\"ok\":true,\"reach\":[\"e_io\"]}";
    w.q.answers[2] = "{\"ok\":true}";
    put_rows();
    expect(VERDICT_VACUOUS, "t: its required reach ids could not be measured");
}

static void a_floor_of_another_shape_is_not_measured(void **ctx)
{
    (void)ctx;
    w.q.answers[1] = "{\"ok\":true,\"edges\":\"many\"}";
    put_rows();
    expect(VERDICT_VACUOUS, "t: the edges of a rejected input could not be measured");
}

static void a_floor_that_cannot_be_measured_is_vacuous(void **ctx)
{
    (void)ctx;
    w.q.answers[1] = "{\"ok\":false,\"error\":\"no fork server\"}";
    put_rows();
    expect(VERDICT_VACUOUS, "t: the edges of a rejected input could not be measured");
}

static void edges_at_the_floor_are_vacuous(void **ctx)
{
    (void)ctx;
    w.q.answers[1] = "{\"ok\":true,\"edges\":50}";
    put_rows();
    expect(VERDICT_VACUOUS, "t: 50 edges found, no more than the 50 of a trivially rejected input");
}

static void changed_seeds_are_not_clean(void **ctx)
{
    (void)ctx;
    w.q.answers[2] = "{\"ok\":true,\"sha256\":\"other\",\"n\":1}";
    put_rows();
    expect(VERDICT_DEGRADED, "t: its seeds folder changed during the run");
}

static void seeds_that_cannot_be_read_are_not_clean(void **ctx)
{
    (void)ctx;
    w.q.answers[2] = "{\"ok\":false,\"error\":\"gone\"}";
    put_rows();
    expect(VERDICT_DEGRADED, "t: its seeds folder could not be compared with that of the start");
}

static void a_target_that_failed_to_start_is_not_measured(void **ctx)
{
    (void)ctx;
    w.facts.started = false;
    w.facts.start_failure = "no instrumentation detected";
    str_set(&w.row.end_reason, "failed");
    w.row.execs_done = w.row.edges_found = 0;
    put_rows();
    expect(VERDICT_FAILED_START, "t: did not start: no instrumentation detected");
    assert_string_equal(w.q.pushed, "seeds ");
}

static void an_interrupted_run_does_not_wait_for_ever(void **ctx)
{
    (void)ctx;
    w.interrupted = true;
    w.wait_ms = 50;
    w.q.inputs = 2; /* triage that never ends */
    w.q.stalled = true;
    str_set(&w.row.end_reason, "stopped");
    put_rows();
    put_artifact(NULL, NULL, 0);
    expect(VERDICT_INTERRUPTED, "stopped by a user");
    assert_string_equal(w.q.pushed, "seeds ");
}

static void a_stop_during_triage_bounds_it(void **ctx)
{
    (void)ctx;
    w.stopped = true;
    w.wait_ms = 50;
    w.q.inputs = 2; /* triage that never ends */
    w.q.stalled = true;
    put_rows();
    put_artifact(NULL, NULL, 0);
    expect(VERDICT_INTERRUPTED, "stopped by a user");
}

static void a_bundle_of_an_interrupted_run_has_its_time(void **ctx)
{
    json_t *m;

    (void)ctx;
    w.interrupted = true;
    w.wait_ms = 50;
    w.q.stalled = true;
    str_set(&w.row.end_reason, "stopped");
    put_rows();
    put_artifact("crash", "aaaa11112222", 3);
    m = finish_run();
    assert_int_equal(w.verdict, VERDICT_FINDINGS);
    assert_string_equal(reason(m, json_array_size(json_object_get(m, "reasons")) - 1),
                        "bundle of aaaa11112222 could not be made: not done in time");
    json_decref(m);
}

static void a_run_that_goes_on_waits_for_its_triage(void **ctx)
{
    struct finish *f = NULL;

    (void)ctx;
    w.q.inputs = 1;
    put_rows();
    assert_int_equal(finish_start(w.loop, w.db, w.state, &w.q, &run_owner, &w.plan, &w.facts, false,
                                  NULL, 0, on_done, NULL, &f, NULL),
                     0);
    for (int i = 0; i < 5; i++)
        assert_true(sd_event_run(w.loop, 10000) >= 0);
    assert_false(w.done);
    assert_string_equal(w.q.pushed, "");
    w.q.inputs = 0;
    finish_poke(f);
    for (int i = 0; i < 20 && !w.done; i++)
        assert_true(sd_event_run(w.loop, 10000) >= 0);
    assert_int_equal(w.verdict, VERDICT_CLEAN);
    finish_free(f);
}

static void rows_that_cannot_be_written_are_told_and_tried_again(void **ctx)
{
    cleanup_free char *index = path_join(w.state, "state.db");
    struct finish *f = NULL;
    sqlite3 *other = NULL;
    int64_t for_ms = -1;

    (void)ctx;
    put_rows();
    assert_int_equal(sqlite3_open(index, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(finish_start(w.loop, w.db, w.state, &w.q, &run_owner, &w.plan, &w.facts, false,
                                  NULL, 0, on_done, NULL, &f, NULL),
                     0);
    assert_null(finish_trouble(f, &for_ms));
    for (int i = 0; i < 20 && finish_trouble(f, &for_ms) == NULL; i++)
        assert_true(sd_event_run(w.loop, 10000) >= 0);
    assert_non_null(finish_trouble(f, &for_ms));
    assert_in_range(for_ms, 0, 60000);
    assert_false(w.done);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    finish_poke(f); /* instead of the time between two tries */
    for (int i = 0; i < 20 && !w.done; i++)
        assert_true(sd_event_run(w.loop, 10000) >= 0);
    assert_int_equal(w.verdict, VERDICT_CLEAN);
    assert_null(finish_trouble(f, &for_ms));
    finish_free(f);
}

static void one_that_is_freed_half_way_calls_nobody(void **ctx)
{
    struct finish *f = NULL;

    (void)ctx;
    w.q.stalled = true;
    put_rows();
    assert_int_equal(finish_start(w.loop, w.db, w.state, &w.q, &run_owner, &w.plan, &w.facts, false,
                                  NULL, 0, on_done, NULL, &f, NULL),
                     0);
    assert_true(sd_event_run(w.loop, 10000) >= 0);
    assert_string_equal(w.q.pushed, "seeds floor reach ");
    finish_free(f);
    finish_free(NULL);
    assert_null(w.q.items);
    assert_false(w.done);
}

static struct finish *freed;

static void free_in_done(void *ctx, enum verdict v)
{
    on_done(ctx, v);
    finish_free(freed);
}

static void the_one_who_is_told_may_free_it(void **ctx)
{
    (void)ctx;
    put_rows();
    assert_int_equal(finish_start(w.loop, w.db, w.state, &w.q, &run_owner, &w.plan, &w.facts, false,
                                  NULL, 0, free_in_done, NULL, &freed, NULL),
                     0);
    for (int i = 0; i < 20 && !w.done; i++)
        assert_true(sd_event_run(w.loop, 10000) >= 0);
    assert_int_equal(w.verdict, VERDICT_CLEAN);
}

/* Reads a form of the report: absent, or whole. */
static bool whole_form(const char *name)
{
    cleanup_free char *path = xasprintf("%s/report/%s", w.plan.run_dir, name), *text = NULL;
    size_t size;
    int r = file_read(AT_FDCWD, path, 1 << 20, &text, &size);
    json_t *j;

    if (r < 0) {
        assert_int_equal(r, -ENOENT);
        return false;
    }
    if (strcmp(name, "report.md") == 0) {
        assert_true(size > 100 && text[size - 1] == '\n');
        return true;
    }
    j = json_loadb(text, size, 0, NULL);
    assert_string_equal(fields_text(j, "verdict"), "clean");
    json_decref(j);
    return true;
}

static void a_report_that_cannot_be_written_is_a_reason_and_no_lost_verdict(void **ctx)
{
    static const int errors[] = {ENOSPC, EIO};
    bool hit = true;

    (void)ctx;
    for (int i = 0; i < 4; i++, hit = true) {
        for (long at = 1; hit; at++) {
            struct finish *f = NULL;
            struct run_row run;
            struct err err = {0};
            int64_t until_ms;
            bool both;

            (void)teardown(NULL);
            (void)setup(NULL);
            put_rows();
            assert_int_equal(finish_start(w.loop, w.db, w.state, &w.q, &run_owner, &w.plan,
                                          &w.facts, false, NULL, 0, on_done, NULL, &f, &err),
                             0);
            until_ms = clock_now_ms() + 5000;
            fault_arm(w.plan.run_dir, errors[i % 2], i >= 2, at);
            while (!w.done && clock_now_ms() < until_ms)
                assert_true(sd_event_run(w.loop, 100000) >= 0);
            hit = fault_disarm() > 0;
            assert_true(w.done);
            assert_int_equal(w.verdict, VERDICT_CLEAN);
            finish_free(f);
            both = whole_form("report.json");
            both = whole_form("report.md") && both;
            assert_int_equal(runs_get(w.db, "c", RUN, &run, &err), 0);
            assert_string_equal(run.state, "ended");
            assert_string_equal(run.verdict, "clean");
            if (hit)
                assert_non_null(strstr(run.reasons, "cannot write the report into"));
            else
                assert_true(both && strstr(run.reasons, "cannot write") == NULL);
            run_row_clear(&run);
        }
    }
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_clean_run_keeps_what_was_measured),
        T(a_finding_gets_its_bundle_before_the_report),
        T(a_bundle_that_fails_is_a_reason_and_no_lost_verdict),
        T(an_unreproduced_crash_is_a_finding),
        T(a_seed_that_fails_is_a_finding),
        T(an_artifact_without_a_result_is_not_clean),
        T(an_input_lost_to_a_full_disk_is_not_clean),
        T(a_finding_beside_a_lost_input_stays_a_finding),
        T(a_file_without_a_row_is_not_clean),
        T(reach_that_cannot_be_measured_is_vacuous),
        T(reach_that_is_missing_is_vacuous),
        T(an_answer_of_another_shape_is_an_error),
        T(a_floor_that_cannot_be_measured_is_vacuous),
        T(a_floor_of_another_shape_is_not_measured),
        T(edges_at_the_floor_are_vacuous),
        T(changed_seeds_are_not_clean),
        T(seeds_that_cannot_be_read_are_not_clean),
        T(a_target_that_failed_to_start_is_not_measured),
        T(an_interrupted_run_does_not_wait_for_ever),
        T(a_stop_during_triage_bounds_it),
        T(a_bundle_of_an_interrupted_run_has_its_time),
        T(a_run_that_goes_on_waits_for_its_triage),
        T(rows_that_cannot_be_written_are_told_and_tried_again),
        T(one_that_is_freed_half_way_calls_nobody),
        T(the_one_who_is_told_may_free_it),
        T(a_report_that_cannot_be_written_is_a_reason_and_no_lost_verdict),
    };

    (void)argc;
    fault_reexec(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
