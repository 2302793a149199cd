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
 *   "input"  replay one artifact, classify, sign                 -> the columns of struct result_row
 *   "reach"  the kit's replay --reach over seeds and queues      -> {"reach":{id:count,...},"failed":n}
 *   "floor"  edges of one trivially rejected input               -> {"edges":n}
 *   "seeds"  tree hash of the seeds folder, and which programs are not those of the plan
 *                                                                -> {"sha256":"...","n":n,"changed":[role,...]}
 *   "sweep"  queue entries through the sanitizer build           -> see triage/job_sweep.h
 *   "start", "keep": the corpus at a run's begin and end         -> see corpus/job_corpus.h
 *   "shuffle" stability of what a run leaves                     -> see corpus/job_stability.h
 *   "bundle" makes STATE/bundles/BUCKET.tar.zst                  -> {"path":"..."}
 * failed counts the seeds that fail in the program, or, when none does, the queue entries.
 * A job with "user": name runs its programs as that user (sys/drop.h).
 * Every answer has "ok": true, or false with "error": text.
 *
 * An "input" answer's "detail" is an object:
 *   {"class","kind","program","runs":[{"program","status","class","kind","ms","cpu_ms","starved"}],
 *    "programs":[{"role","path","sha256","build_id"}],
 *    "replay":{"program","path","args":[...,"@@",...],"stdin":bool,"env":["A=b"],"command":"A=b /path --one /blob",
 *              "kit","sanitizer","timeout_ms","memory_bytes","address_space_limit"},
 *    "expect":{"class","kind","signal":n,"evidence","marker"}}
 * marker is the text on stderr that tells this failure, "" when only the signal does.
 * class in it is what the runs showed ("crash"), where the row's class may be "flaky".
 */
#define JOB_RUNS         3         /* default number of runs of each program */
#define JOB_MAX_BYTES    (4 << 20) /* of a job's or an answer's text */
#define JOB_REPORT_MAX   65536     /* of "report" */
#define JOB_SAN_SLOWNESS 3         /* a sanitizer build gets that much more time */

#define JOB_SEEDS_MS   20000 /* for all seeds of a target, before it is fuzzed */
#define JOB_SEEDS_TOLD 100   /* failing seeds that are named */

/*
 * runs 0: JOB_RUNS. artifact_kind "crash" or "hang"; file_name as AFL++ gave it; oom_kills of the target so far, which
 * tells what a SIGKILL was that no replay shows. Each returns a new reference.
 */
json_t *job_input_make(const struct plan *plan, const struct plan_target *t, const char *blob,
                       const char *sha256, const char *artifact_kind, const char *file_name,
                       int runs, int64_t oom_kills);
json_t *job_reach_make(const struct plan *plan, const struct plan_target *t);
json_t *job_floor_make(const struct plan *plan, const struct plan_target *t);
json_t *job_seeds_make(const struct plan *plan, const struct plan_target *t);
/*
 * The seeds of a target before it is fuzzed; dir (absolute, below state_dir): where what comes of it is put. Answer: {"ok",
 *   "total": files in the folder, "passed", "failed", "left": not run in the time there was, "unreadable": n,
 *   "remaining": seeds that afl-fuzz can begin with, "program": role, "self_test": words or null,
 *   "why": words or null: why some could not be run or what failed not be put aside, "aside": it was put aside,
 *   "failures": [{"file","class","inv","detail"}] (at most JOB_SEEDS_TOLD)}.
 * With failures there is dir/found/{crashes,hangs}/ with a copy of each that failed and dir/in/ with the others.
 */
json_t *job_replay_make(const struct plan_target *t, const char *state_dir, const char *dir);
json_t *job_bundle_make(const char *state_dir, const char *run, const char *bucket);
/* Has the programs of the job run as the plan's user, if it names one. Returns job. */
json_t *job_for_user(json_t *job, const struct plan *plan);
/* Wall time after which fuzz-triage may be killed for this job: a bound over all its runs, milliseconds. */
int64_t job_deadline_ms(const json_t *job);

/* Runs one job to its end (blocking); the whole of fuzz-triage but its main. Never NULL: a failure is an answer with ok false. New reference. */
json_t *job_run(const json_t *job);

/* How "bundle" jobs are done; bundle/ is of a higher rank, so the main hands it in. ret_path: caller frees. */
typedef int job_bundle_fn(const char *state_dir, const char *run, const char *bucket,
                          char **ret_path, struct err *err);
void job_set_bundle_fn(job_bundle_fn *fn);

/* Further kinds of jobs, of modules of a higher rank; fn answers as job_run does. At most 8. */
typedef json_t *job_fn(const json_t *job);
void job_set_fn(const char *kind, job_fn *fn);

/* {"ok":false,"error":text}. New reference. */
json_t *job_answer_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* An "input" answer as a row (bounded and checked; run, target and sha256 are taken from the arguments, not from the answer). 0 or -EBADMSG. */
int job_result_parse(const json_t *answer, const char *run, const char *target, const char *sha256,
                     struct result_row *ret, struct err *err);

#endif
