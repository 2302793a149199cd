/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is, by value; and the line of the host, with places of other processes, in the folder of the core locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "farm/turn.h"
#include "sys/cpu.h"
#include "sys/cpuline.h"

static const int both[] = {0, 1}, second[] = {1};

static struct turn turn(int64_t priority, int64_t at_ms, bool claims, bool waits)
{
    return (struct turn){priority, at_ms, claims, waits, both, 2};
}

static void turn_of_several_levels_only_the_highest_fuzzes(void **state)
{
    (void)state;
    struct turn t[] = {turn(0, 1, false, false), turn(3, 2, false, false), turn(9, 3, true, false)};

    assert_int_equal(turn_held_by(t, 3, 0), 2);
    assert_int_equal(turn_held_by(t, 3, 1), 2);
    assert_int_equal(turn_held_by(t, 3, 2), -1);
    t[2].claims = false; /* frozen, or it waits */
    t[1].claims = true;
    assert_int_equal(turn_held_by(t, 3, 0), 1);
    assert_int_equal(turn_held_by(t, 3, 2), -1);
}

static void turn_of_equal_priority_holds_nobody(void **state)
{
    (void)state;
    const struct turn t[] = {turn(5, 1, true, false), turn(5, 2, true, false)};

    assert_int_equal(turn_held_by(t, 2, 0), -1);
    assert_int_equal(turn_held_by(t, 2, 1), -1);
}

static void turn_goes_by_priority_then_by_time(void **state)
{
    (void)state;
    struct turn t[] = {turn(0, 10, false, true), turn(0, 20, false, true), turn(0, 30, false, true),
                       turn(1, 40, false, true)};

    assert_int_equal(turn_behind(t, 4, 3), -1);
    assert_int_equal(turn_behind(t, 4, 0), 3);
    t[3].waits = false;
    assert_int_equal(turn_behind(t, 4, 0), -1);
    assert_int_equal(turn_behind(t, 4, 1), 0);
    assert_int_equal(turn_behind(t, 4, 2), 0);
    t[0].waits = false; /* who asks need not stand in line yet */
    assert_int_equal(turn_behind(t, 4, 0), -1);
    assert_int_equal(turn_behind(t, 4, 2), 1);
}

static void turn_of_one_time_is_decided_once(void **state)
{
    (void)state;
    const struct turn t[] = {turn(0, 10, false, true), turn(0, 10, false, true)};

    assert_int_equal(turn_behind(t, 2, 0), -1);
    assert_int_equal(turn_behind(t, 2, 1), 0);
}

static void turn_does_not_wait_for_who_wants_other_cpus(void **state)
{
    (void)state;
    static const int first[] = {0};
    struct turn t[] = {turn(0, 10, false, true), turn(0, 20, false, true)};

    t[0].cpus = first;
    t[0].n_cpus = 1;
    t[1].cpus = second;
    t[1].n_cpus = 1;
    assert_int_equal(turn_behind(t, 2, 1), -1);
    t[1].cpus = both;
    t[1].n_cpus = 2;
    assert_int_equal(turn_behind(t, 2, 1), 0);
}

static void turn_lends_a_core_where_only_one_will_run(void **state)
{
    (void)state;
    struct turn_holder low = {.priority = 1}, high = {.priority = 9, .frozen = true};
    struct turn_holder h[] = {low, high};

    assert_false(turn_may_borrow(h, 0, 5, false)); /* nobody's core is not lent */
    assert_true(turn_may_borrow(h, 1, 5, false));
    assert_true(turn_may_borrow(h, 2, 5, false));
    h[1].frozen = false;
    assert_false(turn_may_borrow(h, 2, 5, false));
    h[1] = (struct turn_holder){.priority = 5, .frozen = true};
    assert_false(turn_may_borrow(h, 2, 5, false));
}

static void turn_does_not_lend_what_runs_on_or_is_its_own(void **state)
{
    (void)state;
    const struct turn_holder own = {.priority = 1, .own = true},
                             leaving = {.priority = 1, .leaves = true};

    assert_false(turn_may_borrow(&own, 1, 5, false));
    assert_false(turn_may_borrow(&leaving, 1, 5, false));
}

static void turn_lends_a_shared_lock_only_to_who_shares(void **state)
{
    (void)state;
    const struct turn_holder shared = {.priority = 1, .shared = true}, alone = {.priority = 1};

    assert_false(turn_may_borrow(&shared, 1, 5, false));
    assert_true(turn_may_borrow(&shared, 1, 5, true));
    assert_true(turn_may_borrow(&alone, 1, 5, true));
}

/* ---- The line of the host: times of long ago, CPUs that no machine has ---------------- */

static const int pretend[] = {1001, 1002}, other[] = {1003};

struct waiter {
    pid_t pid;
    int stop; /* closed: it leaves */
};

