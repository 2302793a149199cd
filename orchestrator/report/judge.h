/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_JUDGE_H
#define REPORT_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "oracle/verdict.h"
#include "plan/plan.h"
#include "store/db.h"

/* From rows and measurements to the verdicts of a run and of its targets, and back into the rows. */

/* What was found out about one target besides its rows. */
struct judge_target {
    bool started;
    char *start_failure; /* NULL none */
    char *skipped;       /* why it was never started, NULL none */
    int instances_given_up;
    bool saturated;
    json_t *end;   /* of what was done at its end, by key: see report/endjobs.h; NULL none */
    json_t *sweep; /* see farm/sweep.h, NULL none */
    /* measured at the end; *_error tells why not */
    bool measured; /* reach and floor were asked for */
    json_t *reach; /* {id:count}, NULL none */
    char *reach_error;
    int64_t corpus_failed; /* inputs of seeds and queues that failed meanwhile */
    int64_t edges_floor;   /* -1 none */
    char *floor_error;
    char *seeds_sha256, *seeds_error;
    json_t *programs_changed; /* roles, NULL none */
};
void judge_target_clear(struct judge_target *t);

struct judge {
    struct db *db;
    const struct plan *plan;
    struct judge_target *targets; /* in the plan's order */
    bool interrupted;
    const char *interrupted_why;
};

/*
 * Draws the verdicts and writes them, in one transaction: verdict and reasons into the run's row, measurements and each target's own
 * verdict into its row. The run's state is left as it is. 0 with *ret_verdict and reasons added, or -errno with nothing changed.
 */
int judge_run(const struct judge *j, enum verdict *ret_verdict, struct strv *ret_reasons,
              struct err *err);

/* The verdict of target i alone, as judge_run would draw it now. Nothing is written. 0 or -errno. */
int judge_target(const struct judge *j, size_t i, enum verdict *ret_verdict,
                 struct strv *ret_reasons, struct err *err);

/* Sets the run's row to "ended" with these reasons. 0 or -errno. */
int judge_close(struct db *db, const struct plan *plan, enum verdict verdict,
                const struct strv *reasons, struct err *err);

#endif
