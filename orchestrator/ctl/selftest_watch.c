/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An item from its start to its verdict. What was found is read from the index, which holds
 * only what is safe and triaged; the cost of a find is what AFL++ wrote into the file's
 * name. Once enough is known the campaign is stopped, and its end is awaited.
 */
#include <bsd/string.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "ctl/selftest.h"
#include "ctl/selftest_match.h"
#include "plan/host.h"
#include "plan/plan.h"
#include "store/artifact.h"
#include "store/results.h"

#define CALL_TIMEOUT_MS 60000
#define HANG_TIMEOUT_MS 2000

const char *selftest_name(const struct selftest *st, const struct selftest_item *it)
{
    return it->plant != NULL ? it->plant->name : st->spec->targets[it->target].name;
}

void selftest_fail(struct selftest_item *it, const char *fmt, ...)
{
    va_list ap;
    char text[sizeof(it->why)];

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)text_printable(it->why, sizeof(it->why), text);
    it->state = SELFTEST_FAILED;
}

bool selftest_done(const struct selftest_item *it)
{
    return it->state == SELFTEST_PASSED || it->state == SELFTEST_FAILED;
}

/* 0 with *ret (its "ok" may be false), or -errno. A signal is for the caller's loop; the answer is still waited for. */
static int call(struct selftest *st, const char *verb, const json_t *args, json_t **ret,
                struct err *err)
{
    int r = client_call(st->client, verb, args, CALL_TIMEOUT_MS, ret, err);

    while (r == -EINTR)
        r = client_call_again(st->client, CALL_TIMEOUT_MS, ret, err);
    return r;
}

static int start_plan(struct selftest *st, struct selftest_item *it, const struct plan *plan,
                      const struct spec *spec, struct err *err)
{
    json_t *args = json_pack("{s:o, s:s%, s:s}", "plan", plan_to_json(plan), "spec_text",
                             spec->text, spec->text_size, "spec_path", spec->path);
    json_t *answer = NULL;
    int r = 0;

    if (args == NULL)
        return err_set(err, -EINVAL, "its campaign is not UTF-8");
    if (st->client == NULL)
        r = client_open(st->state, true, &st->client, err);
    if (r == 0)
        r = call(st, "start", args, &answer, err);
    json_decref(args);
    if (r == 0 && !json_is_true(json_object_get(answer, "ok"))) {
        const char *why = json_string_value(json_object_get(answer, "error"));

        r = err_set(err, -EIO, "fuzzd refused it: %s", why != NULL ? why : "no reason given");
    }
    json_decref(answer);
    if (r == 0)
        str_set(&it->run, plan->run_id);
    return r;
}

void selftest_start(struct selftest *st, struct selftest_item *it)
{
    struct spec_faults faults = {0};
    struct plan *plan = NULL;
    struct spec *spec = NULL;
    struct err err = {0};
    cleanup_free char *file = NULL;
    int r = selftest_prepare(st, it, &file, &err);

    if (r == 0)
        r = plan_from_spec_file(file, NULL, st->state, false, &plan, &spec, &faults, &err);
    for (size_t i = 0; r < 0 && i < faults.n; i++)
        if (!faults.v[i].warning) {
            (void)err_set(&err, r, "[%s] %s: %s", faults.v[i].section, faults.v[i].key,
                          faults.v[i].msg);
            break;
        }
    if (r == 0)
        r = start_plan(st, it, plan, spec, &err);
    if (r == 0 && st->db == NULL)
        r = db_open(st->state, false, &st->db, &err);
    spec_faults_clear(&faults);
    plan_free(plan);
    spec_free(spec);
    if (r < 0)
        selftest_fail(it, "%s", err.msg);
    else
        it->state = SELFTEST_FUZZING;
}

static void stop(struct selftest *st, struct selftest_item *it)
{
    json_t *args = json_pack("{s:s}", "run", it->run), *answer = NULL;
    struct err err = {0};

    it->state = SELFTEST_STOPPING;
    /* Its answer comes with the verdict, which the index tells, too. */
    (void)client_call(st->client, "stop", args, 0, &answer, &err);
    json_decref(answer);
    json_decref(args);
}

