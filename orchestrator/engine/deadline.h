/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_DEADLINE_H
#define ENGINE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The time of one run. It counts while the process runs and while it sleeps, not while it waits for a core, so that a loaded host
 * makes no hangs; up to DEADLINE_PATIENCE times the limit of wall time. CPU time is a part of it, so the limit holds for that too.
 * Where the kernel does not tell of the waiting, all of it counts.
 * Source: Linux Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat.
 */
#define DEADLINE_PATIENCE 4

struct deadline {
    pid_t pid;
    int64_t began_us, limit_us;
    int64_t waited_us; /* at its begin, of all the process's life */
};

void deadline_begin(struct deadline *d, pid_t pid, int64_t limit_ms);
/* Milliseconds until it can have passed, at least 1; 0: it has. */
int deadline_left_ms(const struct deadline *d);
/* CLOCK_MONOTONIC. */
int64_t deadline_now_us(void);

#endif
