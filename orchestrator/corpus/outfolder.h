/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_OUTFOLDER_H
#define CORPUS_OUTFOLDER_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/inputs.h"

/*
 * A new folder of inputs, made beside its place and renamed when it is whole: there is all of it or nothing. What it is copied from is
 * read only.
 */
struct outfolder_file {
    size_t index; /* of an input */
    const char *
        name; /* in the folder; NULL: the input's own. A part of its hash is added where another content has it already */
};

/* Whether path may be made: it is not there, or an empty folder, and it is in a folder that we may write. 0, or -EEXIST, -ENOTDIR,
 * -EINVAL ("." and the like), -errno with what is in the way. */
int outfolder_check(const char *path, struct err *err);
/* 0 with the sum of sizes, and all is on the disk; or -errno, -ECANCELED when *cancel is not 0 (it may be NULL), and nothing is written. */
int outfolder_write(const char *path, const struct inputs *inputs,
                    const struct outfolder_file *files, size_t n,
                    const volatile sig_atomic_t *cancel, uint64_t *ret_bytes, struct err *err);

#endif
