/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring that a harness of the kit and the engine of fuzzctl share in batch mode: many test cases and
 * their results, so that one wake-up runs hundreds of inputs. The engine makes it as a sealed file in
 * memory; what it writes stands in the first part, which the program under test can read only, so that a
 * wild write costs results and never an input. The engine reads nothing back that it wrote itself, and
 * each side believes the other nothing it has not checked. Both are of one machine: words are as the host
 * orders them.
 *
 * The engine starts the program with FZ_BATCH set, the ring, a control and a status pipe open as the
 * numbers below, and the coverage map as AFL++ does. The program says HELLO. For each GO on the control
 * pipe the slots first..end-1 are run by a child of the program's; it says
 *
 *     STARTED pid     a child was forked for this GO; it stays for further ones
 *     DONE next       slots first..next-1 have results; next < end when there is no room for more maps
 *     LAST next       the same, and the child ends now, as it has run FZ_RING_ROUNDS inputs
 *     ENDED status    the child ended, as waitpid tells, in the first slot that is not done
 *
 * A map is classified into AFL's buckets and put into the ring only when its hash, fz_ring_hash, is not in
 * the engine's table of those it has.
 */
#ifndef FZ_RING_H
#define FZ_RING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FZ_RING_ENV     "FZ_BATCH"
#define FZ_RING_MARK    "##SIG_FUZZCTL_BATCH_2##" /* in a program that can do this */
#define FZ_RING_FD      195
#define FZ_RING_CONTROL 196
#define FZ_RING_STATUS  197

#define FZ_RING_MAGIC   0x315a46474e4952ffu
#define FZ_RING_VERSION 2u

#define FZ_RING_SLOTS      1024u
#define FZ_RING_SEEN       65536u /* places of the table; a power of two, and some are always free */
#define FZ_RING_DATA_BYTES (4u << 20)
#define FZ_RING_TEXT_BYTES 512u
#define FZ_RING_ROUNDS     10000u /* as AFL++'s loop in main_afl.c */

/* Words on the status pipe; each is followed by its value. */
#define FZ_RING_HELLO   0x4f4c4548u /* value: FZ_RING_VERSION */
#define FZ_RING_STARTED 0x54524153u
#define FZ_RING_DONE    0x454e4f44u
#define FZ_RING_LAST    0x5453414cu
#define FZ_RING_ENDED   0x444e4545u
/* The word on the control pipe. */
#define FZ_RING_GO      0x214f4721u

/* The engine's. */
struct fz_ring {
    uint64_t magic;
    uint64_t total_bytes; /* of the file */
    uint32_t version;
    uint32_t first, end; /* slots to be run */
};
struct fz_input {
    uint32_t data_at, data_bytes; /* of the slot's test case in data */
};

/* The harness's. */
struct fz_said {
    uint32_t map_bytes; /* of the coverage map, before HELLO */
    uint32_t current;   /* slot that is being run */
    uint32_t fail_bytes;
    char fail_text[FZ_RING_TEXT_BYTES]; /* the FZ-FAIL line of the current slot */
};
/* Words that no memory is filled with. */
enum fz_slot_state { FZ_SLOT_WAITING = 0, FZ_SLOT_RUNNING = 0x2e4e5552, FZ_SLOT_DONE = 0x454e4f44 };
struct fz_slot {
    uint32_t state;
    uint32_t map_at; /* 1 + place in maps; 0: the map of that hash is known */
    uint64_t hash;   /* of the classified map */
    uint32_t wall_us;
    uint32_t cpu_us; /* 0 where wall_us is below FZ_RING_CPU_US; no less than what was used */
};
#define FZ_RING_CPU_US 1000u

/* Where the parts lie: each begins on a page. From FZ_RING_SAID_AT on they are the harness's, before it the engine's. */
#define FZ_RING_INPUTS_AT 4096u
#define FZ_RING_SEEN_AT   (FZ_RING_INPUTS_AT + FZ_RING_SLOTS * (uint32_t)sizeof(struct fz_input))
#define FZ_RING_DATA_AT   (FZ_RING_SEEN_AT + FZ_RING_SEEN * 8u)
#define FZ_RING_SAID_AT   (FZ_RING_DATA_AT + FZ_RING_DATA_BYTES)
#define FZ_RING_SLOTS_AT  (FZ_RING_SAID_AT + 4096u)
#define FZ_RING_MAPS_AT   (FZ_RING_SLOTS_AT + FZ_RING_SLOTS * (uint32_t)sizeof(struct fz_slot))

_Static_assert(sizeof(struct fz_input) == 8 && sizeof(struct fz_slot) == 24,
               "the layout is part of the protocol");
_Static_assert(sizeof(struct fz_ring) <= 4096 && sizeof(struct fz_said) <= 4096,
               "the heads fit their pages");
_Static_assert(FZ_RING_SEEN_AT % 4096 == 0 && FZ_RING_DATA_AT % 4096 == 0 &&
                   FZ_RING_SAID_AT % 4096 == 0 && FZ_RING_MAPS_AT % 4096 == 0,
               "parts begin on pages");

/* The place of hash in a table of FZ_RING_SEEN words, or of the free one (0) where it belongs. */
static inline uint32_t fz_ring_place(const uint64_t *seen, uint64_t hash)
{
    uint32_t i = (uint32_t)(hash >> 32) & (FZ_RING_SEEN - 1), n = 0;

    /* A table that the other side filled up is still left. */
    while (seen[i] != 0 && seen[i] != hash && n++ < FZ_RING_SEEN)
        i = (i + 1) & (FZ_RING_SEEN - 1);
    return i;
}

/* The hash of a map: of each eight counts v that are not all 0, and stand at i, and in the end. */
#define FZ_RING_MIX 0x9e3779b97f4a7c15u
static inline uint64_t fz_ring_mix(uint64_t h, uint32_t i, uint64_t v)
{
    h = (h ^ v) * FZ_RING_MIX;
    return (h ^ h >> 32) + i;
}

/* Never 0. */
static inline uint64_t fz_ring_hashed(uint64_t h)
{
    h *= FZ_RING_MIX;
    h ^= h >> 32;
    return h != 0 ? h : 1;
}

/* Of a map that is classified; counts behind the last eight are taken one by one. */
static inline uint64_t fz_ring_hash(const uint8_t *map, size_t n)
{
    uint64_t h = FZ_RING_MIX, v;
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        memcpy(&v, map + i, sizeof(v));
        h = v != 0 ? fz_ring_mix(h, i, v) : h;
    }
    for (; i < n; i++)
        h = map[i] != 0 ? fz_ring_mix(h, i, map[i]) : h;
    return fz_ring_hashed(h);
}

#endif
