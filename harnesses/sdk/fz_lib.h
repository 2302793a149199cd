/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library under test may use of the kit: an allocator that is handed to
 * it, and reach marks. A library takes every byte of heap from the allocator,
 * so that the harness can bound it, fail it and prove that nothing was leaked.
 */
#ifndef FZ_LIB_H
#define FZ_LIB_H

#include <stddef.h>

/*
 * The heap of a library under test. alloc and realloc return NULL on failure;
 * realloc(NULL, n) allocates, free(NULL) does nothing; a size of 0 is never asked.
 */
typedef struct fz_allocator {
    void *(*alloc)(void *ctx, size_t n);
    void *(*realloc)(void *ctx, void *p, size_t n);
    void (*free)(void *ctx, void *p);
    void *ctx;
} fz_allocator;

/* Counts one passage of the place named by site; use FZ_REACH. */
void fz_reach_hit(const char *const *site);

/*
 * Marks a place that an input can reach. The id is a bare word; several places
 * of one id count together. Each id has a coverage cell, so reaching it makes
 * an input interesting to afl-fuzz. Costs an increment.
 */
#define FZ_REACH(id)                                                                               \
    do {                                                                                           \
        static const char *const fz_site_ __attribute__((section("fz_reach"), used)) = #id;        \
        fz_reach_hit(&fz_site_);                                                                   \
    } while (0)

#endif
