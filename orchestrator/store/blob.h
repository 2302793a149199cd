/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Files of STATE/store/<aa>/<sha256>. A batch of them is written, each one fsynced under a temporary name and renamed;
 * then the folders are fsynced once. Only after blob_batch_sync may a row speak of them.
 */
struct blob_batch {
    int store_fd;
    bool touched_root;
    bool touched[256]; /* by the first byte of the hash */
};

/* Makes STATE/store (0700) when missing. 0 or -errno. */
int blob_batch_open(struct blob_batch *b, const char *state_dir, struct err *err);
/* Accepts a batch that was never opened when store_fd is -1. */
void blob_batch_close(struct blob_batch *b);

/*
 * Writes size bytes whose SHA-256 is sha256. One that is there with the right bytes is kept; one with other bytes is
 * replaced. On failure nothing of it remains: 0, -ENOSPC, or another -errno.
 */
int blob_batch_put(struct blob_batch *b, const char *sha256, const void *data, size_t size,
                   struct err *err);
int blob_batch_sync(struct blob_batch *b, struct err *err);

#endif
