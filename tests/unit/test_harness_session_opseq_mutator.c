/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutator of operations: each change does what its name says, every output is
 * in bounds and decodes to whole operations, one seed makes one series, and no
 * input upsets it. The source is part of this program, as the target does not
 * contain it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "targets/session_opseq/mutator.c"

#define ROUNDS 20000

/* A sequence of n different operations: op i is a write of i bytes. */
static void fill(struct opseq *q, size_t n, uint8_t pat)
{
    *q = (struct opseq){.count = n};
    for (size_t i = 0; i < n; i++)
        q->ops[i] = (struct op){.tag = OP_CLIENT_WRITE, .f = {(uint8_t)i, 0, pat}};
}

static bool same(const struct op *a, const struct op *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static size_t index_of(const struct opseq *q, const struct op *op)
{
    for (size_t i = 0; i < q->count; i++) {
        if (same(&q->ops[i], op))
            return i;
    }
    return q->count;
}

/* Length of the longest beginning and end that two sequences share. */
static size_t common_head(const struct opseq *a, const struct opseq *b)
{
    size_t i = 0;

    while (i < a->count && i < b->count && same(&a->ops[i], &b->ops[i]))
        i++;
    return i;
}

static size_t common_tail(const struct opseq *a, const struct opseq *b)
{
    size_t i = 0;

    while (i < a->count && i < b->count &&
           same(&a->ops[a->count - 1 - i], &b->ops[b->count - 1 - i]))
        i++;
    return i;
}

static int setup(void **state)
{
    *state = afl_custom_init(NULL, 1);
    return *state == NULL;
}

static int teardown(void **state)
{
    afl_custom_deinit(*state);
    return 0;
}

static void insert_puts_one_whole_operation_anywhere(void **state)
{
    struct mutator *m = *state;
    bool tags[OP_TAG_COUNT] = {0};
    bool first = false;
    bool last = false;

    for (int i = 0; i < ROUNDS; i++) {
        struct opseq old;
        size_t at;

        fill(&m->q, 5, 1);
        old = m->q;
        mutator_change(m, MUTATOR_INSERT);
        assert_int_equal(m->q.count, 6);
        at = common_head(&old, &m->q);
        assert_true(at + common_tail(&old, &m->q) >= 5);
        tags[m->q.ops[at].tag] = true;
        first |= at == 0;
        last |= at == 5;
    }
    for (size_t t = 0; t < OP_TAG_COUNT; t++)
        assert_true(tags[t]);
    assert_true(first && last);
}

static void delete_takes_one_to_four_neighbours(void **state)
{
    struct mutator *m = *state;
    unsigned seen = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct opseq old;
        size_t gone;

        fill(&m->q, 9, 1);
        old = m->q;
        mutator_change(m, MUTATOR_DELETE);
        gone = 9 - m->q.count;
        assert_in_range(gone, 1, 4);
        assert_int_equal(common_head(&old, &m->q) + common_tail(&old, &m->q), m->q.count);
        seen |= 1u << gone;
    }
    assert_int_equal(seen, 0x1e);
}

static void swap_exchanges_two_and_moves_no_other(void **state)
{
    struct mutator *m = *state;

    for (int i = 0; i < ROUNDS; i++) {
        struct opseq old;
        size_t moved = 0;

        fill(&m->q, 6, 1);
        old = m->q;
        mutator_change(m, MUTATOR_SWAP);
        assert_int_equal(m->q.count, 6);
        for (size_t k = 0; k < 6; k++) {
            size_t to = index_of(&m->q, &old.ops[k]);

            assert_in_range(to, 0, 5);
            moved += to != k;
            assert_true(same(&old.ops[to], &m->q.ops[k]));
        }
        assert_int_equal(moved, 2);
    }
}

static void duplicate_repeats_one_that_was_there(void **state)
{
    struct mutator *m = *state;
    bool apart = false;

    for (int i = 0; i < ROUNDS; i++) {
        struct opseq old;
        size_t at;
        size_t from;

        fill(&m->q, 6, 1);
        old = m->q;
        mutator_change(m, MUTATOR_DUPLICATE);
        assert_int_equal(m->q.count, 7);
        at = common_head(&old, &m->q);
        assert_true(at + common_tail(&old, &m->q) >= 6);
        from = index_of(&old, &m->q.ops[at < 7 ? at : 6]);
        assert_in_range(from, 0, 5);
        apart |= at > from + 1 || at + 1 < from;
    }
    assert_true(apart);
}

static void splice_joins_a_beginning_and_an_end(void **state)
{
    struct mutator *m = *state;
    bool both = false;

    for (int i = 0; i < ROUNDS; i++) {
        struct opseq old;
        size_t head;

        fill(&m->q, 6, 1);
        fill(&m->other, 8, 2);
        old = m->q;
        mutator_change(m, MUTATOR_SPLICE);
        head = common_head(&old, &m->q);
        assert_int_equal(m->q.count - head, common_tail(&m->other, &m->q));
        both |= head > 0 && head < m->q.count;
    }
    assert_true(both);
}

