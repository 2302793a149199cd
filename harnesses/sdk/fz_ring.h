/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring that a harness of the kit and the engine of fuzzctl share in batch mode: many test cases and
 * their results, so that one wake-up runs hundreds of inputs. The engine makes it as a sealed file in
 * memory and reads nothing back that it wrote itself; each side believes the other nothing it has not
 * checked. Both are of one machine: words are as the host orders them.
 *
 * The engine starts the program with FZ_BATCH set, the ring, a control and a status pipe open as the
 * numbers below, and the coverage map as AFL++ does. The program says HELLO. For each GO on the control
 * pipe the slots first..end-1 are run by a child of the program's; it says
 *
 *     STARTED pid     a child was forked for this GO; it stays for further ones
 *     DONE next       slots first..next-1 have results; next < end when there is no room for more maps
 *     LAST next       the same, and the child ends now, as it has run FZ_RING_ROUNDS inputs
 *     ENDED status    the child ended, as waitpid tells; `current` is the slot it was running
 *
 * A map is classified into AFL's buckets and put into the ring only when its hash is not in the
 * engine's table of those it has.
 */
#ifndef FZ_RING_H
#define FZ_RING_H

#include <stdint.h>

#define FZ_RING_ENV     "FZ_BATCH"
#define FZ_RING_MARK    "##SIG_FUZZCTL_BATCH##" /* in a program that can do this */
#define FZ_RING_FD      195
#define FZ_RING_CONTROL 196
#define FZ_RING_STATUS  197

#define FZ_RING_MAGIC   0x315a46474e4952ffu
#define FZ_RING_VERSION 1u

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

enum fz_slot_state { FZ_SLOT_WAITING, FZ_SLOT_RUNNING, FZ_SLOT_DONE };

struct fz_slot {
    /* the engine's */
    uint32_t data_at, data_bytes; /* of the test case in data */
    /* the harness's */
    uint32_t state;
    uint32_t map_at; /* 1 + place in maps; 0: the map of that hash is known */
    uint64_t hash;   /* of the classified map; not 0 */
    uint32_t wall_us;
    uint32_t cpu_us; /* 0 where wall_us is below FZ_RING_CPU_US; no less than what was used */
};
#define FZ_RING_CPU_US 1000u

struct fz_ring {
    /* the engine's */
    uint64_t magic;
    uint32_t version;
    uint32_t first, end; /* slots to be run */
    uint32_t reserved;
    uint64_t total_bytes; /* of the file */
    /* the harness's */
    uint32_t map_bytes; /* of the coverage map, before HELLO */
    uint32_t current;   /* slot that is being run */
    uint32_t fail_bytes;
    char fail_text[FZ_RING_TEXT_BYTES]; /* the FZ-FAIL line of the current slot */
};

/* Where the parts lie: each begins on a page. */
#define FZ_RING_SLOTS_AT 4096u
#define FZ_RING_SEEN_AT  (FZ_RING_SLOTS_AT + FZ_RING_SLOTS * (uint32_t)sizeof(struct fz_slot))
#define FZ_RING_DATA_AT  (FZ_RING_SEEN_AT + FZ_RING_SEEN * 8u)
#define FZ_RING_MAPS_AT  (FZ_RING_DATA_AT + FZ_RING_DATA_BYTES)

_Static_assert(sizeof(struct fz_slot) == 32, "the layout is part of the protocol");
_Static_assert(sizeof(struct fz_ring) <= FZ_RING_SLOTS_AT, "the head fits its page");
_Static_assert(FZ_RING_SEEN_AT % 4096 == 0 && FZ_RING_DATA_AT % 4096 == 0, "parts begin on pages");

/* The place of hash in a table of FZ_RING_SEEN words, or of the free one (0) where it belongs. */
static inline uint32_t fz_ring_place(const uint64_t *seen, uint64_t hash)
{
    uint32_t i = (uint32_t)(hash >> 32) & (FZ_RING_SEEN - 1), n = 0;

    /* A table that the other side filled up is still left. */
    while (seen[i] != 0 && seen[i] != hash && n++ < FZ_RING_SEEN)
        i = (i + 1) & (FZ_RING_SEEN - 1);
    return i;
}

#endif
