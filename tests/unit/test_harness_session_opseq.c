/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session library without its harness: rings at their edges, a handle's two
 * rules, and what a client reads back byte by byte. Then the whole harness over
 * the committed seeds, in this process, where sanitizers see it.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sdk/fz_inputs.h"
#include "sdk/fz_kit.h"
#include "targets/session_opseq/mock.h"
#include "targets/session_opseq/session.h"

static struct mock mock;
static struct duplex x;
static struct session *s;

static void open_session(size_t ring_bytes, size_t quantum)
{
    mock_init(&mock);
    assert_int_equal(duplex_init(&x, ring_bytes, fz_mem()), 0);
    assert_int_equal(session_open(&s, &mock.backend, &x, quantum, fz_mem()), 0);
}

static int close_session(void **state)
{
    (void)state;
    session_free(s);
    s = NULL;
    duplex_clear(&x, fz_mem());
    return fz_alloc_stats()->live_bytes != 0;
}

/* Rounds until nothing moves; the order of steps is that of the enum. */
static void settle(void)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (int step = 0; step < SESSION_STEP_COUNT; step++)
            moved |= session_step(s, (enum session_step)step) == SESSION_PROGRESS;
    }
}

static void client_sends(const char *d, size_t n)
{
    while (n > 0) {
        ptrdiff_t k = duplex_write(&x, d, n);

        assert_true(k >= 0);
        d += k;
        n -= (size_t)k;
        settle();
    }
}
#define CLIENT_SENDS(text) client_sends(text, sizeof(text) - 1)

static void client_reads(const char *want, size_t n)
{
    char got[512];
    size_t have = 0;
    size_t k;

    assert_true(n < sizeof(got));
    while (settle(), (k = duplex_read(&x, got + have, sizeof(got) - have)) > 0)
        have += k;
    assert_int_equal(have, n);
    assert_memory_equal(got, want, n);
}
#define CLIENT_READS(text) client_reads(text, sizeof(text) - 1)

#define EXIT_7                                                                                     \
    "\x04\0\0\0\x18"                                                                               \
    "{\"type\":\"exit\",\"code\":7}"

static void a_ring_takes_what_fits_and_keeps_the_order(void **state)
{
    struct ring r;
    uint8_t d[64];
    uint8_t put = 0;
    uint8_t taken = 0;

    (void)state;
    assert_int_equal(ring_init(&r, 48, fz_mem()), -EINVAL);
    assert_int_equal(ring_init(&r, 0, fz_mem()), -EINVAL);
    assert_int_equal(ring_init(&r, 16, fz_mem()), 0);
    for (unsigned i = 0; i < 500; i++) {
        size_t n = i % 23;
        size_t room = ring_room(&r);
        size_t k;

        for (size_t j = 0; j < n; j++)
            d[j] = (uint8_t)(put + j);
        k = ring_put(&r, d, n);
        assert_int_equal(k, n < room ? n : room);
        put = (uint8_t)(put + k);
        k = ring_take(&r, d, i % 7);
        for (size_t j = 0; j < k; j++)
            assert_int_equal(d[j], taken++);
        assert_true(ring_used(&r) <= 16);
    }
    ring_clear(&r, fz_mem());
}

static void moving_between_rings_wraps_in_both(void **state)
{
    struct ring a;
    struct ring b;
    uint8_t d[8];

    (void)state;
    assert_int_equal(ring_init(&a, 8, fz_mem()), 0);
    assert_int_equal(ring_init(&b, 8, fz_mem()), 0);
    ring_put(&a, "......", 6);
    ring_skip(&a, 6);
    ring_put(&b, "...", 3);
    ring_skip(&b, 3);
    assert_int_equal(ring_put(&a, "abcdefgh", 8), 8);
    assert_int_equal(ring_move(&b, &a, 3), 3);
    assert_int_equal(ring_move(&b, &a, 99), 5);
    assert_int_equal(ring_move(&b, &a, 1), 0);
    assert_int_equal(ring_take(&b, d, 8), 8);
    assert_memory_equal(d, "abcdefgh", 8);
    ring_clear(&a, fz_mem());
    ring_clear(&b, fz_mem());
}

