/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input as the body of one frame. It is carried through the whole chain that
 * a client's request takes: a frame, a reader, the parser, JSON, a frame again.
 * What parses is then probed with bodies that must not.
 */
#include <string.h>

#include "neg_checks.h"
#include "targets/chunk_frame/chunk_frame.h"

#define GROWTH_MAX 64u /* bytes: a tty's pixels, written though they were left out */

/* How far a body came; all of it is freed by chain_free(). */
struct chain {
    enum neg_err err; /* of the first link that failed */
    bool taken;       /* the first link, the reader, did not */
    struct neg_fault fault;
    struct neg_body body;
    struct neg_request rq;
    char *json;
    size_t json_len;
    uint8_t *frame; /* of json */
};

static uint8_t scratch[NEG_PREFIX_LEN + 2 * FZ_INPUT_MAX + 2 * GROWTH_MAX];

enum neg_err neg_frame_take(const uint8_t *frame, size_t n, bool starved, struct neg_body *ret_body)
{
    struct neg_source s = {.d = frame, .n = n};
    struct neg_body none;
    struct neg_reader r;
    uint8_t raw = 0xff;
    uint8_t first = 0xff;
    enum neg_err err;
    wl_reader chunks;

    wl_reader_init(&chunks, (wl_src){neg_source_read, &s}, fz_mem());
    if (wl_peek_stream_type(&chunks, &raw) != WL_OK || raw != 0)
        fz_note(10, "a frame of %zu bytes begins with %u", n, raw);
    if (wl_take_peek(&chunks, &first) != 1 || first != raw || s.pos != 1)
        fz_note(10, "byte %u was peeked and byte %u taken", raw, first);
    neg_reader_init(&r, (struct neg_src){neg_source_read, &s}, fz_mem());
    neg_reader_prepend(&r, first);
    err = neg_read_frame(&r, ret_body);
    if (err != NEG_OK && starved)
        return err;
    if (err != NEG_OK || ret_body->len != n - NEG_PREFIX_LEN)
        fz_note(n == NEG_PREFIX_LEN ? 5 : 10,
                "a frame of %zu bytes behind a peek: error %d, length %u", n, err, ret_body->len);
    else if (neg_reader_consumed(&r) != n || s.pos != n)
        fz_note(5, "a frame of %zu bytes: consumed %llu, pulled %zu", n,
                (unsigned long long)neg_reader_consumed(&r), s.pos);
    else if (neg_read_frame(&r, &none) != NEG_E_CLOSED)
        fz_note(10, "behind a frame of %zu bytes comes another", n);
    return err;
}

/* Parses and holds the parser to N4 and N8; returns the verdict. */
static enum neg_err parse(const void *body, size_t n, struct neg_request *rq,
                          struct neg_fault *fault)
{
    static const struct neg_request zero;
    size_t live = fz_alloc_stats()->live_bytes;
    enum neg_err err;

    *fault = (struct neg_fault){0};
    memset(rq, 0x5a, sizeof(*rq));
    err = neg_request_from_slice(fz_mem(), body, n, rq, fault);
    if (err == NEG_OK)
        return err;
    if (err != NEG_E_JSON && err != NEG_E_NOMEM)
        fz_note(4, "the parser gave error %d", err);
    if (memcmp(rq, &zero, sizeof(zero)) != 0)
        fz_note(8, "error %d leaves something in the request", err);
    if (fz_alloc_stats()->live_bytes != live)
        fz_note(8, "error %d leaves %zu bytes allocated", err, fz_alloc_stats()->live_bytes - live);
    if (err == NEG_E_JSON && (fault->err == JSON_OK || fault->offset > n))
        fz_note(8, "a refusal without a reason: %d at %zu of %zu", fault->err, fault->offset, n);
    memset(rq, 0, sizeof(*rq));
    return err;
}

static void chain_free(struct chain *c)
{
    const fz_allocator *mem = fz_mem();

    neg_body_free(mem, &c->body);
    if (c->rq.block != NULL)
        neg_request_clear(mem, &c->rq);
    mem->free(mem->ctx, c->json);
    mem->free(mem->ctx, c->frame);
}

/* starved: an allocation will fail, and the caller judges the error. */
static void chain_run(struct chain *c, const uint8_t *frame, size_t n, bool starved)
{
    memset(c, 0, sizeof(*c));
    c->err = neg_frame_take(frame, n, starved, &c->body);
    c->taken = c->err == NEG_OK;
    if (c->taken)
        c->err = parse(c->body.data, c->body.len, &c->rq, &c->fault);
    if (c->err == NEG_OK)
        c->err = neg_request_to_json(fz_mem(), &c->rq, &c->json, &c->json_len);
    if (c->err == NEG_OK)
        c->err = neg_write_frame(fz_mem(), c->json, c->json_len, &c->frame);
}

