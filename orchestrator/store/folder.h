/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "store/artifact.h"

/* Walking the crashes* and hangs* folders of an instance without trusting what lies there. */

/* In the code column of an occurrence: the file is lost, empty without being an input. */
#define FOLDER_CODE_LOST (-ENOSPC)

/* One regular file; folder_fd and the strings are borrowed for the call. */
struct folder_file {
    int folder_fd;
    const char *folder; /* "crashes", "crashes.2026-11-29-15:21:39", "hangs" */
    const char *name;
    enum artifact_kind kind;
    struct stat sb; /* by fstatat, without following */
    /* Not looked at: a file that is not a regular one, or (name "") a folder of that name that is none, but a link or a file. */
    bool skipped;
};
/*
 * A walk that can be left and gone on with: what it holds is open folders and a bounded window of names, so that a step costs the same
 * however much lies there. Files that come while it is on may be met or not.
 */
struct folder_walk;
/* 0, with *ret NULL when out_dir is missing; out_dir lies below state_dir, from which on no link is followed. */
int folder_walk_open(const char *state_dir, const char *out_dir, struct folder_walk **ret,
                     struct err *err);
/* 1 with a file, good until the next call; FOLDER_LISTED: none in this step, ask again; 0 at the end, -errno. */
#define FOLDER_LISTED 2
int folder_walk_next(struct folder_walk *w, struct folder_file *ret, struct err *err);
void folder_walk_free(struct folder_walk *w);

/* Non-zero stops the walk, which returns it. */
typedef int folder_fn(void *ctx, const struct folder_file *file, struct err *err);

/* All files of out_dir's folders at once. 0 also when out_dir is missing, -errno, or what fn returned. */
int folder_each(const char *state_dir, const char *out_dir, folder_fn *fn, void *ctx,
                struct err *err);

/*
 * Reads one file whole: 0 with *ret_data (caller frees) and *ret_sb of the bytes read; -EBUSY while somebody writes it, -EFBIG over
 * max_bytes, -ENOENT gone, -ELOOP or -EINVAL no longer a regular file, or another -errno.
 */
int folder_read(const struct folder_file *file, int64_t max_bytes, char **ret_data,
                struct stat *ret_sb);

/*
 * Whether a folder beside that of file, of the same instance, also holds a regular file of that name, with that
 * content unless sha256 is NULL or "".
 */
bool folder_has_twin(const struct folder_file *file, const char *folder, const char *sha256);

static inline int64_t folder_mtime_ns(const struct stat *sb)
{
    return (int64_t)sb->st_mtim.tv_sec * 1000000000 + sb->st_mtim.tv_nsec;
}

#endif