/* The file name of the first occurrence of these bytes. */
static void note_file(struct selftest *st, struct selftest_item *it, const char *sha256)
{
    struct occurrence_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (results_occurrences(st->db, it->run, selftest_name(st, it), sha256, &rows, &n, &err) == 0 &&
        n > 0) {
        (void)strlcpy(it->seen_file, rows[0].file, sizeof(it->seen_file));
        selftest_file_cost(rows[0].file, &it->found_execs, &it->found_ms);
    }
    occurrence_rows_free(rows, n);
}

/* The cheapest allowed result so far; of others the words, for a failure. */
static void look_at_results(struct selftest *st, struct selftest_item *it, char *others,
                            size_t others_size)
{
    struct result_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (results_list(st->db, it->run, &rows, &n, &err) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        struct selftest_word w;
        char text[128];
        bool ok;

        selftest_word_of(&rows[i], &w);
        ok = it->plant->replay == SPEC_REPLAY_NO
                 ? selftest_unreproduced_allowed(&rows[i], &it->plant->allow)
                 : selftest_word_allowed(&w, &it->plant->allow);
        (void)selftest_word_text(&w, text, sizeof(text));
        if (ok) {
            struct selftest_item one = *it;

            one.found_execs = one.found_ms = -1;
            note_file(st, &one, rows[i].sha256);
            if (it->found[0] == '\0' || one.found_ms < it->found_ms || it->found_ms < 0) {
                it->found_execs = one.found_execs;
                it->found_ms = one.found_ms;
                (void)strlcpy(it->seen_file, one.seen_file, sizeof(it->seen_file));
                if (it->plant->replay == SPEC_REPLAY_NO)
                    (void)snprintf(it->found, sizeof(it->found), "%.20s, not alone", rows[i].kind);
                else
                    (void)strlcpy(it->found, text, sizeof(it->found));
            }
            it->seen = true;
        } else if (strstr(others, text) == NULL) {
            size_t used = strlen(others);

            (void)snprintf(others + used, others_size - used, "%s%s", used > 0 ? ", " : "", text);
        }
    }
    for (size_t i = 0; i < n; i++)
        result_row_clear(&rows[i]);
    free(rows);
}

static bool allows_class(const struct spec_plant *p, const char *class_)
{
    for (size_t i = 0; i < p->allow.n; i++)
        if (strcmp(p->allow.v[i], class_) == 0)
            return true;
    return false;
}

/*
 * Hangs wait for a free core, and there may be none before the end: one that hangs here as well is enough to stop for. Triage has its
 * say afterwards.
 */
static void look_at_hangs(struct selftest *st, struct selftest_item *it)
{
    struct artifact_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (!allows_class(it->plant, "timeout") ||
        artifact_untriaged(st->db, it->run, &rows, &n, &err) < 0)
        return;
    for (size_t i = 0; i < n && i < 2 && !it->seen; i++) {
        cleanup_free char *blob = artifact_blob_path(st->state, rows[i].sha256);
        struct verdict_of_run v = {0};

        if (strcmp(rows[i].kind, "hang") == 0 && rows[i].sha256[0] != '\0' &&
            selftest_run_input(st, it, blob, HANG_TIMEOUT_MS, &v, &err) == 0)
            it->seen = strcmp(v.class_, "timeout") == 0;
    }
    artifact_rows_free(rows, n);
}

static void read_execs(struct selftest *st, struct selftest_item *it)
{
    struct target_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (runs_targets(st->db, it->run, &rows, &n, &err) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        it->execs_done = rows[i].execs_done;
        target_row_clear(&rows[i]);
    }
    free(rows);
}

/* The first sentence of a run's reasons. buf returned. */
static char *first_reason(const struct run_row *row, char *buf, size_t size)
{
    json_t *list = json_loads(row->reasons != NULL ? row->reasons : "[]", 0, NULL);
    const char *s = json_string_value(json_array_get(list, 0));

    (void)strlcpy(buf, s != NULL ? s : "without a reason", size);
    json_decref(list);
    return buf;
}

static const char *verdict_of(const struct run_row *row)
{
    return row->verdict != NULL ? row->verdict : "no verdict";
}