/* Keeps inputs that come nearer to the limit: a counter of passages tells afl-fuzz
 * nothing between 32 and 128. */
static void reach_depth(size_t deepest)
{
    if (deepest >= 48)
        FZ_REACH(depth_48);
    if (deepest >= 64)
        FZ_REACH(depth_64);
    if (deepest >= 80)
        FZ_REACH(depth_80);
    if (deepest >= 96)
        FZ_REACH(depth_96);
    if (deepest >= 112)
        FZ_REACH(depth_112);
    if (deepest >= 124)
        FZ_REACH(depth_124);
}

/* N14: what was read never holds more than 128 levels, and not fewer are refused. */
static void check_depth(const uint8_t *d, size_t n, enum neg_err err, const struct neg_fault *fault)
{
    size_t read = err == NEG_OK ? n : fault->offset;
    size_t deepest;
    size_t deep = neg_oracle_too_deep(d, read < n ? read + 1 : n, &deepest);

    reach_depth(deepest);
    if (deep < read)
        fz_note(14, "the parser went on behind level 129 at %zu, to %zu: error %d", deep, read,
                fault->err);
    if (err == NEG_E_JSON && fault->err == JSON_E_DEPTH && deep != fault->offset)
        fz_note(14, "too deep at %zu, where 128 levels are not exceeded", fault->offset);
}

/* N8: a body that is near an accepted one must be refused. */
static void refused(const char *what, size_t n)
{
    struct neg_request rq;
    struct neg_fault fault;

    if (parse(scratch, n, &rq, &fault) == NEG_OK)
        fz_note(8, "accepted, with %s", what);
    if (rq.block != NULL)
        neg_request_clear(fz_mem(), &rq);
}

static void check_members(const char *json, size_t n)
{
    static const char *const names[] = {"\"carriage\":", "\"backend\":", "\"cmd\":"};
    struct neg_member m[NEG_MEMBERS_MAX];
    size_t count = neg_oracle_members(json, n, m);
    size_t first = count > 0 ? m[0].end - m[0].start : 0;

    if (count < 3) {
        fz_note(7, "%zu members in %zu bytes of JSON", count, n);
        return;
    }
    memcpy(scratch, json, m[0].end);
    scratch[m[0].end] = ',';
    memcpy(scratch + m[0].end + 1, json + 1, n - 1);
    refused("its first member repeated", n + first + 1);

    for (size_t k = 0; k < 3; k++) {
        size_t i = 0;
        size_t from;
        size_t to;

        while (i < count && memcmp(json + m[i].start, names[k], strlen(names[k])) != 0)
            i++;
        if (i == count) {
            fz_note(7, "JSON without %s", names[k]);
            continue;
        }
        /* With the comma behind it, or, as the last one, the comma before. */
        from = i + 1 == count ? m[i].start - 1 : m[i].start;
        to = i + 1 == count ? m[i].end : m[i].end + 1;
        memcpy(scratch, json, from);
        memcpy(scratch + from, json + to, n - to);
        refused(names[k], n - (to - from));
    }
}

/* N9: one more byte, counted in the prefix: a part of the body for the reader, an
 * error for the parser unless it is whitespace. */
static void check_trailing(const uint8_t *d, size_t n, char probe, const struct neg_request *want)
{
    size_t len = n + 1;
    struct neg_body b = {0};
    struct neg_request rq = {0};
    struct neg_fault fault;
    enum neg_err err;

    for (int i = 0; i < 4; i++)
        scratch[i] = (uint8_t)(len >> (24 - 8 * i));
    memcpy(scratch + NEG_PREFIX_LEN, d, n);
    scratch[NEG_PREFIX_LEN + n] = (uint8_t)probe;
    if (neg_frame_take(scratch, NEG_PREFIX_LEN + len, false, &b) != NEG_OK ||
        memcmp(b.data, scratch + NEG_PREFIX_LEN, len) != 0)
        fz_note(9, "the byte %02x behind the body does not come back", (unsigned char)probe);
    err = parse(b.data, b.len, &rq, &fault);
    if (probe == ' ' ? err != NEG_OK || !neg_request_equal(&rq, want) : err == NEG_OK)
        fz_note(9, "the byte %02x behind the body: error %d, %d at %zu", (unsigned char)probe, err,
                fault.err, fault.offset);
    if (rq.block != NULL)
        neg_request_clear(fz_mem(), &rq);
    neg_body_free(fz_mem(), &b);
}

