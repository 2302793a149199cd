/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec of 5-byte-header chunks: [stream type u8][length u32 BE][payload].
 * The header is read whole before it is judged; a reader that returned an error
 * returns the same error for ever and consumes nothing more.
 */
#ifndef CHUNK_FRAME_H
#define CHUNK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_lib.h"

#define WL_HEADER_LEN    5u
#define WL_MAX_CHUNK_LEN 0x01000000u /* bytes of payload; this many are admitted */

enum wl_stream_type {
    WL_STDIN = 0,    /* client to server */
    WL_STDOUT = 1,   /* server to client */
    WL_STDERR = 2,   /* server to client */
    WL_CTRL_IN = 3,  /* client to server */
    WL_CTRL_OUT = 4, /* server to client */
    WL_TYPE_LAST = WL_CTRL_OUT
};

enum wl_role { WL_SERVER, WL_CLIENT };

typedef enum {
    WL_OK,
    WL_E_CLOSED,      /* the source ended, between chunks or inside one */
    WL_E_STREAM_TYPE, /* no such type; wins over TOO_LARGE */
    WL_E_TOO_LARGE,   /* length above WL_MAX_CHUNK_LEN */
    WL_E_IO,          /* the source or the sink failed */
    WL_E_NOMEM,
    WL_E_USAGE /* the call is not allowed in this state or role */
} wl_err;

/* A source: > 0 bytes were read (may be fewer than asked), 0 end, < 0 I/O error. */
typedef struct {
    ptrdiff_t (*read)(void *ctx, void *buf, size_t n);
    void *ctx;
} wl_src;

/* A sink: > 0 bytes were taken (may be fewer than given), <= 0 I/O error. */
typedef struct {
    ptrdiff_t (*write)(void *ctx, const void *buf, size_t n);
    void *ctx;
} wl_sink;

typedef struct {
    uint8_t type;
    uint32_t len;
    uint8_t *data; /* NULL when len is 0 */
} wl_chunk;

/* The members are the library's. */
typedef struct {
    wl_src src;
    const fz_allocator *mem;
    uint64_t consumed;
    wl_err failed; /* WL_OK, or what every later call returns */
    uint8_t peeked;
    uint8_t peeks; /* calls of peek for this chunk; > 0 = peeked is held */
    bool any;      /* a chunk was read */
} wl_reader;

typedef struct {
    wl_sink sink;
    enum wl_role role;
    wl_err failed;
} wl_writer;

/* Prepares a reader; src and mem are borrowed and must outlive it. */
void wl_reader_init(wl_reader *r, wl_src src, const fz_allocator *mem);

/* The type byte of the next chunk as it came, not validated. Calling it again
 * before the chunk is read gives the same byte. */
wl_err wl_peek_stream_type(wl_reader *r, uint8_t *raw);

/* Reads the next chunk, beginning with the peeked byte if there is one. On error
 * *chunk is all zero. The data is freed by wl_chunk_free(). */
wl_err wl_read_chunk(wl_reader *r, wl_chunk *chunk);

/* The same for callers that branch on the type: peeks itself if nobody did. */
wl_err wl_read_chunk_after_peek(wl_reader *r, wl_chunk *chunk);

/* Hands the peeked byte on to another codec. Returns 1 and detaches the reader
 * (later calls give WL_E_USAGE), or 0 when no byte is held. */
int wl_take_peek(wl_reader *r, uint8_t *b);

/* Bytes pulled from the source so far, a peeked one included. */
uint64_t wl_reader_consumed(const wl_reader *r);

/* The verdict on a complete header: OK, STREAM_TYPE or TOO_LARGE. */
wl_err wl_validate_header(uint8_t type, uint32_t len);

void wl_chunk_free(wl_reader *r, wl_chunk *chunk);

void wl_writer_init(wl_writer *w, wl_sink sink, enum wl_role role);

/*
 * Writes one chunk. A type that does not exist, that the role does not send
 * (USAGE) or a length above the maximum writes nothing and leaves the writer
 * usable; a sink failure (IO) may leave part of a chunk and ends the writer.
 */
wl_err wl_write_chunk(wl_writer *w, uint8_t type, const void *data, size_t n);

#endif
