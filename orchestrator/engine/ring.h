/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_RING_H
#define ENGINE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_ring.h"

/* The engine's side of the ring's memory: a file that can neither grow nor shrink, so that nobody's mapping of it can fault. */
struct ring {
    int fd; /* -1: none */
    size_t bytes;
    struct fz_ring *head;
    struct fz_input *inputs;
    uint64_t *seen;
    uint8_t *data;
    struct fz_said *said;
    struct fz_slot *slots;
    uint8_t *maps;
    size_t maps_bytes;
};

/* With room for maps of map_bytes. 0 or -errno. */
int ring_make(struct ring *r, size_t map_bytes);
/* Writes the head, which a hostile harness may have changed: before each start of one. */
void ring_head(const struct ring *r);
/* Of one that is zeroed or made. */
void ring_drop(struct ring *r);

#endif
