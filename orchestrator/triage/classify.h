/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_CLASSIFY_H
#define TRIAGE_CLASSIFY_H

#include "triage/replay.h"

/*
 * One run's class and signature, by evidence in this order: FZ-FAIL line > sanitizer report > glibc and stack-protector text > signal.
 * Pure: text and status in, words out.
 */
struct verdict_of_run {
    char class_
        [24]; /* "none" (nothing wrong), "crash","oom","timeout","invariant","limit","determinism","internal" */
    char kind[96];       /* "C3", "heap-buffer-overflow READ", "SIGSEGV" */
    char signature[512]; /* "" when none; what equal bugs share, stable over builds */
    char why[256];       /* which rule made it */
    int severity;        /* 1..5, 0 none */
};
void classify_run(const struct replay_run *run, const char *target, const char *program_path,
                  struct verdict_of_run *ret);

#endif
