/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_MODEL_TARGET_H
#define REPORT_MODEL_TARGET_H

#include <jansson.h>

#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

/* What triage said of a target's inputs, as counts of distinct contents. */
struct target_counts {
    int64_t crashes, ooms, timeouts; /* reproduced, at least once; crashes: every other class too */
    int64_t flaky;                   /* of those, reproduced in part */
    int64_t unreproduced_crashes, unreproduced_timeouts;
    int64_t artifacts; /* distinct contents */
    int64_t pending;   /* of those, without a result */
    int64_t unsaved;   /* files whose bytes could not be kept */
};
void target_count(const char *target, const struct result_row *results, size_t n_results,
                  const struct artifact_row *artifacts, size_t n_artifacts,
                  struct target_counts *ret);

/* The class an input showed: that of its runs when it is "flaky". Points into detail or the row. */
const char *target_shown_class(const struct result_row *r, const json_t *detail);

/* One member of "targets". New reference. */
json_t *model_target(const struct target_row *t, const struct target_counts *c, int64_t now_ms);

#endif
