/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_JOB_INPUT_H
#define TRIAGE_JOB_INPUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/forkserver.h"
#include "plan/plan.h"

/* The kinds of jobs, as job_run calls them. Each returns an answer, never NULL; new reference. */
json_t *job_input_run(const json_t *job);
json_t *job_reach_run(const json_t *job);
json_t *job_floor_run(const json_t *job);
json_t *job_seeds_run(const json_t *job);
json_t *job_replay_run(const json_t *job);

/* Edges of an input that any target rejects, one zero byte. 0, or -errno where it has no run that can be counted. */
int job_floor_edges(const struct forkserver_opts *program, size_t *ret_edges, struct err *err);

/* Of a job: a program of the target and what it is for. New reference. */
json_t *job_program_json(const char *role, const struct plan_program *p);
/* The limit a run must pass to be a timeout: the target's own, else twice its timeout, at least 1 s. */
int64_t job_hang_timeout_ms(const struct plan_target *t);

#endif
