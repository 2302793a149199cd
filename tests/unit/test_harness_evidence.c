/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kit concludes from a run's stderr and signal, case by case.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sdk/fz_evidence.h"

static const struct {
    const char *text;
    int signo;
    const char *class;
    const char *inv;
} cases[] = {
    {"FZ-FAIL target=t class=oom inv=GUARD detail=x\n", SIGUSR2, "oom", "GUARD"},
    {"noise\nFZ-FAIL target=t class=invariant inv=C3 detail=\n", SIGABRT, "invariant", "C3"},
    /* the line is worth more than a report and than the signal */
    {"==1==ERROR: AddressSanitizer: SEGV\nFZ-FAIL target=t class=internal inv=X1 detail=\n",
     SIGABRT, "internal", "X1"},
    {"FZ-FAIL target=t class=oom inv=GUARD detail=x", SIGKILL, "oom", "GUARD"},
    /* lines that are none */
    {"a FZ-FAIL target=t class=oom inv=GUARD detail=x\n", SIGABRT, "invariant", ""},
    {"FZ-FAIL target=t class=nonsense inv=C1 detail=x\n", SIGSEGV, "memory", ""},
    {"FZ-FAIL target=t class=oomph inv=C1 detail=x\n", SIGSEGV, "memory", ""},
    {"FZ-FAIL target=t\nclass=oom inv=C1 \n", SIGSEGV, "memory", ""},
    {"FZ-FAIL target=t class=oom inv="
     "0123456789012345678901234567890123456789012345678901234567890123 detail=x\n",
     SIGILL, "trap", ""},
    {"FZ-FAIL ", SIGFPE, "arithmetic", ""},
    /* the second line counts when the first is none */
    {"FZ-FAIL torn\nFZ-FAIL target=t class=memory inv=C1 detail=x\n", SIGSEGV, "memory", "C1"},
    /* reports */
    {"==7==ERROR: AddressSanitizer: heap-buffer-overflow on address\n", SIGABRT, "memory", "ASAN"},
    {"==7==ERROR: AddressSanitizer: requested allocation size 0xff exceeds\n", SIGABRT, "oom",
     "ASAN"},
    {"==7==ERROR: AddressSanitizer: out of memory\n", SIGABRT, "oom", "ASAN"},
    {"a.c:3:7: runtime error: shift exponent 33\n", SIGABRT, "arithmetic", "UBSAN"},
    {"==7==ERROR: LeakSanitizer: detected memory leaks\n", 0, "invariant", "INV-LEAK"},
    {"*** stack smashing detected ***: terminated\n", SIGABRT, "memory", "GLIBC"},
    {"free(): invalid pointer\n", SIGABRT, "memory", "GLIBC"},
    {"double free or corruption (fasttop)\n", SIGABRT, "memory", "GLIBC"},
    /* the bare signal */
    {"", SIGABRT, "invariant", ""},
    {"", SIGUSR1, "determinism", ""},
    {"", SIGUSR2, "oom", ""},
    {"", SIGTRAP, "internal", ""},
    {"", SIGBUS, "memory", ""},
    {"", SIGKILL, "hard-kill", ""},
    {"", SIGALRM, "timeout", ""},
    {"", SIGXFSZ, "limit", ""},
    {"", SIGXCPU, "limit", ""},
    {"", SIGPIPE, "internal", ""},
    {"", 0, "internal", ""},
};

/* The text is copied without its NUL, so that a look past its end shows. */
static void evidence_is_weighed_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = strlen(cases[i].text);
        char *text = malloc(n + 1);
        struct fz_verdict v = {.class = NULL};

        assert_non_null(text);
        memcpy(text, cases[i].text, n + 1);
        text = realloc(text, n > 0 ? n : 1);
        assert_non_null(text);
        fz_evidence_judge(text, n, cases[i].signo, &v);
        free(text);
        assert_string_equal(v.class, cases[i].class);
        assert_string_equal(v.inv, cases[i].inv);
        assert_int_equal(v.signo, cases[i].signo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(evidence_is_weighed_in_order)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
