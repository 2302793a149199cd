/* SPDX-License-Identifier: Apache-2.0 */
/* Back-off and breaker, the budget's clock, the stall window, and the last words of afl-fuzz: all by value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "farm/breaker.h"
#include "farm/budget.h"
#include "farm/health.h"
#include "farm/lastwords.h"

static void breaker_doubles_and_then_gives_up(void **state)
{
    (void)state;
    struct breaker b = {0};

    assert_int_equal(breaker_ended(&b, "fork server", 5000), 1000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000), 2000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000), 4000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000), 8000);
    assert_int_equal(breaker_ended(&b, "fork server", 5000), -1);
}

static void breaker_forgives_after_half_a_minute_of_fuzzing(void **state)
{
    (void)state;
    struct breaker b = {0};

    for (int i = 0; i < 50; i++)
        assert_int_equal(breaker_ended(&b, "fork server", BREAKER_HEALTHY_MS), 1000);
}

static void breaker_gives_up_at_once_on_the_same_words_before_any_fuzzing(void **state)
{
    (void)state;
    struct breaker b = {0};

    assert_int_equal(breaker_ended(&b, "no valid seed", 0), 1000);
    assert_int_equal(breaker_ended(&b, "no valid seed", 0), -1);
}

static void breaker_tries_again_when_the_words_differ_or_it_has_fuzzed(void **state)
{
    (void)state;
    struct breaker b = {0};

    assert_int_equal(breaker_ended(&b, "killed", 0), 1000);
    assert_int_equal(breaker_ended(&b, "no core", 0), 2000);
    b = (struct breaker){0};
    assert_int_equal(breaker_ended(&b, "killed", 1), 1000);
    assert_int_equal(breaker_ended(&b, "killed", 0), 2000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaker_doubles_and_then_gives_up),
        cmocka_unit_test(breaker_forgives_after_half_a_minute_of_fuzzing),
        cmocka_unit_test(breaker_gives_up_at_once_on_the_same_words_before_any_fuzzing),
        cmocka_unit_test(breaker_tries_again_when_the_words_differ_or_it_has_fuzzed),
        cmocka_unit_test(budget_counts_from_the_first_fuzzing_and_not_while_stopped),
        cmocka_unit_test(budget_ends_by_execs_and_plateau),
        cmocka_unit_test(budget_goes_on_where_it_was),
        cmocka_unit_test(health_allows_for_calibration_and_slow_figures),
        cmocka_unit_test(lastwords_are_those_of_the_abort),
        cmocka_unit_test(lastwords_do_not_believe_a_target),
        cmocka_unit_test(lastwords_end_a_cut_colour_with_its_line),
        cmocka_unit_test(lastwords_are_of_this_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
