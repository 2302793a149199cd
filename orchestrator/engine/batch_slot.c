/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of results, apart from what runs the harness, so that it can be given any ring. Places
 * are counted in whole maps, as many as fit.
 */
#include "engine/batch_slot.h"

#include <string.h>

bool batch_slot_read(const struct ring *r, struct batch_maps *maps, size_t map_bytes, uint32_t k,
                     struct batch_result *ret)
{
    const struct fz_slot *slot = &r->slots[k];
    const struct batch_map *map;
    uint64_t hash;
    uint32_t at;

    if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != FZ_SLOT_DONE)
        return false;
    hash = __atomic_load_n(&slot->hash, __ATOMIC_RELAXED);
    at = __atomic_load_n(&slot->map_at, __ATOMIC_RELAXED);
    if (at > r->maps_bytes / map_bytes)
        return false;
    map = at == 0 ? batch_maps_find(maps, hash)
                  : batch_maps_add(maps, hash, r->maps + (at - 1) * map_bytes);
    if (map == NULL)
        return false;
    *ret =
        (struct batch_result){.run = {.end = FORKSERVER_OK,
                                      .exit_code = -1,
                                      .wall_us = __atomic_load_n(&slot->wall_us, __ATOMIC_RELAXED)},
                              .cpu_us = __atomic_load_n(&slot->cpu_us, __ATOMIC_RELAXED),
                              .map = map->map,
                              .edges = map->edges,
                              .map_hash = map->hash,
                              .text = ""};
    return true;
}

size_t batch_slot_fail_line(const struct ring *r, char *text)
{
    const uint32_t n = __atomic_load_n(&r->said->fail_bytes, __ATOMIC_RELAXED);

    if (n == 0 || n > FZ_RING_TEXT_BYTES)
        return 0;
    memcpy(text, r->said->fail_text, n);
    return n;
}
