/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded ring of bytes. The capacity is a power of two and never grows: what
 * does not fit is not taken, and the caller is told how much was.
 */
#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_lib.h"

/* head and tail count all bytes ever put and taken; their difference is in use. */
struct ring {
    uint8_t *d;
    size_t capacity; /* bytes, a power of two */
    size_t head;
    size_t tail;
};

/* Allocates a ring. Returns 0, -EINVAL (capacity is no power of two) or -ENOMEM. */
int ring_init(struct ring *r, size_t capacity, const fz_allocator *mem);
void ring_clear(struct ring *r, const fz_allocator *mem);

static inline size_t ring_used(const struct ring *r)
{
    return r->head - r->tail;
}

static inline size_t ring_room(const struct ring *r)
{
    return r->capacity - (r->head - r->tail);
}

/* Puts as many of n bytes as fit, takes up to n bytes; both return how many. */
size_t ring_put(struct ring *r, const void *p, size_t n);
size_t ring_take(struct ring *r, void *p, size_t n);

/* The bytes that lie in one piece at the front: at most n, borrowed until the
 * next call. *ret_n is 0 only when the ring is empty or n is. */
const uint8_t *ring_front(const struct ring *r, size_t n, size_t *ret_n);
void ring_skip(struct ring *r, size_t n);

/* Moves up to n bytes from one ring to another; returns how many. */
size_t ring_move(struct ring *to, struct ring *from, size_t n);

#endif
