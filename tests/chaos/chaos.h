/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHAOS_H
#define CHAOS_H

#include <stddef.h>
#include <sys/types.h>

/* The faults of chaos.c and what they share. Each returns, unless its point is that it does not. */
#define MIB ((size_t)1 << 20)

extern const char *chaos_dir; /* for marks, NULL none */

/* Makes the mark NAME.what; 0 when it was not there. */
int chaos_mark(const char *what);
/* Writes text to a file that is there; 0 or -1. */
int chaos_put(const char *path, const char *text);
/* Touches so much memory, up to the fuse. */
void chaos_touch(size_t bytes);
/* Our ancestor that runs a program of that name, so that nobody else is ever meant; 0 none. */
pid_t chaos_ancestor(const char *comm);

void chaos_oom(void);
void chaos_leak(void);
void chaos_devshm(void);
void chaos_sysv(void);
void chaos_sleepers(void);
void chaos_forkbomb(void);
void chaos_escape(void);
void chaos_loop(void);
void chaos_stop(void);
void chaos_parent(void);
void chaos_aflfuzz(void);
void chaos_keeper(void);
void chaos_oomadj(void);
void chaos_fill(void);
void chaos_fds(void);
void chaos_flood(void);
void chaos_delete(void);
void chaos_cgleave(void);
void chaos_cgkill(void);
void chaos_cgfreeze(void);
void chaos_cglimits(void);
void chaos_cgmount(void);
void chaos_cgns(void);
void chaos_cgfds(void);

#endif
