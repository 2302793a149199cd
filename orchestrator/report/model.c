/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a run as one document. It can be made at any time, also while the
 * run goes on and after its folder is gone: what is not known is null. The forms
 * for people are made from it and from nothing else.
 */
#include "report/model.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/version.h"
#include "report/fields.h"
#include "report/model_target.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

#define MODEL_VERSION  1
#define PLAN_MAX_BYTES (16 << 20)

/* Everything of a run that the index holds. */
struct rows {
    struct run_row run;
    struct target_row *targets;
    struct result_row *results;
    struct artifact_row *artifacts, *lost;
    struct bucket_row *buckets;
    size_t n_targets, n_results, n_artifacts, n_buckets, n_lost;
};

static void rows_clear(struct rows *x)
{
    for (size_t i = 0; i < x->n_targets; i++)
        target_row_clear(&x->targets[i]);
    for (size_t i = 0; i < x->n_results; i++)
        result_row_clear(&x->results[i]);
    free(x->targets);
    free(x->results);
    artifact_rows_free(x->artifacts, x->n_artifacts);
    artifact_rows_free(x->lost, x->n_lost);
    bucket_rows_free(x->buckets, x->n_buckets);
    run_row_clear(&x->run);
}

static int rows_load(struct db *db, const char *campaign, const char *run, struct rows *x,
                     struct err *err)
{
    int r;

    if ((r = runs_get(db, campaign, run, &x->run, err)) < 0 ||
        (r = runs_targets(db, x->run.id, &x->targets, &x->n_targets, err)) < 0 ||
        (r = results_list(db, x->run.id, &x->results, &x->n_results, err)) < 0 ||
        (r = artifact_list(db, x->run.id, &x->artifacts, &x->n_artifacts, err)) < 0 ||
        (r = artifact_lost(db, x->run.id, &x->lost, &x->n_lost, err)) < 0 ||
        (r = results_buckets(db, x->run.id, &x->buckets, &x->n_buckets, err)) < 0)
        return r;
    return 0;
}

/* The plan as it was used; an empty object when it cannot be read. */
static json_t *load_plan(const char *state_dir, const struct run_row *run)
{
    cleanup_free char *path = path_join(run->dir, "plan.json");
    cleanup_free char *text = NULL;
    size_t size = 0;
    json_t *j = NULL;

    if (file_read_below(state_dir, path, PLAN_MAX_BYTES, &text, &size) == 0)
        j = json_loadb(text, size, 0, NULL);
    return json_is_object(j) ? j : json_object();
}

/* {"cgroup":word,"why":[text]}, with "from":word of later versions, from the lines that were kept at the start. */
static json_t *isolation(const json_t *extra)
{
    json_t *why = json_array();
    const char *word = fields_text(extra, "isolation");

    for (const char *p = fields_text(extra, "isolation_why"); *p != '\0';) {
        size_t n = strcspn(p, "\n");

        if (n > 0)
            (void)json_array_append_new(why, json_stringn(p, n));
        p += n + (p[n] == '\n');
    }
    json_t *j =
        json_pack("{s:o, s:o}", "cgroup", fields_string(word[0] != '\0' ? word : NULL), "why", why);
    const char *from = fields_text(extra, "isolation_from");

    if (from[0] != '\0')
        (void)json_object_set_new(j, "from", fields_string(from));
    return j;
}

static json_t *versions(const json_t *extra, const json_t *plan)
{
    const char *afl = fields_text(extra, "afl_version"), *commit = fields_text(plan, "git_commit");
    json_t *dirty = json_object_get(plan, "git_dirty");

    if (afl[0] == '\0')
        afl = fields_text(plan, "afl_version");
    return json_pack("{s:o, s:s, s:o, s:O}", "afl", fields_string(afl[0] != '\0' ? afl : NULL),
                     "fuzzctl", version_string(), "git_commit",
                     fields_string(commit[0] != '\0' ? commit : NULL), "git_dirty",
                     commit[0] != '\0' && dirty != NULL ? dirty : json_null());
}

/* Pauses by cause, as the farm has counted them. */
static json_t *frozen(const json_t *extra)
{
    json_t *list = json_array();
    const json_t *one;
    size_t i;

    json_array_foreach (json_object_get(extra, "frozen"), i, one) {
        (void)json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:I}", "cause",
                                                    fields_string(fields_text(one, "cause")), "why",
                                                    fields_string(fields_text(one, "why")), "times",
                                                    fields_int(one, "times"), "ms",
                                                    fields_int(one, "ms")));
    }
    return list;
}

