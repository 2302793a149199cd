/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_INPUTS_H
#define CORPUS_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * Lists of inputs from what a person names: a file is an input; of AFL++ output (a folder that holds fuzzer_setup, or folders that do) the
 * queue of every instance; of any other folder all regular files, folders below included. Names that begin with a dot and README.txt are
 * passed over, as AFL++ and the kit do; links in folders are not followed.
 */
#define INPUTS_MAX       10000000
#define INPUTS_DEPTH_MAX 64

/* Appends in the order of the names. 0, or -errno with the list as it was: -ENOENT, -ELOOP (too deep), -E2BIG (over INPUTS_MAX). */
int inputs_add(struct strv *list, const char *path, struct err *err);
/*
 * A file's bytes, at most max_bytes (a larger one is -EFBIG); no fifo blocks and no link is followed, unless the file was named itself. Caller frees.
 */
int inputs_read(const char *path, size_t max_bytes, uint8_t **ret_data, size_t *ret_size);

#endif
