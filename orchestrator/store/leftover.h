/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LEFTOVER_H
#define STORE_LEFTOVER_H

/*
 * Half-written files that a killed process of ours left below a state directory, beside_sweep_writes: for who holds its lock,
 * and writes none meanwhile. No link is followed; what cannot be looked at or removed stays.
 */

/* In the cache and in the newest folder of each campaign: the one whose row may not have been written any more. */
void leftover_sweep_state(const char *state_dir);
/* In the folder of one run, of its report and of its instances. */
void leftover_sweep_run(const char *state_dir, const char *run_dir);

#endif
