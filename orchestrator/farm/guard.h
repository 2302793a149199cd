/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_GUARD_H
#define FARM_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * When the host, or the campaign's own size, asks for a pause, and when it is over. Pure: readings and the clock are given by the
 * caller. A cause begins at its limit and ends well below it, so that a campaign that is its own cause does not flap.
 */
#define GUARD_CALM_PCT  80          /* of the ceiling: pressure counts as gone below this ... */
#define GUARD_CALM_MS   10000       /* ... for this long */
#define GUARD_FLOOR_PCT 110         /* of the floor: free space that ends a pause */
#define GUARD_DISK_PCT  90          /* of the budget: own bytes that end a pause */
#define GUARD_SPACE_MIN (2LL << 20) /* free bytes under which no write is tried */

struct guard_limits { /* 0: no such limit */
    int64_t pressure_pct, floor_bytes, disk_bytes;
};

struct guard_reading {   /* -1: not known */
    double pressure_pct; /* "some avg10" of memory */
    int64_t free_bytes, used_bytes;
};

enum guard_cause { GUARD_PRESSURE, GUARD_FLOOR, GUARD_DISK, GUARD_CAUSES };

struct guard { /* zero: nothing holds */
    bool on[GUARD_CAUSES];
    int64_t calm_since_ms; /* pressure, 0: it is not calm */
};

/* Takes one reading. A reading that is not known changes nothing of its cause; a limit of 0 ends it. */
void guard_take(struct guard *g, const struct guard_limits *lim, const struct guard_reading *r,
                int64_t now_ms);
/* Words for people: "memory pressure 53 % of at most 40 %". buf returned. */
char *guard_words(char *buf, size_t size, enum guard_cause cause, const struct guard_limits *lim,
                  const struct guard_reading *r, const char *state_dir);

/*
 * "some avg10=0.53 ..." of pressure files. 0, or -EBADMSG. ret_pct untouched on failure.
 * Source: Documentation/accounting/psi.rst.
 */
int guard_parse_psi(const char *text, double *ret_pct);

#endif
