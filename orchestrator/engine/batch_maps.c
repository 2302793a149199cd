/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our table is our own; the one in the ring is a copy that the harness reads. A hash that we do not
 * know is a lie, and so is one that is not the map's: what the program under test wrote over the
 * maps of others is coverage of nobody.
 */
#include "engine/batch_maps.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/map.h"

struct batch_maps {
    size_t map_bytes, n, room;
    uint64_t *shared;
    uint64_t *keys; /* FZ_RING_SEEN places, as many as the ring's */
    struct batch_map *known;
    uint8_t **held;
    uint8_t *last_bytes; /* a map that is not kept */
    struct batch_map last;
};

struct batch_maps *batch_maps_new(size_t map_bytes, uint64_t *shared)
{
    struct batch_maps *m = xcalloc(1, sizeof(*m));

    m->map_bytes = map_bytes;
    m->shared = shared;
    m->room = BATCH_MAPS_BYTES / map_bytes;
    if (m->room > FZ_RING_SEEN / 2)
        m->room = FZ_RING_SEEN / 2;
    m->keys = xcalloc(FZ_RING_SEEN, sizeof(*m->keys));
    m->known = xcalloc(FZ_RING_SEEN, sizeof(*m->known));
    m->held = xcalloc(m->room + 1, sizeof(*m->held));
    m->last_bytes = xcalloc(1, map_bytes);
    return m;
}

const struct batch_map *batch_maps_find(const struct batch_maps *m, uint64_t key)
{
    uint32_t i = fz_ring_place(m->keys, key);

    return key != 0 && m->keys[i] == key ? &m->known[i] : NULL;
}

const struct batch_map *batch_maps_add(struct batch_maps *m, uint64_t key, const uint8_t *map)
{
    const struct batch_map *had = batch_maps_find(m, key);
    struct batch_map *at = &m->last;
    uint8_t *bytes = m->last_bytes;
    uint32_t i;

    if (had != NULL)
        return had;
    /* Looked at in our own memory, where nobody changes it afterwards. */
    memcpy(bytes, map, m->map_bytes);
    if (fz_ring_hash(bytes, m->map_bytes) != key)
        return NULL;
    if (m->n < m->room) {
        i = fz_ring_place(m->keys, key);
        m->keys[i] = key;
        at = &m->known[i];
        bytes = m->held[m->n++] = xmalloc(m->map_bytes);
        m->shared[i] = key;
        memcpy(bytes, m->last_bytes, m->map_bytes);
    }
    at->map = bytes;
    at->edges = map_edges(bytes, m->map_bytes);
    at->hash = map_hash(bytes, m->map_bytes);
    return at;
}

void batch_maps_free(struct batch_maps *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n; i++)
        free(m->held[i]);
    free(m->held);
    free(m->keys);
    free(m->known);
    free(m->last_bytes);
    free(m);
}
