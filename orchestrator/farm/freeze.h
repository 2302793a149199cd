/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_FREEZE_H
#define FARM_FREEZE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Why a campaign stands still, and for how long it did. A campaign is frozen while at least one cause holds; each has words
 * for people and its own account of times and duration for the report. Pure: clocks are given by the caller.
 */
enum freeze_cause {
    FREEZE_USER,     /* fuzzctl pause */
    FREEZE_PRESSURE, /* memory of the host is short */
    FREEZE_FLOOR,    /* the file system of the state directory is nearly full */
    FREEZE_DISK,     /* the campaign's own bytes */
    FREEZE_SPACE,    /* a write of ours, or of afl-fuzz, found no space */
    FREEZE_PRIORITY, /* a campaign of higher priority fuzzes */
    FREEZE_CAUSES
};

struct freeze_account {
    char why[256];
    int64_t since_ms;    /* monotonic, while it holds */
    int64_t since_at_ms; /* Unix ms, of the last time */
    int64_t times, total_ms;
};

struct freeze {
    unsigned causes; /* bit per cause that holds */
    struct freeze_account of[FREEZE_CAUSES];
};

/* The cause holds from now on; no-op but for the words when it did. True when nothing held before. */
bool freeze_add(struct freeze *f, enum freeze_cause cause, const char *why, int64_t now_ms,
                int64_t wall_ms);
/* The cause holds no more. True when it was the last one. */
bool freeze_remove(struct freeze *f, enum freeze_cause cause, int64_t now_ms);
bool freeze_holds(const struct freeze *f, enum freeze_cause cause);

/* "user", "pressure", "disk-floor", "disk", "no-space", "priority"; static storage. */
const char *freeze_cause_name(enum freeze_cause cause);
/* Words of the first cause that holds, NULL when none does. Borrowed. */
const char *freeze_why(const struct freeze *f);

/* [{"cause","why","since","at_ms","now","times","past_ms","ms"}], an object for each cause that ever held; past_ms is without the time that runs. New reference. */
json_t *freeze_to_json(const struct freeze *f, int64_t now_ms);
/* Accounts and causes from that; what is odd in it is left out. Causes that held hold on since then. */
void freeze_from_json(struct freeze *f, const json_t *j, int64_t now_ms, int64_t wall_ms);

#endif
