/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_PACK_H
#define CORPUS_PACK_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/inputs.h"

/* Writes a list of inputs as the one file that corpus/packed.h reads: the same inputs give the same bytes, on every machine. */
#define PACK_INPUT_MAX ((size_t)64 << 20) /* one that is too large to be run is packed, too */

/* Whether path may be made: named .tar or .tar.zst, not there, in a folder that we may write. 0, -EINVAL, -EEXIST, -errno. */
int pack_check(const char *path, struct err *err);
/*
 * names: of the members, one an input. Two of the same, one that readers pass over, an input that cannot be read or inputs of more than
 * PACKED_BYTES_MAX together are an error. 0 with the sum of sizes; or -errno, -ECANCELED, and nothing is at path. cancel may be NULL.
 */
int pack_write(const char *path, const struct inputs *inputs, const char *const *names,
               const volatile sig_atomic_t *cancel, uint64_t *ret_bytes, struct err *err);

#endif
