/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a harness in batch mode writes into the ring. The input is the length of a map, the length of
 * the line of a failure, and slots; the maps are what is left of it, over and over. A slot gives a map of
 * our own that is as it was sent, by its true hash, or nothing; what the ring says later changes no map
 * that was read.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/batch_slot.h"
#include "engine/map.h"
#include "selftest/check.h"

static const char *const ids[] = {"R1", "R2", "R3", "R4", "R5", NULL};
static const char *const reach[] = {"refused", "sent", "known", "unknown", "line", NULL};
const struct fz_target fz_target = {"selftest-ring", 256u << 20, ids, reach, NULL};

#define SLOT_BYTES 16u
#define SLOTS_MAX  64u
#define MAPS_MAX   8u

static struct fz_said said;
static struct fz_slot slots[FZ_RING_SLOTS];
static uint64_t seen[FZ_RING_SEEN];

static uint32_t take(const uint8_t *d, size_t n)
{
    uint32_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint32_t)d[i] << 8 * i;
    return v;
}

static void check_map(const struct ring *r, const struct batch_result *got, size_t map_bytes)
{
    MUST(got->map + map_bytes <= r->maps || got->map >= r->maps + r->maps_bytes, "R2",
         "the map lies in the ring");
    MUST(got->edges <= map_bytes && got->edges == map_edges(got->map, map_bytes) &&
             got->map_hash == map_hash(got->map, map_bytes),
         "R2", "%zu edges of %zu are not those of the map", got->edges, map_bytes);
    MUST(got->run.end == FORKSERVER_OK && got->text != NULL && got->text_bytes == 0, "R2",
         "a slot that is done ended badly");
}

/* R4: by its hash alone it is the same, whatever the ring's maps are by now. */
static void check_again(const struct ring *r, struct batch_maps *maps, size_t map_bytes, uint32_t k,
                        const struct batch_result *was)
{
    struct batch_result got;
    uint8_t first = r->maps[0];

    r->maps[0] = (uint8_t)~first;
    r->slots[k].map_at = 0;
    if (batch_slot_read(r, maps, map_bytes, k, &got))
        MUST(got.map_hash == was->map_hash && got.edges == was->edges, "R4",
             "slot %u is another map the second time", k);
    else
        MUST(map_bytes > BATCH_MAPS_BYTES / SLOTS_MAX, "R4", "a map that was sent is not known");
    r->maps[0] = first;
}

static void check_slot(const struct ring *r, struct batch_maps *maps, size_t map_bytes, uint32_t k)
{
    struct batch_result got, before;
    const struct fz_slot slot = r->slots[k];
    bool sent = slot.map_at != 0, had = batch_maps_find(maps, slot.hash) != NULL;

    memset(&got, 0x5a, sizeof(got));
    memcpy(&before, &got, sizeof(got));
    if (!batch_slot_read(r, maps, map_bytes, k, &got)) {
        FZ_REACH(refused);
        if (!sent && slot.state == FZ_SLOT_DONE)
            FZ_REACH(unknown);
        MUST(memcmp(&before, &got, sizeof(got)) == 0, "R1", "a refused slot changed the result");
        return;
    }
    MUST(slot.state == FZ_SLOT_DONE && (sent || had), "R1", "slot %u has no result", k);
    check_map(r, &got, map_bytes);
    if (sent && !had) {
        FZ_REACH(sent);
        MUST(memcmp(got.map, r->maps + (slot.map_at - 1) * map_bytes, map_bytes) == 0, "R3",
             "the map is not the one that was sent");
        MUST(slot.hash == fz_ring_hash(got.map, map_bytes), "R3", "a map by another's hash");
    } else {
        FZ_REACH(known);
    }
    fz_trace(&got.map_hash, sizeof(got.map_hash));
    check_again(r, maps, map_bytes, k, &got);
}

static void check_line(const struct ring *r)
{
    char *text = xmalloc(FZ_RING_TEXT_BYTES);
    size_t n = batch_slot_fail_line(r, text);

    if (n > 0)
        FZ_REACH(line);
    MUST(n <= FZ_RING_TEXT_BYTES && (n == 0 || n == said.fail_bytes), "R5", "a line of %zu", n);
    free(text);
}

/* One that is of 16 bytes of the input: an odd second byte gives it any hash, else it has that of a map. */
static struct fz_slot slot_of(const struct ring *r, size_t map_bytes, const uint8_t *d)
{
    static const uint32_t states[] = {FZ_SLOT_WAITING, FZ_SLOT_RUNNING, FZ_SLOT_DONE, 0x02020202};
    struct fz_slot slot = {.state = states[d[0] % 4],
                           .cpu_us = d[1],
                           .hash = take(d + 2, 2) | (uint64_t)take(d + 4, 4) << 32,
                           .map_at = take(d + 8, 4),
                           .wall_us = take(d + 12, 4)};
    const size_t place = slot.map_at != 0 ? slot.map_at - 1 : d[2];

    if (d[1] % 2 == 0 && place < r->maps_bytes / map_bytes)
        slot.hash = fz_ring_hash(r->maps + place * map_bytes, map_bytes);
    return slot;
}

int fz_one(const uint8_t *d, size_t n)
{
    size_t map_bytes, count, rest;
    struct batch_maps *maps;
    struct ring r = {.fd = -1, .said = &said, .slots = slots, .seen = seen};

    if (n < 8)
        return 0;
    map_bytes = 1 + take(d, 2);
    said.fail_bytes = take(d + 2, 4);
    count = d[6] % SLOTS_MAX < (n - 8) / SLOT_BYTES ? d[6] % SLOTS_MAX : (n - 8) / SLOT_BYTES;
    r.maps_bytes = map_bytes * (1 + d[7] % MAPS_MAX) + d[7] / MAPS_MAX % map_bytes;
    r.maps = xcalloc(1, r.maps_bytes); /* of that size, so that a sanitizer sees its end */
    d += 8;
    n -= 8;
    rest = n - count * SLOT_BYTES < r.maps_bytes ? n - count * SLOT_BYTES : r.maps_bytes;
    for (size_t i = 0; rest > 0 && i < r.maps_bytes; i++)
        r.maps[i] = d[count * SLOT_BYTES + i % rest];
    for (size_t k = 0; k < count; k++, d += SLOT_BYTES)
        slots[k] = slot_of(&r, map_bytes, d);
    memset(seen, 0, sizeof(seen));
    maps = batch_maps_new(map_bytes, seen);
    for (uint32_t k = 0; k < count; k++)
        check_slot(&r, maps, map_bytes, k);
    check_line(&r);
    batch_maps_free(maps);
    free(r.maps);
    return 0;
}
