/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_OUTDIR_H
#define FARM_OUTDIR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The folder of an instance made fit for a resume. afl-fuzz aborts over a state file it cannot read, at every start anew, and
 * takes a folder without fuzzer_stats for one to be emptied. What it would stumble over is moved into OUTDIR_ASIDE, never
 * deleted; the queue stays and is made whole when a resume was cut off.
 *
 * Source: AFL++ src/afl-fuzz-init.c: handle_existing_out_dir, pivot_inputs, nuke_resume_dir.
 */
#define OUTDIR_ASIDE "set-aside" /* below the instance's folder; names begin with the time */

/*
 * Before a start. out_dir lies below state_dir, from which on no link is followed. strict: afl-fuzz has refused the folder, so that all
 * it does not need goes aside, not only what is known to be unfit. told gets the names that were moved, "" for none.
 * 0 also when out_dir is missing; -ELOOP when a folder of it is a link; -ENOSPC or another -errno: do not start.
 */
int outdir_mend(const char *state_dir, const char *out_dir, bool strict, char *told,
                size_t told_size);

/*
 * Moves queue and sync marks of the folder before into out_dir, which is there and has no queue of its own; the rest stays. A resume that was cut
 * off there is made whole first. May be done again at any time: what has been moved is not looked for. 0, -ELOOP, -errno.
 */
int outdir_take_over(const char *state_dir, const char *before, const char *out_dir);

/* Whether afl-fuzz can read the start of a fuzzer_stats at a resume. text ends with NUL. */
bool outdir_stats_usable(const char *text);

#endif
