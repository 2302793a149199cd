/* SPDX-License-Identifier: Apache-2.0 */
/* Back-off and breaker, the budget's clock, the stall window, and the last words of afl-fuzz: all by value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "farm/breaker.h"
#include "farm/budget.h"
#include "farm/ending.h"
#include "farm/health.h"
#include "farm/lastwords.h"

static void breaker_doubles_and_then_gives_up(void **state)
{
    (void)state;
    struct breaker b = {0};

    assert_int_equal(breaker_ended(&b, "fork server", 5000, false), 1000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000, false), 2000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000, false), 4000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000, false), 8000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000, false), -1);
}

static void breaker_forgives_after_half_a_minute_of_fuzzing(void **state)
{
    (void)state;
    struct breaker b = {0};

    for (int i = 0; i < 50; i++)
        assert_int_equal(breaker_ended(&b, "fork server", BREAKER_HEALTHY_MS, false), 1000);
}

static void breaker_gives_up_at_once_on_the_same_words_before_any_fuzzing(void **state)
{
    (void)state;
    struct breaker b = {0};

    assert_int_equal(breaker_ended(&b, "no valid seed", 0, false), 1000);
    assert_int_equal(breaker_ended(&b, "no valid seed", 0, false), -1);
}

static void breaker_tries_again_when_the_words_differ_or_it_has_fuzzed(void **state)
{
    (void)state;
    struct breaker b = {0};

    assert_int_equal(breaker_ended(&b, "killed", 0, false), 1000);
    assert_int_equal(breaker_ended(&b, "no core", 0, false), 2000);
    b = (struct breaker){0};
    assert_int_equal(breaker_ended(&b, "killed", 1, false), 1000);
    assert_int_equal(breaker_ended(&b, "killed", 0, false), 2000);
}

static void breaker_waits_for_what_is_not_the_instances_fault(void **state)
{
    (void)state;
    struct breaker b = {0};

    /* One that never fuzzed is not waited for: its start is to fail while somebody looks. */
    assert_int_equal(breaker_ended(&b, "disk full", 0, true), 1000);
    assert_int_equal(breaker_ended(&b, "disk full", 0, true), -1);
    b = (struct breaker){0};
    assert_int_equal(breaker_ended(&b, "killed", 1, false), 1000);
    for (int i = 0; i < 100; i++) {
        int64_t wait_ms = breaker_ended(&b, "disk full", 0, true);

        assert_true(wait_ms >= 1000 && wait_ms <= BREAKER_MAX_WAIT_MS);
    }
    /* And it has used up nothing of what other ends are allowed. */
    assert_int_equal(b.failures, 1);
    assert_int_equal(breaker_ended(&b, "killed", 0, false), 2000);
    assert_int_equal(breaker_ended(&b, "disk full", 0, true), 1000);
}

static void budget_counts_from_the_first_fuzzing_and_not_while_stopped(void **state)
{
    (void)state;
    struct budget b;

    budget_init(&b, 10000, 0, 0);
    assert_int_equal(budget_fuzz_ms(&b, 99999), 0);
    assert_null(budget_over(&b, 99999, 1));
    budget_run(&b, 1000);
    budget_run(&b, 5000); /* a second instance does not restart it */
    assert_int_equal(budget_fuzz_ms(&b, 6000), 5000);
    budget_stop(&b, 6000);
    assert_int_equal(budget_fuzz_ms(&b, 60000), 5000);
    budget_run(&b, 60000);
    assert_null(budget_over(&b, 64999, 1));
    assert_string_equal(budget_over(&b, 65000, 1), "budget");
}

static void budget_ends_by_execs_and_plateau(void **state)
{
    (void)state;
    struct budget b;

    budget_init(&b, 100000, 500, 3000);
    budget_run(&b, 0);
    assert_string_equal(budget_over(&b, 1, 500), "execs");
    budget_new_edge(&b, 2000);
    assert_null(budget_over(&b, 4999, 0));
    assert_string_equal(budget_over(&b, 5000, 0), "plateau");
}

