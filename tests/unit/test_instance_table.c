/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an instance, step by step, and what holds for every pair of state and event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "farm/instance_table.h"

static enum instance_state walk(enum instance_state s, const enum instance_event *ev, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s = instance_table_step(s, ev[i]).next;
    return s;
}

static void table_decides_every_pair(void **state)
{
    (void)state;
    for (int s = 0; s < INSTANCE_STATES; s++) {
        assert_string_not_equal(instance_state_name(s), "?");
        for (int e = 0; e < INSTANCE_EVENTS; e++) {
            struct instance_step step = instance_table_step(s, e);

            assert_string_not_equal(instance_event_name(e), "?");
            assert_in_range(step.next, 0, INSTANCE_STATES - 1);
            assert_in_range(step.action, 0, INSTANCE_ACTIONS - 1);
        }
    }
}

static void table_moves_only_with_an_action_that_fits(void **state)
{
    (void)state;
    for (int s = 0; s < INSTANCE_STATES; s++) {
        for (int e = 0; e < INSTANCE_EVENTS; e++) {
            struct instance_step step = instance_table_step(s, e);

            assert_int_equal(step.action == INSTANCE_DO_SPAWN,
                             step.next == INSTANCE_STARTING && s != INSTANCE_STARTING);
            if (step.action == INSTANCE_DO_GIVE_UP)
                assert_int_equal(step.next, INSTANCE_FAILED);
            if (step.action == INSTANCE_DO_FINISH)
                assert_int_equal(step.next, INSTANCE_ENDED);
            if (step.action == INSTANCE_DO_BACK_OFF)
                assert_int_equal(step.next, INSTANCE_BACKING_OFF);
            if (step.action == INSTANCE_DO_UP)
                assert_int_equal(step.next, INSTANCE_FUZZING);
        }
    }
}

static void table_rotates_what_fuzzes_and_nothing_else(void **state)
{
    (void)state;
    for (int s = 0; s < INSTANCE_STATES; s++) {
        struct instance_step step = instance_table_step(s, INSTANCE_EV_FULL);

        assert_int_equal(step.next, s == INSTANCE_FUZZING ? INSTANCE_ROTATING : s);
        assert_int_equal(step.action,
                         s == INSTANCE_FUZZING ? INSTANCE_DO_ROTATE : INSTANCE_DO_NOTHING);
    }
}

static void table_goes_on_after_a_rotation_unless_it_is_stopped(void **state)
{
    (void)state;
    const enum instance_event go[] = {INSTANCE_EV_FULL,   INSTANCE_EV_PROGRESS, INSTANCE_EV_UP,
                                      INSTANCE_EV_FREEZE, INSTANCE_EV_QUIET,    INSTANCE_EV_THAW,
                                      INSTANCE_EV_GONE};

    assert_int_equal(walk(INSTANCE_FUZZING, go, 6), INSTANCE_ROTATING);
    assert_int_equal(walk(INSTANCE_FUZZING, go, 7), INSTANCE_BACKING_OFF);
    assert_int_equal(instance_table_step(INSTANCE_ROTATING, INSTANCE_EV_GRACE_OVER).action,
                     INSTANCE_DO_KILL);
    assert_int_equal(instance_table_step(INSTANCE_ROTATING, INSTANCE_EV_GRACE_OVER).next,
                     INSTANCE_ROTATING);
    assert_int_equal(instance_table_step(INSTANCE_ROTATING, INSTANCE_EV_STOP).next,
                     INSTANCE_STOPPING);
    assert_int_equal(instance_table_step(INSTANCE_BACKING_OFF, INSTANCE_EV_BACKOFF_OVER).action,
                     INSTANCE_DO_SPAWN);
}

static void table_never_leaves_failed_and_ended(void **state)
{
    (void)state;
    for (int e = 0; e < INSTANCE_EVENTS; e++) {
        assert_int_equal(instance_table_step(INSTANCE_FAILED, e).next, INSTANCE_FAILED);
        assert_int_equal(instance_table_step(INSTANCE_FAILED, e).action, INSTANCE_DO_NOTHING);
        assert_int_equal(instance_table_step(INSTANCE_ENDED, e).next, INSTANCE_ENDED);
        assert_int_equal(instance_table_step(INSTANCE_ENDED, e).action, INSTANCE_DO_NOTHING);
    }
}

