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
    int64_t lost;      /* files that stayed empty */
    int64_t maybe_cut; /* inputs of whole pages that were saved around the time of a lost one */
};
/* All of one run. */
struct target_rows {
    const struct result_row *results;
    const struct artifact_row *artifacts, *lost;
    size_t n_results, n_artifacts, n_lost;
};
void target_count(const char *target, const struct target_rows *rows, struct target_counts *ret);

/* The class an input showed: that of its runs when it is "flaky". Points into detail or the row. */
const char *target_shown_class(const struct result_row *r, const json_t *detail);

/* One member of "targets". New reference. */
json_t *model_target(const struct target_row *t, const struct target_counts *c,
                     const struct target_rows *rows, int64_t now_ms);

#endif
