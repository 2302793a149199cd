/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants C1-C13 of the chunk codec. The input is one stream, read until
 * the first error by four readers that differ in how they peek and in how the
 * source cuts its reads; an oracle written from the format's table, not from the
 * library, says what each call must give. Violations are noted as they are seen
 * and the lowest specific id is reported, the catch-all C1 last.
 */
#include <string.h>

#include "chunk_frame.h"
#include "oracle.h"
#include "sdk/fz.h"

#define OVERHEAD_MAX 16u /* bytes a reader may allocate beyond the payload */
#define STEP_MAX     (FZ_INPUT_MAX / WL_HEADER_LEN + 2)

static const char *const ids[] = {"C1", "C2", "C3",  "C4",  "C5",  "C6",  "C7",
                                  "C8", "C9", "C10", "C11", "C12", "C13", NULL};

static const char *const required[] = {
    "ok_t0",   "ok_t1",       "ok_t2",        "ok_t3",        "ok_t4", "len0",    "e_type",
    "e_large", "e_hdr_trunc", "e_body_trunc", "second_chunk", "e_io",  "e_nomem", NULL};

enum how { HOW_READ, HOW_PEEK_ONCE, HOW_PEEK_TWICE };

static const uint8_t *data; /* the input, behind it a guard page */
static size_t data_len;
static struct step steps[STEP_MAX]; /* the last one is the error */
static size_t step_count;

static struct source source_whole(void)
{
    return (struct source){.d = data, .n = data_len, .fail_at = SIZE_MAX};
}

static void reader_open(wl_reader *r, struct source *s)
{
    wl_reader_init(r, (wl_src){source_read, s}, fz_mem());
}

/* C2-C6: which error, on the plain reader. */
static void check_verdict(const struct step *w, wl_err err)
{
    if ((err == WL_E_STREAM_TYPE) != (w->err == WL_E_STREAM_TYPE))
        fz_note(2, "type %u at %zu: error %d, expected %d", w->type, w->start, err, w->err);
    if ((err == WL_E_TOO_LARGE) != (w->err == WL_E_TOO_LARGE) ||
        (w->header && w->type <= 4 && w->len > 0x01000000u && err != WL_E_TOO_LARGE))
        fz_note(3, "length 0x%x at %zu: error %d, expected %d", w->len, w->start, err, w->err);
    if (err == WL_E_CLOSED && w->err != WL_E_CLOSED)
        fz_note(4, "closed at %zu of %zu, expected %d", w->start, data_len, w->err);
    if (err > WL_E_TOO_LARGE)
        fz_note(5, "error %d from a source and an allocator that did not fail", err);
    if ((err == WL_OK) != (w->err == WL_OK))
        fz_note(6, "chunk at %zu: error %d, expected %d", w->start, err, w->err);
}

/* The header alone, judged without a reader. */
static void check_header(const struct step *w)
{
    wl_err want = step_admitted(w) ? WL_OK : w->err;
    wl_err err;

    if (!w->header)
        return;
    err = wl_validate_header(w->type, w->len);
    if (err != want)
        fz_note(want == WL_E_STREAM_TYPE || err == WL_E_STREAM_TYPE ? 2 : 3,
                "wl_validate_header(%u, 0x%x) = %d, expected %d", w->type, w->len, err, want);
}

/* C10: what one call allocated. */
static void check_alloc(const struct step *w)
{
    const struct fz_alloc_stats *st = fz_alloc_stats();

    if (!step_admitted(w) && st->calls != 0)
        fz_note(10, "%llu allocations for a header that is not admitted",
                (unsigned long long)st->calls);
    else if (st->max_single > (size_t)w->len + OVERHEAD_MAX)
        fz_note(10, "an allocation of %zu bytes for a payload of %u", st->max_single, w->len);
}

