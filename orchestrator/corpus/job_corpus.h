/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_JOB_CORPUS_H
#define CORPUS_JOB_CORPUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/*
 * The two jobs of fuzz-triage that hand a corpus from one run to the next; registered by its main with job_set_fn.
 *
 * "start" is "replay" of triage/job.h, and then: what passed and what the last run kept (keptdir.h) is distilled in the harness build into
 * dir/start/, which afl-fuzz begins with, and its speed is measured. What crashes or hangs in that build is put aside with the other seeds that
 * fail. The answer of "replay" with
 *   "start": {"files": in dir/start (0: there is none, "why" tells), "edges", "kept": files of the last run, "kept_failed", "kept_damaged",
 *     "slowest_us": of the chosen, each by the median of "rounds" runs, "distilled": false where there was no time, "why": words or null}
 * and, where no client of the fork-server protocol could talk to the harness build, "refused": words.
 *
 * "keep" distills what the last run kept, the start corpus and the queues of all instances, and leaves it to the next run. What it
 * leaves covers no edge less than what was there; by a harness that does no more with any input than with one that it rejects, all that was there
 * stays. Without the time for that it leaves all of it, up to a bound. Answer:
 *   {"ok", "files", "bytes", "edges", "before": {"files", "edges"}, "inputs": looked at, "aside": that fail or vary, "damaged",
 *    "distilled": bool, "why": words or null}
 */
bool corpus_start_applies(const struct plan_target *t);
/* Makes a "start" of a "replay" (whose reference is taken and returned). kept: see corpus_kept_path, NULL none. */
json_t *corpus_start_make(json_t *replay, const struct plan *plan, const struct plan_target *t,
                          const char *kept);
json_t *corpus_start_run(const json_t *job);

bool corpus_keep_applies(const struct plan *plan, const struct plan_target *t);
json_t *corpus_keep_make(const struct plan *plan, const struct plan_target *t,
                         const char *state_dir, int64_t budget_ms);
json_t *corpus_keep_run(const json_t *job);

/* Where the corpus of that target is kept; NULL where the plan says that none is. Caller frees. */
char *corpus_kept_path(const struct plan *plan, const struct plan_target *t, const char *state_dir);

#endif
