/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_REACH_H
#define TRIAGE_REACH_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Adds the counts in the output of one run with --reach to sum, {id: count}. False when there were none.
 * Source: harnesses/README.md, "Replay".
 */
bool reach_add(const char *out, json_t *sum);

#endif
