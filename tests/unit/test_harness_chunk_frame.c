/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the chunk format, written out: each row is tried on the codec and
 * on the oracle that judges it, so that the two cannot be wrong together. Then
 * the whole harness over the committed seeds, in this process, where sanitizers
 * see it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "chunk_frame.h"
#include "oracle.h"
#include "sdk/fz_inputs.h"
#include "sdk/fz_kit.h"

struct row {
    const char *d;
    size_t n;
    size_t chunks; /* that come before the error */
    wl_err err;    /* that ends the stream */
    size_t consumed;
};
#define ROW(text, ...)                                                                             \
    {                                                                                              \
        text, sizeof(text) - 1, __VA_ARGS__                                                        \
    }

static const struct row rows[] = {
    /* n < 5: CLOSED, all consumed */
    ROW("", 0, WL_E_CLOSED, 0),
    ROW("\x01", 0, WL_E_CLOSED, 1),
    ROW("\xff\xff\xff\xff", 0, WL_E_CLOSED, 4),
    /* type > 4: STREAM_TYPE, 5 consumed, also where the length is too large */
    ROW("\x05\x00\x00\x00\x00", 0, WL_E_STREAM_TYPE, 5),
    ROW("\xff\xff\xff\xff\xff rest", 0, WL_E_STREAM_TYPE, 5),
    /* length > MAX: TOO_LARGE, 5 consumed */
    ROW("\x00\x01\x00\x00\x01", 0, WL_E_TOO_LARGE, 5),
    ROW("\x04\x80\x00\x00\x00 rest", 0, WL_E_TOO_LARGE, 5),
    /* the body is cut: CLOSED, all consumed; MAX itself is admitted */
    ROW("\x02\x01\x00\x00\x00", 0, WL_E_CLOSED, 5),
    ROW("\x03\x00\x00\x00\x03"
        "ab",
        0, WL_E_CLOSED, 7),
    /* whole chunks, then the end or an error behind them */
    ROW("\x00\x00\x00\x00\x00", 1, WL_E_CLOSED, 5),
    ROW("\x04\x00\x00\x00\x01"
        "x",
        1, WL_E_CLOSED, 6),
    ROW("\x01\x00\x00\x00\x02"
        "xy\x02\x00\x00\x00\x00\x07\x00\x00\x00\x00",
        2, WL_E_STREAM_TYPE, 17),
    ROW("\x01\x00\x00\x00\x01"
        "x\x01\x02\x00\x00\x00",
        1, WL_E_TOO_LARGE, 11),
};

static void codec_and_oracle_follow_the_table(void **state)
{
    static struct step steps[STEP_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct source s = {.d = (const uint8_t *)row->d, .n = row->n, .fail_at = SIZE_MAX};
        size_t chunks = 0;
        wl_reader r;
        wl_chunk c;
        wl_err err;

        assert_int_equal(oracle_steps(s.d, s.n, steps), row->chunks + 1);
        assert_int_equal(steps[row->chunks].err, row->err);
        assert_int_equal(steps[row->chunks].end, row->consumed);

        wl_reader_init(&r, (wl_src){source_read, &s}, fz_mem());
        while ((err = wl_read_chunk(&r, &c)) == WL_OK) {
            chunks++;
            wl_chunk_free(&r, &c);
        }
        assert_int_equal(chunks, row->chunks);
        assert_int_equal(err, row->err);
        assert_int_equal(wl_reader_consumed(&r), row->consumed);
        assert_int_equal(s.pos, row->consumed);
        assert_int_equal(fz_alloc_stats()->live_bytes, 0);
    }
}

static void each_role_writes_its_own_types(void **state)
{
    static const wl_err want[2][6] = {
        [WL_SERVER] = {WL_E_USAGE, WL_OK, WL_OK, WL_E_USAGE, WL_OK, WL_E_STREAM_TYPE},
        [WL_CLIENT] = {WL_OK, WL_E_USAGE, WL_E_USAGE, WL_OK, WL_E_USAGE, WL_E_STREAM_TYPE},
    };

    (void)state;
    for (int role = WL_SERVER; role <= WL_CLIENT; role++) {
        for (uint8_t type = 0; type < 6; type++) {
            uint8_t out[16];
            struct sink k = {.out = out, .room = sizeof(out), .cuts = 1};
            wl_writer w;

            wl_writer_init(&w, (wl_sink){sink_write, &k}, (enum wl_role)role);
            assert_int_equal(wl_write_chunk(&w, type, "abc", 3), want[role][type]);
            if (want[role][type] != WL_OK) {
                assert_int_equal(k.pos, 0);
                continue;
            }
            assert_int_equal(k.pos, 8);
            assert_memory_equal(out + 1,
                                "\x00\x00\x00\x03"
                                "abc",
                                7);
            assert_int_equal(out[0], type);
        }
    }
}

static void a_payload_longer_than_the_first_allocation_arrives_whole(void **state)
{
    static uint8_t d[5 + 60000];
    struct source s = {.d = d, .n = sizeof(d), .fail_at = SIZE_MAX, .cuts = 1};
    wl_reader r;
    wl_chunk c;

    (void)state;
    for (size_t i = 5; i < sizeof(d); i++)
        d[i] = (uint8_t)(i * 31 >> 3);
    memcpy(d, "\x01\x00\x00\xea\x60", 5);
    wl_reader_init(&r, (wl_src){source_read, &s}, fz_mem());
    fz_alloc_mark();
    assert_int_equal(wl_read_chunk(&r, &c), WL_OK);
    assert_int_equal(c.len, 60000);
    assert_memory_equal(c.data, d + 5, 60000);
    assert_true(fz_alloc_stats()->calls > 1);
    assert_int_equal(fz_alloc_stats()->max_single, 60000);
    wl_chunk_free(&r, &c);
}

static void a_length_alone_does_not_buy_memory(void **state)
{
    struct source s = {
        .d = (const uint8_t *)"\x01\x01\x00\x00\x00xyz", .n = 8, .fail_at = SIZE_MAX};
    wl_reader r;
    wl_chunk c;

    (void)state;
    wl_reader_init(&r, (wl_src){source_read, &s}, fz_mem());
    fz_alloc_mark();
    assert_int_equal(wl_read_chunk(&r, &c), WL_E_CLOSED);
    assert_true(fz_alloc_stats()->max_single <= 65536);
    assert_null(c.data);
}

static void the_invariants_hold_on_every_seed(void **state)
{
    static uint8_t d[FZ_INPUT_MAX];
    struct fz_inputs in = {0};

    (void)state;
    assert_int_equal(fz_inputs_add(&in, "seeds/chunk_frame"), 0);
    assert_int_equal(fz_inputs_add(&in, "seeds/chunk_frame-min"), 0);
    assert_int_equal(in.count, 135);
    fz_twice_default(true);
    fz_start();
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
        cmocka_unit_test(codec_and_oracle_follow_the_table),
        cmocka_unit_test(each_role_writes_its_own_types),
        cmocka_unit_test(a_payload_longer_than_the_first_allocation_arrives_whole),
        cmocka_unit_test(a_length_alone_does_not_buy_memory),
        cmocka_unit_test(the_invariants_hold_on_every_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
