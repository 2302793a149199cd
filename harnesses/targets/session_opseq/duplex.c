/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a connection in one memory. The session takes c2s and fills s2c
 * directly; the calls here are the client's.
 */
#include <errno.h>

#include "duplex.h"

int duplex_init(struct duplex *x, size_t capacity, const fz_allocator *mem)
{
    struct duplex made = {0};
    int rc = ring_init(&made.c2s, capacity, mem);

    if (rc == 0)
        rc = ring_init(&made.s2c, capacity, mem);
    if (rc != 0) {
        duplex_clear(&made, mem);
        return rc;
    }
    *x = made;
    return 0;
}

void duplex_clear(struct duplex *x, const fz_allocator *mem)
{
    ring_clear(&x->c2s, mem);
    ring_clear(&x->s2c, mem);
}

ptrdiff_t duplex_write(struct duplex *x, const void *p, size_t n)
{
    if (x->server_closed) {
        FZ_REACH(write_after_close);
        return -EPIPE;
    }
    return (ptrdiff_t)ring_put(&x->c2s, p, n);
}

size_t duplex_read(struct duplex *x, void *p, size_t n)
{
    return ring_take(&x->s2c, p, n);
}

bool duplex_at_end(const struct duplex *x)
{
    return x->server_closed && ring_used(&x->s2c) == 0;
}

void duplex_drop(struct duplex *x)
{
    x->client_ended = true;
    x->client_gone = true;
}
