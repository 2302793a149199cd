/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_PACKED_H
#define CORPUS_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A corpus in one file: a tar, by its name .tar or .tar.zst, which is read once and then is in memory. Its members are inputs as the files of a
 * folder are: names that begin with a dot, README.txt, links, folders and devices are passed over; of AFL++ output the queues are taken. A hard
 * link is the file it means, which tar writes so when a queue shares files with its seeds. Names are told, and never used as a path.
 */
#define PACKED_BYTES_MAX ((uint64_t)1 << 30)  /* of all inputs, in memory */
#define PACKED_TAR_MAX   ((uint64_t)16 << 30) /* unpacked from a frame */

struct packed_input {
    char *name;          /* without "./" or "/" in front */
    const uint8_t *data; /* NULL: larger than an input can be, and not kept */
    uint64_t size;
    size_t number; /* in the archive */
};

struct packed {
    struct packed_input
        *v; /* in the order in which a folder of them is read; of equal names as in the archive */
    size_t n;
    struct packed_chunk *chunks; /* what data points into */
};

/* path is called so; the same, and a regular file; it is called .tar.zst. */
bool packed_name(const char *path);
bool packed_is(const char *path);
bool packed_is_zst(const char *path);
/*
 * All files of it, none passed over yet. 0 with *ret; -EBADMSG and one line: cut short, damaged, sparse, a name with "..", a link to nothing; -EFBIG,
 * -E2BIG; -errno.
 */
int packed_read(const char *path, struct packed **ret, struct err *err);
/* Takes away what no input is; below: and what is not in this folder ("inputs/"), NULL anywhere. 0, or -E2BIG. */
int packed_choose(struct packed *p, const char *path, const char *below, struct err *err);
/* Whether there is a member of that name. */
bool packed_has(const struct packed *p, const char *name);
/* Whether a member of that name is an input, wherever it stands; and the order of two names, as folders are listed. */
bool packed_takes(const char *name);
int packed_compare(const char *a, const char *b);
void packed_free(struct packed *p);

#endif
