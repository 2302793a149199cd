/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_RUNS_H
#define STORE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db.h"

/* Rows of runs and targets. Strings in rows are owned by the row; clear with run_row_clear / target_row_clear. */
struct run_row {
    char *id; /* ULID */
    char *campaign;
    char *dir; /* absolute; where it is now, also in a state directory that was moved or copied */
    bool
        moved; /* it was another place when this was written: what runs of it belongs to the one there */
    char *state; /* "running", "triage", "ended" */
    char *
        verdict; /* NULL while running; "clean", "findings", "vacuous", "failed-to-start", "degraded", "interrupted" */
    char *reasons; /* JSON array of text */
    char *host, *boot_id;
    int64_t started_at_ms, ended_at_ms; /* Unix ms, 0 not yet */
    int64_t budget_ms;
    uint64_t seed;
    char *
        extra; /* JSON object: anything the report shows beside (isolation words, versions, stop cause) */
};
struct target_row {
    char *run, *name;
    char *state; /* "planned", "running", "ended", "failed" */
    char *
        end_reason; /* "budget", "execs", "plateau", "finding", "stopped", "skipped", "failed"; NULL while running */
    int64_t started_at_ms, ended_at_ms, fuzz_ms;
    int64_t execs_done, edges_found, total_edges, corpus_count, corpus_seeds;
    double execs_per_sec, stability;
    int64_t last_find_ms; /* Unix ms of the last new edge, 0 none */
    int64_t edges_floor;  /* edges of one trivially rejected input, -1 not measured */
    int64_t restarts, oom_kills;
    char *extra; /* JSON: per instance figures at the end, reach counts, seeds check */
};
void run_row_clear(struct run_row *r);
void target_row_clear(struct target_row *t);

int runs_put(struct db *db, const struct run_row *r, struct err *err); /* insert or replace by id */
int runs_put_target(struct db *db, const struct target_row *t, struct err *err);
/* Newest run of a campaign (run NULL) or that run by id or its last 6. -ENOENT. */
int runs_get(struct db *db, const char *campaign, const char *run, struct run_row *ret,
             struct err *err);
/* All runs, newest first; unfinished_only: state != ended. Caller frees each row and the array. */
int runs_list(struct db *db, bool unfinished_only, struct run_row **ret, size_t *ret_n,
              struct err *err);
int runs_targets(struct db *db, const char *run, struct target_row **ret, size_t *ret_n,
                 struct err *err);

#endif
