/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_BUDGET_H
#define FARM_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The clock of one target and its planned ends. Counts unfrozen time from its first fuzzing instance on; restarts of instances do not stop it,
 * a freeze does. Pure: now_ms is monotonic and given by the caller.
 */
struct budget {
    int64_t budget_ms, execs, plateau_ms; /* 0: no such end */
    int64_t counted_ms;                   /* before running_since_ms */
    int64_t running_since_ms;             /* -1: stopped */
    int64_t last_edge_ms;                 /* on this clock */
    bool started;
};

void budget_init(struct budget *b, int64_t budget_ms, int64_t execs, int64_t plateau_ms);
/* Goes on from a time counted before (adoption). */
void budget_restore(struct budget *b, int64_t counted_ms, int64_t last_edge_ms);
void budget_run(struct budget *b, int64_t now_ms);  /* no-op while it runs */
void budget_stop(struct budget *b, int64_t now_ms); /* no-op while it is stopped */
int64_t budget_fuzz_ms(const struct budget *b, int64_t now_ms);
void budget_new_edge(struct budget *b, int64_t now_ms);
/* "budget", "execs" or "plateau" when that end is reached, else NULL. execs_done is the sum over the target's instances. */
const char *budget_over(const struct budget *b, int64_t now_ms, int64_t execs_done);
/* No new edge in the last half of the time counted so far. */
bool budget_half_quiet(const struct budget *b, int64_t now_ms);

#endif