/* C12: a reader that failed stays as it is. */
static void check_poisoned(unsigned id, wl_reader *r, const struct source *s, wl_err err)
{
    uint64_t consumed = wl_reader_consumed(r);
    size_t pos = s->pos;
    wl_chunk c;
    uint8_t raw;
    wl_err again[3];

    fz_alloc_mark();
    again[0] = wl_read_chunk(r, &c);
    again[1] = wl_read_chunk_after_peek(r, &c);
    again[2] = wl_peek_stream_type(r, &raw);
    if (again[0] != err || again[1] != err || again[2] != err)
        fz_note(id, "after error %d: %d, %d, %d", err, again[0], again[1], again[2]);
    if (wl_reader_consumed(r) != consumed || s->pos != pos || wl_take_peek(r, &raw) != 0 ||
        fz_alloc_stats()->calls != 0)
        fz_note(id, "a failed reader at %llu still works", (unsigned long long)consumed);
}

/* C9: peeking gives the type of the next chunk and takes one byte, however often. */
static bool check_peeks(wl_reader *r, const struct source *s, const struct step *w, unsigned k)
{
    for (unsigned i = 0; i < k; i++) {
        bool end = w->start == data_len;
        uint8_t raw = 0;
        wl_err err = wl_peek_stream_type(r, &raw);
        size_t consumed = end ? w->start : w->start + 1;

        if (err != (end ? WL_E_CLOSED : WL_OK) || (!end && raw != data[w->start]) ||
            wl_reader_consumed(r) != consumed || s->pos != consumed) {
            fz_note(9, "peek %u at %zu: error %d, byte %u, consumed %llu", i + 1, w->start, err,
                    raw, (unsigned long long)wl_reader_consumed(r));
            return false;
        }
    }
    return true;
}

static bool chunk_equals(const struct step *w, const wl_chunk *c)
{
    return c->type == w->type && c->len == w->len && (c->data == NULL) == (c->len == 0) &&
           (c->len == 0 || memcmp(c->data, data + w->start + WL_HEADER_LEN, c->len) == 0);
}

/*
 * Reads the whole stream one way and compares each call with the oracle. Only
 * reader A answers for C2-C6 and C10; the others answer for being like it (C1).
 */
static void pass(char name, enum how how, unsigned cuts)
{
    struct source s = source_whole();
    struct step *w = steps;
    wl_reader r;
    wl_chunk c;
    wl_err err;

    s.cuts = cuts;
    reader_open(&r, &s);
    for (;; w++) {
        bool same;

        if (how != HOW_READ && !check_peeks(&r, &s, w, how == HOW_PEEK_TWICE ? 2 : 1))
            return;
        fz_alloc_mark();
        err = how == HOW_PEEK_ONCE ? wl_read_chunk_after_peek(&r, &c) : wl_read_chunk(&r, &c);
        same = err == w->err && (err != WL_OK || chunk_equals(w, &c));
        if (name == 'A') {
            w->calls = fz_alloc_stats()->calls;
            fz_trace_u64((uint64_t)err << 40 | (uint64_t)c.type << 32 | c.len);
            check_verdict(w, err);
            check_header(w);
            check_alloc(w);
            if (err == WL_OK && w->err == WL_OK && !same)
                fz_note(7, "the chunk at %zu is not the bytes behind its header", w->start);
        }
        if (!same)
            fz_note(1, "reader %c at %zu: error %d, type %u, length %u; expected %d, %u, %u", name,
                    w->start, err, c.type, c.len, w->err, w->type, w->len);
        else if (wl_reader_consumed(&r) != w->end || s.pos != w->end)
            fz_note(7, "reader %c at %zu: consumed %llu, pulled %zu, expected %zu", name, w->start,
                    (unsigned long long)wl_reader_consumed(&r), s.pos, w->end);
        wl_chunk_free(&r, &c);
        if (!same)
            return;
        if (err != WL_OK)
            break;
    }
    check_poisoned(12, &r, &s, err);
}

/* C9: a peeked byte handed on leaves the reader detached. */
static void check_take(void)
{
    struct source s = source_whole();
    wl_reader r;
    uint8_t raw = 0;
    uint8_t taken = 0;

    if (data_len == 0)
        return;
    reader_open(&r, &s);
    if (wl_take_peek(&r, &taken) != 0)
        fz_note(9, "a byte was taken that nobody peeked");
    if (wl_peek_stream_type(&r, &raw) != WL_OK || wl_take_peek(&r, &taken) != 1 ||
        taken != data[0] || wl_reader_consumed(&r) != 1)
        fz_note(9, "peek and take: byte %u, consumed %llu", taken,
                (unsigned long long)wl_reader_consumed(&r));
    check_poisoned(9, &r, &s, WL_E_USAGE);
}

