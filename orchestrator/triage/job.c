/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as JSON: how they are made from a plan, how long they may take, who runs
 * them, and how an answer becomes a row. An answer comes from a process that has
 * touched hostile input, so every member is checked before it is believed.
 */
#include "triage/job.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "store/rotation.h"
#include "sys/drop.h"
#include "triage/job_input.h"
#include "triage/job_sweep.h"
#include "triage/json_util.h"
#include "triage/replay.h"
#include "triage/scratch.h"

#define HANG_TIMEOUT_MIN_MS 1000
#define START_COST_MS       3000 /* of one run beside its time limit, on a busy host */
#define JOB_COST_MS         20000
#define SEED_TIMEOUT_MIN_MS 3000  /* of one seed: it is not confirmed by more runs */
#define START_WAIT_MS       20000 /* for one build to come up */
#define REACH_COST_MS       600000
#define BUNDLE_COST_MS      300000

#define FNS_MAX 8

static job_bundle_fn *bundle_fn;
static struct {
    const char *kind;
    job_fn *fn;
} fns[FNS_MAX];
static size_t n_fns;

void job_set_fn(const char *kind, job_fn *fn)
{
    if (n_fns == FNS_MAX)
        return;
    fns[n_fns].kind = kind;
    fns[n_fns++].fn = fn;
}

static job_fn *fn_of(const char *kind)
{
    for (size_t i = 0; i < n_fns; i++) {
        if (strcmp(fns[i].kind, kind) == 0)
            return fns[i].fn;
    }
    return NULL;
}

void job_set_bundle_fn(job_bundle_fn *fn)
{
    bundle_fn = fn;
}

json_t *job_answer_error(const char *fmt, ...)
{
    char text[1024], clean[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return json_pack("{s:b, s:s}", "ok", 0, "error", json_text_ascii(clean, sizeof(clean), text));
}

json_t *job_program_json(const char *role, const struct plan_program *p)
{
    return json_pack("{s:s, s:s?, s:b, s:b}", "role", role, "path", p->path, "kit", (int)p->kit,
                     "asan", (int)p->asan);
}

/* The programs an input is replayed in, by what they can tell. */
static json_t *programs_json(const struct plan_target *t)
{
    json_t *list = json_array();

    if (t->sanitizer.path != NULL)
        json_array_append_new(list, job_program_json("sanitizer", &t->sanitizer));
    if (t->replay.path != NULL)
        json_array_append_new(list, job_program_json("replay", &t->replay));
    if (json_array_size(list) == 0 && t->harness.path != NULL)
        json_array_append_new(list, job_program_json("harness", &t->harness));
    return list;
}

/* The limit a run must pass to be a timeout: the target's own, else twice its timeout, at least 1 s. */
int64_t job_hang_timeout_ms(const struct plan_target *t)
{
    if (t->hang_timeout_ms > 0)
        return t->hang_timeout_ms;
    if (2 * t->timeout_ms > HANG_TIMEOUT_MIN_MS)
        return 2 * t->timeout_ms;
    return HANG_TIMEOUT_MIN_MS;
}

json_t *job_input_make(const struct plan *plan, const struct plan_target *t, const char *blob,
                       const char *sha256, const char *artifact_kind, const char *file_name,
                       int runs, int64_t oom_kills)
{
    char name[256];

    (void)plan;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:o, s:o, s:o}", "job",
                     "input", "target", t->name, "blob", blob, "sha256", sha256, "artifact_kind",
                     artifact_kind, "file", json_text_ascii(name, sizeof(name), file_name), "runs",
                     runs > 0 ? runs : JOB_RUNS, "timeout_ms", (json_int_t)job_hang_timeout_ms(t),
                     "memory_bytes", (json_int_t)t->limits.memory_bytes, "oom_kills",
                     (json_int_t)oom_kills, "args", json_strv(&t->args), "env", json_strv(&t->env),
                     "programs", programs_json(t));
}

json_t *job_reach_make(const struct plan *plan, const struct plan_target *t)
{
    const struct plan_program *candidates[] = {&t->replay, &t->sanitizer, &t->harness};
    const char *path = "";
    json_t *inputs = json_array();

    (void)plan;
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        if (candidates[i]->path != NULL && candidates[i]->kit) {
            path = candidates[i]->path;
            break;
        }
    }
    if (t->seeds != NULL)
        json_array_append_new(inputs, json_string(t->seeds));
    for (size_t i = 0; i < t->n_instances; i++) {
        cleanup_free char *newest = rotation_newest(t->instances[i].out_dir);
        cleanup_free char *queue = path_join(newest, "queue");

        json_array_append_new(inputs, json_string(queue));
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "job", "reach", "target", t->name, "program",
                     path, "env", json_strv(&t->env), "inputs", inputs);
}

