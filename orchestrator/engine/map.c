/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on coverage maps, eight bytes at a time where most are 0. A map is as long as the
 * program's server says; nothing is assumed of its alignment.
 */
#include "engine/map.h"

#include <string.h>
#include <xxhash.h>

static uint64_t eight(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* The next byte at or after i that is not 0, or size. */
static size_t next_set(const uint8_t *map, size_t size, size_t i)
{
    while (i < size) {
        if (size - i >= 8 && eight(map + i) == 0)
            i += 8;
        else if (map[i] != 0)
            return i;
        else
            i++;
    }
    return size;
}

size_t map_edges(const uint8_t *map, size_t size)
{
    size_t n = 0, i;

    for (i = next_set(map, size, 1); i < size; i = next_set(map, size, i + 1))
        n++;
    return n;
}

static uint8_t bucket(uint8_t count)
{
    if (count <= 2)
        return count;
    if (count == 3)
        return 4;
    if (count >= 128)
        return 128;
    if (count >= 32)
        return 64;
    return count >= 16 ? 32 : count >= 8 ? 16 : 8;
}

void map_classify(uint8_t *map, size_t size)
{
    size_t i;

    for (i = next_set(map, size, 0); i < size; i = next_set(map, size, i + 1))
        map[i] = bucket(map[i]);
}

uint64_t map_hash(const uint8_t *map, size_t size)
{
    return XXH3_64bits(map, size);
}

size_t map_merge(uint8_t *seen, const uint8_t *map, size_t size, size_t *ret_new_buckets)
{
    size_t edges = 0, buckets = 0, i;

    for (i = next_set(map, size, 1); i < size; i = next_set(map, size, i + 1)) {
        edges += seen[i] == 0;
        buckets += (map[i] & ~seen[i]) != 0;
        seen[i] |= map[i];
    }
    if (ret_new_buckets != NULL)
        *ret_new_buckets = buckets;
    return edges;
}
