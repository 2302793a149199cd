/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_BATCH_SLOT_H
#define ENGINE_BATCH_SLOT_H

#include <stdbool.h>

#include "engine/batch.h"
#include "engine/batch_maps.h"
#include "engine/ring.h"

/* What a harness wrote into the ring, read. It may write on while we do: each word is read once, and none is believed. */

/*
 * The result of slot k (below FZ_RING_SLOTS) of maps of map_bytes, at most ring.maps_bytes. False, with *ret untouched, for a slot that has
 * none, or whose words are not true. The map is valid until the next call, its text is empty.
 */
bool batch_slot_read(const struct ring *r, struct batch_maps *maps, size_t map_bytes, uint32_t k,
                     struct batch_result *ret);
/* Copies the FZ-FAIL line of the current slot to text (of FZ_RING_TEXT_BYTES). Its bytes, 0 when there is none. */
size_t batch_slot_fail_line(const struct ring *r, char *text);

#endif