json_t *job_floor_make(const struct plan *plan, const struct plan_target *t)
{
    (void)plan;
    return json_pack("{s:s, s:s, s:o, s:I, s:o, s:o}", "job", "floor", "target", t->name, "program",
                     job_program_json("harness", &t->harness), "memory_bytes",
                     (json_int_t)t->limits.memory_bytes, "args", json_strv(&t->args), "env",
                     json_strv(&t->env));
}

json_t *job_seeds_make(const struct plan *plan, const struct plan_target *t)
{
    const struct {
        const char *role;
        const struct plan_program *p;
    } builds[] = {{"harness", &t->harness},
                  {"cmplog", &t->cmplog},
                  {"laf", &t->laf},
                  {"sanitizer", &t->sanitizer},
                  {"replay", &t->replay}};
    json_t *programs = json_array();

    (void)plan;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        if (builds[i].p->path != NULL && builds[i].p->sha256 != NULL)
            (void)json_array_append_new(
                programs, json_pack("{s:s, s:s, s:s}", "role", builds[i].role, "path",
                                    builds[i].p->path, "sha256", builds[i].p->sha256));
    }
    return json_pack("{s:s, s:s, s:s, s:o}", "job", "seeds", "target", t->name, "path",
                     t->seeds != NULL ? t->seeds : "", "programs", programs);
}

json_t *job_replay_make(const struct plan_target *t, const char *state_dir, const char *dir)
{
    /* The build that tells most at least cost, as for fuzzctl replay; the sanitizer's is for what has failed. */
    const struct {
        const char *role;
        const struct plan_program *p;
    } builds[] = {{"replay", &t->replay}, {"harness", &t->harness}, {"sanitizer", &t->sanitizer}};
    int64_t limit_ms = job_hang_timeout_ms(t);
    json_t *program = NULL, *starts = json_array();

    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        if (builds[i].p->path == NULL)
            continue;
        if (program == NULL)
            program = job_program_json(builds[i].role, builds[i].p);
        else if (builds[i].p->kit)
            json_array_append_new(starts, job_program_json(builds[i].role, builds[i].p));
    }
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "job", "replay", "target",
        t->name, "seeds", t->seeds != NULL ? t->seeds : "", "state", state_dir, "dir", dir,
        "program", program != NULL ? program : json_null(), "starts", starts, "timeout_ms",
        (json_int_t)(limit_ms > SEED_TIMEOUT_MIN_MS ? limit_ms : SEED_TIMEOUT_MIN_MS),
        "memory_bytes", (json_int_t)t->limits.memory_bytes, "budget_ms", (json_int_t)JOB_SEEDS_MS,
        "args", json_strv(&t->args), "env", json_strv(&t->env));
}

json_t *job_bundle_make(const char *state_dir, const char *run, const char *bucket)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "job", "bundle", "state", state_dir, "run", run,
                     "bucket", bucket);
}

int64_t job_deadline_ms(const json_t *job)
{
    const char *kind = json_str(job, "job", "");

    if (strcmp(kind, "input") == 0) {
        int64_t limit_ms = json_int(job, "timeout_ms", HANG_TIMEOUT_MIN_MS);
        int64_t runs = json_int(job, "runs", JOB_RUNS);
        size_t programs = json_array_size(json_object_get(job, "programs"));
        /* Twice for FZ_TWICE; one run a program is repeated with patience, one more looks for the place of a signal. */
        int64_t one = limit_ms * JOB_SAN_SLOWNESS * 2 + START_COST_MS;

        return JOB_COST_MS + one * (runs + 1 + REPLAY_PATIENCE) * (int64_t)programs;
    }
    if (strcmp(kind, "reach") == 0)
        return REACH_COST_MS;
    if (strcmp(kind, "bundle") == 0)
        return BUNDLE_COST_MS;
    if (strcmp(kind, "sweep") == 0)
        return job_sweep_deadline_ms(job);
    if (strcmp(kind, "replay") == 0 || strcmp(kind, "start") == 0)
        return json_int(job, "more_ms", 0) + json_int(job, "budget_ms", JOB_SEEDS_MS) +
               JOB_COST_MS + json_int(job, "timeout_ms", SEED_TIMEOUT_MIN_MS) * REPLAY_PATIENCE +
               START_WAIT_MS * (1 + (int64_t)json_array_size(json_object_get(job, "starts")));
    return json_int(job, "deadline_ms", 60000);
}

static json_t *bundle_run(const json_t *job)
{
    const char *state = json_str(job, "state", ""), *run = json_str(job, "run", "");
    const char *bucket = json_str(job, "bucket", "");
    cleanup_free char *path = NULL;
    struct err err = {0};

    if (bundle_fn == NULL)
        return job_answer_error("this program makes no bundles");
    if (state[0] != '/' || !path_component_ok(run) || !path_component_ok(bucket))
        return job_answer_error("bundle: state, run or bucket is not valid");
    if (bundle_fn(state, run, bucket, &path, &err) < 0)
        return job_answer_error("%s", err.msg);
    return json_pack("{s:b, s:s}", "ok", 1, "path", path);
}

