/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_JOB_SWEEP_H
#define TRIAGE_JOB_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/*
 * "sweep": what is new in the queues of a target, once through its sanitizer build. A job is of bounded size: it ends after budget_ms, at
 * JOB_SWEEP_FAILURES, or at the first entry that seems to hang, and says what is left. An entry that fails is copied to
 * SYNC_DIR/SWEEP/{crashes,hangs}/INSTANCE,NAME before the record of what was run speaks of it, so that a job that is killed loses nothing.
 *
 * A crash counts when it is seen; a SIGKILL (memory) and the loss of the server when they repeat in a fresh one; a timeout when it repeats
 * with JOB_SAN_SLOWNESS times hang_timeout and the patience of a replay; without the latter once a few hangs are kept.
 *
 * Answer: {"ok", "total": entries there are, "swept": different contents that were run, so far, "left": entries still to do, "failed": different
 *   contents that failed, so far, "alike": those of them that were not put aside, as enough of the same signature were, "stored": put aside by this
 *   job, "too_large": entries over what a fork server takes, not run, "started": the program came up, "no_space": bool,
 *   "why": words or null: why some could not be run}.
 */
#define JOB_SWEEP_INSTANCE "sweep"
#define JOB_SWEEP_FAILURES 16
#define JOB_SWEEP_MS       3000

/* Whether there is anything to sweep with. */
bool job_sweep_applies(const struct plan_target *t);
/* last: nothing of the target fuzzes any more, so that all free cores may be used. New reference. */
json_t *job_sweep_make(const struct plan *plan, const struct plan_target *t, const char *state_dir,
                       bool last);
int64_t job_sweep_deadline_ms(const json_t *job);
json_t *job_sweep_run(const json_t *job);

#endif
