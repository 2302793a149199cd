/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_SEEDSET_H
#define CORPUS_SEEDSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * A folder of committed seeds, and the one way to add to it. What was added stands in its README.txt, a name that afl-fuzz and
 * the kit's replay pass over, a record a line:
 *
 *   NAME <TAB> SHA256 <TAB> DATE <TAB> CAMPAIGN <TAB> RUN <TAB> INSTANCE <TAB> FILE
 *
 * with - for what is not known. Other lines are a person's own text and stay. A seed and its record come together: a seed is
 * written under a name of its own, then recorded, then given its name; what was cut off between is finished or taken back by the next
 * seedset_open.
 */
#define SEEDSET_RECORDS "README.txt"
#define SEEDSET_SEED_MAX                                                                           \
    (1 << 20) /* afl-fuzz cuts what is longer. Source: AFL++ include/config.h MAX_FILE */
#define SEEDSET_FILES_MAX 1000000

struct seedset;

/* Where an input came from; NULL or "" is unknown. */
struct seedset_origin {
    const char *campaign, *run, *instance, *file;
};

/*
 * Opens the folder dir (a link to it is followed, none below it) and locks it against other processes of ours until
 * seedset_close. 0 with *ret, -EAGAIN (held by another), -errno.
 */
int seedset_open(const char *dir, struct seedset **ret, struct err *err);
void seedset_close(struct seedset *s);

/* The seed with these bytes, or NULL. Borrowed until the next change. */
const char *seedset_find(const struct seedset *s, const char *sha256);

/*
 * Adds size bytes as NNN-slug, NNN being one more than the highest there is. slug: of [a-z0-9-], at most 64.
 * *ret_name: caller frees. 0, -EEXIST (the bytes are there), -EFBIG, or -errno with the folder as it was.
 */
int seedset_add(struct seedset *s, const void *data, size_t size, const char *slug,
                const struct seedset_origin *origin, char **ret_name, struct err *err);

#endif
