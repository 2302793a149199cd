/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_HOST_H
#define PLAN_HOST_H

#include "plan/plan.h"

/* Gathers what plan_build needs and cannot know by itself: the one place of this folder beside the two probes that looks at the host. */

/*
 * Facts for spec: CPUs, core_pattern, git, every program and seed folder the spec names. print_only makes the run "RUN" below
 * the campaign's folder; else run id and folder are new (nothing is created). 0 with *ret (plan_host_free), -errno.
 */
int plan_host_gather(const struct spec *spec, const char *state_dir, bool print_only,
                     struct plan_host **ret, struct err *err);
void plan_host_free(struct plan_host *host);
/* e_machine of the programs this host runs: that of our own; 0 unknown. */
int plan_host_machine(void);

/*
 * From a spec file to a plan: loads it, probes afl-fuzz (answer kept below STATE/cache where that can be written), gathers and builds.
 * Returns 0 with *ret_plan and *ret_spec (either may be NULL when not wanted); -EINVAL with *faults when the spec has any; -ENOPKG
 * when there is no afl-fuzz that answers as one; -errno with err otherwise. faults may hold warnings in any case; the caller clears
 * it. May take seconds; for fuzzctl, not for the daemon's loop.
 */
int plan_from_spec_file(const char *path, const struct spec_overrides *ov, const char *state_dir,
                        bool print_only, struct plan **ret_plan, struct spec **ret_spec,
                        struct spec_faults *faults, struct err *err);

#endif
