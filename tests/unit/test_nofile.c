/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of open files: the daemon takes what it may have, and its children do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "sys/nofile.h"
#include "sys/proc.h"

static void a_child_has_the_soft_limit_that_we_came_with(void **state)
{
    struct rlimit rl = {.rlim_cur = 300, .rlim_max = 700};
    struct strv argv = {0};
    struct proc_spec ps = {.argv = &argv, .timeout_ms = 10000, .max_out = 100};
    struct proc_result pr = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
    assert_int_equal(nofile_raise(), 0);
    assert_int_equal(nofile_limit(), 700);
    assert_int_equal(nofile_raise(), 0); /* and does not forget the first by it */
    strv_add(&argv, "sh");
    strv_add(&argv, "-c");
    strv_add(&argv, "ulimit -Sn; ulimit -Hn");
    assert_int_equal(proc_run(&ps, &pr, &err), 0);
    assert_string_equal(pr.out, "300\n700\n");
    assert_int_equal(nofile_limit(), 700);
    proc_result_clear(&pr);
    strv_clear(&argv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_the_soft_limit_that_we_came_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
