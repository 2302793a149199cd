/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading half of the client: takes chunks apart and holds each against what
 * the backend produced, at once. It trusts nothing that comes (S3-S7).
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "targets/chunk_frame/chunk_frame.h"
#include "mock.h"
#include "session.h"

struct client {
    struct duplex *x;
    const struct mock *m;
    uint8_t buf[WL_HEADER_LEN + SESSION_CHUNK_MAX]; /* the chunk that is coming */
    size_t have;
    bool lost; /* the stream does not decode; nothing more is read */
    size_t chunks;
    size_t out_len; /* bytes of stdout and of stderr that came */
    size_t err_len;
    unsigned sentinels;
    unsigned exits; /* exit chunks */
    int32_t exit_code;
};

void client_init(struct client *c, struct duplex *x, const struct mock *m);

/* Reads what is there, to the end of one chunk. Returns true when one is complete,
 * false when nothing more is there now. */
bool client_chunk(struct client *c);

#endif