static void a_handle_gives_each_part_once_and_kills_once(void **state)
{
    struct be_handle *h = NULL;

    (void)state;
    mock_init(&mock);
    assert_int_equal(mock.backend.allocate(&mock.backend, fz_mem(), &h), 0);
    for (unsigned i = 0; i < BE_SLOT_COUNT; i++) {
        assert_non_null(be_handle_take(h, (enum be_slot)i));
        assert_null(be_handle_take(h, (enum be_slot)i));
        assert_int_equal(mock.takes[i], 1);
    }
    be_handle_free(h);
    be_handle_free(NULL);
    assert_int_equal(mock.kills, 1);
    assert_int_equal(mock.releases, 1);

    assert_int_equal(mock.backend.allocate(&mock.backend, fz_mem(), &h), 0);
    h->exit_observed = true;
    be_handle_free(h);
    assert_int_equal(mock.kills, 1);
    assert_int_equal(mock.releases, 2);
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

static void output_its_end_and_the_exit_come_in_that_order(void **state)
{
    (void)state;
    open_session(64, 7);
    mock_produce(&mock.out, 'a', 3);
    mock_produce(&mock.err, 'x', 2);
    mock.out.eof = true;
    mock_exit(&mock, BE_WAIT_EXITED, 7);
    CLIENT_READS("\x01\0\0\0\x03"
                 "abc\x01\0\0\0\0\x02\0\0\0\x02"
                 "xy" EXIT_7);
    assert_true(duplex_at_end(&x));
    assert_null(session_handle(s));
    assert_int_equal(mock.kills, 0);
    assert_int_equal(duplex_write(&x, "x", 1), -EPIPE);
    for (int step = 0; step < SESSION_STEP_COUNT; step++)
        assert_int_equal(session_step(s, (enum session_step)step), SESSION_DONE);
}

static void an_end_that_was_not_signalled_has_no_sentinel(void **state)
{
    (void)state;
    open_session(64, 4096);
    mock_produce(&mock.out, 'a', 1);
    mock.err.eof = true;
    mock_exit(&mock, BE_WAIT_EXITED, 7);
    CLIENT_READS("\x01\0\0\0\x01"
                 "a" EXIT_7);
}

static void a_wait_that_fails_is_exit_minus_one(void **state)
{
    static const enum be_wait how[] = {BE_WAIT_FAILED, BE_WAIT_DROPPED};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_session(256, 1);
        mock_exit(&mock, how[i], 55);
        CLIENT_READS("\x04\0\0\0\x19"
                     "{\"type\":\"exit\",\"code\":-1}");
        assert_int_equal(mock.kills, 0);
        assert_int_equal(close_session(NULL), 0);
    }
}

static void small_quanta_do_not_make_small_chunks(void **state)
{
    uint8_t d[5 + 4096 + 5 + 4];
    size_t have = 0;
    size_t k;

    (void)state;
    open_session(64, 1);
    mock_produce(&mock.out, 0, 4100);
    while (settle(), (k = duplex_read(&x, d + have, sizeof(d) - have)) > 0)
        have += k;
    assert_int_equal(have, sizeof(d));
    assert_memory_equal(d, "\x01\0\0\x10\0", 5);
    assert_memory_equal(d + 5 + 4096, "\x01\0\0\0\x04", 5);
}

static void stdin_and_control_reach_the_backend_in_order(void **state)
{
    (void)state;
    open_session(64, 1);
    CLIENT_SENDS("\x00\0\0\0\x03"
                 "abc\x03\0\0\0\x25{\"type\":\"resize\",\"cols\":80,\"rows\":24}");
    CLIENT_SENDS("\x03\0\0\0\x1f{\"type\":\"signal\",\"name\":\"TERM\"}");
    CLIENT_SENDS("\x01\0\0\0\x02zz\x00\0\0\0\x01"
                 "d");
    CLIENT_SENDS("\x03\0\0\0\x21{\"type\":\"signal\",\"name\":\"SIGINT\"}\x03\0\0\0\x00");
    CLIENT_SENDS("\x03\0\0\0\x0e{\"type\":\"eof\"}\x00\0\0\0\x01"
                 "e\x00\0\0\0\0");
    assert_int_equal(mock.in_len, 4);
    assert_memory_equal(mock.in, "abcd", 4);
    assert_int_equal(mock.in_closed, 1);
    assert_false(mock.in_after_close);
    assert_int_equal(session_bad_control(s), 2);
    assert_int_equal(mock.dispatched_count, 3);
    assert_int_equal(mock.dispatched[0].kind, MOCK_RESIZE);
    assert_int_equal(mock.dispatched[0].a, 80);
    assert_int_equal(mock.dispatched[0].b, 24);
    assert_int_equal(mock.dispatched[1].kind, MOCK_SIGNAL);
    assert_int_equal(mock.dispatched[1].a, SIGTERM);
    assert_int_equal(mock.dispatched[2].kind, MOCK_EOF);
}

