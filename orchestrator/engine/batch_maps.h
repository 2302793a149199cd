/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_BATCH_MAPS_H
#define ENGINE_BATCH_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_ring.h"

/*
 * The coverage maps that a harness has sent, by its own hash of each. What is here it need not send again: the table in the ring says so.
 * Bounded by the places of that table and by BATCH_MAPS_BYTES; maps beyond are sent each time.
 */
#define BATCH_MAPS_BYTES ((size_t)64 << 20)

struct batch_map {
    const uint8_t *map; /* in buckets, map_bytes */
    size_t edges;
    uint64_t hash; /* as map_hash */
};

struct batch_maps;

/* shared: the table in the ring, written only. */
struct batch_maps *batch_maps_new(size_t map_bytes, uint64_t *shared);
/* NULL: not known. */
const struct batch_map *batch_maps_find(const struct batch_maps *m, uint64_t key);
/* A map as the harness sent it; copied. What is returned is valid until the next call. */
const struct batch_map *batch_maps_add(struct batch_maps *m, uint64_t key, const uint8_t *map);
void batch_maps_free(struct batch_maps *m);

#endif