static void check_accepted(const uint8_t *d, size_t n, const struct chain *c, uint64_t h)
{
    static const char probes[] = {'x', '}', '0', '\0', ' '};
    static const char *const backends[] = {"local", "ssh", NULL};
    struct chain again;
    const char *why;

    chain_run(&again, c->frame, NEG_PREFIX_LEN + c->json_len, false);
    if (again.err != NEG_OK || !neg_request_equal(&again.rq, &c->rq))
        fz_note(7, "the request's own JSON: error %d, %d at %zu", again.err, again.fault.err,
                again.fault.offset);
    else if (again.json_len != c->json_len || memcmp(again.json, c->json, c->json_len) != 0)
        fz_note(7, "the JSON of the request's JSON is another");
    chain_free(&again);
    if (neg_request_validate(&c->rq, backends, &why) != neg_oracle_verdict(&c->rq))
        fz_note(1, "a request that parsed is judged: %s", why != NULL ? why : "fine");
    if (c->json_len > n + GROWTH_MAX) {
        fz_note(7, "%zu bytes of JSON become %zu", n, c->json_len);
        return;
    }
    check_members(c->json, c->json_len);
    for (size_t i = 0; i < sizeof(probes); i++) {
        if (fz_thorough() || i == h / 7 % sizeof(probes))
            check_trailing(d, n, probes[i], &c->rq);
    }
}

/* N15: a link of the chain that runs out of memory says so, and nothing stays. */
static void check_nomem(const uint8_t *frame, size_t n, uint64_t calls, uint64_t h)
{
    size_t live = fz_alloc_stats()->live_bytes;
    struct chain c;

    if (calls == 0)
        return;
    fz_alloc_fail_at((int64_t)(h / 64 % calls));
    chain_run(&c, frame, n, true);
    fz_alloc_fail_at(-1);
    chain_free(&c);
    if (c.err != NEG_E_NOMEM)
        fz_note(15, "allocation %llu of %llu fails, error %d", (unsigned long long)(h / 64 % calls),
                (unsigned long long)calls, c.err);
    if (fz_alloc_stats()->live_bytes != live)
        fz_note(15, "%zu bytes leaked where allocation %llu fails",
                fz_alloc_stats()->live_bytes - live, (unsigned long long)(h / 64 % calls));
}

/* N6, N8: through a frame comes the same body, with the same verdict. */
static void check_taken(const uint8_t *d, size_t n, const struct chain *c, uint64_t h,
                        enum neg_err err, const struct neg_fault *fault,
                        const struct neg_request *rq)
{
    if (c->body.len != n || (n > 0 && memcmp(c->body.data, d, n) != 0))
        fz_note(6, "%zu bytes of body come back as %u", n, c->body.len);
    else if (c->err != err || c->fault.err != fault->err || c->fault.offset != fault->offset ||
             (err == NEG_OK && !neg_request_equal(rq, &c->rq)))
        fz_note(8, "the same body twice: error %d, %d at %zu, then %d, %d at %zu", err, fault->err,
                fault->offset, c->err, c->fault.err, c->fault.offset);
    else if (err == NEG_OK)
        check_accepted(d, n, c, h);
}

void neg_check_body(const uint8_t *d, size_t n, uint64_t h)
{
    struct neg_request rq;
    struct neg_fault fault;
    enum neg_err err = parse(d, n, &rq, &fault);
    uint8_t *frame = NULL;
    uint64_t calls;
    struct chain c;

    fz_trace_u64((uint64_t)err << 48 ^ (uint64_t)fault.err << 40 ^ fault.offset);
    if (err == NEG_OK)
        FZ_REACH(trailing_probe);
    check_depth(d, n, err, &fault);

    fz_reach_mute();
    if (neg_write_frame(fz_mem(), d, n, &frame) != NEG_OK) {
        fz_note(15, "no frame for %zu bytes", n);
    } else {
        fz_alloc_mark();
        chain_run(&c, frame, NEG_PREFIX_LEN + n, false);
        calls = fz_alloc_stats()->calls;
        if (c.taken)
            check_taken(d, n, &c, h, err, &fault, &rq);
        if (c.json != NULL)
            fz_trace(c.json, c.json_len);
        check_nomem(frame, NEG_PREFIX_LEN + n, calls, h);
        chain_free(&c);
    }
    if (rq.block != NULL)
        neg_request_clear(fz_mem(), &rq);
    fz_mem()->free(fz_mem()->ctx, frame);
    fz_reach_unmute();
}