static void budget_goes_on_where_it_was(void **state)
{
    (void)state;
    struct budget b;

    budget_init(&b, 10000, 0, 0);
    budget_restore(&b, 9000, 4000);
    assert_null(budget_over(&b, 5, 0));
    budget_run(&b, 100);
    assert_string_equal(budget_over(&b, 1100, 0), "budget");
    assert_true(budget_half_quiet(&b, 1100));
    budget_restore(&b, 9000, 99999);
    assert_int_equal(b.last_edge_ms, 9000);
}

static void health_allows_for_calibration_and_slow_figures(void **state)
{
    (void)state;
    struct health fast = {.exec_timeout_ms = 20, .n_inputs = 10, .telemetry = true};
    struct health slow = {.exec_timeout_ms = 1000, .n_inputs = 1000, .telemetry = false};

    assert_int_equal(health_window_ms(&fast, INSTANCE_FUZZING), 120000);
    assert_true(health_window_ms(&slow, INSTANCE_FUZZING) >= 240000);
    assert_true(health_window_ms(&slow, INSTANCE_CALIBRATING) >
                health_window_ms(&fast, INSTANCE_CALIBRATING));
    assert_int_equal(health_window_ms(&slow, INSTANCE_CALIBRATING), 3600000);
    assert_int_equal(health_window_ms(&fast, INSTANCE_FROZEN), 0);
    assert_int_equal(health_window_ms(&fast, INSTANCE_BACKING_OFF), 0);
    slow.window_ms = 2000;
    assert_int_equal(health_window_ms(&slow, INSTANCE_STARTING), 2000);
    assert_int_equal(health_window_ms(&slow, INSTANCE_FUZZING), 2000);
    assert_int_equal(health_window_ms(&slow, INSTANCE_FROZEN), 0);
}

static void health_lets_a_slow_start_stand_still_for_long_enough(void **state)
{
    (void)state;
    struct health h = {.exec_timeout_ms = 20, .hang_timeout_ms = 1000};

    assert_int_equal(health_stuck_ms(&h), 60000);
    h.hang_timeout_ms = 40000;
    assert_int_equal(health_stuck_ms(&h), 120000);
    h.init_timeout_ms = 90000;
    assert_int_equal(health_stuck_ms(&h), 180000);
    h.exec_timeout_ms = 100000;
    assert_int_equal(health_stuck_ms(&h), 300000);
    h.window_ms = 2000;
    assert_int_equal(health_stuck_ms(&h), 2000);
}

/* As 4.04c writes them, colours and all. */
static const char abort_text[] =
    "\033[1;92m[+] \033[0mAll test cases processed.\033[0m\n"
    "\017\033)B\033[?25h\033[0m\033[1;91m\n"
    "[-] PROGRAM ABORT : \033[0mWe need at least one valid input seed that does not "
    "crash!\033[1;91m\n"
    "         Location : \033[0mmain(), src/afl-fuzz.c:2205\033[0m\n\n";
static const char error_text[] =
    "\017\033)B\033[?25h\033[0m\033[1;91m\n"
    "[-]  SYSTEM ERROR : \033[0mUnable to open 'nonex'\033[1;91m\n"
    "    Stop location : \033[0mread_testcases(), src/afl-fuzz-init.c:706\n"
    "\033[1;91m       OS message : \033[0mNo such file or directory\033[0m\n";

static void lastwords_are_those_of_the_abort(void **state)
{
    (void)state;
    char out[200];

    assert_string_equal(lastwords_parse(abort_text, sizeof(abort_text) - 1, out, sizeof(out)),
                        "We need at least one valid input seed that does not crash!");
    assert_string_equal(lastwords_parse(error_text, sizeof(error_text) - 1, out, sizeof(out)),
                        "Unable to open 'nonex': No such file or directory");
}

static void lastwords_do_not_believe_a_target(void **state)
{
    (void)state;
    static const char text[] = "the target says PROGRAM ABORT : all is well\n\033[";
    char out[200], small[8];

    assert_string_equal(lastwords_parse(text, sizeof(text) - 1, out, sizeof(out)), "");
    for (size_t n = 0; n < sizeof(error_text); n++) {
        char *cut = malloc(n + 1);

        assert_non_null(cut);
        memcpy(cut, error_text, n);
        (void)lastwords_parse(cut, n, out, sizeof(out));
        assert_null(strchr(out, '\033'));
        (void)lastwords_parse(cut, n, small, sizeof(small));
        assert_true(strlen(small) < sizeof(small));
        free(cut);
    }
}

