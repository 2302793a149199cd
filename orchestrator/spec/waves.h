/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_WAVES_H
#define SPEC_WAVES_H

#include <stddef.h>

#include "base/alloc.h"

/* The order that "after" makes of targets: wave 0 waits for nobody, wave n + 1 for one of wave n at least. Pure. */
struct wave_node {
    const char *name;
    const struct strv *after; /* names of others */
};

/*
 * Puts each node's wave into ret_wave[0..n-1]. A name that is not among the nodes counts for nothing. Returns 0, or -ELOOP when some
 * wait for each other: those, and whoever waits for them, have wave -1.
 */
int waves_of(const struct wave_node *nodes, size_t n, int *ret_wave);
/*
 * The way from node i back to itself, "a after b after a", as a text of the caller's; NULL when i is in no cycle.
 */
char *waves_cycle(const struct wave_node *nodes, size_t n, size_t i);

#endif
