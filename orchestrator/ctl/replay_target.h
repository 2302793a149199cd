/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_REPLAY_TARGET_H
#define CTL_REPLAY_TARGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "spec/spec.h"

/* What fuzzctl replay does with one target, and the forms of what comes of it. */

/*
 * Runs the target's seeds and regressions through its replay build, else its harness, and makes its part of the document:
 *   {"name","spec","program","passed","failed","left","ms",
 *    "inputs":[{"file","class","inv","detail","signal","ms","again"}],
 *    "errors":[text],"reach_required":[id],"reach_missing":[id],"reach":{id:count}}
 * again is there where an input failed. "failed" counts a start-up self-test that fails, too. faults are those of the spec's file, spec_path
 * as the user wrote it; those of this target's programs and seeds become its errors. timeout_ms 0: the target's own, else the kit's. New reference.
 */
json_t *replay_target(const struct spec *spec, const struct spec_target *t,
                      const struct spec_faults *faults, const char *spec_path, int64_t timeout_ms);

/* True for a fault that stands in the way of a replay as a whole: not one of a program that replay does not run, nor of a target's own paths. */
bool replay_fault_counts(const struct spec_fault *f);

/*
 * An id that one target of the document reaches is reached for all that require the same ids: a build with few seeds of its own stands
 * beside the one with all of them.
 */
void replay_share_reach(json_t *targets);

/* One line a failure and error; a line of figures a target unless quiet. */
void replay_print_text(const json_t *target, bool quiet, FILE *out);
/* The whole document as JUnit XML. Source: the Apache Ant JUnit schema, as Jenkins, GitLab and pytest read and write it. */
void replay_print_junit(const json_t *doc, FILE *out);

#endif
