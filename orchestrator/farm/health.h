/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_HEALTH_H
#define FARM_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "farm/instance_table.h"

/*
 * Whether an instance that lives also works. Liveness is progress of executions: an afl-fuzz may be alive and stand still (dead-lock,
 * a lost status word). The window is wide enough for a dry run of slow seeds, trim and sync. Pure.
 */
struct health {
    int64_t exec_timeout_ms; /* of one execution; 0 unknown */
    int64_t hang_timeout_ms; /* of one that is tried again; 0 unknown */
    int64_t init_timeout_ms; /* of the fork server's start; 0 AFL++'s own */
    int64_t n_inputs;        /* the dry run's: seeds, or the queue at a resume */
    int64_t window_ms;       /* for tests: this instead of what is reckoned; 0 none */
    bool telemetry;          /* StatsD arrives: a look each second, not each minute */
};

/* How long an instance in this state may be without news before it counts as stalled; 0: for ever. Milliseconds. */
int64_t health_window_ms(const struct health *h, enum instance_state state);

/*
 * How long one that has run nothing yet may stand still, its whole tree using no processor time. What is slow but works uses some at
 * each seed and at each time-out, also where it only sleeps.
 */
int64_t health_stuck_ms(const struct health *h);

#endif
