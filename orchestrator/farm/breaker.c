/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back-off and circuit breaker of one instance. The state is only what the header shows, so that a test can
 * play any history.
 */
#include "farm/breaker.h"

#include <bsd/string.h>
#include <string.h>

static int64_t wait_of(int n)
{
    int64_t wait_ms = 1000LL << (n < 16 ? n - 1 : 15);

    return wait_ms < BREAKER_MAX_WAIT_MS ? wait_ms : BREAKER_MAX_WAIT_MS;
}

int64_t breaker_ended(struct breaker *b, const char *words, int64_t fuzzed_ms, bool outside)
{
    bool same = b->words[0] != '\0' && strncmp(b->words, words, sizeof(b->words) - 1) == 0;

    (void)strlcpy(b->words, words, sizeof(b->words));
    if (fuzzed_ms > 0) {
        b->ever_fuzzed = true;
        b->outside = 0;
    }
    if (fuzzed_ms >= BREAKER_HEALTHY_MS)
        b->failures = 0;
    if (outside && b->ever_fuzzed)
        return wait_of(++b->outside);
    b->outside = 0;
    b->failures++;
    if (!b->ever_fuzzed && same)
        return -1;
    if (b->failures >= BREAKER_FAILURES)
        return -1;
    return wait_of(b->failures);
}
