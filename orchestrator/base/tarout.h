/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TAROUT_H
#define BASE_TAROUT_H

#include <stddef.h>

#include "base/err.h"

/*
 * Writes a tar, plain or in one zstd frame with a checksum, that is the same whenever it is made of the same files: no times, owners or names of
 * this machine. Source: libarchive archive_write(3), pax_restricted; zstd.h ZSTD_c_checksumFlag.
 */
struct tarout;

/* Into fd, which stays the caller's. level: of zstd; 0: plain. 0, or -ENOMEM, -EIO. */
int tarout_open(int fd, int level, struct tarout **ret, struct err *err);
/* The next file; name is taken byte by byte. 0; -EINVAL: an empty component ("//") in it, which readers take differently; -EIO, -errno of the write. */
int tarout_add(struct tarout *t, const char *name, unsigned mode, const void *data, size_t size,
               struct err *err);
/* The end mark; nothing may be added any more. 0 or -errno. */
int tarout_finish(struct tarout *t, struct err *err);
void tarout_free(struct tarout *t);

#endif
