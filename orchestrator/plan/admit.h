/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ADMIT_H
#define PLAN_ADMIT_H

#include "plan/plan.h"

/*
 * Admission: can this afl-fuzz drive the programs of a target, and does the host have the cores? Every fault names the spec's line. Source: AFL++
 * src/afl-fuzz-init.c check_binary (what it refuses by itself, less clearly).
 */
void admit_target(const struct spec *spec, const struct spec_target *t, const struct aflprobe *afl,
                  const struct plan_host *host, struct spec_faults *faults);

#endif
