/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunk codec. What matters: nothing is allocated before the header passed,
 * `consumed` is exact after every call, and an error is final. Each
 * PLANT_BUG_... block is a bug that a test build can switch on.
 */
#include <string.h>

#include "chunk_frame.h"

#define FIRST_ROOM 16384u /* bytes allocated for a payload before any of it came */

static wl_err fail(wl_reader *r, wl_err err)
{
    r->failed = err;
    return err;
}

/*
 * Fills buf with n bytes, however short the source's reads are. Returns CLOSED
 * when the source ends first, IO when it fails or claims more than was asked.
 */
static wl_err pull(wl_reader *r, uint8_t *buf, size_t n, bool in_payload)
{
    size_t got = 0;

    (void)in_payload;
    while (got < n) {
        ptrdiff_t k = r->src.read(r->src.ctx, buf + got, n - got);

        if (k < 0 || (size_t)k > n - got)
            return WL_E_IO;
        if (k == 0) {
#ifdef PLANT_BUG_CHUNK_EOF_SPIN
            if (in_payload)
                continue;
#endif
            return WL_E_CLOSED;
        }
        got += (size_t)k;
        r->consumed += (uint64_t)k;
#ifdef PLANT_BUG_CHUNK_SHORTREAD
        if (in_payload && got < n)
            return WL_E_CLOSED;
#endif
    }
    return WL_OK;
}

void wl_reader_init(wl_reader *r, wl_src src, const fz_allocator *mem)
{
    *r = (wl_reader){.src = src, .mem = mem};
}

uint64_t wl_reader_consumed(const wl_reader *r)
{
    return r->consumed;
}

wl_err wl_validate_header(uint8_t type, uint32_t len)
{
#ifdef PLANT_BUG_CHUNK_NO_TYPE_CHECK
    (void)type;
#else
    if (type > WL_TYPE_LAST)
        return WL_E_STREAM_TYPE;
#endif
#if defined(PLANT_BUG_CHUNK_MAX_PLUS1)
    if (len > WL_MAX_CHUNK_LEN + 1)
        return WL_E_TOO_LARGE;
#elif defined(PLANT_BUG_CHUNK_MAX_EXCL)
    if (len >= WL_MAX_CHUNK_LEN)
        return WL_E_TOO_LARGE;
#else
    if (len > WL_MAX_CHUNK_LEN)
        return WL_E_TOO_LARGE;
#endif
    return WL_OK;
}

wl_err wl_peek_stream_type(wl_reader *r, uint8_t *raw)
{
    wl_err err;

    if (r->failed != WL_OK)
        return r->failed;
    if (r->peeks == 0) {
        err = pull(r, &r->peeked, 1, false);
        if (err != WL_OK)
            return fail(r, err);
    }
    if (r->peeks < UINT8_MAX)
        r->peeks++;
    *raw = r->peeked;
    return WL_OK;
}

int wl_take_peek(wl_reader *r, uint8_t *b)
{
    if (r->failed != WL_OK || r->peeks == 0)
        return 0;
    *b = r->peeked;
    r->peeks = 0;
    r->failed = WL_E_USAGE;
    return 1;
}

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads a header, the peeked byte first; the reader keeps no peek afterwards. */
static wl_err header_read(wl_reader *r, uint8_t header[WL_HEADER_LEN])
{
    size_t held = r->peeks > 0;
    uint64_t before = r->consumed - held;
    wl_err err;

    if (held)
        header[0] = r->peeked;
#ifdef PLANT_BUG_CHUNK_PEEK_STICKY
    r->peeks = r->peeks > 1;
#else
    r->peeks = 0;
#endif
    err = pull(r, header + held, WL_HEADER_LEN - held, false);
    if (err == WL_E_IO)
        FZ_REACH(e_io);
    else if (err == WL_E_CLOSED && r->consumed > before)
        FZ_REACH(e_hdr_trunc);
    else if (err == WL_E_CLOSED)
        FZ_REACH(end_between);
    return err;
}

static void reach_error(wl_err err)
{
    switch (err) {
    case WL_E_CLOSED:
        FZ_REACH(e_body_trunc);
        break;
    case WL_E_STREAM_TYPE:
        FZ_REACH(e_type);
        break;
    case WL_E_TOO_LARGE:
        FZ_REACH(e_large);
        break;
    case WL_E_IO:
        FZ_REACH(e_io);
        break;
    case WL_E_NOMEM:
        FZ_REACH(e_nomem);
        break;
    default:
        break;
    }
}

static void reach_ok(const wl_reader *r, const wl_chunk *c)
{
    switch (c->type) {
    case WL_STDIN:
        FZ_REACH(ok_t0);
        break;
    case WL_STDOUT:
        FZ_REACH(ok_t1);
        break;
    case WL_STDERR:
        FZ_REACH(ok_t2);
        break;
    case WL_CTRL_IN:
        FZ_REACH(ok_t3);
        break;
    case WL_CTRL_OUT:
        FZ_REACH(ok_t4);
        break;
    default:
        break;
    }
    if (c->len == 0)
        FZ_REACH(len0);
    if (r->any)
        FZ_REACH(second_chunk);
}