static void fields_change_in_place(void **state)
{
    struct mutator *m = *state;
    unsigned changed = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct opseq old;
        size_t differ = 0;

        fill(&m->q, 6, 1);
        old = m->q;
        mutator_change(m, MUTATOR_FIELDS);
        assert_int_equal(m->q.count, 6);
        for (size_t k = 0; k < 6; k++) {
            assert_int_equal(m->q.ops[k].tag, OP_CLIENT_WRITE);
            differ += !same(&old.ops[k], &m->q.ops[k]);
        }
        assert_in_range(differ, 0, 1);
        changed += (unsigned)differ;
    }
    assert_in_range(changed, ROUNDS * 9 / 10, ROUNDS);
}

static void header_changes_touch_no_operation(void **state)
{
    struct mutator *m = *state;
    uint64_t knobs = 0;
    bool sched = false;

    for (int i = 0; i < ROUNDS; i++) {
        struct opseq old;

        fill(&m->q, 3, 1);
        old = m->q;
        mutator_change(m, MUTATOR_HEADER);
        assert_int_equal(common_head(&old, &m->q), 3);
        assert_in_range(m->q.knobs, 0, 63);
        knobs |= (uint64_t)1 << m->q.knobs;
        sched |= m->q.sched != 0;
    }
    assert_true(knobs == UINT64_MAX);
    assert_true(sched);
}

static void empty_and_full_sequences_stay_in_bounds(void **state)
{
    struct mutator *m = *state;

    for (int i = 0; i < ROUNDS; i++) {
        enum mutator_kind kind = (enum mutator_kind)(i % MUTATOR_KIND_COUNT);

        fill(&m->q, 0, 1);
        fill(&m->other, OPS_MAX, 2);
        mutator_change(m, kind);
        assert_in_range(m->q.count, 0, OPS_MAX);
        fill(&m->q, OPS_MAX, 1);
        fill(&m->other, OPS_MAX, 2);
        mutator_change(m, kind);
        assert_in_range(m->q.count, 0, OPS_MAX);
    }
}

/* Bytes that depend on the round only. */
static size_t noise(uint8_t *d, size_t max, unsigned round)
{
    uint32_t x = round * 2654435761u + 1;
    size_t n;

    x ^= x >> 15;
    n = x % (max + 1);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        d[i] = (uint8_t)(x >> 24);
    }
    return n;
}

static void any_bytes_give_outputs_that_decode_whole(void **state)
{
    static const size_t limits[] = {0, 1, 2, 3, 17, 64, OPS_BYTES_MAX, 65536};
    struct mutator *m = *state;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint8_t buf[1000];
        uint8_t add[1000];
        uint8_t again[OPS_BYTES_MAX];
        uint8_t *out = NULL;
        struct opseq q;
        size_t max = limits[i % 8];
        size_t n = noise(buf, sizeof(buf), i);
        size_t k = noise(add, sizeof(add), i + 7);
        size_t len = afl_custom_fuzz(m, buf, n, &out, i % 3 ? add : NULL, i % 3 ? k : 0, max);

        assert_non_null(out);
        assert_true(len <= max && len <= OPS_BYTES_MAX);
        assert_true(len == max || len >= 2);
        ops_decode(out, len, &q);
        assert_int_equal(ops_encode(&q, again, sizeof(again)), len < 2 ? 2 : len);
        assert_memory_equal(again, out, len);
    }
}

static void one_seed_makes_one_series(void **state)
{
    struct mutator *a = afl_custom_init(NULL, 42);
    struct mutator *b = afl_custom_init(NULL, 42);
    struct mutator *c = afl_custom_init(NULL, 43);
    unsigned differ = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        uint8_t buf[200];
        uint8_t add[200];
        uint8_t *out[3];
        size_t n = noise(buf, sizeof(buf), i);
        size_t k = noise(add, sizeof(add), i + 1);
        size_t len[3];

        len[0] = afl_custom_fuzz(a, buf, n, &out[0], add, k, 4096);
        len[1] = afl_custom_fuzz(b, buf, n, &out[1], add, k, 4096);
        len[2] = afl_custom_fuzz(c, buf, n, &out[2], add, k, 4096);
        assert_int_equal(len[0], len[1]);
        assert_memory_equal(out[0], out[1], len[0]);
        differ += len[0] != len[2] || memcmp(out[0], out[2], len[0]) != 0;
    }
    assert_true(differ > 900);
    afl_custom_deinit(a);
    afl_custom_deinit(b);
    afl_custom_deinit(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(insert_puts_one_whole_operation_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(delete_takes_one_to_four_neighbours, setup, teardown),
        cmocka_unit_test_setup_teardown(swap_exchanges_two_and_moves_no_other, setup, teardown),
        cmocka_unit_test_setup_teardown(duplicate_repeats_one_that_was_there, setup, teardown),
        cmocka_unit_test_setup_teardown(splice_joins_a_beginning_and_an_end, setup, teardown),
        cmocka_unit_test_setup_teardown(fields_change_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(header_changes_touch_no_operation, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_and_full_sequences_stay_in_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(any_bytes_give_outputs_that_decode_whole, setup, teardown),
        cmocka_unit_test(one_seed_makes_one_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