static void add_run(json_t *j, const char *state_dir, const struct run_row *run, int64_t now_ms)
{
    int64_t end_ms = run->ended_at_ms > 0 ? run->ended_at_ms : now_ms;
    json_t *reasons = fields_parse(run->reasons);
    json_t *plan = load_plan(state_dir, run), *extra = fields_parse(run->extra);
    const char *cause = fields_text(extra, "stop_cause");
    char seed[24];

    if (!json_is_array(reasons)) {
        json_decref(reasons);
        reasons = json_array();
    }
    (void)json_object_set_new(j, "version", json_integer(MODEL_VERSION));
    (void)json_object_set_new(j, "campaign", fields_string(run->campaign));
    (void)json_object_set_new(j, "run", fields_string(run->id));
    (void)json_object_set_new(j, "verdict", fields_string(run->verdict));
    (void)json_object_set_new(j, "reasons", reasons);
    (void)json_object_set_new(j, "state", fields_string(run->state));
    (void)json_object_set_new(j, "stop_cause", fields_string(cause[0] != '\0' ? cause : NULL));
    (void)json_object_set_new(j, "started_at", fields_time(run->started_at_ms));
    (void)json_object_set_new(j, "ended_at", fields_time(run->ended_at_ms));
    (void)json_object_set_new(j, "elapsed_s",
                              json_integer(clock_span_ms(run->started_at_ms, end_ms) / 1000));
    (void)json_object_set_new(j, "budget_s", json_integer(run->budget_ms / 1000));
    (void)snprintf(seed, sizeof(seed), "%" PRIu64, run->seed);
    (void)json_object_set_new(j, "seed", json_string(seed)); /* JSON has no room for the number */
    (void)json_object_set_new(j, "host", fields_string(run->host));
    (void)json_object_set_new(j, "dir", fields_string(run->dir));
    (void)json_object_set_new(j, "isolation", isolation(extra));
    (void)json_object_set_new(j, "frozen", frozen(extra));
    (void)json_object_set_new(j, "versions", versions(extra, plan));
    json_decref(plan);
    json_decref(extra);
}

static const struct result_row *result_of(const struct rows *x, const char *target,
                                          const char *sha256)
{
    for (size_t i = 0; i < x->n_results; i++) {
        if (strcmp(x->results[i].target, target) == 0 && strcmp(x->results[i].sha256, sha256) == 0)
            return &x->results[i];
    }
    return NULL;
}

static const struct artifact_row *artifact_of(const struct rows *x, const char *target,
                                              const char *sha256)
{
    for (size_t i = 0; i < x->n_artifacts; i++) {
        if (strcmp(x->artifacts[i].target, target) == 0 &&
            strcmp(x->artifacts[i].sha256, sha256) == 0)
            return &x->artifacts[i];
    }
    return NULL;
}

static json_t *replay_of(const json_t *detail)
{
    const char *command = fields_text(json_object_get(detail, "replay"), "command");

    return fields_string(command[0] != '\0' ? command : NULL);
}

static json_t *bundle_of(const char *state_dir, const char *bucket)
{
    cleanup_free char *path = xasprintf("%s/bundles/%s.tar.zst", state_dir, bucket);
    struct stat sb;

    return fields_string(lstat(path, &sb) == 0 && S_ISREG(sb.st_mode) ? path : NULL);
}

static json_t *reproduced(int n, int of)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%d/%d", n, of);
    return json_string(text);
}

