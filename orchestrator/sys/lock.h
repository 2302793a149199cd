/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_LOCK_H
#define SYS_LOCK_H

#include <stddef.h>

/*
 * flock on a file, with one line about the holder written into it. Takes path (made if missing, its folder must exist).
 * Returns the fd (close to release), or -EWOULDBLOCK with the holder's line in holder (may be NULL), or -errno.
 */
int lock_take(const char *path, const char *line, char *holder, size_t holder_size);
/* Another line for a lock that is held, by its fd. */
void lock_tell(int fd, const char *line);
/* Keeps everybody from taking it while fd is open, without taking it: fd, or -EWOULDBLOCK it is held, -errno (-ENOENT: no such file). */
int lock_bar(const char *path);
/* Who holds it: 1 and the line, 0 when free, -errno. Does not take it. */
int lock_holder(const char *path, char *holder, size_t holder_size);
/* The line of who holds it or held it last. 0, or -errno (-ENOENT: nobody ever has). */
int lock_last(const char *path, char *holder, size_t holder_size);

#endif
