/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORACLE_VERDICT_H
#define ORACLE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/*
 * The verdict of a run from the facts. Pure. clean needs everything of every target; what stands in its way has a word of its own. When several hold, the
 * word that must not be overlooked wins, in this order:
 *
 *   findings         an input that reproduces, in whole or in part, or a crash that does not, or a seed that fails
 *   failed-to-start  a target never fuzzed, and nobody stopped it before its turn
 *   interrupted      stopped by a user, or the host went: what is missing says nothing about the code
 *   vacuous          it ran and proves nothing: no executions, no edges above those of a rejected input, required
 *                    reach ids not seen, or either of the two not measurable
 *   degraded         it ran with a loss: instances given up, artifacts not triaged or not kept, seeds or programs changed, or a
 *                    target was skipped because one that it waits for did not end clean
 *   clean            none of these
 */
enum verdict {
    VERDICT_NONE,
    VERDICT_CLEAN,
    VERDICT_FINDINGS,
    VERDICT_VACUOUS,
    VERDICT_FAILED_START,
    VERDICT_DEGRADED,
    VERDICT_INTERRUPTED
};

struct verdict_target {
    const char *name;
    const char *end_reason;                       /* as in target_row; NULL: still running */
    bool started;                                 /* an instance fuzzed at least once */
    const char *start_failure;                    /* words of the failure, or NULL */
    const char *skipped;                          /* why it was never started on purpose, or NULL */
    int64_t execs_done, edges_found, edges_floor; /* floor -1: not measured */
    int64_t findings;       /* distinct inputs that reproduce, or crash/oom inputs that do not */
    int64_t findings_flaky; /* of those, reproduced in part */
    int64_t unreproduced_crashes;  /* of those, reproduced not once */
    int64_t unreproduced_timeouts; /* kept and listed; do not block clean */
    int64_t seeds_total, seeds_failed,
        seeds_left;        /* run once before fuzzing; left: not run in time */
    bool seeds_left_out;   /* afl-fuzz did not get those that failed */
    const char *seeds_why; /* why they could not all be run, or NULL */
    bool
        sweep_due; /* its queues should have been run in the sanitizer build to the end, and were not */
    int64_t sweep_left;    /* entries, as far as known */
    const char *sweep_why; /* why they were not, or NULL */
    int64_t corpus_failed; /* inputs of seeds and queues that fail when replayed */
    int64_t pending;       /* not triaged */
    int64_t unsaved;       /* files whose bytes could not be kept */
    int64_t lost;          /* files of afl-fuzz that stayed empty */
    bool seeds_changed, seeds_unknown;
    struct strv programs_changed; /* roles of those that are other files at its end */
    bool reach_judged;            /* has a required list */
    bool reach_failed;            /* it could not be measured */
    struct strv reach_missing;
    int instances_given_up; /* by the circuit breaker */
    bool saturated;         /* no pending favoured entry and no new edge in the last half */
};
struct verdict_facts {
    const struct verdict_target *targets;
    size_t n_targets;
    bool interrupted; /* stopped by a user, or the host went */
    const char *interrupted_why;
    bool
        evidence_lost; /* beyond the targets' own unsaved files: what was recorded cannot be trusted */
};
/*
 * reasons (an empty list of the caller's): one sentence each, the deciding ones first, then whatever else stands in
 * the way of clean, then notes that do not.
 */
enum verdict verdict_of(const struct verdict_facts *f, struct strv *ret_reasons);
const char *verdict_name(enum verdict v);     /* "clean", ... NULL for NONE */
enum verdict verdict_parse(const char *name); /* NONE when unknown or NULL */
int verdict_exit_code(enum verdict v);        /* of base/exitcode.h; EXIT_ERROR for NONE */

#endif
