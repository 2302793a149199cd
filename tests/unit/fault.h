/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAULT_H
#define TESTS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A change of the disk with its Nth write failing, for every N. Each round has a folder of its own; act must change what
 * make has laid out, and is called again without a fault after one that was hit.
 */
struct fault_case {
    const char *name;
    void (*make)(const char *dir); /* the state before, may be NULL */
    int (*act)(const char *dir);   /* 0 or -errno */
    /* Looks at the disk anew: done: act returned 0; else the old or the new, never a mixture. */
    void (*check)(const char *dir, bool done);
    void (*end)(void); /* lets go of what make and act hold open, may be NULL */
};

/* First in main: starts the program once more under the shim, build/tests/fault/shim.so. */
void fault_reexec(char **argv);
/* True in `make check-faults`: every step instead of some. */
bool fault_exhaustive(void);
/* ENOSPC once, ENOSPC from the Nth on, EIO once; each until a round was not hit. Returns the rounds that were. */
long fault_sweep(const struct fault_case *c);
/* The path of the shim, borrowed, for programs that are started with it. */
const char *fault_shim(void);
/* A new folder, in memory where possible. Caller removes and frees. */
char *fault_folder(void);
/* In the same process: the at-th change below dir fails; off again, and how many were hit. */
void fault_arm(const char *dir, int error, bool sticky, long at);
long fault_disarm(void);

/*
 * Calls fn with path cut to every length, for files over 16 KiB to those of the first and last 4 KiB and a step between (all
 * of them when exhaustive; fewer in the edges when not). The file is whole again afterwards.
 */
void fault_cut(const char *path, void (*fn)(void *ctx, size_t size, size_t whole), void *ctx);

#endif
