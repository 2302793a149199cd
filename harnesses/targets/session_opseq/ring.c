/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte ring. Positions only ever grow and are masked on access, so that full
 * and empty need no flag.
 */
#include <errno.h>
#include <string.h>

#include "ring.h"

int ring_init(struct ring *r, size_t capacity, const fz_allocator *mem)
{
    uint8_t *d;

    if (capacity == 0 || (capacity & (capacity - 1)) != 0)
        return -EINVAL;
    d = mem->alloc(mem->ctx, capacity);
    if (d == NULL)
        return -ENOMEM;
    *r = (struct ring){.d = d, .capacity = capacity};
    return 0;
}

void ring_clear(struct ring *r, const fz_allocator *mem)
{
    mem->free(mem->ctx, r->d);
    *r = (struct ring){0};
}

/* The place of position at, and in *ret_n how many of n bytes lie there in one piece. */
static uint8_t *piece(const struct ring *r, size_t at, size_t n, size_t *ret_n)
{
    size_t i = at & (r->capacity - 1);

    *ret_n = n < r->capacity - i ? n : r->capacity - i;
    return r->d + i;
}

size_t ring_put(struct ring *r, const void *p, size_t n)
{
    const uint8_t *from = p;
    uint8_t *to;
    size_t k;

    if (n > ring_room(r))
        n = ring_room(r);
    if (n == 0)
        return 0;
    to = piece(r, r->head, n, &k);
    memcpy(to, from, k);
    if (k < n)
        memcpy(r->d, from + k, n - k);
    r->head += n;
    return n;
}

const uint8_t *ring_front(const struct ring *r, size_t n, size_t *ret_n)
{
    return piece(r, r->tail, n < ring_used(r) ? n : ring_used(r), ret_n);
}

void ring_skip(struct ring *r, size_t n)
{
    r->tail += n < ring_used(r) ? n : ring_used(r);
}

size_t ring_take(struct ring *r, void *p, size_t n)
{
    uint8_t *to = p;
    size_t got = 0;

    while (got < n) {
        size_t k;
        const uint8_t *from = ring_front(r, n - got, &k);

        if (k == 0)
            break;
        memcpy(to + got, from, k);
        ring_skip(r, k);
        got += k;
    }
    return got;
}

size_t ring_move(struct ring *to, struct ring *from, size_t n)
{
    size_t moved = 0;

    while (moved < n) {
        size_t k;
        const uint8_t *p = ring_front(from, n - moved, &k);

        k = ring_put(to, p, k);
        if (k == 0)
            break;
        ring_skip(from, k);
        moved += k;
    }
    return moved;
}
