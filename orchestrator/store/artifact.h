/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ARTIFACT_H
#define STORE_ARTIFACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db.h"

/*
 * Crash and hang files as we hold them. The bytes are kept once under store/<aa>/<sha256>; each file in which they were seen is an
 * occurrence. An occurrence is known by (run, target, instance, kind, file name, content, mtime), so that a rename of the folder by AFL++ at
 * resume is the same occurrence and two files of one name and different bytes are two. Acknowledged only after the blob is fsynced and the row committed.
 */
enum artifact_kind { ARTIFACT_CRASH, ARTIFACT_HANG }; /* the folder it came from */

#define ARTIFACT_MAX_BYTES (64 << 20)
#define ARTIFACT_BATCH     32

/* Where an instance's files lie; all borrowed. */
struct artifact_source {
    const char *run, *target, *instance;
    const char *out_dir; /* absolute, of the instance */
};

struct artifact_seen { /* told for each new occurrence */
    char sha256[65];
    enum artifact_kind kind;
    char name[256]; /* file name */
    int64_t size_bytes;
    bool new_content; /* first time these bytes are seen for this run and target */
    bool unsaved;     /* could not be copied (errno in code); it will be tried again */
    int code;
};
typedef void artifact_fn(void *ctx, const struct artifact_source *src,
                         const struct artifact_seen *seen);

/*
 * Reconciles the crashes* and hangs* folders of one instance with the index: new files are copied (file and folder fsynced), then committed in
 * one transaction; at most ARTIFACT_BATCH a call. README.txt and names with control bytes aside, every regular file counts. Returns the number of new
 * occurrences (>= 0), with *ret_more set when there is more to do, or -errno (-ENOSPC: nothing half-written remains).
 */
int artifact_scan(struct db *db, const char *state_dir, const struct artifact_source *src,
                  artifact_fn *fn, void *ctx, bool *ret_more, struct err *err);

struct artifact_row {
    char sha256[65];
    char *run, *target, *kind; /* kind: "crash", "hang" */
    char *
        class_; /* after triage: "crash", "oom", "timeout", "invariant", "limit", ...; NULL before */
    char *bucket; /* id or NULL */
    char *instance,
        *file; /* of the first occurrence: instance, path relative to the instance's folder */
    int64_t size_bytes, first_seen_at_ms;
    int64_t occurrences;
};
void artifact_rows_free(struct artifact_row *rows, size_t n);
int artifact_list(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                  struct err *err);
/* Distinct contents of a run that have no triage result yet, oldest first. */
int artifact_untriaged(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                       struct err *err);

/* STATE/store/aa/sha256; caller frees. */
char *artifact_blob_path(const char *state_dir, const char *sha256);

/* Every difference between files on disk and occurrences of a run, and between blobs and their names, as one line each. Returns the count of differences or -errno. */
typedef void artifact_diff_fn(void *ctx, const char *line);
int artifact_verify(struct db *db, const char *state_dir, const char *run, artifact_diff_fn *fn,
                    void *ctx, struct err *err);

#endif