static json_t *bucket_json(const struct rows *x, const struct bucket_row *b, const char *state_dir)
{
    const struct result_row *best = result_of(x, b->target, b->best_sha256);
    json_t *detail = fields_parse(best != NULL ? best->detail : NULL);
    cleanup_free char *input = artifact_blob_path(state_dir, b->best_sha256);
    json_t *j = json_object();

    (void)json_object_set_new(j, "id", fields_string(b->id));
    (void)json_object_set_new(j, "target", fields_string(b->target));
    (void)json_object_set_new(j, "class", fields_string(b->class_));
    (void)json_object_set_new(j, "shows",
                              fields_string(best ? target_shown_class(best, detail) : b->class_));
    (void)json_object_set_new(j, "kind", fields_string(b->kind));
    (void)json_object_set_new(j, "signature", fields_string(b->signature));
    (void)json_object_set_new(j, "signature_why", fields_string(b->signature_why));
    (void)json_object_set_new(j, "severity", json_integer(b->severity));
    (void)json_object_set_new(j, "count", json_integer(b->count));
    (void)json_object_set_new(j, "inputs", json_integer(b->inputs));
    (void)json_object_set_new(j, "reproduced", reproduced(b->reproduced, b->runs));
    (void)json_object_set_new(j, "first_seen", fields_time(b->first_seen_at_ms));
    (void)json_object_set_new(j, "last_seen", fields_time(b->last_seen_at_ms));
    (void)json_object_set_new(j, "first_seen_ever", fields_time(b->first_seen_ever_at_ms));
    (void)json_object_set_new(j, "sha256", fields_string(b->best_sha256));
    (void)json_object_set_new(j, "input", fields_string(input));
    (void)json_object_set_new(j, "replay", replay_of(detail));
    (void)json_object_set_new(j, "bundle", bundle_of(state_dir, b->id));
    json_decref(detail);
    return j;
}

/* Inputs without a bucket: timeouts that ended in time when replayed. */
static json_t *unreproduced_json(const struct rows *x, const struct result_row *r,
                                 const char *state_dir)
{
    const struct artifact_row *a = artifact_of(x, r->target, r->sha256);
    json_t *detail = fields_parse(r->detail);
    cleanup_free char *input = artifact_blob_path(state_dir, r->sha256);
    cleanup_free char *where = a != NULL ? xasprintf("%s/%s", a->instance, a->file) : NULL;
    json_t *j = json_object();

    (void)json_object_set_new(j, "target", fields_string(r->target));
    (void)json_object_set_new(j, "sha256", fields_string(r->sha256));
    (void)json_object_set_new(j, "kind", fields_string(r->kind));
    (void)json_object_set_new(j, "why", fields_string(r->signature_why));
    (void)json_object_set_new(j, "reproduced", reproduced(r->reproduced, r->runs));
    (void)json_object_set_new(j, "file", fields_string(where));
    (void)json_object_set_new(j, "size", json_integer(a != NULL ? a->size_bytes : 0));
    (void)json_object_set_new(j, "input", fields_string(input));
    (void)json_object_set_new(j, "replay", replay_of(detail));
    json_decref(detail);
    return j;
}

int report_model(struct db *db, const char *state_dir, const char *campaign, const char *run,
                 json_t **ret, struct err *err)
{
    struct rows x = {0};
    int64_t now_ms = clock_wall_ms();
    json_t *j, *targets = json_array(), *buckets = json_array(), *unreproduced = json_array();
    int r = rows_load(db, campaign, run, &x, err);

    if (r < 0) {
        json_decref(targets);
        json_decref(buckets);
        json_decref(unreproduced);
        rows_clear(&x);
        return r;
    }
    j = json_object();
    add_run(j, state_dir, &x.run, now_ms);
    for (size_t i = 0; i < x.n_targets; i++) {
        const struct target_rows rows = {.results = x.results,
                                         .artifacts = x.artifacts,
                                         .lost = x.lost,
                                         .n_results = x.n_results,
                                         .n_artifacts = x.n_artifacts,
                                         .n_lost = x.n_lost};
        struct target_counts counts;

        target_count(x.targets[i].name, &rows, &counts);
        (void)json_array_append_new(targets, model_target(&x.targets[i], &counts, &rows, now_ms));
    }
    for (size_t i = 0; i < x.n_buckets; i++)
        (void)json_array_append_new(buckets, bucket_json(&x, &x.buckets[i], state_dir));
    for (size_t i = 0; i < x.n_results; i++) {
        if (x.results[i].bucket == NULL)
            (void)json_array_append_new(unreproduced,
                                        unreproduced_json(&x, &x.results[i], state_dir));
    }
    (void)json_object_set_new(j, "targets", targets);
    (void)json_object_set_new(j, "buckets", buckets);
    (void)json_object_set_new(j, "unreproduced", unreproduced);
    rows_clear(&x);
    *ret = j;
    return 0;
}