json_t *job_for_user(json_t *job, const struct plan *plan)
{
    if (job != NULL && plan->user != NULL)
        (void)json_object_set_new(job, "user", json_string(plan->user));
    return job;
}

/* All that this process starts from here on is started as the job's user. */
static int become_ready_for_user(const json_t *job, struct err *err)
{
    const char *name = json_str(job, "user", "");
    struct drop user;
    int r;

    if (*name == '\0')
        return 0;
    r = drop_find(name, &user, err);
    if (r < 0)
        return r;
    r = scratch_open_way();
    if (r < 0)
        return err_sys(err, r, "the folder of the job");
    drop_children(&user);
    /* What is written into the folders of those programs is for them to read; the folders are closed to others. */
    (void)umask(022);
    return 0;
}

json_t *job_run(const json_t *job)
{
    const char *kind = json_str(job, "job", "");
    struct err err = {0};
    json_t *answer;

    if (become_ready_for_user(job, &err) < 0)
        return job_answer_error("%s", err.msg);
    if (strcmp(kind, "input") == 0)
        answer = job_input_run(job);
    else if (strcmp(kind, "reach") == 0)
        answer = job_reach_run(job);
    else if (strcmp(kind, "floor") == 0)
        answer = job_floor_run(job);
    else if (strcmp(kind, "seeds") == 0)
        answer = job_seeds_run(job);
    else if (strcmp(kind, "replay") == 0)
        answer = job_replay_run(job);
    else if (strcmp(kind, "sweep") == 0)
        answer = job_sweep_run(job);
    else if (strcmp(kind, "bundle") == 0)
        answer = bundle_run(job);
    else if (fn_of(kind) != NULL)
        answer = fn_of(kind)(job);
    else
        answer = job_answer_error("unknown job \"%s\"", kind);
    return answer != NULL ? answer : job_answer_error("out of memory for the answer");
}

static bool class_ok(const char *s)
{
    static const char *const classes[] = {"none",  "crash",       "oom",         "timeout",
                                          "limit", "invariant",   "determinism", "internal",
                                          "flaky", "unreproduced"};

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (strcmp(s, classes[i]) == 0)
            return true;
    }
    return false;
}

static int bad(struct err *err, const char *what)
{
    return err_set(err, -EBADMSG, "answer of fuzz-triage: %s", what);
}

int job_result_parse(const json_t *answer, const char *run, const char *target, const char *sha256,
                     struct result_row *ret, struct err *err)
{
    const char *class_ = json_str(answer, "class", ""), *bucket = json_str(answer, "bucket", "");
    const char *signature = json_str(answer, "signature", ""), *why = json_str(answer, "why", "");
    const char *kind = json_str(answer, "kind", ""), *report = json_str(answer, "report", "");
    int64_t severity = json_int(answer, "severity", -1), runs = json_int(answer, "runs", -1);
    int64_t reproduced = json_int(answer, "reproduced", -1);
    const json_t *detail = json_object_get(answer, "detail");
    cleanup_free char *detail_text = NULL;

    if (!json_is_true(json_object_get(answer, "ok")))
        return bad(err, json_str(answer, "error", "it is no success"));
    if (!class_ok(class_))
        return bad(err, "class is not known");
    if (severity < 0 || severity > 5 || runs < 1 || runs > 1000 || reproduced < 0 ||
        reproduced > runs)
        return bad(err, "a number is out of range");
    if (strlen(signature) > 511 || strlen(why) > 511 || strlen(kind) > 95 ||
        strlen(report) > JOB_REPORT_MAX)
        return bad(err, "a text is too long");
    if (bucket[0] != '\0' && (strlen(bucket) != 12 || strspn(bucket, "0123456789abcdef") != 12))
        return bad(err, "bucket is not 12 hex digits");
    if (!json_is_object(detail) ||
        (detail_text = json_dumps(detail, JSON_COMPACT | JSON_SORT_KEYS)) == NULL)
        return bad(err, "detail is no object");
    if (strlen(detail_text) > JOB_MAX_BYTES)
        return bad(err, "detail is too long");
    memset(ret, 0, sizeof(*ret));
    ret->run = xstrdup(run);
    ret->target = xstrdup(target);
    ret->sha256 = xstrdup(sha256);
    ret->class_ = xstrdup(class_);
    ret->signature = xstrdup(signature);
    ret->signature_why = xstrdup(why);
    ret->bucket = bucket[0] != '\0' ? xstrdup(bucket) : NULL;
    ret->severity = (int)severity;
    ret->kind = xstrdup(kind);
    ret->reproduced = (int)reproduced;
    ret->runs = (int)runs;
    ret->detail = steal_ptr(&detail_text);
    ret->report = report[0] != '\0' ? xstrdup(report) : NULL;
    ret->at_ms = clock_wall_ms();
    return 0;
}
