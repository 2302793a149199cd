/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_MEASURE_H
#define REPORT_MEASURE_H

#include <jansson.h>
#include <stdbool.h>

#include "plan/plan.h"
#include "report/judge.h"

/* What is measured of a target once it has ended: which jobs that takes, and what their answers mean. */
enum measure { MEASURE_SEEDS, MEASURE_FLOOR, MEASURE_REACH, MEASURE_COUNT };

/* Whether it can be measured at all: reach needs the kit or a list of required ids. */
bool measure_applies(enum measure what, const struct plan_target *pt);
/* The job for fuzz-triage; new reference. */
json_t *measure_job(enum measure what, const struct plan *plan, const struct plan_target *pt);
/* The answer into t, where it is an error into the error of that measurement. */
void measure_take(enum measure what, struct judge_target *t, const json_t *answer);
/* Why an answer is of no use. Caller frees. */
char *measure_error(const json_t *answer);

#endif