static void table_stop_ends_every_state_and_never_restarts(void **state)
{
    (void)state;
    for (int s = 0; s < INSTANCE_STATES; s++) {
        enum instance_state now = instance_table_step(s, INSTANCE_EV_STOP).next;

        if (now == INSTANCE_STOPPING) {
            /* Nothing but the keeper's end leaves it. */
            for (int e = 0; e < INSTANCE_EVENTS; e++)
                if (e != INSTANCE_EV_GONE && e != INSTANCE_EV_GONE_FOR_GOOD)
                    assert_int_equal(instance_table_step(now, e).next, INSTANCE_STOPPING);
            now = instance_table_step(now, INSTANCE_EV_GONE).next;
        }
        assert_true(now == INSTANCE_ENDED || now == INSTANCE_FAILED);
    }
}

static void table_walks_a_healthy_life(void **state)
{
    (void)state;
    static const enum instance_event life[] = {
        INSTANCE_EV_START, INSTANCE_EV_ALIVE, INSTANCE_EV_UP,  INSTANCE_EV_PROGRESS,
        INSTANCE_EV_UP,    INSTANCE_EV_STOP,  INSTANCE_EV_GONE};

    assert_int_equal(walk(INSTANCE_PLANNED, life, 3), INSTANCE_FUZZING);
    assert_int_equal(walk(INSTANCE_PLANNED, life, 6), INSTANCE_STOPPING);
    assert_int_equal(walk(INSTANCE_PLANNED, life, 7), INSTANCE_ENDED);
}

static void table_restarts_after_an_end_nobody_asked_for(void **state)
{
    (void)state;
    static const enum instance_event life[] = {INSTANCE_EV_START, INSTANCE_EV_UP, INSTANCE_EV_GONE,
                                               INSTANCE_EV_BACKOFF_OVER};

    assert_int_equal(walk(INSTANCE_PLANNED, life, 3), INSTANCE_BACKING_OFF);
    assert_int_equal(walk(INSTANCE_PLANNED, life, 4), INSTANCE_STARTING);
    assert_int_equal(instance_table_step(INSTANCE_BACKING_OFF, INSTANCE_EV_BACKOFF_OVER).action,
                     INSTANCE_DO_SPAWN);
}

static void table_restarts_a_stalled_one_by_its_end(void **state)
{
    (void)state;
    struct instance_step step = instance_table_step(INSTANCE_FUZZING, INSTANCE_EV_QUIET);

    assert_int_equal(step.next, INSTANCE_STALLED);
    assert_int_equal(step.action, INSTANCE_DO_STALL);
    assert_int_equal(instance_table_step(INSTANCE_STALLED, INSTANCE_EV_GRACE_OVER).action,
                     INSTANCE_DO_KILL);
    assert_int_equal(instance_table_step(INSTANCE_STALLED, INSTANCE_EV_GONE).next,
                     INSTANCE_BACKING_OFF);
}

static void table_frozen_is_no_stall_and_thaws_to_work(void **state)
{
    (void)state;
    assert_int_equal(instance_table_step(INSTANCE_FROZEN, INSTANCE_EV_QUIET).next, INSTANCE_FROZEN);
    assert_int_equal(instance_table_step(INSTANCE_FROZEN, INSTANCE_EV_THAW).action,
                     INSTANCE_DO_THAW);
    assert_int_equal(instance_table_step(INSTANCE_CALIBRATING, INSTANCE_EV_UP).next,
                     INSTANCE_FUZZING);
    assert_int_equal(instance_table_step(INSTANCE_FROZEN, INSTANCE_EV_STOP).action,
                     INSTANCE_DO_TERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_decides_every_pair),
        cmocka_unit_test(table_moves_only_with_an_action_that_fits),
        cmocka_unit_test(table_rotates_what_fuzzes_and_nothing_else),
        cmocka_unit_test(table_goes_on_after_a_rotation_unless_it_is_stopped),
        cmocka_unit_test(table_never_leaves_failed_and_ended),
        cmocka_unit_test(table_stop_ends_every_state_and_never_restarts),
        cmocka_unit_test(table_walks_a_healthy_life),
        cmocka_unit_test(table_restarts_after_an_end_nobody_asked_for),
        cmocka_unit_test(table_restarts_a_stalled_one_by_its_end),
        cmocka_unit_test(table_frozen_is_no_stall_and_thaws_to_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
