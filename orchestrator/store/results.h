/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_RESULTS_H
#define STORE_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db.h"

/* What triage said of one input for one target of a run, and the buckets that come of it. */
struct result_row {
    char *run, *target, *sha256;
    char *
        class_; /* "crash","oom","timeout","invariant","limit","unreproduced","flaky" and the kit's "determinism","internal", ... */
    char *signature;     /* text the bucket is made of, e.g. "invariant chunk_frame C3" */
    char *signature_why; /* where it came from, for people */
    char *
        bucket; /* id: first 12 hex of SHA-256 of target NUL signature; NULL for unreproduced hangs */
    int severity;         /* 1 low .. 5 */
    char *kind;           /* finer: "heap-buffer-overflow WRITE", "SIGSEGV", "C3" */
    int reproduced, runs; /* n of k */
    char *detail;         /* JSON object: per run status, programs used, ms */
    char *report;         /* sanitizer or kit text, bounded, NULL none */
    int64_t at_ms;
};
void result_row_clear(struct result_row *r);
int results_put(struct db *db, const struct result_row *r, struct err *err);
int results_get(struct db *db, const char *run, const char *target, const char *sha256,
                struct result_row *ret, struct err *err); /* -ENOENT */

/* All results of a run, by target and content. Caller clears each row and frees the array. */
int results_list(struct db *db, const char *run, struct result_row **ret, size_t *ret_n,
                 struct err *err);

struct bucket_row {
    char *id, *target, *class_, *kind, *signature, *signature_why;
    int severity;
    int64_t inputs;       /* distinct contents in this run */
    int64_t count;        /* occurrences in this run */
    int reproduced, runs; /* of its best input */
    char *best_sha256;    /* smallest input of the best reproduction */
    int64_t first_seen_at_ms, last_seen_at_ms;
    int64_t first_seen_ever_at_ms; /* over all runs of this state folder */
};
void bucket_rows_free(struct bucket_row *rows, size_t n);
/* Ordered by severity (high first), then first seen. Unreproduced ones come as buckets with class "unreproduced". */
int results_buckets(struct db *db, const char *run, struct bucket_row **ret, size_t *ret_n,
                    struct err *err);
/* One bucket by id or an unambiguous prefix (>= 4), newest run that has it; -ENOENT, -ENOTUNIQ. ret_run: caller frees. */
int results_bucket_find(struct db *db, const char *id, struct bucket_row *ret, char **ret_run,
                        struct err *err);
/* Contents in a bucket of a run (NULL: those in no bucket), best reproduced and smallest first (caller clears each row and frees the array). */
int results_inputs(struct db *db, const char *run, const char *bucket, struct result_row **ret,
                   size_t *ret_n, struct err *err);
/* Occurrences of one content, oldest first; file is relative to the instance's folder, in its own bytes. */
struct occurrence_row {
    char *run, *target, *instance, *file;
    int64_t seen_at_ms;
};
int results_occurrences(struct db *db, const char *run, const char *target, const char *sha256,
                        struct occurrence_row **ret, size_t *ret_n, struct err *err);
void occurrence_rows_free(struct occurrence_row *rows, size_t n);

#endif
