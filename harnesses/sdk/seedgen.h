/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the seed generators share: a target's generator calls seed_add() in a
 * fixed order, and the kit's main writes the files or compares them with those
 * that are committed. No clock and no randomness: the same program always makes
 * the same bytes.
 */
#ifndef SEEDGEN_H
#define SEEDGEN_H

#include <stddef.h>
#include <stdint.h>

/* Adds the next seed; its file is `<NNN>-<slug>`, counted from 000 in each set.
 * set is "" for the main set or a suffix such as "-min". The bytes are copied. */
void seed_add(const char *set, const void *d, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Supplied by the target's generator. */
extern const char seed_target[];
void seeds_generate(void);

#endif
