/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_MAP_H
#define ENGINE_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * The coverage map of one run: a count for each edge, one byte, that AFL++ looks at in eight buckets of powers of two.
 * Source: AFL++ src/afl-fuzz-bitmap.c, count_class_lookup8.
 */

/* The edges of a map: bytes that are not 0. The first byte is set by the runtime of persistent programs and is left out. */
size_t map_edges(const uint8_t *map, size_t size);
/* Each count becomes the bit of its bucket: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128-255 give 1, 2, 4 ... 128. */
void map_classify(uint8_t *map, size_t size);
/* Of a map as it stands; equal maps of equal size have equal hashes, on every machine. */
uint64_t map_hash(const uint8_t *map, size_t size);
/*
 * Adds a map's bits to those seen so far. Returns how many edges had none before; *ret_new_buckets (may be NULL): how many
 * have one that was not seen, the new edges included.
 */
size_t map_merge(uint8_t *seen, const uint8_t *map, size_t size, size_t *ret_new_buckets);

#endif
