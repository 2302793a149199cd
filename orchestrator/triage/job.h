/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_JOB_H
#define TRIAGE_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "plan/plan.h"
#include "store/results.h"

/*
 * What fuzzd asks of fuzz-triage: one JSON object on its standard input, one JSON object as the answer on standard
 * output, one process a job. A crash of it, or no answer in time, costs that job only. Kinds:
 *   "input"  replay one artifact, classify, sign                 -> struct job_result
 *   "reach"  the kit's replay --reach over seeds and queues      -> {"reach":{id:count,...}}
 *   "floor"  edges of one trivially rejected input (afl-showmap) -> {"edges":n}
 *   "seeds"  tree hash of the seeds folder                       -> {"sha256":"...","n":n}
 *   "bundle" makes STATE/bundles/BUCKET.tar.zst                  -> {"path":"..."}
 * Every answer has "ok": true, or false with "error": text.
 */
json_t *job_input_make(const struct plan *plan, const struct plan_target *t, const char *blob,
                       const char *sha256, const char *artifact_kind, const char *file_name,
                       int runs);
json_t *job_reach_make(const struct plan *plan, const struct plan_target *t);
json_t *job_floor_make(const struct plan *plan, const struct plan_target *t);
json_t *job_seeds_make(const struct plan *plan, const struct plan_target *t);
json_t *job_bundle_make(const char *state_dir, const char *run, const char *bucket);
/* Wall time after which fuzz-triage may be killed for this job: a bound over all its runs, milliseconds. */
int64_t job_deadline_ms(const json_t *job);

/* Runs one job to its end (blocking); the whole of fuzz-triage but its main. Never NULL: a failure is an answer with ok false. New reference. */
json_t *job_run(const json_t *job);

/* An "input" answer as a row (bounded and checked; run, target and sha256 are taken from the arguments, not from the answer). 0 or -EBADMSG. */
int job_result_parse(const json_t *answer, const char *run, const char *target, const char *sha256,
                     struct result_row *ret, struct err *err);

#endif
