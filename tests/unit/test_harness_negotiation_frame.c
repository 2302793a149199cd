/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the negotiation's frames, written out: each row is tried on the
 * reader and on the oracle that judges it, so that the two cannot be wrong
 * together. Then refusals, and the whole harness over the committed seeds, in
 * this process, where sanitizers see it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sdk/fz_inputs.h"
#include "sdk/fz_kit.h"
#include "targets/negotiation_frame/neg_oracle.h"

struct row {
    const char *d;
    size_t n;
    size_t frames; /* that come before the error */
    enum neg_err err;
    size_t consumed;
};
#define ROW(text, ...)                                                                             \
    {                                                                                              \
        text, sizeof(text) - 1, __VA_ARGS__                                                        \
    }

static const struct row rows[] = {
    /* n < 4: CLOSED, all consumed */
    ROW("", 0, NEG_E_CLOSED, 0),
    ROW("\xff", 0, NEG_E_CLOSED, 1),
    ROW("\xff\xff\xff", 0, NEG_E_CLOSED, 3),
    /* length > MAX: TOO_LARGE, 4 consumed */
    ROW("\x01\x00\x00\x01", 0, NEG_E_TOO_LARGE, 4),
    ROW("\xff\xff\xff\xff rest", 0, NEG_E_TOO_LARGE, 4),
    /* the body is cut: CLOSED, all consumed; MAX itself is admitted */
    ROW("\x01\x00\x00\x00", 0, NEG_E_CLOSED, 4),
    ROW("\x00\x00\x00\x03xy", 0, NEG_E_CLOSED, 6),
    /* whole frames, whatever is in them, then the end or an error behind them */
    ROW("\x00\x00\x00\x00", 1, NEG_E_CLOSED, 4),
    ROW("\x00\x00\x00\x02{}", 1, NEG_E_CLOSED, 6),
    ROW("\x00\x00\x00\x01\xff\x00\x00\x00\x00\x02\x00\x00\x00", 2, NEG_E_TOO_LARGE, 13),
};

static void reader_and_oracle_follow_the_table(void **state)
{
    static struct neg_step steps[NEG_STEP_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct neg_source s = {.d = (const uint8_t *)row->d, .n = row->n, .piece_max = i % 3};
        size_t frames = 0;
        struct neg_reader r;
        struct neg_body b;
        enum neg_err err;

        assert_int_equal(neg_oracle_steps(s.d, s.n, steps), row->frames + 1);
        assert_int_equal(steps[row->frames].err, row->err);
        assert_int_equal(steps[row->frames].end, row->consumed);

        neg_reader_init(&r, (struct neg_src){neg_source_read, &s}, fz_mem());
        while ((err = neg_read_frame(&r, &b)) == NEG_OK) {
            frames++;
            neg_body_free(fz_mem(), &b);
        }
        assert_int_equal(frames, row->frames);
        assert_int_equal(err, row->err);
        assert_int_equal(neg_reader_consumed(&r), row->consumed);
        assert_null(b.data);
        assert_int_equal(neg_read_frame(&r, &b), row->err);
        assert_int_equal(fz_alloc_stats()->live_bytes, 0);
    }
}

static ptrdiff_t failing_read(void *ctx, void *buf, size_t n)
{
    size_t *left = ctx;

    if (*left == 0)
        return -1;
    memset(buf, 0, 1);
    (void)n;
    *left -= 1;
    return 1;
}

static void a_failing_source_is_an_io_error_for_ever(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        size_t left = k;
        struct neg_reader r;
        struct neg_body b;

        neg_reader_init(&r, (struct neg_src){failing_read, &left}, fz_mem());
        assert_int_equal(neg_read_frame(&r, &b), NEG_E_IO);
        assert_int_equal(neg_reader_consumed(&r), k);
        left = 100;
        assert_int_equal(neg_read_frame(&r, &b), NEG_E_IO);
        assert_int_equal(left, 100);
    }
}

