/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of inputs: nothing is lost, nothing chosen is superfluous, no choice is much worse than
 * the best, and neither order nor want of memory changes what is covered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/cover.h"

#define TUPLES 64
#define MAX    64

struct input {
    uint64_t size;
    uint32_t tuples[TUPLES];
    size_t n;
};

static uint32_t state = 1;

static uint32_t next(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

static void make(struct input *v, size_t n, uint32_t tuples)
{
    for (size_t i = 0; i < n; i++) {
        v[i].n = 0;
        v[i].size = next(1000);
        for (uint32_t t = 0; t < tuples; t++) {
            if (next(4) == 0)
                v[i].tuples[v[i].n++] = t;
        }
    }
}

static void add(struct cover *c, const struct input *v, size_t id, bool must)
{
    uint8_t sha[32] = {(uint8_t)id, (uint8_t)(id >> 8)};

    cover_add(c, id, v->size, sha, v->tuples, v->n, must);
}

static uint64_t covered(const struct input *v, const size_t *ids, size_t n)
{
    uint64_t all = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; t < v[ids[i]].n; t++)
            all |= UINT64_C(1) << v[ids[i]].tuples[t];
    }
    return all;
}

static uint64_t everything(const struct input *v, size_t n)
{
    size_t ids[MAX];

    for (size_t i = 0; i < n; i++)
        ids[i] = i;
    return covered(v, ids, n);
}

/* The least number of inputs that covers all, by trying. */
static size_t least(const struct input *v, size_t n)
{
    const uint64_t all = everything(v, n);
    size_t best = n;

    for (uint32_t set = 0; set < 1U << n; set++) {
        size_t ids[MAX], k = 0;

        for (size_t i = 0; i < n; i++) {
            if ((set >> i & 1) != 0)
                ids[k++] = i;
        }
        if (k < best && covered(v, ids, k) == all)
            best = k;
    }
    return best;
}

static void nothing_is_lost_and_nothing_is_superfluous(void **unused)
{
    struct input v[MAX];
    size_t near = 0, rounds = 60;

    (void)unused;
    for (size_t round = 0; round < rounds; round++) {
        struct cover *c = cover_new(TUPLES, 0);
        size_t *ids, n, best;

        make(v, 12, 20);
        for (size_t i = 0; i < 12; i++) {
            v[i].size = 100;
            add(c, &v[i], i, false);
        }
        n = cover_solve(c, &ids);
        assert_true(covered(v, ids, n) == everything(v, 12));
        assert_int_equal(cover_tuples(c), __builtin_popcountll(everything(v, 12)));
        for (size_t out = 0; out < n; out++) {
            size_t rest[MAX], k = 0;

            for (size_t i = 0; i < n; i++) {
                if (i != out)
                    rest[k++] = ids[i];
            }
            assert_true(covered(v, rest, k) != everything(v, 12));
        }
        best = least(v, 12);
        assert_true(n <= best + 2);
        near += n <= best + 1;
        free(ids);
        cover_free(c);
    }
    assert_true(near >= rounds * 9 / 10);
}

static void the_order_of_candidates_does_not_matter(void **unused)
{
    struct input v[MAX];

    (void)unused;
    for (int round = 0; round < 50; round++) {
        struct cover *a = cover_new(TUPLES, 0), *b = cover_new(TUPLES, 0);
        size_t *x, *y, n, m;

        make(v, 40, 50);
        for (size_t i = 0; i < 40; i++) {
            add(a, &v[i], i, false);
            add(b, &v[39 - i], 39 - i, false);
        }
        n = cover_solve(a, &x);
        m = cover_solve(b, &y);
        assert_int_equal(n, m);
        assert_memory_equal(x, y, n * sizeof(*x));
        free(x);
        free(y);
        cover_free(a);
        cover_free(b);
    }
}

static void small_inputs_are_preferred(void **unused)
{
    const struct input large = {.size = 100000, .tuples = {1, 2, 3}, .n = 3},
                       small = {.size = 10, .tuples = {1, 2, 3}, .n = 3},
                       part = {.size = 5, .tuples = {1}, .n = 1};
    struct cover *c = cover_new(TUPLES, 0);
    size_t *ids;

    (void)unused;
    add(c, &large, 7, false);
    add(c, &part, 8, false);
    add(c, &small, 9, false);
    assert_int_equal(cover_solve(c, &ids), 1);
    assert_int_equal(ids[0], 9);
    free(ids);
    cover_free(c);
}

static void what_is_had_needs_nobody_and_what_must_be_is_chosen(void **unused)
{
    const struct input a = {.size = 10, .tuples = {1, 2}, .n = 2},
                       b = {.size = 10, .tuples = {2, 3}, .n = 2}, none = {.size = 3};
    const uint32_t had[] = {1, 2};
    struct cover *c = cover_new(TUPLES, 0);
    size_t *ids;

    (void)unused;
    cover_have(c, had, 2);
    add(c, &a, 0, false);
    add(c, &b, 1, false);
    add(c, &none, 2, true);
    assert_int_equal(cover_solve(c, &ids), 2);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], 2);
    free(ids);
    assert_int_equal(cover_tuples(c), 3);
    cover_drop(c, 1);
    assert_int_equal(cover_solve(c, &ids), 1);
    assert_int_equal(ids[0], 2);
    assert_int_equal(cover_tuples(c), 2);
    free(ids);
    cover_free(c);
}

static void want_of_memory_costs_no_coverage(void **unused)
{
    static struct input v[4000];
    struct cover *c = cover_new(TUPLES, 4096);
    uint64_t all = 0, got = 0;
    size_t *ids, n;

    (void)unused;
    make(v, 4000, 60);
    for (size_t i = 0; i < 4000; i++) {
        for (size_t t = 0; t < v[i].n; t++)
            all |= UINT64_C(1) << v[i].tuples[t];
        add(c, &v[i], i, false);
        assert_true(cover_bytes(c) <= 4096 + TUPLES * sizeof(uint32_t) * TUPLES);
    }
    assert_true(cover_smallest(c) >= 1 && cover_smallest(c) <= COVER_SMALLEST);
    n = cover_solve(c, &ids);
    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; t < v[ids[i]].n; t++)
            got |= UINT64_C(1) << v[ids[i]].tuples[t];
    }
    assert_true(got == all);
    free(ids);
    cover_free(c);
}

static void odd_candidates_do_no_harm(void **unused)
{
    const struct input beyond = {.size = 1, .tuples = {TUPLES, 5, 4000000000U}, .n = 3},
                       empty = {.size = 0};
    struct cover *c = cover_new(TUPLES, 0);
    size_t *ids = NULL;

    (void)unused;
    assert_int_equal(cover_solve(c, &ids), 0);
    free(ids);
    add(c, &beyond, 0, false);
    add(c, &empty, 1, false);
    assert_int_equal(cover_solve(c, &ids), 1);
    assert_int_equal(ids[0], 0);
    assert_int_equal(cover_candidates(c), 2);
    free(ids);
    cover_free(c);
    cover_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_and_nothing_is_superfluous),
        cmocka_unit_test(the_order_of_candidates_does_not_matter),
        cmocka_unit_test(small_inputs_are_preferred),
        cmocka_unit_test(what_is_had_needs_nobody_and_what_must_be_is_chosen),
        cmocka_unit_test(want_of_memory_costs_no_coverage),
        cmocka_unit_test(odd_candidates_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
