/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UNZSTD_H
#define BASE_UNZSTD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * The bytes of a file that anybody may have made: of one zstd frame, or plain. A frame must be whole, with a right checksum where it has one, and
 * nothing may follow it; of a format before that of zstd 0.8 it is refused. It takes 32 MiB of memory at most and unpacks to max_bytes at most.
 * Source: zstd.h, streaming decompression.
 */
struct unzstd;

/* Regular files only; no fifo blocks. packed: it is a frame, else plain, when max_bytes does not matter. 0 or -errno. */
int unzstd_open(const char *path, bool packed, uint64_t max_bytes, struct unzstd **ret,
                struct err *err);
/* The next bytes, valid until the next call: their number, 0 at the end, -EBADMSG with the reason in unzstd_why, -errno. */
ssize_t unzstd_next(struct unzstd *u, const void **ret);
/* Goes past n of the bytes that come next, which may be more than there are: the end is seen by who reads on. 0, or as unzstd_next. */
int unzstd_skip(struct unzstd *u, uint64_t n);
/* What was wrong with the frame, "" nothing so far. */
const char *unzstd_why(const struct unzstd *u);
void unzstd_close(struct unzstd *u);

#endif