static void a_length_alone_does_not_buy_memory(void **state)
{
    struct neg_source s = {.d = (const uint8_t *)"\x01\x00\x00\x00xyz", .n = 7};
    struct neg_reader r;
    struct neg_body b;

    (void)state;
    neg_reader_init(&r, (struct neg_src){neg_source_read, &s}, fz_mem());
    fz_alloc_mark();
    assert_int_equal(neg_read_frame(&r, &b), NEG_E_CLOSED);
    assert_true(fz_alloc_stats()->max_single <= 65536);
    assert_null(b.data);
}

static void a_body_longer_than_the_first_allocation_arrives_whole(void **state)
{
    static uint8_t d[4 + 60000];
    struct neg_source s = {.d = d, .n = sizeof(d), .piece_max = 7};
    struct neg_reader r;
    struct neg_body b;

    (void)state;
    for (size_t i = 4; i < sizeof(d); i++)
        d[i] = (uint8_t)(i * 31 >> 3);
    neg_prefix_encode(d, sizeof(d) - 4);
    neg_reader_init(&r, (struct neg_src){neg_source_read, &s}, fz_mem());
    assert_int_equal(neg_read_frame(&r, &b), NEG_OK);
    assert_int_equal(b.len, 60000);
    assert_memory_equal(b.data, d + 4, 60000);
    neg_body_free(fz_mem(), &b);
}

static void a_prefix_begins_with_zero_below_the_maximum_only(void **state)
{
    uint8_t p[NEG_PREFIX_LEN];
    uint8_t *frame = NULL;

    (void)state;
    neg_prefix_encode(p, NEG_MAX_LEN - 1);
    assert_memory_equal(p, "\x00\xff\xff\xff", 4);
    neg_prefix_encode(p, NEG_MAX_LEN);
    assert_memory_equal(p, "\x01\x00\x00\x00", 4);
    assert_int_equal(
        neg_write_frame(fz_mem(), fz_guarded_copy("x", 1), (size_t)NEG_MAX_LEN + 1, &frame),
        NEG_E_TOO_LARGE);
    assert_null(frame);
}

static void refusal_is(enum neg_error_kind kind, const char *detail, size_t n, const char *want)
{
    uint8_t scrubbed[NEG_DETAIL_MAX];
    uint8_t *frame = NULL;
    size_t len = neg_error_response(fz_mem(), kind, detail, n, &frame);
    size_t detail_len = neg_oracle_detail((const uint8_t *)detail, n, scrubbed);

    assert_int_equal(len, 4 + strlen(want));
    assert_memory_equal(frame, "\x00\x00\x00", 3);
    assert_int_equal(frame[3], strlen(want));
    assert_memory_equal(frame + 4, want, strlen(want));
    assert_true(neg_oracle_error_body(frame + 4, len - 4, kind, scrubbed, detail_len));
    assert_false(neg_oracle_error_body(frame + 4, len - 5, kind, scrubbed, detail_len));
    fz_mem()->free(fz_mem()->ctx, frame);
}

static void a_refusal_is_one_documented_object(void **state)
{
    (void)state;
    refusal_is(NEG_UNKNOWN_BACKEND, "ssh", 3,
               "{\"error\":\"unknown_backend\",\"backend\":\"ssh\"}");
    refusal_is(NEG_MALFORMED, "", 0, "{\"error\":\"malformed_negotiation\",\"message\":\"\"}");
    refusal_is(NEG_ALLOCATE_FAILED, "a\"b\\\n\0\x1f", 7,
               "{\"error\":\"allocate_failed\",\"message\":\"a\\\"b\\\\\\n\\u0000\\u001f\"}");
    refusal_is(
        NEG_FORBIDDEN, "\xff\xc3\xa9\xe2\x82", 5,
        "{\"error\":\"forbidden\",\"message\":\"\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\"}");
}

