/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict table. Each fact that stands in the way of clean puts one sentence
 * on the list of its word; the first word with a sentence is the verdict. So a
 * verdict other than clean always has a reason, and clean means that no list has one.
 */
#include "oracle/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/parse.h"

/* In the order in which one beats the other. */
enum rank {
    RANK_FINDINGS,
    RANK_FAILED_START,
    RANK_INTERRUPTED,
    RANK_VACUOUS,
    RANK_DEGRADED,
    RANK_COUNT
};

struct sorted {
    struct strv why[RANK_COUNT];
    struct strv notes;
};

static const struct {
    enum verdict verdict;
    const char *name;
    int exit_code;
} words[] = {
    {VERDICT_CLEAN, "clean", EXIT_DONE},
    {VERDICT_FINDINGS, "findings", EXIT_FINDINGS},
    {VERDICT_VACUOUS, "vacuous", EXIT_VACUOUS},
    {VERDICT_FAILED_START, "failed-to-start", EXIT_FAILED_START},
    {VERDICT_DEGRADED, "degraded", EXIT_DEGRADED},
    {VERDICT_INTERRUPTED, "interrupted", EXIT_DEGRADED},
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static const enum verdict by_rank[RANK_COUNT] = {
    [RANK_FINDINGS] = VERDICT_FINDINGS,       [RANK_FAILED_START] = VERDICT_FAILED_START,
    [RANK_INTERRUPTED] = VERDICT_INTERRUPTED, [RANK_VACUOUS] = VERDICT_VACUOUS,
    [RANK_DEGRADED] = VERDICT_DEGRADED,
};

static bool is(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

/* afl-fuzz leaves a crashing seed out with a warning: nobody else would tell. What failed is an artifact, and judged as one, too. */
static void judge_seeds(const struct verdict_target *t, struct sorted *s)
{
    bool found = t->findings > 0 || !t->seeds_left_out;

    if (t->seeds_failed > 0)
        strv_addf(found ? &s->why[RANK_FINDINGS] : &s->notes,
                  "%s: %" PRId64 " of %" PRId64 " seed%s failed when replayed before fuzzing%s",
                  t->name, t->seeds_failed, t->seeds_total, text_plural(t->seeds_total),
                  t->seeds_left_out ? ", and afl-fuzz did not get them" : "");
    if (t->seeds_left > 0)
        strv_addf(&s->notes,
                  "%s: %" PRId64 " of %" PRId64 " seeds were not replayed before fuzzing%s",
                  t->name, t->seeds_left, t->seeds_total,
                  t->seeds_why == NULL ? ", for want of time" : "");
    if (t->seeds_why != NULL && t->started)
        strv_addf(&s->why[RANK_DEGRADED], "%s: its seeds could not be replayed before fuzzing: %s",
                  t->name, t->seeds_why);
}

static void judge_findings(const struct verdict_target *t, struct sorted *s)
{
    char detail[160] = "";
    int n = 0;

    if (t->findings > 0) {
        if (t->findings_flaky > 0)
            n = snprintf(detail, sizeof(detail), ", %" PRId64 " of them not every time",
                         t->findings_flaky);
        if (t->unreproduced_crashes > 0)
            (void)snprintf(detail + n, sizeof(detail) - (size_t)n,
                           ", %" PRId64 " of them not reproduced", t->unreproduced_crashes);
        strv_addf(&s->why[RANK_FINDINGS], "%s: %" PRId64 " input%s with a finding%s", t->name,
                  t->findings, text_plural(t->findings), detail);
    } else if (t->unreproduced_crashes > 0) {
        strv_addf(&s->why[RANK_FINDINGS], "%s: %" PRId64 " crash input%s that did not reproduce",
                  t->name, t->unreproduced_crashes, text_plural(t->unreproduced_crashes));
    }
    judge_seeds(t, s);
    /* The same seeds are run again with the queues. */
    if (t->corpus_failed > t->seeds_failed)
        strv_addf(&s->why[RANK_FINDINGS],
                  "%s: %" PRId64 " input%s of its seeds or queues fail%s when replayed", t->name,
                  t->corpus_failed, text_plural(t->corpus_failed),
                  t->corpus_failed == 1 ? "s" : "");
    if (t->unreproduced_timeouts > 0)
        strv_addf(&s->notes,
                  "%s: %" PRId64 " timeout input%s did not reproduce at hang_timeout; kept and "
                  "listed",
                  t->name, t->unreproduced_timeouts, text_plural(t->unreproduced_timeouts));
}

/* How it started and how it ended. */
static void judge_course(const struct verdict_facts *f, const struct verdict_target *t,
                         struct sorted *s)
{
    bool stopped = is(t->end_reason, "stopped") || (f->interrupted && t->end_reason == NULL);

    if (!t->started && is(t->end_reason, "skipped")) {
        strv_addf(&s->why[RANK_DEGRADED], "%s: was skipped: %s", t->name,
                  t->skipped != NULL ? t->skipped : "a target that it waits for did not end clean");
        return;
    }
    if (!t->started) {
        if (t->start_failure != NULL)
            strv_addf(&s->why[RANK_FAILED_START], "%s: did not start: %s", t->name,
                      t->start_failure);
        else if (is(t->end_reason, "finding"))
            strv_addf(&s->why[RANK_DEGRADED],
                      "%s: was not started: the campaign ended at its first finding", t->name);
        else if (stopped)
            strv_addf(&s->why[RANK_INTERRUPTED], "%s: was stopped before it started", t->name);
        else
            strv_addf(&s->why[RANK_FAILED_START], "%s: never started", t->name);
        return;
    }
    if (t->end_reason == NULL)
        strv_addf(&s->why[RANK_INTERRUPTED], "%s: had not ended", t->name);
    else if (stopped)
        strv_addf(&s->why[RANK_INTERRUPTED], "%s: was stopped before its planned end", t->name);
    else if (is(t->end_reason, "failed"))
        strv_addf(&s->why[RANK_DEGRADED], "%s: ended before its planned end: %s", t->name,
                  t->start_failure != NULL ? t->start_failure : "all of its instances failed");
    else if (is(t->end_reason, "finding") && t->findings == 0 && t->unreproduced_crashes == 0)
        strv_addf(&s->why[RANK_DEGRADED],
                  "%s: ended at its first finding, which triage did not confirm", t->name);
    else if (!is(t->end_reason, "budget") && !is(t->end_reason, "execs") &&
             !is(t->end_reason, "plateau") && !is(t->end_reason, "finding"))
        strv_addf(&s->why[RANK_DEGRADED], "%s: ended for an unknown reason (%s)", t->name,
                  t->end_reason);
    if (t->instances_given_up > 0)
        strv_addf(&s->why[RANK_DEGRADED], "%s: %d instance%s kept dying and %s given up", t->name,
                  t->instances_given_up, text_plural(t->instances_given_up),
                  t->instances_given_up == 1 ? "was" : "were");
}

/* Whether what ran can have found anything. An interrupted run is not measured to the end; that needs no note. */
static void judge_substance(const struct verdict_facts *f, const struct verdict_target *t,
                            struct sorted *s)
{
    struct strv *why = &s->why[RANK_VACUOUS];

    if (!t->started)
        return;
    if (t->execs_done <= 0) {
        strv_addf(why, "%s: executed nothing", t->name);
        return;
    }
    if (t->edges_found <= 0)
        strv_addf(why, "%s: reached no edge in %" PRId64 " executions", t->name, t->execs_done);
    else if (t->edges_floor < 0 && !f->interrupted)
        strv_addf(why, "%s: the edges of a rejected input could not be measured", t->name);
    else if (t->edges_found <= t->edges_floor)
        strv_addf(why,
                  "%s: %" PRId64 " edge%s found, no more than the %" PRId64
                  " of a trivially rejected input",
                  t->name, t->edges_found, text_plural(t->edges_found), t->edges_floor);
    if (!t->reach_judged) {
        if (!f->interrupted)
            strv_addf(
                &s->notes,
                "%s: no place in its code is declared as one that must be reached, so none was "
                "looked for (FZ_REACH in harnesses/README.md)",
                t->name);
    } else if (t->reach_failed) {
        strv_addf(why, "%s: its required reach ids could not be measured", t->name);
    } else {
        for (size_t i = 0; i < t->reach_missing.n; i++)
            strv_addf(why, "%s: required reach id \"%s\" was never reached", t->name,
                      t->reach_missing.v[i]);
    }
}

static void judge_evidence(const struct verdict_target *t, struct sorted *s)
{
    struct strv *why = &s->why[RANK_DEGRADED];

    if (t->pending > 0)
        strv_addf(why, "%s: %" PRId64 " artifact%s not triaged", t->name, t->pending,
                  text_plural(t->pending));
    if (t->unsaved > 0)
        strv_addf(why, "%s: %" PRId64 " crash or hang file%s could not be kept", t->name,
                  t->unsaved, text_plural(t->unsaved));
    if (t->lost > 0)
        strv_addf(why,
                  "%s: %" PRId64
                  " crash or hang file%s empty, what was found is lost (a full disk, "
                  "or afl-fuzz killed as it saved)",
                  t->name, t->lost, t->lost == 1 ? " is" : "s are");
    if (t->sweep_due && t->sweep_left > 0)
        strv_addf(why, "%s: %" PRId64 " queue entr%s not run in the sanitizer build%s%s", t->name,
                  t->sweep_left, t->sweep_left == 1 ? "y was" : "ies were",
                  t->sweep_why != NULL ? ": " : "", t->sweep_why != NULL ? t->sweep_why : "");
    else if (t->sweep_due)
        strv_addf(why, "%s: its queues were not run to the end in the sanitizer build%s%s", t->name,
                  t->sweep_why != NULL ? ": " : "", t->sweep_why != NULL ? t->sweep_why : "");
    for (size_t i = 0; i < t->programs_changed.n; i++)
        strv_addf(why,
                  "%s: its %s was built anew during the run, so not all that ran is one program",
                  t->name, t->programs_changed.v[i]);
    if (t->seeds_changed)
        strv_addf(why, "%s: its seeds folder changed during the run", t->name);
    else if (t->seeds_unknown)
        strv_addf(why, "%s: its seeds folder could not be compared with that of the start",
                  t->name);
}

static void judge(const struct verdict_facts *f, struct sorted *s)
{
    if (f->interrupted)
        strv_add(&s->why[RANK_INTERRUPTED],
                 f->interrupted_why != NULL ? f->interrupted_why : "the campaign was interrupted");
    if (f->evidence_lost)
        strv_add(&s->why[RANK_DEGRADED], "the record of crash and hang files is not complete");
    if (f->n_targets == 0)
        strv_add(&s->why[RANK_VACUOUS], "the campaign has no target");
    for (size_t i = 0; i < f->n_targets; i++) {
        const struct verdict_target *t = &f->targets[i];

        judge_findings(t, s);
        judge_course(f, t, s);
        judge_substance(f, t, s);
        judge_evidence(t, s);
    }
}

/* For each target of a clean run, what the word rests on. */
static void explain_clean(const struct verdict_facts *f, struct strv *reasons)
{
    for (size_t i = 0; i < f->n_targets; i++) {
        const struct verdict_target *t = &f->targets[i];

        strv_addf(reasons,
                  "%s: ended as planned (%s), %" PRId64 " executions, %" PRId64
                  " edge%s, no finding%s",
                  t->name, t->end_reason, t->execs_done, t->edges_found,
                  text_plural(t->edges_found), t->saturated ? ", saturated" : "");
    }
}

static void move_all(struct strv *to, struct strv *from)
{
    for (size_t i = 0; i < from->n; i++)
        strv_add(to, from->v[i]);
    strv_clear(from);
}

enum verdict verdict_of(const struct verdict_facts *f, struct strv *ret_reasons)
{
    struct sorted s = {0};
    enum verdict v = VERDICT_CLEAN;

    judge(f, &s);
    for (int r = RANK_COUNT - 1; r >= 0; r--) {
        if (s.why[r].n > 0)
            v = by_rank[r];
    }
    if (v == VERDICT_CLEAN)
        explain_clean(f, ret_reasons);
    for (int r = 0; r < RANK_COUNT; r++)
        move_all(ret_reasons, &s.why[r]);
    move_all(ret_reasons, &s.notes);
    return v;
}

const char *verdict_name(enum verdict v)
{
    for (size_t i = 0; i < N_WORDS; i++) {
        if (words[i].verdict == v)
            return words[i].name;
    }
    return NULL;
}

enum verdict verdict_parse(const char *name)
{
    for (size_t i = 0; i < N_WORDS; i++) {
        if (is(name, words[i].name))
            return words[i].verdict;
    }
    return VERDICT_NONE;
}

int verdict_exit_code(enum verdict v)
{
    for (size_t i = 0; i < N_WORDS; i++) {
        if (words[i].verdict == v)
            return words[i].exit_code;
    }
    return EXIT_ERROR;
}
