/* SPDX-License-Identifier: Apache-2.0 */
/* Facts in, verdict and reasons out. Each case is a good run with something changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/exitcode.h"
#include "oracle/verdict.h"

static struct verdict_target good(const char *name)
{
    return (struct verdict_target){.name = name,
                                   .end_reason = "budget",
                                   .started = true,
                                   .execs_done = 1000,
                                   .edges_found = 50,
                                   .edges_floor = 7,
                                   .reach_judged = true};
}

#define GOOD                                                                                       \
    .name = "t", .end_reason = "budget", .started = true, .execs_done = 1000, .edges_found = 50,   \
    .edges_floor = 7, .reach_judged = true
static char *missing_one[] = {(char[]){"e_io"}, NULL};
static char *missing_two[] = {(char[]){"e_io"}, (char[]){"e_end"}, NULL};

#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif
static const struct {
    const char *what;
    struct verdict_target t;
    bool interrupted;
    const char *why;
    bool evidence_lost;
    enum verdict want;
    const char *reasons[5];
} cases[] = {
    {"all is well",
     {GOOD},
     .want = VERDICT_CLEAN,
     .reasons = {"t: ended as planned (budget), 1000 executions, 50 edges, no finding"}},
    {"saturated",
     {GOOD, .end_reason = "plateau", .saturated = true},
     .want = VERDICT_CLEAN,
     .reasons =
         {"t: ended as planned (plateau), 1000 executions, 50 edges, no finding, saturated"}},
    {"execs end",
     {GOOD, .end_reason = "execs"},
     .want = VERDICT_CLEAN,
     .reasons = {"t: ended as planned (execs), 1000 executions, 50 edges, no finding"}},
    {"no required list is said",
     {GOOD, .reach_judged = false},
     .want = VERDICT_CLEAN,
     .reasons =
         {"t: ended as planned (budget), 1000 executions, 50 edges, no finding",
          "t: no place in its code is declared as one that must be reached, so none was looked "
          "for (FZ_REACH in harnesses/README.md)"}},
    {"an unreproduced timeout does not block",
     {GOOD, .unreproduced_timeouts = 2},
     .want = VERDICT_CLEAN,
     .reasons = {"t: ended as planned (budget), 1000 executions, 50 edges, no finding",
                 "t: 2 timeout inputs did not reproduce at hang_timeout; kept and listed"}},

    {"skipped on purpose",
     {GOOD, .started = false, .end_reason = "skipped", .skipped = "it waits for u, which failed"},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: was skipped: it waits for u, which failed"}},
    {"a finding",
     {GOOD, .findings = 1},
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 1 input with a finding"}},
    {"flaky ones",
     {GOOD, .findings = 3, .findings_flaky = 1, .unreproduced_crashes = 1},
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 3 inputs with a finding, 1 of them not every time, 1 of them not reproduced"}},
    {"an unreproduced crash counts",
     {GOOD, .unreproduced_crashes = 1},
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 1 crash input that did not reproduce"}},
    {"a seed that fails",
     {GOOD, .corpus_failed = 1},
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 1 input of its seeds or queues fails when replayed"}},
    {"a seed that failed before fuzzing",
     {GOOD, .seeds_total = 9, .seeds_failed = 2, .seeds_left_out = true, .findings = 2,
      .corpus_failed = 2},
     .want = VERDICT_FINDINGS,
     .reasons =
         {"t: 2 inputs with a finding",
          "t: 2 of 9 seeds failed when replayed before fuzzing, and afl-fuzz did not get them"}},
    {"a seed that failed and could not be put aside",
     {GOOD, .seeds_total = 9, .seeds_failed = 1},
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 1 of 9 seeds failed when replayed before fuzzing"}},
    {"a seed that was slow once",
     {GOOD, .seeds_total = 9, .seeds_failed = 1, .seeds_left_out = true,
      .unreproduced_timeouts = 1},
     .want = VERDICT_CLEAN,
     .reasons =
         {"t: ended as planned (budget), 1000 executions, 50 edges, no finding",
          "t: 1 of 9 seeds failed when replayed before fuzzing, and afl-fuzz did not get them",
          "t: 1 timeout input did not reproduce at hang_timeout; kept and listed"}},
    {"seeds for which there was no time",
     {GOOD, .seeds_total = 9, .seeds_left = 4},
     .want = VERDICT_CLEAN,
     .reasons = {"t: ended as planned (budget), 1000 executions, 50 edges, no finding",
                 "t: 4 of 9 seeds were not replayed before fuzzing, for want of time"}},
    {"seeds that could not be run",
     {GOOD, .seeds_why = "p hangs"},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: its seeds could not be replayed before fuzzing: p hangs"}},
    {"a seed that could not be run",
     {GOOD, .seeds_total = 9, .seeds_left = 1, .seeds_why = "s: File too large"},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: its seeds could not be replayed before fuzzing: s: File too large",
                 "t: 1 of 9 seeds were not replayed before fuzzing"}},
    {"not started, as another target ended the campaign",
     {.name = "t", .end_reason = "finding"},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: was not started: the campaign ended at its first finding"}},
    {"stop at first",
     {GOOD, .end_reason = "finding", .findings = 1},
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 1 input with a finding"}},
    {"a finding of an interrupted run",
     {GOOD, .end_reason = "stopped", .findings = 1},
     true,
     "stopped by a user",
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 1 input with a finding", "stopped by a user",
                 "t: was stopped before its planned end"}},
    {"a finding without executions told",
     {GOOD, .execs_done = 0, .findings = 1},
     .want = VERDICT_FINDINGS,
     .reasons = {"t: 1 input with a finding", "t: executed nothing"}},

    {"failed to start",
     {.name = "t", .end_reason = "failed", .start_failure = "no instrumentation"},
     .want = VERDICT_FAILED_START,
     .reasons = {"t: did not start: no instrumentation"}},
    {"never started",
     {.name = "t", .end_reason = "budget"},
     .want = VERDICT_FAILED_START,
     .reasons = {"t: never started"}},
    {"never started and not ended",
     {.name = "t"},
     .want = VERDICT_FAILED_START,
     .reasons = {"t: never started"}},
    {"failed to start beats interrupted",
     {.name = "t", .end_reason = "failed", .start_failure = "no room"},
     true,
     "stopped by a user",
     .want = VERDICT_FAILED_START,
     .reasons = {"t: did not start: no room", "stopped by a user"}},

    {"stopped",
     {GOOD, .end_reason = "stopped"},
     true,
     "stopped by a user",
     .want = VERDICT_INTERRUPTED,
     .reasons = {"stopped by a user", "t: was stopped before its planned end"}},
    {"interrupted without words",
     {GOOD},
     true,
     .want = VERDICT_INTERRUPTED,
     .reasons = {"the campaign was interrupted"}},
    {"stopped, and nobody said so",
     {GOOD, .end_reason = "stopped"},
     .want = VERDICT_INTERRUPTED,
     .reasons = {"t: was stopped before its planned end"}},
    {"still running",
     {GOOD, .end_reason = NULL},
     .want = VERDICT_INTERRUPTED,
     .reasons = {"t: had not ended"}},
    {"stopped before its turn",
     {.name = "t"},
     true,
     "stopped by a user",
     .want = VERDICT_INTERRUPTED,
     .reasons = {"stopped by a user", "t: was stopped before it started"}},
    {"interrupted beats vacuous",
     {GOOD, .end_reason = "stopped", .execs_done = 0},
     true,
     "host gone",
     .want = VERDICT_INTERRUPTED,
     .reasons = {"host gone", "t: was stopped before its planned end", "t: executed nothing"}},
    {"interrupted beats degraded",
     {GOOD, .pending = 1},
     true,
     "host gone",
     .want = VERDICT_INTERRUPTED,
     .reasons = {"host gone", "t: 1 artifact not triaged"}},

    {"nothing executed",
     {GOOD, .execs_done = 0},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: executed nothing"}},
    {"no edge",
     {GOOD, .edges_found = 0, .edges_floor = -1},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: reached no edge in 1000 executions"}},
    {"no edge above the floor",
     {GOOD, .edges_found = 7},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: 7 edges found, no more than the 7 of a trivially rejected input"}},
    {"a floor that could not be measured",
     {GOOD, .edges_floor = -1},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: the edges of a rejected input could not be measured"}},
    {"a reach id missing",
     {GOOD, .reach_missing = {missing_one, 1}},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: required reach id \"e_io\" was never reached"}},
    {"two missing",
     {GOOD, .reach_missing = {missing_two, 2}},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: required reach id \"e_io\" was never reached",
                 "t: required reach id \"e_end\" was never reached"}},
    {"reach not measured",
     {GOOD, .reach_failed = true},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: its required reach ids could not be measured"}},
    {"vacuous beats degraded",
     {GOOD, .execs_done = 0, .instances_given_up = 1},
     .want = VERDICT_VACUOUS,
     .reasons = {"t: executed nothing", "t: 1 instance kept dying and was given up"}},

    {"an instance given up",
     {GOOD, .instances_given_up = 2},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: 2 instances kept dying and were given up"}},
    {"failed on the way",
     {GOOD, .end_reason = "failed"},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: ended before its planned end: all of its instances failed"}},
    {"pending triage",
     {GOOD, .pending = 3},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: 3 artifacts not triaged"}},
    {"a sweep that could not be run",
     {GOOD, .sweep_due = true, .sweep_left = 2, .sweep_why = "it does not come up"},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: 2 queue entries were not run in the sanitizer build: it does not come up"}},
    {"a sweep that did not end",
     {GOOD, .sweep_due = true},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: its queues were not run to the end in the sanitizer build"}},
    {"a file not kept",
     {GOOD, .unsaved = 1},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: 1 crash or hang file could not be kept"}},
    {"a file that stayed empty",
     {GOOD, .lost = 1},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: 1 crash or hang file is empty, what was found is lost (a full disk, or "
                 "afl-fuzz killed as it saved)"}},
    {"evidence lost",
     {GOOD},
     .evidence_lost = true,
     .want = VERDICT_DEGRADED,
     .reasons = {"the record of crash and hang files is not complete"}},
    {"seeds changed",
     {GOOD, .seeds_changed = true},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: its seeds folder changed during the run"}},
    {"a program changed",
     {GOOD, .programs_changed = {.v = (char *[]){(char[]){"harness"}}, .n = 1}},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: its harness was built anew during the run, so not all that ran is one "
                 "program"}},
    {"seeds unknown",
     {GOOD, .seeds_unknown = true},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: its seeds folder could not be compared with that of the start"}},
    {"first finding not confirmed",
     {GOOD, .end_reason = "finding", .unreproduced_timeouts = 1},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: ended at its first finding, which triage did not confirm",
                 "t: 1 timeout input did not reproduce at hang_timeout; kept and listed"}},
    {"an end nobody knows",
     {GOOD, .end_reason = "sunset"},
     .want = VERDICT_DEGRADED,
     .reasons = {"t: ended for an unknown reason (sunset)"}},
};

static void check_reasons(const char *what, const struct strv *got, const char *const *want)
{
    size_t n = 0;

    while (n < 5 && want[n] != NULL)
        n++;
    for (size_t i = 0; i < got->n || i < n; i++) {
        const char *g = i < got->n ? got->v[i] : "(none)", *w = i < n ? want[i] : "(none)";

        if (strcmp(g, w) != 0)
            fail_msg("%s: reason %zu is \"%s\", want \"%s\"", what, i, g, w);
    }
}

static void each_fact_has_its_verdict_and_its_reason(void **ctx)
{
    (void)ctx;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verdict_facts f = {.targets = &cases[i].t,
                                  .n_targets = 1,
                                  .interrupted = cases[i].interrupted,
                                  .interrupted_why = cases[i].why,
                                  .evidence_lost = cases[i].evidence_lost};
        struct strv reasons = {0};
        enum verdict v = verdict_of(&f, &reasons);

        if (v != cases[i].want)
            fail_msg("%s: %s, want %s", cases[i].what, verdict_name(v),
                     verdict_name(cases[i].want));
        check_reasons(cases[i].what, &reasons, cases[i].reasons);
        strv_clear(&reasons);
    }
}

static void one_bad_target_takes_clean_from_all(void **ctx)
{
    struct verdict_target t[3] = {good("a"), good("b"), good("c")};
    struct verdict_facts f = {.targets = t, .n_targets = 3};
    struct strv reasons = {0};
    const char *const want[] = {"c: 1 input with a finding", "b: executed nothing",
                                "a: 1 artifact not triaged", NULL};

    (void)ctx;
    t[0].pending = 1;
    t[1].execs_done = 0;
    t[2].findings = 1;
    assert_int_equal(verdict_of(&f, &reasons), VERDICT_FINDINGS);
    check_reasons("three targets", &reasons, want);
    strv_clear(&reasons);
}

static void a_campaign_without_targets_is_vacuous(void **ctx)
{
    struct verdict_facts f = {0};
    struct strv reasons = {0};

    (void)ctx;
    assert_int_equal(verdict_of(&f, &reasons), VERDICT_VACUOUS);
    strv_clear(&reasons);
}

/* Every combination of faults: never clean, always with a reason; and without any, clean. */
static void clean_comes_only_when_nothing_stands_in_its_way(void **ctx)
{
    (void)ctx;
    for (unsigned bits = 0; bits < 1u << 15; bits++) {
        struct verdict_target t = good("t");
        struct verdict_facts f = {.targets = &t, .n_targets = 1};
        struct strv reasons = {0};
        enum verdict v;

        if (bits & 1)
            t.findings = 1;
        if (bits & 2)
            t.started = false;
        if (bits & 4)
            t.execs_done = 0;
        if (bits & 8)
            t.edges_found = t.edges_floor;
        if (bits & 16)
            t.pending = 1;
        if (bits & 32)
            t.seeds_changed = true;
        if (bits & 64)
            t.reach_failed = true;
        if (bits & 128)
            t.instances_given_up = 1;
        if (bits & 256)
            f.interrupted = true;
        if (bits & 512)
            f.evidence_lost = true;
        if (bits & 1024)
            t.end_reason = "failed";
        if (bits & 2048)
            t.unsaved = 1;
        if (bits & 4096)
            t.corpus_failed = 1;
        if (bits & 8192)
            t.lost = 1;
        if (bits & 16384)
            t.sweep_due = true;
        v = verdict_of(&f, &reasons);
        assert_int_equal(v == VERDICT_CLEAN, bits == 0);
        assert_int_equal(v == VERDICT_FINDINGS, (bits & 4097) != 0);
        assert_true(reasons.n > 0);
        strv_clear(&reasons);
    }
}

static void names_and_exit_codes_agree(void **ctx)
{
    static const struct {
        const char *name;
        int code;
    } want[] = {{"clean", 0},     {"findings", 10},   {"vacuous", 11}, {"failed-to-start", 12},
                {"degraded", 13}, {"interrupted", 13}};

    (void)ctx;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        enum verdict v = verdict_parse(want[i].name);

        assert_string_equal(verdict_name(v), want[i].name);
        assert_int_equal(verdict_exit_code(v), want[i].code);
    }
    assert_int_equal(verdict_parse("fine"), VERDICT_NONE);
    assert_int_equal(verdict_parse(NULL), VERDICT_NONE);
    assert_null(verdict_name(VERDICT_NONE));
    assert_int_equal(verdict_exit_code(VERDICT_NONE), EXIT_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fact_has_its_verdict_and_its_reason),
        cmocka_unit_test(one_bad_target_takes_clean_from_all),
        cmocka_unit_test(a_campaign_without_targets_is_vacuous),
        cmocka_unit_test(clean_comes_only_when_nothing_stands_in_its_way),
        cmocka_unit_test(names_and_exit_codes_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
