/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch mode, for the AFL++ main: inputs from a ring that the engine of fuzzctl shares with us.
 */
#ifndef FZ_BATCH_H
#define FZ_BATCH_H

#include <stdbool.h>

/* Whether the engine started us. */
bool fz_batch_wanted(void);

/* Serves the engine until it is gone. Call after fz_start(), instead of the fork server. Returns the
 * exit status of the program. */
int fz_batch_main(void);

#endif
