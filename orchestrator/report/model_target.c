/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target's part of the report, from its row and from what triage said of its
 * inputs. Counts are of distinct contents that were replayed, not of AFL++'s own
 * counters, which start anew at a resume.
 */
#include "report/model_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "report/fields.h"

/* New edges in this last part of its time: it is still finding. */
#define STILL_FINDING_PART 5
#define PAGE_BYTES         4096
#define MAYBE_CUT_MS       60000
#define LOST_NAMED         1000

const char *target_shown_class(const struct result_row *r, const json_t *detail)
{
    const char *shown = fields_text(detail, "class");

    return strcmp(r->class_, "flaky") == 0 && shown[0] != '\0' ? shown : r->class_;
}

static void count_result(const struct result_row *r, struct target_counts *c)
{
    json_t *detail = fields_parse(r->detail);
    const char *class_ = target_shown_class(r, detail);

    if (strcmp(class_, "unreproduced") == 0) {
        bool timeout = r->bucket == NULL || (r->kind != NULL && strcmp(r->kind, "timeout") == 0);

        *(timeout ? &c->unreproduced_timeouts : &c->unreproduced_crashes) += 1;
    } else {
        if (strcmp(class_, "oom") == 0)
            c->ooms++;
        else if (strcmp(class_, "timeout") == 0)
            c->timeouts++;
        else
            c->crashes++;
        if (r->reproduced < r->runs)
            c->flaky++;
    }
    json_decref(detail);
}

/* A full disk cuts a file at a page; one that was saved just before or after it filled up may be such a part. */
static bool maybe_cut(const struct artifact_row *a, const struct target_rows *rows)
{
    if (a->size_bytes == 0 || a->size_bytes % PAGE_BYTES != 0)
        return false;
    for (size_t i = 0; i < rows->n_lost; i++) {
        const struct artifact_row *l = &rows->lost[i];

        if (strcmp(l->target, a->target) == 0 &&
            llabs(l->first_seen_at_ms - a->first_seen_at_ms) <= MAYBE_CUT_MS)
            return true;
    }
    return false;
}

void target_count(const char *target, const struct target_rows *rows, struct target_counts *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < rows->n_results; i++) {
        if (strcmp(rows->results[i].target, target) == 0)
            count_result(&rows->results[i], ret);
    }
    for (size_t i = 0; i < rows->n_artifacts; i++) {
        const struct artifact_row *a = &rows->artifacts[i];

        if (strcmp(a->target, target) != 0)
            continue;
        ret->artifacts++;
        if (a->sha256[0] == '\0')
            ret->unsaved++;
        else if (a->class_ == NULL)
            ret->pending++;
        ret->maybe_cut += maybe_cut(a, rows);
    }
    for (size_t i = 0; i < rows->n_lost; i++)
        ret->lost += strcmp(rows->lost[i].target, target) == 0;
}

static json_t *lost_files(const struct target_rows *rows, const char *target)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows->n_lost && json_array_size(list) < LOST_NAMED; i++) {
        const struct artifact_row *l = &rows->lost[i];
        cleanup_free char *file = xasprintf("%s/%s", l->instance, l->file);

        if (strcmp(l->target, target) == 0)
            (void)json_array_append_new(list, fields_string(file));
    }
    return list;
}

static void add_finding(json_t *j, const struct target_row *t, int64_t now_ms)
{
    int64_t end_ms = t->ended_at_ms > 0 ? t->ended_at_ms : now_ms;
    int64_t quiet_ms = clock_span_ms(t->last_find_ms, end_ms);
    int64_t span_ms = t->started_at_ms > 0 ? clock_span_ms(t->started_at_ms, end_ms) : 0;
    bool still = t->last_find_ms > 0 && quiet_ms * STILL_FINDING_PART <= span_ms;
    char note[128], at[32], ago[40];

    if (t->last_find_ms <= 0)
        (void)snprintf(note, sizeof(note), "no new edge was found");
    else if (still)
        (void)snprintf(note, sizeof(note), "still finding %s",
                       t->ended_at_ms > 0 ? "at the end" : "new edges");
    else
        (void)snprintf(note, sizeof(note), "no new edge since %s (%s %s)",
                       clock_iso8601(at, sizeof(at), t->last_find_ms),
                       format_duration(ago, sizeof(ago), quiet_ms / 1000 * 1000),
                       t->ended_at_ms > 0 ? "before the end" : "ago");
    (void)json_object_set_new(j, "last_find_at", fields_time(t->last_find_ms));
    (void)json_object_set_new(j, "still_finding", json_boolean(still));
    (void)json_object_set_new(j, "findings_note", json_string(note));
}

/* Members of extra that are shown as they are; null when they are not there. */
static void add_extra(json_t *j, const struct target_row *t)
{
    static const char *const keys[] = {"seeds",        "sweep",           "corpus",
                                       "verdict",      "shuffle",         "start_failure",
                                       "skipped",      "saturated",       "instances_given_up",
                                       "reach",        "reach_missing",   "reach_required",
                                       "reach_error",  "corpus_failed",   "floor_error",
                                       "seeds_sha256", "seeds_changed",   "seeds_error",
                                       "instances",    "programs_changed"};
    json_t *extra = fields_parse(t->extra);

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *v = json_object_get(extra, keys[i]);

        (void)json_object_set(j, keys[i], v != NULL ? v : json_null());
    }
    json_decref(extra);
}

json_t *model_target(const struct target_row *t, const struct target_counts *c,
                     const struct target_rows *rows, int64_t now_ms)
{
    json_t *j = json_object();
    const struct {
        const char *key;
        int64_t n;
    } numbers[] = {
        {"execs_done", t->execs_done},
        {"edges_found", t->edges_found},
        {"total_edges", t->total_edges},
        {"edges_floor", t->edges_floor},
        {"corpus_count", t->corpus_count},
        {"corpus_seeds", t->corpus_seeds},
        {"fuzz_s", t->fuzz_ms / 1000},
        {"crashes", c->crashes},
        {"ooms", c->ooms},
        {"timeouts", c->timeouts},
        {"flaky", c->flaky},
        {"unreproduced", c->unreproduced_crashes + c->unreproduced_timeouts},
        {"artifacts", c->artifacts},
        {"pending", c->pending},
        {"unsaved", c->unsaved},
        {"lost", c->lost},
        {"maybe_cut", c->maybe_cut},
        {"restarts", t->restarts},
        {"oom_kills", t->oom_kills},
    };

    (void)json_object_set_new(j, "name", fields_string(t->name));
    (void)json_object_set_new(j, "state", fields_string(t->state));
    (void)json_object_set_new(j, "end_reason", fields_string(t->end_reason));
    (void)json_object_set_new(j, "started_at", fields_time(t->started_at_ms));
    (void)json_object_set_new(j, "ended_at", fields_time(t->ended_at_ms));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        (void)json_object_set_new(j, numbers[i].key, json_integer(numbers[i].n));
    (void)json_object_set_new(j, "execs_per_sec", json_real(t->execs_per_sec));
    (void)json_object_set_new(j, "stability", json_real(t->stability));
    (void)json_object_set_new(j, "lost_files", lost_files(rows, t->name));
    add_finding(j, t, now_ms);
    add_extra(j, t);
    return j;
}