static void a_control_message_that_is_too_long_is_dropped(void **state)
{
    char d[5 + 5000] = "\x03\0\0\x13\x88";

    (void)state;
    memset(d + 5, ' ', 5000);
    open_session(256, 256);
    client_sends(d, sizeof(d));
    CLIENT_SENDS("\x00\0\0\0\x01"
                 "a");
    assert_int_equal(session_bad_control(s), 1);
    assert_int_equal(mock.in_len, 1);
}

static void a_header_that_is_not_admitted_ends_the_session(void **state)
{
    static const char *const headers[] = {"\x05\0\0\0\0", "\x00\x01\0\0\x01"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_session(64, 4096);
        mock_produce(&mock.out, 'a', 1);
        settle();
        client_sends(headers[i], 5);
        assert_null(session_handle(s));
        assert_int_equal(mock.kills, 1);
        mock_exit(&mock, BE_WAIT_EXITED, 0);
        CLIENT_READS("\x01\0\0\0\x01"
                     "a");
        assert_int_equal(close_session(NULL), 0);
        assert_int_equal(mock.kills, 1);
    }
}

static void a_client_that_goes_away_kills(void **state)
{
    (void)state;
    open_session(64, 1);
    mock_produce(&mock.out, 'a', 100);
    settle();
    duplex_drop(&x);
    assert_int_equal(session_step(s, SESSION_IN), SESSION_DONE);
    assert_int_equal(mock.kills, 1);
}

static void a_full_connection_does_not_stop_stdin(void **state)
{
    (void)state;
    open_session(64, 256);
    mock_produce(&mock.out, 'a', 32768);
    mock_produce(&mock.err, 'b', 32768);
    settle();
    assert_int_equal(ring_room(&x.s2c), 0);
    for (int i = 0; i < 100; i++)
        CLIENT_SENDS("\x00\0\0\0\x04wxyz");
    assert_int_equal(mock.in_len, 400);
}

static void the_invariants_hold_on_every_seed(void **state)
{
    static uint8_t d[FZ_INPUT_MAX];
    struct fz_inputs in = {0};

    (void)state;
    assert_int_equal(fz_inputs_add(&in, "seeds/session_opseq"), 0);
    assert_int_equal(fz_inputs_add(&in, "seeds/session_opseq-min"), 0);
    assert_int_equal(in.count, 16);
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
        cmocka_unit_test(a_ring_takes_what_fits_and_keeps_the_order),
        cmocka_unit_test(moving_between_rings_wraps_in_both),
        cmocka_unit_test(a_handle_gives_each_part_once_and_kills_once),
        cmocka_unit_test_teardown(output_its_end_and_the_exit_come_in_that_order, close_session),
        cmocka_unit_test_teardown(an_end_that_was_not_signalled_has_no_sentinel, close_session),
        cmocka_unit_test(a_wait_that_fails_is_exit_minus_one),
        cmocka_unit_test_teardown(small_quanta_do_not_make_small_chunks, close_session),
        cmocka_unit_test_teardown(stdin_and_control_reach_the_backend_in_order, close_session),
        cmocka_unit_test_teardown(a_control_message_that_is_too_long_is_dropped, close_session),
        cmocka_unit_test(a_header_that_is_not_admitted_ends_the_session),
        cmocka_unit_test_teardown(a_client_that_goes_away_kills, close_session),
        cmocka_unit_test_teardown(a_full_connection_does_not_stop_stdin, close_session),
        cmocka_unit_test(the_invariants_hold_on_every_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
