/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection between a client and its session: two bounded rings, and which
 * side has closed what. It holds no thread and no descriptor: whoever finds a
 * ring full or empty comes back later. What was written before a close can still
 * be read after it.
 */
#ifndef DUPLEX_H
#define DUPLEX_H

#include "ring.h"

struct duplex {
    struct ring c2s;    /* client to server */
    struct ring s2c;    /* server to client */
    bool client_ended;  /* the client writes no more */
    bool client_gone;   /* the client dropped both halves */
    bool server_closed; /* the server reads and writes no more */
};

/* Allocates two rings of capacity bytes. Returns 0, -EINVAL or -ENOMEM. */
int duplex_init(struct duplex *x, size_t capacity, const fz_allocator *mem);
void duplex_clear(struct duplex *x, const fz_allocator *mem);

/* The client's end. Writing returns how many bytes were taken (0: the ring is
 * full) or -EPIPE once the server closed; reading returns how many came, 0 when
 * there are none now. */
ptrdiff_t duplex_write(struct duplex *x, const void *p, size_t n);
size_t duplex_read(struct duplex *x, void *p, size_t n);

/* Whether nothing will ever come to the client any more. */
bool duplex_at_end(const struct duplex *x);

/* The client goes away; what it did not read is lost. */
void duplex_drop(struct duplex *x);

#endif
