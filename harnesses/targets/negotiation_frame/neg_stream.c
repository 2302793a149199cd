/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input as a stream of frames, read to the first error over three sources
 * that differ in how they cut the reads; the oracle says what each call gives.
 */
#include <string.h>

#include "neg_checks.h"

#define OVERHEAD_MAX 16u /* bytes a reader may allocate beyond the body */

static struct neg_step steps[NEG_STEP_MAX]; /* the last one is the error */

static void reader_open(struct neg_reader *r, struct neg_source *s)
{
    neg_reader_init(r, (struct neg_src){neg_source_read, s}, fz_mem());
}

/* N2-N6: what one call gave, by the reader over the whole buffer. */
static void check_verdict(const struct neg_step *w, enum neg_err err, const struct neg_body *b,
                          const uint8_t *d)
{
    if ((err == NEG_E_TOO_LARGE) != (w->err == NEG_E_TOO_LARGE) ||
        (w->prefix && w->len >= 0x01000000u && err != w->err))
        fz_note(2, "length 0x%x at %zu: error %d, expected %d", w->len, w->start, err, w->err);
    if (err == NEG_E_IO || (err == NEG_E_CLOSED && w->err != NEG_E_CLOSED && w->len > 0))
        fz_note(3, "error %d at %zu, expected %d", err, w->start, w->err);
    if (err == NEG_E_JSON)
        fz_note(4, "the reader judged the body at %zu", w->start);
    if (w->err == NEG_OK && w->len == 0 && (err != NEG_OK || b->data != NULL || b->len != 0))
        fz_note(5, "a body of no bytes at %zu: error %d, length %u", w->start, err, b->len);
    if (w->err == NEG_OK && err == NEG_OK &&
        (b->len != w->len ||
         (b->len > 0 && memcmp(b->data, d + w->start + NEG_PREFIX_LEN, b->len) != 0)))
        fz_note(6, "the body at %zu is not the bytes behind its prefix", w->start);
    if (err != NEG_OK && (b->data != NULL || b->len != 0))
        fz_note(6, "error %d at %zu comes with a body", err, w->start);
}

/* N13: what that call allocated; also N15, as nothing failed. */
static void check_alloc(struct neg_step *w, enum neg_err err)
{
    const struct fz_alloc_stats *st = fz_alloc_stats();

    w->calls = st->calls;
    if ((!w->prefix || w->err == NEG_E_TOO_LARGE) && st->calls != 0)
        fz_note(13, "%llu allocations at %zu, error %d", (unsigned long long)st->calls, w->start,
                w->err);
    else if (st->max_single > (size_t)w->len + OVERHEAD_MAX)
        fz_note(13, "an allocation of %zu bytes for a body of %u", st->max_single, w->len);
    if (err == NEG_E_NOMEM)
        fz_note(15, "out of memory at %zu although no allocation failed", w->start);
}

/* N5: a reader that failed stays as it is. */
static void check_poisoned(struct neg_reader *r, const struct neg_source *s, enum neg_err err)
{
    uint64_t consumed = neg_reader_consumed(r);
    size_t pos = s->pos;
    struct neg_body b;
    enum neg_err again = neg_read_frame(r, &b);

    if (again != err || b.data != NULL || neg_reader_consumed(r) != consumed || s->pos != pos)
        fz_note(5, "a reader that gave error %d at %llu gives %d then", err,
                (unsigned long long)consumed, again);
    neg_body_free(fz_mem(), &b);
}

/* N5: no bytes are no request. */
static void check_empty_body(void)
{
    struct neg_request rq;
    enum neg_err err = neg_request_from_slice(fz_mem(), "", 0, &rq, NULL);

    if (err != NEG_E_JSON)
        fz_note(5, "a request of no bytes: error %d", err);
    neg_request_clear(fz_mem(), &rq);
}

/* Reads the stream over a source that cuts reads to piece_max bytes, 0 = does not.
 * Only the last answers for N2-N6 and N13; the others for being like it (N1). */
static void read_all(const uint8_t *d, size_t n, size_t piece_max, size_t phase)
{
    struct neg_source s = {.d = d, .n = n, .piece_max = piece_max, .piece = phase};
    bool zero = false;
    struct neg_reader r;
    struct neg_body b;

    reader_open(&r, &s);
    for (struct neg_step *w = steps;; w++) {
        enum neg_err err;
        bool same;

        fz_alloc_mark();
        err = neg_read_frame(&r, &b);
        same = err == w->err && b.len == (err == NEG_OK ? w->len : 0) &&
               (b.len == 0 || memcmp(b.data, d + w->start + NEG_PREFIX_LEN, b.len) == 0);
        if (piece_max == 0) {
            fz_trace_u64((uint64_t)err << 32 | b.len);
            check_verdict(w, err, &b, d);
            check_alloc(w, err);
            zero |= err == NEG_OK && b.len == 0;
        }
        if (!same)
            fz_note(1, "reads of %zu at %zu: error %d, length %u; expected %d, %u", piece_max,
                    w->start, err, b.len, w->err, w->len);
        else if (neg_reader_consumed(&r) != w->end || s.pos != w->end)
            fz_note(5, "reads of %zu at %zu: consumed %llu, pulled %zu, expected %zu", piece_max,
                    w->start, (unsigned long long)neg_reader_consumed(&r), s.pos, w->end);
        neg_body_free(fz_mem(), &b);
        if (!same)
            return;
        if (err != NEG_OK) {
            check_poisoned(&r, &s, err);
            break;
        }
    }
    if (zero) {
        fz_reach_mute();
        check_empty_body();
        fz_reach_unmute();
    }
}

/* N15: one of the allocations fails. */
static void check_nomem(const uint8_t *d, size_t n, size_t count, uint64_t h)
{
    size_t live = fz_alloc_stats()->live_bytes;
    struct neg_source s = {.d = d, .n = n};
    const struct neg_step *w = steps;
    uint64_t calls = 0;
    enum neg_err err;
    struct neg_reader r;
    struct neg_body b;
    uint64_t k;

    for (size_t i = 0; i < count; i++)
        calls += steps[i].calls;
    if (calls == 0)
        return;
    k = h % calls;
    fz_alloc_fail_at((int64_t)k);
    for (; k >= w->calls; w++)
        k -= w->calls;
    reader_open(&r, &s);
    for (const struct neg_step *before = steps; before < w; before++) {
        err = neg_read_frame(&r, &b);
        neg_body_free(fz_mem(), &b);
        if (err != NEG_OK)
            fz_note(15, "error %d at %zu, before the failing allocation", err, before->start);
    }
    err = neg_read_frame(&r, &b);
    if (err != NEG_E_NOMEM || b.data != NULL)
        fz_note(15, "error %d at %zu when allocation %llu of the frame fails", err, w->start,
                (unsigned long long)k);
    neg_body_free(fz_mem(), &b);
    check_poisoned(&r, &s, err);
    if (fz_alloc_stats()->live_bytes != live)
        fz_note(15, "%zu bytes leaked by error %d", fz_alloc_stats()->live_bytes - live, err);
    fz_alloc_fail_at(-1);
}

void neg_check_stream(const uint8_t *d, size_t n, uint64_t h)
{
    size_t count = neg_oracle_steps(d, n, steps);

    read_all(d, n, 0, 0);
    fz_reach_mute();
    read_all(d, n, 1, 0);
    read_all(d, n, 7, h % 7);
    check_nomem(d, n, count, h);
    fz_reach_unmute();
}
