/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Whole files in and out. Reading is bounded and refuses anything that is not a regular file (-EINVAL), follows no
 * symlink in the last place (-ELOOP), and never blocks on a fifo.
 */

/* Reads at most max_bytes; a larger file is -EFBIG. *ret_data is NUL-terminated (not counted), caller frees. 0 or -errno. */
int file_read(int dirfd, const char *path, size_t max_bytes, char **ret_data, size_t *ret_size);

/* Same for a file below the folder top, following no link from there on; see path_open_below. */
int file_read_below(const char *top, const char *path, size_t max_bytes, char **ret_data,
                    size_t *ret_size);

/* Same, but a link in the last place is followed: for files that a person named. */
int file_read_follow(int dirfd, const char *path, size_t max_bytes, char **ret_data,
                     size_t *ret_size);

/* Same for files below /proc and /sys, whose size is not known before. */
int file_read_proc(const char *path, size_t max_bytes, char **ret_data);

/* Writes data to path.tmp-<pid>, fsyncs, renames over path, fsyncs the folder. On failure path is as it was and the temporary is gone. A device, pipe or socket is not replaced (-EEXIST). 0 or -errno. */
int file_write_atomic(int dirfd, const char *path, const void *data, size_t size, mode_t mode);

/* The same for an output that a person named: what is there and no plain file (a device, a pipe, a link) is written into, not replaced. */
int file_write_named(const char *path, const void *data, size_t size, mode_t mode);

/* write(2) until all is out. 0 or -errno. */
int file_write_all(int fd, const void *data, size_t size);

/* Whether the open file still lies at that path; a link is not followed. */
bool file_lies_at(int fd, int dirfd, const char *path);
/* fsync of the folder that holds path. 0 or -errno. */
int file_sync_parent(int dirfd, const char *path);

/* Whether a file still has that SHA-256, 64 hex digits: 1, 0, or -errno (a program of over 4 GiB is -EFBIG). */
int file_has_sha256(const char *path, const char *hex);
/* SHA-256 of a file's bytes as 64 hex digits; a file over max_bytes is -EFBIG. 0 or -errno. */
int file_sha256(int dirfd, const char *path, uint64_t max_bytes, char ret_hex[65],
                uint64_t *ret_size);

/*
 * SHA-256 over the sorted (relative name, content hash) list of all regular files of a tree. *ret_n_files (may be NULL): how many, without
 * those named uncounted (may be NULL). Over a million files or 4 GiB is -EFBIG. 0 or -errno,
 * with the file or folder that cannot be read in err.
 */
int file_tree_sha256(const char *path, const char *uncounted, char ret_hex[65], long *ret_n_files,
                     struct err *err);

#endif