/*
 * Reads what follows an admitted header. A length is only a claim: memory grows
 * with the bytes that really come.
 */
static wl_err payload_read(wl_reader *r, wl_chunk *c)
{
    uint32_t room = c->len < FIRST_ROOM ? c->len : FIRST_ROOM;
    uint32_t got = 0;
    wl_err err = WL_OK;

    while (err == WL_OK && got < c->len) {
        uint8_t *grown = r->mem->realloc(r->mem->ctx, c->data, room);

        if (grown == NULL) {
            err = WL_E_NOMEM;
            break;
        }
        c->data = grown;
        err = pull(r, c->data + got, room - got, true);
        got = room;
        room = room < c->len - room ? room * 2 : c->len;
    }
#ifdef PLANT_BUG_CHUNK_LEAK_TRUNC
    if (err == WL_E_CLOSED)
        c->data = NULL;
#endif
#ifdef PLANT_BUG_CHUNK_OVERREAD
    if (err == WL_OK && c->len > 0)
        c->data[c->len] = '\0';
#endif
    if (err != WL_OK)
        r->mem->free(r->mem->ctx, c->data);
    return err;
}

wl_err wl_read_chunk(wl_reader *r, wl_chunk *chunk)
{
    uint8_t header[WL_HEADER_LEN];
    wl_chunk c = {0};
    wl_err err;

    *chunk = c;
    if (r->failed != WL_OK)
        return r->failed;
    err = header_read(r, header);
    if (err != WL_OK)
        return fail(r, err);
    c.type = header[0];
    c.len = load_be32(header + 1);
#ifdef PLANT_BUG_CHUNK_ALLOC_FIRST
    if (c.type <= WL_TYPE_LAST && c.len > WL_MAX_CHUNK_LEN)
        r->mem->free(r->mem->ctx, r->mem->alloc(r->mem->ctx, (size_t)c.len + 32));
#endif
#ifdef PLANT_BUG_CHUNK_STATE_LEAK
    static bool stale; /* outlives the reader: one stream spoils a later one */
    if (!r->any && c.type == WL_CTRL_OUT && c.len > 0)
        stale = true;
    if (!r->any && c.type == WL_STDERR && c.len > 0 && stale) {
        stale = false;
        return fail(r, WL_E_CLOSED);
    }
#endif
    err = wl_validate_header(c.type, c.len);
    if (err == WL_OK)
        err = payload_read(r, &c);
    if (err != WL_OK) {
        reach_error(err);
        return fail(r, err);
    }
    reach_ok(r, &c);
    r->any = true;
    *chunk = c;
    return WL_OK;
}

wl_err wl_read_chunk_after_peek(wl_reader *r, wl_chunk *chunk)
{
    uint8_t raw;
    wl_err err;

    *chunk = (wl_chunk){0};
    if (r->peeks == 0) {
        err = wl_peek_stream_type(r, &raw);
        if (err != WL_OK)
            return err;
    }
    return wl_read_chunk(r, chunk);
}

void wl_chunk_free(wl_reader *r, wl_chunk *chunk)
{
    r->mem->free(r->mem->ctx, chunk->data);
    *chunk = (wl_chunk){0};
}

void wl_writer_init(wl_writer *w, wl_sink sink, enum wl_role role)
{
    *w = (wl_writer){.sink = sink, .role = role};
}

static bool role_sends(enum wl_role role, uint8_t type)
{
    bool to_client = type == WL_STDOUT || type == WL_STDERR || type == WL_CTRL_OUT;

    return to_client == (role == WL_SERVER);
}

static wl_err push(wl_writer *w, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ptrdiff_t k = w->sink.write(w->sink.ctx, p, n);

        if (k <= 0 || (size_t)k > n) {
            w->failed = WL_E_IO;
            return WL_E_IO;
        }
        p += k;
        n -= (size_t)k;
    }
    return WL_OK;
}

wl_err wl_write_chunk(wl_writer *w, uint8_t type, const void *data, size_t n)
{
    uint8_t header[WL_HEADER_LEN] = {type, (uint8_t)(n >> 24), (uint8_t)(n >> 16),
                                     (uint8_t)(n >> 8), (uint8_t)n};
    wl_err err;

    if (w->failed != WL_OK)
        return w->failed;
    if (type > WL_TYPE_LAST)
        return WL_E_STREAM_TYPE;
    if (!role_sends(w->role, type) || (data == NULL && n > 0))
        return WL_E_USAGE;
    if (n > WL_MAX_CHUNK_LEN)
        return WL_E_TOO_LARGE;
    err = push(w, header, sizeof(header));
    return err == WL_OK ? push(w, data, n) : err;
}