static void lastwords_end_a_cut_colour_with_its_line(void **state)
{
    (void)state;
    static const char *const text[] = {
        "\033[0;31\n[-] PROGRAM ABORT : why\n", "\033(\n[-] PROGRAM ABORT : why\n",
        "\017)\n[-] PROGRAM ABORT : why\n", "\033[1;9\001\033[0m\n[-] PROGRAM ABORT : why\n"};
    char out[64];

    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        assert_string_equal(lastwords_parse(text[i], strlen(text[i]), out, sizeof(out)), "why");
}

static void lastwords_are_of_this_run(void **state)
{
    (void)state;
    char path[] = "/tmp/fz-lastwords-XXXXXX", out[200];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, abort_text, sizeof(abort_text) - 1), sizeof(abort_text) - 1);
    assert_string_not_equal(lastwords_read(path, 0, out, sizeof(out)), "");
    assert_string_equal(lastwords_read(path, sizeof(abort_text) - 1, out, sizeof(out)), "");
    /* Shorter than it was: rotated, and all of it is new. */
    assert_string_not_equal(lastwords_read(path, 100000, out, sizeof(out)), "");
    (void)close(fd);
    (void)unlink(path);
    assert_string_equal(lastwords_read(path, 0, out, sizeof(out)), "");
}

/* ---- Ends, by logs of a real 4.04c --------------------------------------------------- */

static const char program[] = "/usr/bin/afl-fuzz";

static enum ending judge_log(const char *name, int64_t oom_kills, char *out, size_t size)
{
    const struct keeper_exit ex = {.end = KEEPER_EXITED, .code = 1, .oom_kills = oom_kills};
    char path[200], last[200];

    (void)snprintf(path, sizeof(path), "tests/fixtures/farm/log/%s.log", name);
    (void)lastwords_read(path, 0, last, sizeof(last));
    return ending_judge(program, 0, &ex, last, out, size);
}

static void each_end_of_afl_fuzz_has_its_outcome_and_words(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        enum ending want;
        const char *words;
    } cases[] = {
        {"server-killed", ENDING_SERVER_GONE,
         "the target's fork server died; afl-fuzz: Unable to request new process from fork server "
         "(OOM?)"},
        {"server-signal-9", ENDING_SERVER_NEVER,
         "the target does not come up; afl-fuzz: Fork server crashed with signal 9"},
        {"server-signal-11", ENDING_SERVER_NEVER,
         "the target does not come up; afl-fuzz: Fork server crashed with signal 11"},
        {"no-core", ENDING_NO_CORE, "every core is taken; afl-fuzz: No more free CPU cores"},
        {"in-use", ENDING_IN_USE,
         "another afl-fuzz works in its folder; afl-fuzz: Directory 'o5/main' is in use"},
        {"no-harness", ENDING_NO_HARNESS,
         "the harness is missing or cannot be run; afl-fuzz: Program './nothing' not found or not "
         "executable"},
        {"disk-full", ENDING_DISK_FULL,
         "no space is left on the disk; afl-fuzz: Unable to open 'd/o/main/fuzz_bitmap': No space "
         "left on device"},
        {"stats-refused", ENDING_FOLDER,
         "afl-fuzz refuses a state file of its own; afl-fuzz: Malformed data in "
         "'o2/main/fuzzer_stats'"},
        {"folder-refused", ENDING_FOLDER,
         "afl-fuzz refuses a state file of its own; afl-fuzz: Output directory cleanup failed"},
        {"resume-refused", ENDING_FOLDER,
         "afl-fuzz refuses a state file of its own; afl-fuzz: _resume directory cleanup failed"},
        {"setup-refused", ENDING_FOLDER,
         "afl-fuzz refuses a state file of its own; afl-fuzz: Unable to create "
         "'o2/main/fuzzer_setup': Is a directory"},
        {"all-seeds-crash", ENDING_OTHER,
         "We need at least one valid input seed that does not crash!"},
        {"no-seeds", ENDING_OTHER, "No usable test cases in 'empty'"},
        {"not-instrumented", ENDING_OTHER, "No instrumentation detected"},
    };
    char out[256];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(judge_log(cases[i].log, 0, out, sizeof(out)), cases[i].want);
        assert_string_equal(out, cases[i].words);
        assert_int_equal(ending_outside(cases[i].want), cases[i].want == ENDING_NO_CORE ||
                                                            cases[i].want == ENDING_IN_USE ||
                                                            cases[i].want == ENDING_DISK_FULL);
    }
    /* The question mark of "(OOM?)" is answered by the kernel's own count. */
    assert_int_equal(judge_log("server-killed", 1, out, sizeof(out)), ENDING_SERVER_GONE);
    assert_non_null(strstr(out, "was killed for memory"));
}

