/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_FINISH_H
#define REPORT_FINISH_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/err.h"
#include "oracle/verdict.h"
#include "plan/plan.h"
#include "store/db.h"
#include "triage/queue.h"

/*
 * From the end of fuzzing to the end of the run: waits until the run's artifacts are triaged (each step at most triage_wait_ms when
 * interrupted, else without bound), has the corpora kept and what else report/endjobs.h names, has reach, floor and seeds measured (an interrupted run: seeds only), draws the verdict of
 * the run and of each target, stores them in their rows, has a bundle made of each bucket, sets the run's row to "ended", writes
 * report/report.md and report/report.json into the run's folder, and calls done. Everything goes through the queue:
 * nothing here blocks. From finish_start on the run's and the targets' rows are written by nobody else.
 *
 * It adds to a target's extra: "verdict", "reach":{id:count}, "reach_required":[id], "reach_missing":[id], "reach_error", "corpus_failed",
 * "floor_error", "seeds_sha256", "seeds_changed", "seeds_error", "programs_changed", "saturated", "instances_given_up", "start_failure", "skipped".
 */
struct finish;
/* Rows that cannot be written (a full disk) are tried again for ever: see finish_trouble. */
typedef void finish_fn(void *ctx, enum verdict verdict);

struct finish_facts { /* what only the farm knows, per target in the plan's order */
    bool started;
    const char *start_failure; /* borrowed during finish_start; NULL none */
    const char *skipped;       /* why it was never started, borrowed as well; NULL none */
    int instances_given_up;
    bool saturated;
    json_t *sweep; /* see farm/sweep.h, NULL none; an own reference is taken */
};
/*
 * All borrowed for the life of the finish but facts and interrupted_why (copied). owner is the queue owner of the run's "input"
 * jobs, whose hold on a free core is released; those left after triage_wait_ms are dropped. done is called once, from the loop, never from
 * within a call of ours; it may free the finish.
 */
int finish_start(sd_event *loop, struct db *db, const char *state_dir, struct queue *q,
                 const void *owner, const struct plan *plan, const struct finish_facts *facts,
                 bool interrupted, const char *interrupted_why, int64_t triage_wait_ms,
                 finish_fn *done, void *ctx, struct finish **ret, struct err *err);
/* Tells that an "input" answer of the run was stored (the owner stores them), so that it can look whether triage is empty. */
void finish_poke(struct finish *f);
/*
 * Holds the wait for triage open: answers are there and cannot be stored, or jobs are to be run again, for the reason why
 * (copied), which is then the trouble of the finish; NULL lets go. An interrupted run waits no longer than for triage itself.
 * False when it waits no more. f NULL: there is nothing to hold yet, true.
 */
bool finish_hold(struct finish *f, const char *why);
/*
 * Holds it open as well, without that being a trouble: something other than triage, which may yet bring artifacts, is still at work.
 * f NULL: no-op.
 */
void finish_wait(struct finish *f, bool wait);
/*
 * A stop that comes when fuzzing is over: what is under way has wait_ms from now, and so has each step behind it. The run counts as
 * interrupted where triage was not over. Of two the shorter counts; f NULL: no-op.
 */
void finish_stop(struct finish *f, const char *why, int64_t wait_ms);
/* What the sweep of a target has come to meanwhile; j as in the facts. No-op once it is being judged. */
void finish_swept(struct finish *f, size_t target, json_t *j);
/* Why the rows cannot be written, borrowed until the next turn of the loop, and for how long that has been so; NULL when nothing is wrong. */
const char *finish_trouble(const struct finish *f, int64_t *ret_for_ms);
void finish_free(struct finish *f); /* no callback */

#endif
