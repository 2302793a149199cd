/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzing time of one target. The clock never runs backwards, and a target that never fuzzed never ends by it.
 */
#include "farm/budget.h"

#include <stddef.h>

void budget_init(struct budget *b, int64_t budget_ms, int64_t execs, int64_t plateau_ms)
{
    *b = (struct budget){
        .budget_ms = budget_ms, .execs = execs, .plateau_ms = plateau_ms, .running_since_ms = -1};
}

void budget_restore(struct budget *b, int64_t counted_ms, int64_t last_edge_ms)
{
    b->counted_ms = counted_ms;
    b->last_edge_ms = last_edge_ms <= counted_ms ? last_edge_ms : counted_ms;
    b->started = counted_ms > 0;
}

void budget_run(struct budget *b, int64_t now_ms)
{
    b->started = true;
    if (b->running_since_ms < 0)
        b->running_since_ms = now_ms;
}

void budget_stop(struct budget *b, int64_t now_ms)
{
    b->counted_ms = budget_fuzz_ms(b, now_ms);
    b->running_since_ms = -1;
}

int64_t budget_fuzz_ms(const struct budget *b, int64_t now_ms)
{
    if (b->running_since_ms < 0 || now_ms < b->running_since_ms)
        return b->counted_ms;
    return b->counted_ms + (now_ms - b->running_since_ms);
}

void budget_new_edge(struct budget *b, int64_t now_ms)
{
    b->last_edge_ms = budget_fuzz_ms(b, now_ms);
}

const char *budget_over(const struct budget *b, int64_t now_ms, int64_t execs_done)
{
    int64_t fuzz_ms = budget_fuzz_ms(b, now_ms);

    if (!b->started)
        return NULL;
    if (b->budget_ms > 0 && fuzz_ms >= b->budget_ms)
        return "budget";
    if (b->execs > 0 && execs_done >= b->execs)
        return "execs";
    if (b->plateau_ms > 0 && fuzz_ms - b->last_edge_ms >= b->plateau_ms)
        return "plateau";
    return NULL;
}

bool budget_half_quiet(const struct budget *b, int64_t now_ms)
{
    int64_t fuzz_ms = budget_fuzz_ms(b, now_ms);

    return fuzz_ms > 0 && b->last_edge_ms <= fuzz_ms / 2;
}