/* The characters are 1 to 4 bytes long, so the cut falls at each place in one. */
static void a_long_detail_is_cut_between_two_characters(void **state)
{
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        size_t size = strlen(characters[i]);

        for (size_t before = 0; before < size; before++) {
            char detail[3000];
            uint8_t scrubbed[NEG_DETAIL_MAX];
            uint8_t *frame = NULL;
            size_t n = before;
            size_t len;

            memset(detail, 'x', before);
            for (; n + size <= sizeof(detail); n += size)
                memcpy(detail + n, characters[i], size);
            len = before + (1024 - before) / size * size;
            assert_int_equal(neg_oracle_detail((const uint8_t *)detail, n, scrubbed), len);
            assert_memory_equal(scrubbed, detail, len);
            assert_int_equal(neg_error_response(fz_mem(), NEG_FORBIDDEN, detail, n, &frame),
                             4 + strlen("{\"error\":\"forbidden\",\"message\":\"\"}") + len);
            fz_mem()->free(fz_mem()->ctx, frame);
        }
    }
}

static void the_longest_refusal_is_below_its_limit(void **state)
{
    static char detail[4096];
    uint8_t *frame = NULL;
    size_t len = neg_error_response(fz_mem(), NEG_MALFORMED, detail, sizeof(detail), &frame);

    (void)state;
    assert_in_range(len, 6 * 1024, NEG_ERROR_FRAME_MAX - 1);
    fz_mem()->free(fz_mem()->ctx, frame);
}

static void the_bracket_counter_finds_level_129(void **state)
{
    static const struct {
        const char *head; /* put over the first of many brackets */
        size_t n;
        size_t offset;
        size_t deepest;
    } nests[] = {
        {"", 128, NEG_NO_OFFSET, 128},
        {"", 129, 128, 129},
        {"\"\\\"", 129, NEG_NO_OFFSET, 0}, /* in a string */
        {"{}", 130, NEG_NO_OFFSET, 128},   /* one is closed */
        {"{}", 131, 130, 129},
        {"]}", 131, 130, 129}, /* nothing to close */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(nests) / sizeof(nests[0]); i++) {
        uint8_t d[140];
        size_t deepest = 0;

        memset(d, '[', sizeof(d));
        memcpy(d, nests[i].head, strlen(nests[i].head));
        assert_int_equal(neg_oracle_too_deep(d, nests[i].n, &deepest), nests[i].offset);
        assert_int_equal(deepest, nests[i].deepest);
    }
}

static void the_invariants_hold_on_every_seed(void **state)
{
    static uint8_t d[FZ_INPUT_MAX];
    struct fz_inputs in = {0};

    (void)state;
    assert_int_equal(fz_inputs_add(&in, "seeds/negotiation_frame"), 0);
    assert_int_equal(fz_inputs_add(&in, "seeds/negotiation_frame-min"), 0);
    assert_int_equal(in.count, 123);
    fz_twice_default(true);
    fz_start();
    assert_true(fz_thorough());
    for (size_t i = 0; i < in.count; i++) {
        size_t n = 0;

        assert_int_equal(fz_input_read(in.paths[i], d, sizeof(d), &n), 0);
        fz_run(d, n);
    }
    fz_inputs_clear(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_and_oracle_follow_the_table),
        cmocka_unit_test(a_failing_source_is_an_io_error_for_ever),
        cmocka_unit_test(a_length_alone_does_not_buy_memory),
        cmocka_unit_test(a_body_longer_than_the_first_allocation_arrives_whole),
        cmocka_unit_test(a_prefix_begins_with_zero_below_the_maximum_only),
        cmocka_unit_test(a_refusal_is_one_documented_object),
        cmocka_unit_test(a_long_detail_is_cut_between_two_characters),
        cmocka_unit_test(the_longest_refusal_is_below_its_limit),
        cmocka_unit_test(the_bracket_counter_finds_level_129),
        cmocka_unit_test(the_invariants_hold_on_every_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
