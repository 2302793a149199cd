/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replay program; harnesses/README.md describes its output.
 */
#ifndef FZ_REPLAY_H
#define FZ_REPLAY_H

/* Exit status of a replay program. */
enum { FZ_REPLAY_CLEAN = 0, FZ_REPLAY_FAILED = 1, FZ_REPLAY_ERROR = 2, FZ_REPLAY_NO_INPUTS = 3 };

/* Runs the command line and returns the exit status. */
int fz_replay_main(int argc, char **argv);

#endif