/* C8, C11: what was read, written again, is the input; read again, the chunks. */
static void check_round_trip(void)
{
    static uint8_t out[FZ_INPUT_MAX];
    struct sink k = {.out = out, .room = sizeof(out), .cuts = 1 + (unsigned)(data_len % 7)};
    struct source s;
    wl_writer writers[2];
    wl_reader r;

    wl_writer_init(&writers[0], (wl_sink){sink_write, &k}, WL_SERVER);
    wl_writer_init(&writers[1], (wl_sink){sink_write, &k}, WL_CLIENT);
    for (const struct step *w = steps; w->err == WL_OK; w++) {
        wl_writer *wr = &writers[w->type == WL_STDIN || w->type == WL_CTRL_IN];
        wl_err err = wl_write_chunk(wr, w->type, data + w->start + WL_HEADER_LEN, w->len);

        if (err != WL_OK || k.pos != w->end) {
            fz_note(11, "writing type %u, length %u: error %d, %zu bytes", w->type, w->len, err,
                    k.pos - w->start);
            return;
        }
    }
    if (memcmp(out, data, k.pos) != 0)
        fz_note(8, "%zu bytes written are not the bytes read", k.pos);
    s = (struct source){.d = out, .n = k.pos, .fail_at = SIZE_MAX};
    reader_open(&r, &s);
    for (const struct step *w = steps; w->err == WL_OK; w++) {
        wl_chunk c;
        wl_err err = wl_read_chunk(&r, &c);
        bool same = err == WL_OK && chunk_equals(w, &c);

        wl_chunk_free(&r, &c);
        if (!same) {
            fz_note(8, "type %u, length %u does not come back: error %d", w->type, w->len, err);
            return;
        }
    }
}

/* C11: what a writer must refuse without touching its sink or the data. */
static void check_writer_refuses(void)
{
    static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 0x80, 0xff};
    const uint8_t *byte = fz_guarded_copy("x", 1);
    uint8_t out[WL_HEADER_LEN + 1];

    for (unsigned i = 0; i < 2 * sizeof(types); i++) {
        uint8_t type = types[i / 2];
        bool server = i % 2 == 0;
        bool sends = type <= 4 && server == (type == 1 || type == 2 || type == 4);
        wl_err want = type > 4 ? WL_E_STREAM_TYPE : sends ? WL_E_TOO_LARGE : WL_E_USAGE;
        struct sink k = {.out = out, .room = sizeof(out)};
        wl_writer w;
        wl_err err;

        wl_writer_init(&w, (wl_sink){sink_write, &k}, server ? WL_SERVER : WL_CLIENT);
        err = wl_write_chunk(&w, type, byte, (size_t)WL_MAX_CHUNK_LEN + 1);
        if (err != want || k.pos != 0)
            fz_note(11, "type %u by the %s: error %d, expected %d, %zu bytes written", type,
                    server ? "server" : "client", err, want, k.pos);
        err = wl_write_chunk(&w, type, byte, 1);
        if (err != (sends ? WL_OK : want) || k.pos != (sends ? sizeof(out) : 0))
            fz_note(11, "one byte of type %u by the %s: error %d, %zu bytes written", type,
                    server ? "server" : "client", err, k.pos);
        if (!sends)
            continue;
        err = wl_write_chunk(&w, type, NULL, 0); /* the sink is full */
        if (err != WL_E_IO || wl_write_chunk(&w, type, byte, 1) != WL_E_IO)
            fz_note(13, "a full sink: error %d", err);
    }
}

/*
 * C13: reads until the step that must fail with want, having consumed least to
 * most bytes by then; nothing stays allocated and the reader is poisoned.
 */
