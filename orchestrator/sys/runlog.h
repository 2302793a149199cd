/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_RUNLOG_H
#define SYS_RUNLOG_H

#include <stdint.h>
#include <stddef.h>

/*
 * A log of bounded size for the output of a program: PATH, and PATH.1 with what was in it before, together never more
 * than max_bytes. Never allocates, and never fails: what cannot be written is dropped, and the next write tries again.
 */
struct runlog {
    const char *path; /* borrowed */
    int64_t half_bytes, size_bytes;
    int fd; /* -1: could not be opened */
};

/* Appends to what is there. path is borrowed until runlog_close. */
void runlog_open(struct runlog *l, const char *path, int64_t max_bytes);
void runlog_write(struct runlog *l, const char *data, size_t size);
void runlog_close(struct runlog *l);

#endif
