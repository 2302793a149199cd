/* SPDX-License-Identifier: Apache-2.0 */
/* Triage's results against the words that plants allow, and what a file's name tells of its cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "ctl/selftest_match.h"

static const struct {
    const char *class_, *kind, *evidence, *report; /* as triage says it; flaky: class in detail */
    const char *word;                              /* as a plant names it */
    const char *allowed, *not_allowed;             /* blanks between */
} cases[] = {
    {"invariant", "C3", "kit", "FZ-FAIL target=t class=invariant inv=C3 detail=x\n", "invariant:C3",
     "invariant invariant:C3", "invariant:C4 memory crash C3 inv invariant:C"},
    {"oom", "GUARD", "kit", "FZ-FAIL target=t class=oom inv=GUARD detail=x\n", "oom:GUARD",
     "oom oom:GUARD", "crash oom:ASAN"},
    {"timeout", "timeout", "limit", "", "timeout", "timeout timeout:timeout", "crash"},
    {"crash", "J1", "kit", "FZ-FAIL target=t class=memory inv=J1 detail=x\n", "memory:J1",
     "memory memory:J1 crash crash:J1", "memory:ASAN trap"},
    {"crash", "heap-buffer-overflow WRITE", "sanitizer", "==1==ERROR: AddressSanitizer: heap",
     "memory:ASAN", "memory memory:ASAN crash", "arithmetic memory:UBSAN"},
    {"crash", "FPE", "sanitizer", "==1==ERROR: AddressSanitizer: FPE", "arithmetic:ASAN",
     "arithmetic crash", "memory"},
    {"crash", "signed-integer-overflow", "sanitizer", "x.c:1:2: runtime error: signed",
     "arithmetic:UBSAN", "arithmetic:UBSAN arithmetic:signed-integer-overflow crash",
     "memory memory:ASAN"},
    {"crash", "double-free", "libc", "free(): double free detected", "memory:GLIBC",
     "memory:GLIBC memory:double-free", "memory:ASAN"},
    {"crash", "SIGSEGV", "signal", "", "memory", "memory memory:SIGSEGV crash", "memory:ASAN trap"},
    {"crash", "SIGFPE", "signal", "", "arithmetic", "arithmetic crash", "memory"},
    {"crash", "SIGILL", "signal", "", "trap", "trap", "memory"},
    {"crash", "SIGABRT", "signal", "", "crash", "crash crash:SIGABRT", "invariant memory"},
    {"unreproduced", "SIGSEGV", "none", "", "unreproduced", "", "memory crash timeout"},
};

static void check_words(const struct selftest_word *w, const char *words, bool want)
{
    while (*words != '\0') {
        size_t n = strcspn(words, " ");
        struct strv allow = {0};

        strv_take(&allow, xstrndup(words, n));
        if (selftest_word_allowed(w, &allow) != want)
            fail_msg("%s:%s against %s", w->class_, w->id, allow.v[0]);
        strv_clear(&allow);
        words += n + strspn(words + n, " ");
    }
}

static void a_result_has_the_words_of_the_kit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int flaky = 0; flaky < 2; flaky++) {
            cleanup_free char *detail =
                xasprintf("{\"class\":\"%s\",\"expect\":{\"evidence\":\"%s\"}}", cases[i].class_,
                          cases[i].evidence);
            cleanup_free char *class_ = xstrdup(flaky ? "flaky" : cases[i].class_);
            cleanup_free char *kind = xstrdup(cases[i].kind);
            cleanup_free char *report = xstrdup(cases[i].report);
            struct result_row r = {
                .class_ = class_, .kind = kind, .detail = detail, .report = report};
            struct selftest_word w;
            char text[128];

            selftest_word_of(&r, &w);
            assert_string_equal(selftest_word_text(&w, text, sizeof(text)), cases[i].word);
            check_words(&w, cases[i].allowed, true);
            check_words(&w, cases[i].not_allowed, false);
        }
    }
}

static void a_result_without_detail_is_taken_as_it_is(void **state)
{
    char class_[] = "crash", kind[] = "SIGBUS";
    struct result_row r = {.class_ = class_, .kind = kind};
    struct selftest_word w;

    (void)state;
    selftest_word_of(&r, &w);
    assert_string_equal(w.class_, "memory");
    assert_string_equal(w.id, "");
}

static bool unreproduced(const char *class_, const char *kind, const char *allowed)
{
    cleanup_free char *c = xstrdup(class_);
    cleanup_free char *k = xstrdup(kind);
    struct result_row r = {.class_ = c, .kind = k};
    struct strv allow = {0};
    bool ok;

    strv_add(&allow, allowed);
    ok = selftest_unreproduced_allowed(&r, &allow);
    strv_clear(&allow);
    return ok;
}

static void what_does_not_reproduce_is_known_by_its_signal(void **state)
{
    (void)state;
    assert_true(unreproduced("unreproduced", "SIGABRT", "invariant:C4"));
    assert_true(unreproduced("unreproduced", "SIGUSR1", "determinism"));
    assert_true(unreproduced("unreproduced", "SIGSEGV", "memory"));
    assert_false(unreproduced("unreproduced", "SIGSEGV", "invariant:C4"));
    assert_false(unreproduced("unreproduced", "timeout", "timeout"));
    assert_false(unreproduced("unreproduced", "crash", "invariant"));
    assert_false(unreproduced("invariant", "SIGABRT", "invariant"));
}

static void a_file_name_tells_what_it_cost(void **state)
{
    int64_t execs = 0, ms = 0;

    (void)state;
    selftest_file_cost("crashes/id:000000,sig:06,src:000003,time:1250,execs:37211,op:havoc,rep:2",
                       &execs, &ms);
    assert_int_equal(execs, 37211);
    assert_int_equal(ms, 1250);
    selftest_file_cost("crashes/id:000000,sig:06,orig:seed", &execs, &ms);
    assert_int_equal(execs, -1);
    assert_int_equal(ms, -1);
    selftest_file_cost("x,execs:,time:99999999999999999999999", &execs, &ms);
    assert_int_equal(execs, -1);
    assert_true(ms > 0);
}

static void allowed_words_have_a_known_class(void **state)
{
    static const char *const good[] = {"invariant", "invariant:C3", "oom:INV-LEAK", "crash:a.b_c"};
    static const char *const bad[] = {"",           ":",
                                      "invariant:", "invariants",
                                      "inv",        "invariant:a b",
                                      "memory,",    "memory, arithmetic"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(spec_allow_ok(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(spec_allow_ok(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_has_the_words_of_the_kit),
        cmocka_unit_test(a_result_without_detail_is_taken_as_it_is),
        cmocka_unit_test(what_does_not_reproduce_is_known_by_its_signal),
        cmocka_unit_test(a_file_name_tells_what_it_cost),
        cmocka_unit_test(allowed_words_have_a_known_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
