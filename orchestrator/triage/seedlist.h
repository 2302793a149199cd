/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_SEEDLIST_H
#define TRIAGE_SEEDLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The inputs below a folder of seeds, as afl-fuzz and the kit read it: regular files in it and in its subfolders, in the order
 * of their names; not what begins with a dot, not README.txt. A link counts when it leads to a regular file.
 */
#define SEEDLIST_MAX   1000000
#define SEEDLIST_DEPTH 16

struct seed {
    char *path; /* as the folder was given, with the rest below it */
    size_t top; /* where the part below the folder begins */
    int64_t size_bytes;
    int error; /* 0, or why it cannot be read: -errno; -EINVAL for what is no regular file */
};
struct seedlist {
    struct seed *v;
    size_t n;
};

/* Appends a folder's inputs, or one file. 0, or -errno of the folder itself; -E2BIG past SEEDLIST_MAX. */
int seedlist_add(struct seedlist *l, const char *path, struct err *err);
void seedlist_clear(struct seedlist *l);

/* What is wrong with a seed whose error is set: "is not a regular file", "No such file or directory". */
const char *seedlist_why(const struct seed *seed);

#endif
