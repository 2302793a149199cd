/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_JOB_INPUT_H
#define TRIAGE_JOB_INPUT_H

#include <jansson.h>

/* The kinds of jobs, as job_run calls them. Each returns an answer, never NULL; new reference. */
json_t *job_input_run(const json_t *job);
json_t *job_reach_run(const json_t *job);
json_t *job_floor_run(const json_t *job);
json_t *job_seeds_run(const json_t *job);
json_t *job_replay_run(const json_t *job);

#endif
