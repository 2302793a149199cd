/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness kit, as a target's invariants see it. A target defines fz_target
 * and fz_one(); the kit supplies the mains (afl-fuzz, libFuzzer, replay) and
 * everything an invariant needs: failing loudly, a bounded heap, a guard page,
 * a trace for determinism. An input fails by a `FZ-FAIL ` line on stderr and
 * then the signal of its class; nothing else counts as a verdict of the kit.
 */
#ifndef FZ_H
#define FZ_H

#include <stdbool.h>
#include <stdint.h>

#include "sdk/fz_lib.h"

#define FZ_INPUT_MAX 65536u /* bytes; what is longer is cut */

/* Classes of failure; each has its signal, see fz_fail.c. */
enum fz_class {
    FZ_INVARIANT,   /* SIGABRT: an invariant does not hold */
    FZ_DETERMINISM, /* SIGUSR1: two runs that must agree do not */
    FZ_OOM,         /* SIGUSR2: the allocation guard tripped */
    FZ_INTERNAL,    /* SIGTRAP: a state that must not exist */
    FZ_MEMORY,      /* SIGSEGV: raised only where no real fault would follow */
    FZ_CLASS_COUNT
};

/* What the kit needs to know of a target; exactly one is linked into a program. */
struct fz_target {
    const char *name;
    size_t alloc_limit;            /* bytes; a single request above it is class oom */
    const char *const *invariants; /* ids given to fz_fail, NULL ends */
    const char *const *reach;      /* required reach ids, NULL ends */
    void (*self_test)(void);       /* once at start, NULL = none; fails by fz_fail */
};
extern const struct fz_target fz_target;

/*
 * Runs one input (at most FZ_INPUT_MAX bytes) and checks every invariant of the
 * target. Returns 0; does not return when one fails. Must leave no state behind.
 */
int fz_one(const uint8_t *d, size_t n);

/*
 * Reports a failed invariant and dies: marks the id's own coverage cell, so that
 * afl-fuzz keeps failures apart that take the same path; writes the line
 * `FZ-FAIL target=T class=C inv=ID detail=TEXT` to stderr; raises the signal of
 * the class. The detail is cut to one line of printable text.
 */
_Noreturn void fz_fail(enum fz_class class, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/*
 * Notes that invariant k of fz_target.invariants does not hold; k counts from 1,
 * and 1 is the catch-all. The first text of each is kept, until the next input.
 * fz_report() fails the lowest one noted that is specific, then INV-LEAK, the
 * catch-all last; it returns when nothing was noted.
 */
void fz_note(unsigned k, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
bool fz_noted(void);
void fz_report(void);

/* Silences FZ_REACH while the harness itself probes the library; calls nest. */
void fz_reach_mute(void);
void fz_reach_unmute(void);

/* What the library did with its allocator since fz_alloc_mark(). */
struct fz_alloc_stats {
    uint64_t calls;    /* alloc and realloc, failed ones included */
    size_t max_single; /* bytes */
    size_t live_bytes; /* now, not since the mark */
};

/* The allocator to hand to the library under test. */
const fz_allocator *fz_mem(void);
const struct fz_alloc_stats *fz_alloc_stats(void);
void fz_alloc_mark(void);

/* Makes the k-th request from now (0 = the next) fail, once; negative = none. */
void fz_alloc_fail_at(int64_t k);

/* Fails INV-LEAK when bytes are live. The kit calls it after fz_one; a target
 * calls it itself just before it reports its catch-all invariant. */
void fz_leak_check(void);

/*
 * Copies n bytes (at most FZ_INPUT_MAX) so that the byte behind them is on an
 * unreadable page. The mapping is kept; a call invalidates the copy before it.
 */
const uint8_t *fz_guarded_copy(const void *d, size_t n);

/* Folds bytes into the trace of this run. Two runs of one input must have equal
 * traces (INV-STATE, checked when FZ_TWICE=1). */
void fz_trace(const void *p, size_t n);
void fz_trace_u64(uint64_t v);

/* Whether a check that a fuzzing run samples shall be made in full: FZ_TWICE is on. */
bool fz_thorough(void);

/* A plain 64-bit FNV-1a, for choices that depend on the input alone. */
uint64_t fz_hash(const void *p, size_t n);

#endif
