/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_USAGE_H
#define FARM_USAGE_H

#include <stdint.h>

/*
 * The bytes of a growing tree, counted a slice at a time, so that no call takes long however many files there are. Blocks are counted, as
 * du(1) does; a file of several names counts in parts. No link is followed and no mount is entered.
 */
struct usage;

/* path is copied; a folder that is not there yet counts 0. */
struct usage *usage_new(const char *path);
void usage_free(struct usage *u);
/* Goes on counting for at most slice_ms (one entry more). A pass that has ended is begun anew pause_ms after that, or ten times as long as it took. */
void usage_step(struct usage *u, int64_t now_ms, int64_t slice_ms, int64_t pause_ms);
/* Of the last complete pass; -1 when there was none. */
int64_t usage_bytes(const struct usage *u);
/* Forgets what was counted; the next pass begins at at_ms. */
void usage_restart(struct usage *u, int64_t at_ms);

#endif
