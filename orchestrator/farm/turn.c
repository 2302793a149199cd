/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of priority and of the line. A campaign that is held claims nothing, so that of several levels only the highest
 * that fuzzes counts; one that is frozen for another reason lets those below it go on.
 */
#include "farm/turn.h"

int turn_held_by(const struct turn *turns, size_t n, size_t i)
{
    int by = -1;

    for (size_t k = 0; k < n; k++)
        if (turns[k].claims && turns[k].priority > turns[i].priority &&
            (by < 0 || turns[k].priority > turns[by].priority))
            by = (int)k;
    return by;
}

static bool common_cpu(const struct turn *a, const struct turn *b)
{
    for (int i = 0; i < a->n_cpus; i++)
        for (int k = 0; k < b->n_cpus; k++)
            if (a->cpus[i] == b->cpus[k])
                return true;
    return false;
}

/* a before b; of one time, the order of the list decides. */
static bool before(const struct turn *turns, size_t a, size_t b)
{
    if (turns[a].priority != turns[b].priority)
        return turns[a].priority > turns[b].priority;
    if (turns[a].queued_at_ms != turns[b].queued_at_ms)
        return turns[a].queued_at_ms < turns[b].queued_at_ms;
    return a < b;
}

int turn_behind(const struct turn *turns, size_t n, size_t i)
{
    int first = -1;

    for (size_t k = 0; k < n; k++)
        if (k != i && turns[k].waits && before(turns, k, i) && common_cpu(&turns[k], &turns[i]) &&
            (first < 0 || before(turns, k, (size_t)first)))
            first = (int)k;
    return first;
}

bool turn_may_borrow(const struct turn_holder *holders, size_t n, int64_t priority, bool shares)
{
    for (size_t i = 0; i < n; i++) {
        const struct turn_holder *h = &holders[i];

        if (h->own || h->leaves || h->priority == priority || (h->shared && !shares) ||
            (h->priority > priority && !h->frozen))
            return false;
    }
    return n > 0;
}