static void each_end_by_the_keepers_record_has_its_outcome(void **state)
{
    (void)state;
    struct keeper_exit ex = {.end = KEEPER_SIGNALLED, .code = 9};
    char out[256];

    assert_int_equal(ending_judge(program, 0, &ex, "", out, sizeof(out)), ENDING_KILLED);
    assert_string_equal(out, "afl-fuzz was killed by signal 9 (SIGKILL)");
    ex.oom_kills = 2;
    assert_int_equal(ending_judge(program, 0, &ex, "", out, sizeof(out)), ENDING_OOM);
    assert_string_equal(out, "afl-fuzz was killed by the kernel for memory");
    ex = (struct keeper_exit){.end = KEEPER_EXITED, .code = 137};
    assert_int_equal(ending_judge(program, 0, &ex, "", out, sizeof(out)), ENDING_KILLED);
    assert_string_equal(out, "afl-fuzz exited with code 137: something below it was killed");
    ex = (struct keeper_exit){.end = KEEPER_EXITED, .code = 0};
    assert_int_equal(ending_judge(program, 0, &ex, "", out, sizeof(out)), ENDING_ITSELF);
    ex = (struct keeper_exit){.end = KEEPER_EXITED, .code = 2};
    assert_int_equal(ending_judge(program, 0, &ex, "", out, sizeof(out)), ENDING_OTHER);
    assert_string_equal(out, "afl-fuzz exited with code 2");
    ex = (struct keeper_exit){.end = KEEPER_EXEC_FAILED, .code = ENOENT};
    assert_int_equal(ending_judge(program, 0, &ex, "", out, sizeof(out)), ENDING_NO_START);
    assert_string_equal(out, "cannot run /usr/bin/afl-fuzz: No such file or directory");
    ex = (struct keeper_exit){.end = KEEPER_SETUP_FAILED, .code = ENOSPC, .what = "no room"};
    assert_int_equal(ending_judge(program, 0, &ex, "", out, sizeof(out)), ENDING_DISK_FULL);
    assert_int_equal(ending_judge(program, -ENOENT, NULL, "", out, sizeof(out)), ENDING_NO_RECORD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaker_doubles_and_then_gives_up),
        cmocka_unit_test(breaker_forgives_after_half_a_minute_of_fuzzing),
        cmocka_unit_test(breaker_gives_up_at_once_on_the_same_words_before_any_fuzzing),
        cmocka_unit_test(breaker_tries_again_when_the_words_differ_or_it_has_fuzzed),
        cmocka_unit_test(breaker_waits_for_what_is_not_the_instances_fault),
        cmocka_unit_test(budget_counts_from_the_first_fuzzing_and_not_while_stopped),
        cmocka_unit_test(budget_ends_by_execs_and_plateau),
        cmocka_unit_test(budget_goes_on_where_it_was),
        cmocka_unit_test(health_allows_for_calibration_and_slow_figures),
        cmocka_unit_test(health_lets_a_slow_start_stand_still_for_long_enough),
        cmocka_unit_test(lastwords_are_those_of_the_abort),
        cmocka_unit_test(lastwords_do_not_believe_a_target),
        cmocka_unit_test(lastwords_end_a_cut_colour_with_its_line),
        cmocka_unit_test(lastwords_are_of_this_run),
        cmocka_unit_test(each_end_of_afl_fuzz_has_its_outcome_and_words),
        cmocka_unit_test(each_end_by_the_keepers_record_has_its_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
