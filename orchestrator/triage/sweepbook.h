/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_SWEEPBOOK_H
#define TRIAGE_SWEEPBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * What of a target's queues the sweep has run already, in one file of records that is only appended to. An entry is known by its
 * file, which spares reading it, and by its content, so that what afl-fuzz imports from a peer is not run twice. A record that is
 * cut or changed does not count, and what the file has lost is run again: nothing is believed that is not whole.
 */
struct sweepbook;

/* Opens state-dir-relative-safe path (absolute, below top), made when missing. 0 or -errno. One writer; fuzzd has one job a target in flight. */
int sweepbook_open(const char *top, const char *path, struct sweepbook **ret, struct err *err);
void sweepbook_close(struct sweepbook *b);

/* A file by where it lies and what stat says of it. */
struct sweepbook_file {
    const char *instance, *name;
    int64_t size_bytes, mtime_ns;
};
uint64_t sweepbook_key(const struct sweepbook_file *f);
bool sweepbook_has_file(const struct sweepbook *b, uint64_t key);
/* Content, by 128 bits of its hash. */
struct sweepbook_content {
    uint64_t high, low;
};
struct sweepbook_content sweepbook_content(const void *data, size_t size);
bool sweepbook_has_content(const struct sweepbook *b, struct sweepbook_content content);

/* From here on the file and its content are known. Held back until sweepbook_flush. */
void sweepbook_add(struct sweepbook *b, uint64_t key, struct sweepbook_content content);
/*
 * One more content that failed, by what it showed. Returns how many have shown that before: who puts them aside need not keep them all.
 * kept: it was. Held back as well.
 */
size_t sweepbook_alike(const struct sweepbook *b, const char *signature);
void sweepbook_add_fault(struct sweepbook *b, const char *signature, bool kept);
/* Contents that failed, and those of them that were not kept. */
void sweepbook_faults(const struct sweepbook *b, size_t *ret_failed, size_t *ret_not_kept);
/* Appends what was added. 0, -ENOSPC or another -errno: what is not in the file then is run again. */
int sweepbook_flush(struct sweepbook *b);
/* Different contents, with those not flushed yet. */
size_t sweepbook_contents(const struct sweepbook *b);

#endif