static void judge_control(struct selftest_item *it, const struct run_row *row)
{
    char reason[300];

    (void)strlcpy(it->found, verdict_of(row), sizeof(it->found));
    /* On a slow host its time may be over first: said, as it then proves less. */
    if (strcmp(verdict_of(row), "clean") == 0 && it->execs_done < it->execs)
        (void)strlcpy(it->found, "clean, out of time", sizeof(it->found));
    if (strcmp(verdict_of(row), "clean") == 0)
        it->state = SELFTEST_PASSED;
    else
        selftest_fail(it, "the target without a bug is not clean: %s, %s", verdict_of(row),
                      first_reason(row, reason, sizeof(reason)));
}

/* What the target itself says when it is started, by class and id; false when it says nothing. */
static bool start_word(struct selftest *st, struct selftest_item *it, struct selftest_word *ret)
{
    cleanup_free char *input = xasprintf("%s/seeds-%s/000", st->dir, it->plant->name);
    struct verdict_of_run v = {0};
    struct err err = {0};

    if (selftest_run_input(st, it, input, HANG_TIMEOUT_MS, &v, &err) < 0)
        return false;
    memset(ret, 0, sizeof(*ret));
    (void)strlcpy(ret->class_, v.class_, sizeof(ret->class_));
    (void)strlcpy(ret->id, v.kind, sizeof(ret->id));
    ret->crash = strcmp(v.class_, "crash") == 0;
    return strcmp(v.class_, "none") != 0;
}

/* It was refused, and the target's own words have the class and the id of an allowed verdict. */
static void judge_startup(struct selftest *st, struct selftest_item *it, const struct run_row *row)
{
    struct selftest_word w = {0};
    char reason[300], text[128] = "nothing";
    bool says = start_word(st, it, &w);

    (void)first_reason(row, reason, sizeof(reason));
    if (says)
        (void)selftest_word_text(&w, text, sizeof(text));
    (void)strlcpy(it->found, says ? text : verdict_of(row), sizeof(it->found));
    if (strcmp(verdict_of(row), "failed-to-start") != 0)
        selftest_fail(it, "it was to refuse its start, and is: %s, %s", verdict_of(row), reason);
    else if (!says || !selftest_word_allowed(&w, &it->plant->allow))
        selftest_fail(it, "it did not start, but says %s", text);
    else
        it->state = SELFTEST_PASSED;
}

static void judge_plant(struct selftest *st, struct selftest_item *it, const struct run_row *row)
{
    char others[256] = "", reason[300], n[2][32];

    look_at_results(st, it, others, sizeof(others));
    if (it->found[0] != '\0' && it->found_execs > it->execs)
        selftest_fail(it, "found %s only after %s executions, over its %s", it->found,
                      format_count(n[0], sizeof(n[0]), (double)it->found_execs),
                      format_count(n[1], sizeof(n[1]), (double)it->execs));
    else if (it->found[0] != '\0')
        it->state = SELFTEST_PASSED;
    else if (others[0] != '\0')
        selftest_fail(it, "found %s instead of what is allowed", others);
    else if (it->seen)
        selftest_fail(it, "an input that hung did not when it was triaged");
    else
        selftest_fail(it, "not found in %s executions: %s, %s",
                      format_count(n[0], sizeof(n[0]), (double)it->execs_done), verdict_of(row),
                      first_reason(row, reason, sizeof(reason)));
}

void selftest_poll(struct selftest *st, struct selftest_item *it)
{
    struct run_row row = {0};
    struct err err = {0};
    char others[256] = "";
    int r = runs_get(st->db, NULL, it->run, &row, &err);

    if (r < 0) {
        selftest_fail(it, "its run cannot be read: %s", err.msg);
        return;
    }
    if (strcmp(row.state, "ended") == 0) {
        read_execs(st, it);
        if (it->plant == NULL)
            judge_control(it, &row);
        else if (it->plant->startup == SPEC_STARTUP_YES)
            judge_startup(st, it, &row);
        else
            judge_plant(st, it, &row);
    } else if (it->plant != NULL && it->state == SELFTEST_FUZZING) {
        look_at_results(st, it, others, sizeof(others));
        if (!it->seen)
            look_at_hangs(st, it);
        if (it->seen)
            stop(st, it);
    }
    run_row_clear(&row);
}
