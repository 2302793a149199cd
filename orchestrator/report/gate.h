/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_GATE_H
#define REPORT_GATE_H

#include <stddef.h>
#include <systemd/sd-event.h>

#include "report/finish.h"

/*
 * The verdict of one target while its campaign goes on, for those that wait for it: measured and judged as at the end of
 * the run, but nothing is written. To be started when the target has ended and none of its inputs is on its way through triage.
 */
struct gate;
/* words: the verdict and, where it is not clean, its first reason. Called once, from the loop; it may free the gate. */
typedef void gate_fn(void *ctx, size_t target, enum verdict verdict, const char *words);

/* All borrowed for the life of the gate but facts, whose text is copied. 0 or -errno. */
int gate_start(sd_event *loop, struct db *db, struct queue *q, const struct plan *plan,
               size_t target, const struct finish_facts *facts, gate_fn *done, void *ctx,
               struct gate **ret, struct err *err);
void gate_free(struct gate *g); /* no callback */

#endif
