/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_QUEUE_H
#define TRIAGE_QUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "base/err.h"
#include "sys/cgroup.h"

/*
 * fuzzd's line of jobs for fuzz-triage: one process at a time, each in the triage cgroup of low weight, killed at its deadline. A job whose
 * process dies or answers nonsense is tried once more, then answered with ok false.
 */
struct queue;
typedef void queue_fn(void *ctx,
                      const json_t *answer); /* borrowed; never NULL; may push further jobs */

/*
 * program: path of fuzz-triage. record: file that names the working folder of the running job, below the state directory whose lock the caller
 * holds; one that a killed daemon left is removed. NULL: none. cg (borrowed, may be NULL): entered by each process.
 */
int queue_new(sd_event *loop, const char *program, const char *record, struct cgroup *cg,
              struct queue **ret, struct err *err);
void queue_free(struct queue *q); /* kills what runs; no callback is called */

/*
 * Adds a job (takes the reference). wait_core: held back until queue_set_free_core(true) or queue_release(owner): timeouts are confirmed when a core is free
 * or the target has ended. owner names a run for queue_pending, queue_release and queue_drop.
 */
void queue_push(struct queue *q, json_t *job, const void *owner, bool wait_core, queue_fn *fn,
                void *ctx);
void queue_set_free_core(struct queue *q, bool free_core);
void queue_release(struct queue *q, const void *owner);
size_t queue_pending(const struct queue *q,
                     const void *owner); /* waiting and running; owner NULL: all */
/* Something of that owner (NULL: of any) runs, or could run now but for what runs: not what waits for a core. */
bool queue_busy(const struct queue *q, const void *owner);
/* Forgets an owner's jobs (no callback), killing a running one. */
void queue_drop(struct queue *q, const void *owner);

#endif
