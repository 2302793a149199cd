/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the negotiation. What matters: a length is judged before anything is
 * allocated for it, memory grows with the bytes that really come, `consumed` is
 * exact after every call, and an error is final.
 */
#include <string.h>

#include "negotiation_frame.h"

#define FIRST_ROOM 4096u /* bytes allocated for a body before any of it came */

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static enum neg_err fail(struct neg_reader *r, enum neg_err err)
{
    r->failed = err;
    return err;
}

/* Fills buf with n bytes, however short the source's reads are. */
static enum neg_err pull(struct neg_reader *r, uint8_t *buf, size_t n)
{
    size_t got = 0;

    while (got < n) {
        ptrdiff_t k = r->src.read(r->src.ctx, buf + got, n - got);

        if (k < 0 || (size_t)k > n - got)
            return NEG_E_IO;
        if (k == 0)
            return NEG_E_CLOSED;
        got += (size_t)k;
        r->consumed += (uint64_t)k;
    }
    return NEG_OK;
}

void neg_reader_init(struct neg_reader *r, struct neg_src src, const fz_allocator *mem)
{
    *r = (struct neg_reader){.src = src, .mem = mem};
}

void neg_reader_prepend(struct neg_reader *r, uint8_t byte)
{
    r->held = byte;
    r->has_held = true;
    r->consumed++;
}

uint64_t neg_reader_consumed(const struct neg_reader *r)
{
    return r->consumed;
}

static enum neg_err prefix_read(struct neg_reader *r, uint32_t *ret_len)
{
    uint8_t prefix[NEG_PREFIX_LEN];
    size_t held = r->has_held;
    uint64_t before = r->consumed - held;
    enum neg_err err;

    if (held)
        prefix[0] = r->held;
    r->has_held = false;
    err = pull(r, prefix + held, sizeof(prefix) - held);
    if (err == NEG_E_CLOSED && r->consumed > before)
        FZ_REACH(e_trunc);
    if (err == NEG_OK)
        *ret_len = load_be32(prefix);
    return err;
}

static enum neg_err body_read(struct neg_reader *r, uint32_t len, struct neg_body *ret_body)
{
    uint8_t *data = NULL;
    uint32_t room = len < FIRST_ROOM ? len : FIRST_ROOM;
    uint32_t got = 0;
    enum neg_err err = NEG_OK;

#ifdef PLANT_BUG_NEG_NO_BOUND
    if (len > NEG_MAX_LEN)
        room = len;
#endif
    while (err == NEG_OK && got < len) {
        uint8_t *grown = r->mem->realloc(r->mem->ctx, data, room);

        if (grown == NULL) {
            err = NEG_E_NOMEM;
            break;
        }
        data = grown;
        err = pull(r, data + got, room - got);
        got = room;
        room = room < len - room ? room * 2 : len;
    }
    if (err != NEG_OK) {
        if (err == NEG_E_CLOSED)
            FZ_REACH(e_trunc);
        r->mem->free(r->mem->ctx, data);
        return err;
    }
    *ret_body = (struct neg_body){.data = data, .len = len};
    return NEG_OK;
}

enum neg_err neg_read_frame(struct neg_reader *r, struct neg_body *ret_body)
{
    uint32_t len = 0;
    enum neg_err err;

    *ret_body = (struct neg_body){0};
    if (r->failed != NEG_OK)
        return r->failed;
    err = prefix_read(r, &len);
    if (err != NEG_OK)
        return fail(r, err);
#ifndef PLANT_BUG_NEG_NO_BOUND
    if (len > NEG_MAX_LEN) {
        FZ_REACH(e_large);
        return fail(r, NEG_E_TOO_LARGE);
    }
#endif
#ifdef PLANT_BUG_NEG_ZERO_CLOSED
    if (len == 0)
        return fail(r, NEG_E_CLOSED);
#endif
    err = body_read(r, len, ret_body);
    if (err != NEG_OK)
        return fail(r, err);
    FZ_REACH(frame_ok);
    if (len == 0)
        FZ_REACH(frame_zero);
    return NEG_OK;
}

void neg_body_free(const fz_allocator *mem, struct neg_body *body)
{
    mem->free(mem->ctx, body->data);
    *body = (struct neg_body){0};
}

void neg_prefix_encode(uint8_t out[NEG_PREFIX_LEN], uint32_t len)
{
    for (size_t i = 0; i < NEG_PREFIX_LEN; i++)
        out[i] = (uint8_t)(len >> (24 - 8 * i));
}

enum neg_err neg_write_frame(const fz_allocator *mem, const void *body, size_t n,
                             uint8_t **ret_frame)
{
    uint8_t *frame;

    if (n > NEG_MAX_LEN)
        return NEG_E_TOO_LARGE;
    frame = mem->alloc(mem->ctx, NEG_PREFIX_LEN + n);
    if (frame == NULL)
        return NEG_E_NOMEM;
    neg_prefix_encode(frame, (uint32_t)n);
    if (n > 0)
        memcpy(frame + NEG_PREFIX_LEN, body, n);
    *ret_frame = frame;
    return NEG_OK;
}
