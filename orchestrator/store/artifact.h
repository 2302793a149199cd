/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ARTIFACT_H
#define STORE_ARTIFACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db.h"

/*
 * Crash and hang files as we hold them. The bytes are kept once under store/<aa>/<sha256>; each file in which they were
 * seen is an occurrence, known by (run, target, instance, kind, folder, file name, content): a rename of the folder by
 * AFL++ at resume is the same occurrence, two files of one name and different bytes are two, a state directory that was
 * copied (other inodes, other times) holds the same ones. Acknowledged only after the blob is fsynced and the row committed.
 *
 * afl-fuzz saves no empty input. An empty file that nobody writes any more is one whose bytes never came to the disk, as it
 * was full or afl-fuzz was killed that instant: no artifact, but the record of a lost one. It is an artifact once it has bytes.
 * Source: afl-fuzz-run.c and afl-fuzz-bitmap.c, ck_write; 4.04c goes on after ENOSPC.
 */
enum artifact_kind { ARTIFACT_CRASH, ARTIFACT_HANG };    /* the folder it came from */
const char *artifact_kind_name(enum artifact_kind kind); /* "crash", "hang" */

#define ARTIFACT_MAX_BYTES (64 << 20)
#define ARTIFACT_BATCH     32
#define ARTIFACT_SLICE_MS  20

/* Where an instance's files lie; all borrowed. */
struct artifact_source {
    const char *run, *target, *instance;
    const char *out_dir; /* absolute, of the instance */
    bool empty_is_input; /* not written by afl-fuzz: an empty file can be an input */
};

struct artifact_seen { /* told for each new occurrence */
    char sha256[65];   /* "" when unsaved */
    enum artifact_kind kind;
    char name[256]; /* file name, any bytes but '/' and NUL */
    int64_t size_bytes;
    bool new_content; /* first time these bytes are seen for this run and target */
    bool unsaved;     /* recorded, but its bytes could not be kept (negative errno in code) */
    bool lost;        /* recorded, but empty: its bytes never came to the disk */
    int code;
};
typedef void artifact_fn(void *ctx, const struct artifact_source *src,
                         const struct artifact_seen *seen);

/*
 * Reconciles the crashes* and hangs* folders of one instance with the index: new files are copied (file and folder
 * fsynced), then committed in one transaction; at most ARTIFACT_BATCH a call.
 * With walk (*walk NULL begins one) a call also ends after about ARTIFACT_SLICE_MS, and the next goes on where it stood, so that any
 * number of files costs one look at each; *walk is NULL again when the walk is over or has failed, else artifact_walk_free. Without walk a
 * call begins at the top. Every regular file counts but README.txt. A file
 * that somebody has open for writing is left for the next scan. A file over ARTIFACT_MAX_BYTES (code -EFBIG), or one that cannot be read, is
 * recorded as unsaved; the latter is tried again by each scan and told once more when its bytes are held. fn is called
 * after the commit. The run's row must be there; no transaction may be open.
 *
 * Returns the number of new occurrences and newly held contents (>= 0), with *ret_more set when there is more to do, or -errno
 * (-ENOSPC: nothing half-written remains, a later scan does it). A missing out_dir is 0.
 * Source: AFL++ docs/fuzzing_in_depth.md (crashes/, hangs/); the folder's rename at resume was seen with 4.04c and 4.21c.
 */
struct folder_walk;
int artifact_scan(struct db *db, const char *state_dir, const struct artifact_source *src,
                  struct folder_walk **walk, artifact_fn *fn, void *ctx, bool *ret_more,
                  struct err *err);
void artifact_walk_free(struct folder_walk *walk);

/* Files of an instance that no row speaks of, told without reading them; after the last scan there must be none. A link in the place of a folder of theirs counts as one. Count or -errno. */
int64_t artifact_unrecorded(struct db *db, const struct artifact_source *src, struct err *err);

/* Marks lost files; afl-fuzz cannot tell us, so that it is the likely cause. */
#define ARTIFACT_LOST_WORDS "a full disk, or afl-fuzz killed as it saved"

struct artifact_row {
    char sha256[65];           /* "" for a file whose bytes could not be kept */
    char *run, *target, *kind; /* kind: "crash", "hang"; crash when it was seen as both */
    char *class_;              /* after triage: "crash", "oom", "timeout", ...; NULL before */
    char *bucket;              /* id or NULL */
    char *instance, *file;     /* of the first occurrence; file relative to the instance's folder */
    int64_t size_bytes, first_seen_at_ms;
    int64_t occurrences;
};
void artifact_rows_free(struct artifact_row *rows, size_t n);
/* Distinct contents per target of a run (NULL: of all runs), oldest first; an unsaved file is a row of its own. */
int artifact_list(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                  struct err *err);
/* Distinct contents of a run that have no triage result yet, oldest first. */
int artifact_untriaged(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                       struct err *err);
/*
 * How many distinct contents (and files that could not be kept) a run has, told for each target, kind and class there is; the strings are
 * borrowed for the call, class_ NULL before triage, kind "lost" for lost files. Costs no memory per artifact.
 */
typedef void artifact_count_fn(void *ctx, const char *target, const char *kind, const char *class_,
                               int64_t n);
int artifact_counts(struct db *db, const char *run, artifact_count_fn *fn, void *ctx,
                    struct err *err);
/* Files of a run that are lost, one row each, by target and time. 0 or -errno. */
int artifact_lost(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                  struct err *err);
/* Files of a run whose bytes could not be kept (target NULL: any), but for the lost. Count or -errno. */
int64_t artifact_unsaved(struct db *db, const char *run, const char *target, struct err *err);

/* STATE/store/aa/sha256; caller frees. */
char *artifact_blob_path(const char *state_dir, const char *sha256);

/*
 * Proves files on disk = occurrences recorded, both ways, for each instance of a run (NULL: of all runs), by hashing
 * every file; that each recorded content is held under its name with its bytes; and with run NULL also that nothing else lies in store/.
 * Each difference is told as one printable line. A blob or a temporary file that no row speaks of is what a crash between the two leaves:
 * told as harmless and not counted: a later scan takes it up. A file that could not be kept is a difference. A file that
 * somebody has open for writing cannot be judged, and a lost one has no occurrence: each is told and counted by itself.
 */
enum artifact_word { ARTIFACT_DIFFERS, ARTIFACT_HARMLESS, ARTIFACT_OPEN, ARTIFACT_GONE };
typedef void artifact_diff_fn(void *ctx, enum artifact_word word, const char *line);
struct artifact_totals {
    int64_t files; /* every regular file */
    int64_t lost;  /* of those, empty without being an input */
    int64_t open;  /* of those, open for writing */
    int64_t occurrences, blobs;
};
/* Returns the number of differences or -errno; *ret_totals (may be NULL) is added to. */
int64_t artifact_verify(struct db *db, const char *state_dir, const char *run, artifact_diff_fn *fn,
                        void *ctx, struct artifact_totals *ret_totals, struct err *err);

#endif
