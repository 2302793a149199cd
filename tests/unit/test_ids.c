/* SPDX-License-Identifier: Apache-2.0 */
/* The table of instances by their id, with as many as a daemon may have and more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "farm/ids.h"
#include "farm/instance.h"

#define MANY 3000

static struct instance *made[MANY];
static struct plan_instance specs[MANY];

static void make_all(struct ids *ids)
{
    for (size_t i = 0; i < MANY; i++) {
        specs[i].full_id = xasprintf("c/t%zu/sched%zu", i % 7, i);
        made[i] = xcalloc(1, sizeof(*made[i]));
        made[i]->spec = &specs[i];
        ids_add(ids, made[i]);
    }
}

static void free_all(void)
{
    for (size_t i = 0; i < MANY; i++) {
        free(specs[i].full_id);
        free(made[i]);
    }
}

static void each_of_many_is_found_by_its_id_and_nothing_else_is(void **state)
{
    struct ids ids = {0};

    (void)state;
    assert_null(ids_find(&ids, "c/t0/sched0"));
    make_all(&ids);
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(ids_find(&ids, specs[i].full_id), made[i]);
    assert_null(ids_find(&ids, "c/t0/sched1"));
    assert_null(ids_find(&ids, ""));
    for (size_t i = 0; i < MANY; i++)
        ids_remove(&ids, made[i]);
    free_all();
}

static void what_is_removed_is_not_found_and_the_rest_is(void **state)
{
    struct ids ids = {0};

    (void)state;
    make_all(&ids);
    for (size_t i = 0; i < MANY; i += 2)
        ids_remove(&ids, made[i]);
    ids_remove(&ids, made[0]); /* again */
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(ids_find(&ids, specs[i].full_id), i % 2 == 0 ? NULL : made[i]);
    for (size_t i = 1; i < MANY; i += 2)
        ids_remove(&ids, made[i]);
    assert_null(ids.slots); /* an empty one holds nothing */
    free_all();
}

/* A campaign that is refused, as it runs already, is set up and taken down beside the one that runs. */
static void the_first_of_one_id_comes_back_when_the_second_goes(void **state)
{
    struct ids ids = {0};
    struct plan_instance spec = {.full_id = (char *)(uintptr_t) "c/t/main"};
    struct instance *a = xcalloc(1, sizeof(*a)), *b = xcalloc(1, sizeof(*b));

    (void)state;
    a->spec = b->spec = &spec;
    ids_add(&ids, a);
    ids_add(&ids, b);
    ids_remove(&ids, b);
    assert_ptr_equal(ids_find(&ids, "c/t/main"), a);
    ids_remove(&ids, a);
    assert_null(ids_find(&ids, "c/t/main"));
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_many_is_found_by_its_id_and_nothing_else_is),
        cmocka_unit_test(what_is_removed_is_not_found_and_the_rest_is),
        cmocka_unit_test(the_first_of_one_id_comes_back_when_the_second_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
