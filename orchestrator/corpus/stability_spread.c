/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an input shows when nothing else was run before it: of each edge the lowest and the highest
 * bucket, and whether it varies between runs of the same place in a child's life. A map seen twice at a place
 * adds nothing, which is nearly always.
 */
#include <stdlib.h>
#include <string.h>

#include "corpus/stability_internal.h"

void stability_spread_init(struct stability_spread *sp, size_t bytes)
{
    *sp = (struct stability_spread){.bytes = bytes};
    sp->low = xmalloc(bytes);
    sp->high = xmalloc(bytes);
    sp->vary = xmalloc(bytes);
    for (int i = 0; i < STABILITY_PLACES; i++)
        sp->at[i] = xmalloc(bytes);
    stability_spread_reset(sp);
}

void stability_spread_clear(struct stability_spread *sp)
{
    free(sp->low);
    free(sp->high);
    free(sp->vary);
    for (int i = 0; i < STABILITY_PLACES; i++)
        free(sp->at[i]);
    *sp = (struct stability_spread){0};
}

void stability_spread_reset(struct stability_spread *sp)
{
    memset(sp->low, 0xff, sp->bytes);
    memset(sp->high, 0, sp->bytes);
    memset(sp->vary, 0, sp->bytes);
    for (int i = 0; i < STABILITY_PLACES; i++)
        sp->has[i] = false;
    sp->steady = sp->map_varies = sp->verdict_varies = false;
    sp->verdict = sp->other = (struct stability_verdict){.end = FORKSERVER_LOST, .signo = -1};
}

bool stability_verdict_same(struct stability_verdict a, struct stability_verdict b)
{
    return a.end == b.end && a.signo == b.signo && a.exit_code == b.exit_code;
}

static void verdict_add(struct stability_spread *sp, struct stability_verdict v)
{
    if (sp->verdict.signo < 0) {
        sp->verdict = sp->other = v;
    } else if (!sp->verdict_varies && !stability_verdict_same(sp->verdict, v)) {
        sp->verdict_varies = true;
        sp->other = v;
    }
}

void stability_spread_add(struct stability_spread *sp, const struct stability_shot *shot)
{
    const int place = (shot->first ? 1 : 0) + (shot->last ? 2 : 0);
    const uint8_t *map = shot->map;
    size_t i;

    verdict_add(sp, shot->verdict);
    /* Where a run was broken off says nothing. */
    if (shot->verdict.end != FORKSERVER_OK)
        return;
    sp->steady = sp->steady || !shot->last;
    if (sp->has[place] && sp->hashes[place] == shot->hash)
        return;
    for (i = 1; i < sp->bytes; i++) {
        if (map[i] < sp->low[i])
            sp->low[i] = map[i];
        if (map[i] > sp->high[i])
            sp->high[i] = map[i];
    }
    if (!sp->has[place]) {
        sp->has[place] = true;
        sp->hashes[place] = shot->hash;
        memcpy(sp->at[place], map, sp->bytes);
        return;
    }
    sp->map_varies = true;
    for (i = 1; i < sp->bytes; i++)
        sp->vary[i] |= sp->at[place][i] != map[i];
}

size_t stability_spread_outside(const struct stability_spread *sp,
                                const struct stability_shot *shot, uint32_t *ret, size_t max)
{
    size_t n = 0;

    for (size_t i = 1; i < sp->bytes; i++) {
        const uint8_t count = shot->map[i];

        if (sp->vary[i] != 0 || (count >= sp->low[i] && count <= sp->high[i]))
            continue;
        if (n < max)
            ret[n] = (uint32_t)i;
        n++;
    }
    return n;
}
