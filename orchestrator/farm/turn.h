/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_TURN_H
#define FARM_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whose turn it is among the campaigns of one fuzzd. Pure. Two orders, and nothing else: a campaign that fuzzes holds those of lower
 * priority still; one that waits for cores is served before those of lower priority, and before those of its own that asked
 * later. Those that have no CPU in common do not wait for each other.
 */
struct turn {
    int64_t priority;
    int64_t queued_at_ms; /* since when it wants to run, Unix ms */
    bool claims;          /* it fuzzes, and those below it stand still */
    bool waits;           /* for cores that it does not get */
    const int *cpus;      /* it may use; borrowed */
    int n_cpus;
};

/* Who holds number i still: the one of highest priority that does, or -1. */
int turn_held_by(const struct turn *turns, size_t n, size_t i);
/* Who gets cores before number i: the first in line, or -1. */
int turn_behind(const struct turn *turns, size_t n, size_t i);

/* One that has a core, as seen by another that wants it. */
struct turn_holder {
    int64_t priority;
    bool frozen; /* its campaign stands still */
    bool own;    /* of the same campaign as who asks */
    bool leaves; /* it is being stopped, and runs on until it has ended */
    bool shared; /* its lock admits others, which may belong to another fuzzd */
};
/*
 * Whether who asks (of that priority) may use a core beside all of holders, as at most one of them and it will ever run at a time: each is
 * below it, or above it and frozen. A lock that admits others is lent only to one that shares, too.
 */
bool turn_may_borrow(const struct turn_holder *holders, size_t n, int64_t priority, bool shares);

#endif
