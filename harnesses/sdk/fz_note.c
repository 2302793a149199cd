/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Violations noted while an input is checked. An input is looked at to its end
 * before it fails, because what shows first is seldom what tells most.
 */
#include <stdarg.h>
#include <stdio.h>

#include "sdk/fz_kit.h"

#define NOTE_MAX         64u
#define DETAIL_MAX_BYTES 200u

static uint64_t noted; /* bit k-1: invariant k */
static char details[NOTE_MAX][DETAIL_MAX_BYTES];

void fz_note(unsigned k, const char *fmt, ...)
{
    va_list ap;

    if (k == 0 || k > NOTE_MAX)
        fz_fail(FZ_INTERNAL, "SELFTEST", "no invariant number %u", k);
    if (noted >> (k - 1) & 1)
        return;
    noted |= (uint64_t)1 << (k - 1);
    va_start(ap, fmt);
    vsnprintf(details[k - 1], sizeof(details[0]), fmt, ap);
    va_end(ap);
}

bool fz_noted(void)
{
    return noted != 0;
}

void fz_note_reset(void)
{
    noted = 0;
}

void fz_report(void)
{
    if (noted == 0)
        return;
    for (unsigned k = 2; k <= NOTE_MAX; k++) {
        if (noted >> (k - 1) & 1)
            fz_fail(FZ_INVARIANT, fz_target.invariants[k - 1], "%s", details[k - 1]);
    }
    fz_leak_check();
    fz_fail(FZ_INVARIANT, fz_target.invariants[0], "%s", details[0]);
}
