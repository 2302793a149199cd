/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_BREAKER_H
#define FARM_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long to wait before an instance is started again, and when not to. Pure. 1, 2, 4 .. 60 s; given up after BREAKER_FAILURES ends
 * without BREAKER_HEALTHY_MS of fuzzing between them, and at the second end with the same words when it never fuzzed at all
 * (a broken harness, no valid seed): waiting changes nothing there. An end whose cause lies outside (a full disk) counts for
 * neither once it has fuzzed: it waits as long as that takes.
 */
#define BREAKER_FAILURES    5
#define BREAKER_HEALTHY_MS  30000
#define BREAKER_MAX_WAIT_MS 60000

struct breaker {
    int failures;     /* since it last was healthy */
    int outside;      /* in a row, by causes outside */
    bool ever_fuzzed; /* in this run */
    char words[256];  /* of the last end */
};

/* An end that nobody asked for, after fuzzed_ms of fuzzing (0: it did not come that far). Milliseconds to wait, or -1: give up. */
int64_t breaker_ended(struct breaker *b, const char *words, int64_t fuzzed_ms, bool outside);

#endif
