/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kit's own interface, between its mains and its parts. Targets do not
 * include it.
 */
#ifndef FZ_KIT_H
#define FZ_KIT_H

#include "sdk/fz.h"

/* Reads the environment and runs the target's self-test. Call once, before the
 * fork server starts; dies by SIGTRAP when the self-test fails. */
void fz_start(void);

/* Runs one input as every main does: cut to FZ_INPUT_MAX, INV-LEAK, and with
 * FZ_TWICE a second time for INV-STATE. */
void fz_run(const uint8_t *d, size_t n);

/* Whether fz_run runs each input twice; replay turns it on unless FZ_TWICE=0. */
void fz_twice_default(bool on);

/* How fz_fail ends the process; NULL = the class signal with its default action. */
extern void (*fz_die_hook)(int signo);

/* Is given the line of a failure after it was written to stderr; NULL = nobody. */
extern void (*fz_line_hook)(const char *line, size_t n);

/* The class whose name begins text and ends at a blank; NULL = unknown. */
const char *fz_class_find(const char *text, size_t n);

/* Marks the coverage cell of a failure id. */
void fz_cell_mark_failure(const char *id);

/* Reach counters: how many sites, the id of one, where to count. Sites of one id
 * share the counter of the first; the others stay 0. */
size_t fz_reach_site_count(void);
const char *fz_reach_site_id(size_t i);
size_t fz_reach_site_first(size_t i);
void fz_reach_count_into(uint64_t *counts);

/* Forgets what was noted of an input. */
void fz_note_reset(void);

/* Clears what an input may leave in the allocator's books. */
void fz_alloc_reset(void);

#endif
