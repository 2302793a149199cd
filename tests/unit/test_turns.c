/* SPDX-License-Identifier: Apache-2.0 */
/* Items out of order: all are taken, each once, in the order of their numbers, by no more room than the disorder needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "corpus/turns.h"

static void put(struct turns *t, size_t index)
{
    size_t *item = turns_put(t, index);

    assert_non_null(item);
    assert_int_equal(*item, 0);
    *item = index + 1000;
}

static size_t take_all(struct turns *t, size_t from)
{
    const size_t *item;
    size_t index;

    while ((item = turns_take(t, &index)) != NULL) {
        assert_int_equal(index, from);
        assert_int_equal(*item, from + 1000);
        from++;
    }
    return from;
}

static void items_are_taken_in_order(void **state)
{
    struct turns *t = turns_new(sizeof(size_t));

    (void)state;
    put(t, 2);
    put(t, 1);
    assert_int_equal(take_all(t, 0), 0);
    put(t, 0);
    assert_int_equal(take_all(t, 0), 3);
    put(t, 3);
    assert_int_equal(take_all(t, 3), 4);
    turns_free(t);
    turns_free(NULL);
}

/* Blocks of 1000, each backwards, or with its first one last; and all but the first before it. */
static void any_disorder_is_put_right(void **state)
{
    struct turns *t = turns_new(sizeof(size_t));
    size_t next = 0;

    (void)state;
    for (size_t block = 0; block < 50000; block += 1000) {
        for (size_t i = 0; i < 1000; i++)
            put(t, block % 3000 == 0 ? block + 999 - i : block + (i + 1) % 1000);
        next = take_all(t, next);
        assert_int_equal(next, block + 1000);
    }
    for (size_t i = next + 70000; i > next; i--)
        put(t, i);
    assert_int_equal(take_all(t, next), next);
    put(t, next);
    assert_int_equal(take_all(t, next), next + 70001);
    turns_free(t);
}

static void an_item_comes_once(void **state)
{
    struct turns *t = turns_new(sizeof(size_t));

    (void)state;
    put(t, 1);
    assert_null(turns_put(t, 1));
    put(t, 0);
    assert_int_equal(take_all(t, 0), 2);
    assert_null(turns_put(t, 0));
    assert_null(turns_put(t, 1));
    turns_free(t);
}

static void who_gives_up_gets_what_is_left(void **state)
{
    static const size_t come[] = {5, 1, 300, 64};
    struct turns *t = turns_new(sizeof(size_t));
    size_t *item, sum = 0;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        put(t, come[i]);
    while ((item = turns_drop(t)) != NULL)
        sum += *item - 1000;
    assert_int_equal(sum, 370);
    assert_null(turns_drop(t));
    turns_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_taken_in_order),
        cmocka_unit_test(any_disorder_is_put_right),
        cmocka_unit_test(an_item_comes_once),
        cmocka_unit_test(who_gives_up_gets_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
