/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_JOB_STABILITY_H
#define CORPUS_JOB_STABILITY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/*
 * "shuffle", a job of fuzz-triage: the stability of what a target leaves, in the harness build. Looked at is the corpus that is kept for the
 * next run, where there is one, else the queues of all instances. Answer: {"ok", and what stability_json says with the first
 * JOB_STABILITY_TOLD findings and edges, "kept": whether it was the kept corpus, "folder": of that one, which names leave out}; "inputs" 0 when there are none.
 */
#define JOB_STABILITY_MS   INT64_C(60000) /* of the work, at most */
#define JOB_STABILITY_TOLD 20

/* Whether there is a harness that AFL++ built. */
bool job_stability_applies(const struct plan *plan, const struct plan_target *t);
/* New reference. budget_ms: for the work. */
json_t *job_stability_make(const struct plan *plan, const struct plan_target *t,
                           const char *state_dir, int64_t budget_ms);
/* As job_run: blocking, never NULL. */
json_t *job_stability_run(const json_t *job);

#endif
