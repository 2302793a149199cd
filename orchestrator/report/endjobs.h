/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_ENDJOBS_H
#define REPORT_ENDJOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/*
 * What is done for each target that fuzzed once its triage is over and before it is judged: jobs of fuzz-triage, one kind after the other, in the
 * order of the table. An answer goes into the target's extra as it is, under key; a failure is {"why": words}. None of them is part of the
 * verdict. A further kind is a row.
 */
struct endjob {
    const char *key; /* of the report's target */
    bool (*applies)(const struct plan *plan, const struct plan_target *t);
    /* New reference. budget_ms: for the work itself; a run that was stopped has little. */
    json_t *(*make)(const struct plan *plan, const struct plan_target *t, const char *state_dir,
                    int64_t budget_ms);
};
extern const struct endjob endjobs[];
extern const size_t endjobs_count;

#define ENDJOB_BUDGET_MS INT64_C(600000) /* of one, in a run that was not stopped */

/* An answer as it is kept. New reference. */
json_t *endjob_result(const json_t *answer);

#endif
