/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORACLE_VERDICT_H
#define ORACLE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

/*
 * The verdict of a run from the facts. Pure. clean needs everything: every target ended as planned, executions, empty
 * triage, no finding, seeds unchanged, required reach seen, edges above the floor. Anything else has its own word and its reasons.
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
    int64_t execs_done, edges_found, edges_floor; /* floor -1: not measured */
    int64_t findings;       /* distinct inputs that reproduce, or crash/oom inputs that do not */
    int64_t findings_flaky; /* of those, reproduced in part */
    int64_t unreproduced_crashes;
    int64_t unreproduced_timeouts; /* kept and listed; do not block clean */
    int64_t pending;               /* not triaged */
    bool seeds_changed, seeds_unknown;
    bool reach_judged; /* has a required list */
    bool reach_failed; /* it could not be measured */
    struct strv reach_missing;
    int instances_given_up; /* by the circuit breaker */
    bool saturated;         /* no pending favoured entry and no new edge in the last half */
};
struct verdict_facts {
    const struct verdict_target *targets;
    size_t n_targets;
    bool interrupted; /* stopped by a user, or the host went */
    const char *interrupted_why;
    bool evidence_lost; /* an occurrence that could not be kept; verify differs */
};
/* reasons: one sentence each, the deciding one first. */
enum verdict verdict_of(const struct verdict_facts *f, struct strv *ret_reasons);
const char *verdict_name(enum verdict v);     /* "clean", ... NULL for NONE */
enum verdict verdict_parse(const char *name); /* NONE when unknown or NULL */
int verdict_exit_code(enum verdict v);        /* of base/exitcode.h */

#endif
