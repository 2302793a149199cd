/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for figures, whether they come from a file or by datagram. */
#ifndef SELFTEST_STATS_CHECK_H
#define SELFTEST_STATS_CHECK_H

#include <math.h>

#include "farm/stats.h"
#include "selftest/check.h"

#define STATS_FIRST offsetof(struct stats, start_time_s)
#define STATS_LAST  offsetof(struct stats, afl_version)

/* Field by field: there may be padding behind the two marks, and bytes behind the version's NUL. */
static inline bool stats_same(const struct stats *a, const struct stats *b)
{
    return a->have_stats == b->have_stats && a->have_statsd == b->have_statsd &&
           memcmp((const char *)a + STATS_FIRST, (const char *)b + STATS_FIRST,
                  STATS_LAST - STATS_FIRST) == 0 &&
           strcmp(a->afl_version, b->afl_version) == 0;
}

/* No figure is so large that a sum or a product of ours could wrap. */
static inline void stats_check(const char *id, const struct stats *st)
{
    const int64_t n[] = {
        st->start_time_s,    st->last_update_s,   st->run_time_s,      st->fuzzer_pid,
        st->cycles_done,     st->cycles_wo_finds, st->execs_done,      st->corpus_count,
        st->corpus_favored,  st->corpus_found,    st->corpus_imported, st->corpus_variable,
        st->pending_favs,    st->pending_total,   st->max_depth,       st->cur_item,
        st->saved_crashes,   st->saved_hangs,     st->total_crashes,   st->last_find_s,
        st->last_crash_s,    st->last_hang_s,     st->edges_found,     st->total_edges,
        st->exec_timeout_ms, st->slowest_exec_ms, st->peak_rss_mb};
    const double real[] = {st->execs_per_sec, st->stability_pct, st->bitmap_cvg_pct};

    for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
        MUST(n[i] >= 0 && n[i] <= STATS_MAX_NUMBER, id, "figure %zu is %lld", i, (long long)n[i]);
    for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++)
        MUST(isfinite(real[i]) && real[i] >= 0, id, "real figure %zu is %g", i, real[i]);
    MUST(is_printable(st->afl_version, sizeof(st->afl_version)), id, "the version is not text");
}

static inline void stats_trace(const struct stats *st)
{
    fz_trace((const char *)st + STATS_FIRST, STATS_LAST - STATS_FIRST);
    fz_trace(st->afl_version, strlen(st->afl_version));
}

#endif