static void check_failure(struct source *s, const struct step *last, wl_err want, size_t least,
                          size_t most)
{
    size_t live = fz_alloc_stats()->live_bytes;
    uint64_t consumed;
    wl_reader r;
    wl_chunk c;
    wl_err err;

    reader_open(&r, s);
    for (const struct step *w = steps; w < last; w++) {
        err = wl_read_chunk(&r, &c);
        wl_chunk_free(&r, &c);
        if (err != WL_OK) {
            fz_note(13, "error %d at %zu, before the failure", err, w->start);
            return;
        }
    }
    err = wl_read_chunk(&r, &c);
    wl_chunk_free(&r, &c);
    consumed = wl_reader_consumed(&r);
    if (err != want || consumed < least || consumed > most)
        fz_note(13, "error %d at %llu, expected %d at %zu..%zu", err, (unsigned long long)consumed,
                want, least, most);
    if (fz_alloc_stats()->live_bytes != live)
        fz_note(13, "%zu bytes leaked by error %d", fz_alloc_stats()->live_bytes - live, err);
    check_poisoned(13, &r, s, want);
}

/* The place of the failure depends on nothing but the input. */
static void check_failures(uint64_t h)
{
    size_t total = steps[step_count - 1].end;
    struct source s = source_whole();
    const struct step *w = steps;
    uint64_t calls = 0;
    uint64_t k;

    s.fail_at = total > 0 ? h % total : 0;
    while (w->err == WL_OK && w->end <= s.fail_at)
        w++;
    check_failure(&s, w, WL_E_IO, s.fail_at, s.fail_at);

    for (size_t i = 0; i < step_count; i++)
        calls += steps[i].calls;
    if (calls == 0)
        return;
    k = h % calls;
    s = source_whole();
    fz_alloc_fail_at((int64_t)k);
    for (w = steps; k >= w->calls; w++)
        k -= w->calls;
    check_failure(&s, w, WL_E_NOMEM, w->start + WL_HEADER_LEN,
                  k == 0 ? w->start + WL_HEADER_LEN : w->end);
    fz_alloc_fail_at(-1);
}

int fz_one(const uint8_t *d, size_t n)
{
    data = fz_guarded_copy(d, n);
    data_len = n;
    step_count = oracle_steps(data, n, steps);

    pass('A', HOW_READ, 0);
    fz_reach_mute();
    pass('B', HOW_PEEK_ONCE, 0);
    pass('C', HOW_PEEK_TWICE, 0);
    pass('D', HOW_READ, n > 0 ? 1u + d[0] : 1u);
    check_take();
    check_round_trip();
    fz_reach_unmute();
    if (!fz_noted())
        check_failures(fz_hash(data, n));
    check_writer_refuses();
    fz_report();
    return 0;
}

/* The header of a chunk of the maximum less one, then a failure. */
static ptrdiff_t header_then_error(void *ctx, void *buf, size_t n)
{
    static const uint8_t header[WL_HEADER_LEN] = {WL_STDIN, 0x00, 0xff, 0xff, 0xff};
    size_t *pos = ctx;

    if (*pos == sizeof(header))
        return -1;
    if (n > sizeof(header) - *pos)
        n = sizeof(header) - *pos;
    memcpy(buf, header + *pos, n);
    *pos += n;
    return (ptrdiff_t)n;
}

/* A chunk of the maximum less one is admitted: the reader asks for its payload. */
static void self_test(void)
{
    size_t pos = 0;
    wl_reader r;
    wl_chunk c;
    wl_err err;

    wl_reader_init(&r, (wl_src){header_then_error, &pos}, fz_mem());
    err = wl_read_chunk(&r, &c);
    if (err != WL_E_IO || pos != WL_HEADER_LEN)
        fz_fail(FZ_INTERNAL, "SELFTEST", "a chunk of the maximum less one: error %d", err);
    if (wl_validate_header(WL_STDIN, WL_MAX_CHUNK_LEN - 1) != WL_OK)
        fz_fail(FZ_INTERNAL, "SELFTEST", "a header of the maximum less one is refused");
}

const struct fz_target fz_target = {
    .name = "chunk_frame",
    .alloc_limit = (size_t)WL_MAX_CHUNK_LEN + OVERHEAD_MAX,
    .invariants = ids,
    .reach = required,
    .self_test = self_test,
};