/* Another process with a place. */
static struct waiter stand(int64_t since_ms, const int *cpus, int n)
{
    int ready[2], stop[2];
    struct waiter w;
    char c;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
    w.pid = fork();
    assert_true(w.pid >= 0);
    if (w.pid == 0) {
        struct cpu_place *p = NULL;

        (void)close(stop[1]);
        if (cpu_place_take(&p, since_ms, cpus, n, "the other\nx") == 0)
            (void)!write(ready[1], "r", 1);
        (void)!read(stop[0], &c, 1);
        cpu_place_leave(&p);
        _exit(0);
    }
    (void)close(ready[1]);
    (void)close(stop[0]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    (void)close(ready[0]);
    w.stop = stop[1];
    return w;
}

static void leave(struct waiter *w, bool killed)
{
    if (killed)
        assert_int_equal(kill(w->pid, SIGKILL), 0);
    (void)close(w->stop);
    assert_int_equal(waitpid(w->pid, NULL, 0), w->pid);
}

static void line_is_served_in_the_order_of_asking(void **state)
{
    (void)state;
    struct waiter w = stand(1000, pretend, 2);
    char who[64] = "";

    assert_int_equal(cpu_line_ahead(NULL, 1001, pretend, 2, who, sizeof(who)), 1);
    assert_string_equal(who, "the other");
    assert_int_equal(cpu_line_ahead(NULL, 999, pretend, 2, who, sizeof(who)), 0);
    assert_int_equal(cpu_line_ahead(NULL, 1001, other, 1, who, sizeof(who)), 0);
    leave(&w, false);
    assert_int_equal(cpu_line_ahead(NULL, 1001, pretend, 2, who, sizeof(who)), 0);
}

static void line_forgets_who_is_dead(void **state)
{
    (void)state;
    struct waiter w = stand(1000, pretend, 2);
    char who[64];
    char path[64];
    int dir = cpu_lock_dir_open();

    (void)snprintf(path, sizeof(path), "fuzzd-wait-%013d-%d-0", 1000, (int)w.pid);
    assert_int_equal(faccessat(dir, path, F_OK, 0), 0);
    leave(&w, true);
    assert_int_equal(faccessat(dir, path, F_OK, 0), 0);
    assert_int_equal(cpu_line_ahead(NULL, 1001, pretend, 2, who, sizeof(who)), 0);
    assert_int_equal(faccessat(dir, path, F_OK, 0), -1);
    (void)close(dir);
}

static void line_has_one_order_for_two_of_one_time(void **state)
{
    (void)state;
    struct waiter w = stand(1000, pretend, 2);
    struct cpu_place *mine = NULL;
    char who[64];

    assert_int_equal(cpu_place_take(&mine, 1000, pretend, 2, "mine"), 0);
    /* By name, and our pid is the smaller or the larger; whoever has no place comes last. */
    assert_int_equal(cpu_line_ahead(NULL, 1000, pretend, 2, who, sizeof(who)), 1);
    (void)cpu_line_ahead(mine, 1000, pretend, 2, who, sizeof(who));
    cpu_place_leave(&mine);
    leave(&w, false);
    assert_null(mine);
}

static void line_takes_no_harm_from_what_lies_there(void **state)
{
    (void)state;
    int dir = cpu_lock_dir_open();
    char who[64];
    int fd;

    assert_int_equal(symlinkat("/etc/passwd", dir, "fuzzd-wait-0000000000001-link"), 0);
    assert_int_equal(mkfifoat(dir, "fuzzd-wait-0000000000001-fifo", 0600), 0);
    fd = openat(dir, "fuzzd-wait-0000000000001-text", O_CREAT | O_WRONLY, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x\ncpus -1 99999999999999999999 a 1001x\n", 38), 38);
    (void)close(fd);
    assert_int_equal(cpu_line_ahead(NULL, 2, pretend, 2, who, sizeof(who)), 0);
    assert_int_equal(faccessat(dir, "fuzzd-wait-0000000000001-text", F_OK, 0), -1);
    assert_int_equal(unlinkat(dir, "fuzzd-wait-0000000000001-link", 0), 0);
    assert_int_equal(unlinkat(dir, "fuzzd-wait-0000000000001-fifo", 0), 0);
    (void)close(dir);
}

static void cores_are_shared_by_who_shares_and_by_nobody_else(void **state)
{
    (void)state;
    int cpu = -1, a = cpu_take_shared(pretend, 2, &cpu), b, c, at;

    assert_true(a >= 0);
    assert_int_equal(cpu, 1001);
    b = cpu_take_shared(pretend, 2, &cpu); /* an unused one first */
    assert_true(b >= 0);
    assert_int_equal(cpu, 1002);
    c = cpu_take_shared(pretend, 2, &cpu);
    assert_true(c >= 0);
    assert_int_equal(cpu, 1001);
    assert_int_equal(cpu_take(pretend, 2, &at), -EBUSY);
    (void)close(b);
    b = cpu_take(pretend, 2, &at);
    assert_true(b >= 0);
    assert_int_equal(at, 1002);
    (void)close(a);
    (void)close(c);
    a = cpu_take(pretend, 1, &at);
    assert_true(a >= 0);
    assert_int_equal(cpu_take_shared(pretend, 2, &cpu), -EBUSY);
    (void)close(a);
    (void)close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turn_of_several_levels_only_the_highest_fuzzes),
        cmocka_unit_test(turn_of_equal_priority_holds_nobody),
        cmocka_unit_test(turn_goes_by_priority_then_by_time),
        cmocka_unit_test(turn_of_one_time_is_decided_once),
        cmocka_unit_test(turn_does_not_wait_for_who_wants_other_cpus),
        cmocka_unit_test(turn_lends_a_core_where_only_one_will_run),
        cmocka_unit_test(turn_does_not_lend_what_runs_on_or_is_its_own),
        cmocka_unit_test(turn_lends_a_shared_lock_only_to_who_shares),
        cmocka_unit_test(line_is_served_in_the_order_of_asking),
        cmocka_unit_test(line_forgets_who_is_dead),
        cmocka_unit_test(line_has_one_order_for_two_of_one_time),
        cmocka_unit_test(line_takes_no_harm_from_what_lies_there),
        cmocka_unit_test(cores_are_shared_by_who_shares_and_by_nobody_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
