/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_SWEEPLIST_H
#define TRIAGE_SWEEPLIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "triage/sweepbook.h"

/* The entries of a target's queues that the book does not know, oldest first. */
struct sweepentry {
    int dir; /* number of its queue */
    char *name;
    int64_t size_bytes, mtime_ns;
    uint64_t key;
};
struct sweeplist {
    int *fds; /* of the queues, -1: none there */
    const struct strv *instances;
    size_t n_dirs;
    struct sweepentry *v;
    size_t n;
    size_t total; /* entries, those known included */
};
#define SWEEPLIST_MAX 10000000

/*
 * queues: folders below top, of the instances of the same numbers; borrowed for the life of the list. A folder that is not there is
 * empty. 0, or -errno of one that cannot be looked into. Clear in any case.
 */
int sweeplist_read(const char *top, const struct strv *queues, const struct strv *instances,
                   const struct sweepbook *book, struct sweeplist *ret, struct err *err);
void sweeplist_clear(struct sweeplist *l);
/*
 * Its bytes; caller frees. 0, -ENOENT (it has gone, or is no file any more), -EFBIG (over max_bytes), -errno. Follows no link and
 * never blocks.
 */
int sweeplist_load(const struct sweeplist *l, size_t i, size_t max_bytes, uint8_t **ret_data,
                   size_t *ret_size);

#endif
