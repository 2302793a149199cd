/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_FINISH_H
#define REPORT_FINISH_H

#include "base/err.h"
#include "oracle/verdict.h"
#include "plan/plan.h"
#include "store/db.h"
#include "triage/queue.h"

/*
 * From the end of fuzzing to the end of the run: waits until the run's artifacts are triaged (at most triage_wait_ms when interrupted, else
 * without bound), has reach, floor and seeds measured, draws the verdict, stores it in the run's row, has bundles made, writes report/report.md and
 * report/report.json into the run's folder, and calls done. Everything goes through the queue: nothing here blocks.
 */
struct finish;
typedef void finish_fn(void *ctx, enum verdict verdict);

struct finish_facts { /* what only the farm knows, per target in the plan's order */
    bool started;
    const char *start_failure; /* borrowed during finish_start; NULL none */
    int instances_given_up;
    bool saturated;
};
/* All borrowed for the life of the finish but facts and interrupted_why (copied). owner is the queue owner of the run's "input" jobs. */
int finish_start(struct db *db, const char *state_dir, struct queue *q, const void *owner,
                 const struct plan *plan, const struct finish_facts *facts, bool interrupted,
                 const char *interrupted_why, int64_t triage_wait_ms, finish_fn *done, void *ctx,
                 struct finish **ret, struct err *err);
/* Tells that an "input" answer of the run was stored (the owner stores them), so that it can look whether triage is empty. */
void finish_poke(struct finish *f);
void finish_free(struct finish *f); /* no callback */

#endif
