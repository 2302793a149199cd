/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_STATS_H
#define FARM_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What AFL++ tells of an instance: fuzzer_stats, StatsD datagrams, files. All three are hostile input: bounded, by key, unknown
 * keys skipped, numbers checked. Source: AFL++ docs/afl-fuzz_approach.md, src/afl-fuzz-stats.c, src/afl-fuzz-statsd.c.
 */
#define STATS_MAX_BYTES  (64 << 10) /* of fuzzer_stats; a real one is about 1 KiB */
#define STATS_MAX_DGRAM  8192       /* of one StatsD datagram; a real one is about 1.4 KiB */
#define STATS_MAX_NAME   160
/* Largest figure that is taken: 2^16 of them add up, and seconds become milliseconds, within int64_t. */
#define STATS_MAX_NUMBER ((INT64_C(1) << 47) - 1)

struct stats {
    bool have_stats, have_statsd;
    int64_t start_time_s, last_update_s, run_time_s, fuzzer_pid;
    int64_t cycles_done, cycles_wo_finds, execs_done;
    double execs_per_sec;
    int64_t corpus_count, corpus_favored, corpus_found, corpus_imported, corpus_variable;
    int64_t pending_favs, pending_total, max_depth, cur_item;
    double stability_pct, bitmap_cvg_pct;
    int64_t saved_crashes, saved_hangs, total_crashes;
    int64_t last_find_s, last_crash_s, last_hang_s; /* Unix seconds, 0 never */
    int64_t edges_found, total_edges, exec_timeout_ms, slowest_exec_ms, peak_rss_mb;
    char afl_version[32];
};

/* Fills *st from fuzzer_stats text. 0, or -EAGAIN when torn (no complete command_line line): *st untouched. */
int stats_parse(const char *text, size_t size, struct stats *st);

/* The name of stats_parse_statsd alone, without the figures: whose it is decides whether they are wanted. 0 or -EBADMSG, then name may be anything. */
int stats_statsd_name(const char *data, size_t size, char *name, size_t name_size);
/*
 * One StatsD datagram: "fuzzing.KEY:VALUE|g|#banner:NAME,afl_version:..." lines. name receives the banner (buffer of name_size).
 * 0 when at least one known gauge was read, -EBADMSG otherwise. Only known gauges of *st are changed.
 */
int stats_parse_statsd(const char *data, size_t size, char *name, size_t name_size,
                       struct stats *st);

/* pending_favs wraps to 4294967292 in some versions: such values are 0. */
int64_t stats_sane_count(int64_t v);

#endif
