/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_CLASSIFY_H
#define TRIAGE_CLASSIFY_H

#include "triage/replay.h"

/* Where a verdict comes from; a higher one wins over a lower one when two builds disagree. */
enum evidence {
    EVIDENCE_NONE,
    EVIDENCE_LIMIT,     /* time or another limit ended the run */
    EVIDENCE_EXIT,      /* an exit code that the target's environment calls a crash */
    EVIDENCE_PARENT,    /* what ran it was killed or stopped */
    EVIDENCE_SIGNAL,    /* a signal and nothing else */
    EVIDENCE_LIBC,      /* text of glibc, an assertion or a panic */
    EVIDENCE_SANITIZER, /* a sanitizer's report */
    EVIDENCE_KIT        /* the harness's own FZ-FAIL line */
};

/*
 * One run's class and signature, by evidence in this order: FZ-FAIL line > sanitizer report > glibc and stack-protector text > signal.
 * Pure: text and status in, words out. A run that ends with exit code 0 has nothing wrong, whatever it printed.
 */
struct verdict_of_run {
    char class_
        [24]; /* "none" (nothing wrong), "crash","oom","timeout","invariant","limit","determinism","internal" */
    char kind[96];       /* "C3", "heap-buffer-overflow READ", "SIGSEGV" */
    char signature[512]; /* "" when none; what equal bugs share, stable over builds */
    char why[256];       /* which rule made it */
    char marker
        [192]; /* words on stderr by which this failure is told, of EVIDENCE_EXIT the code; "" none */
    int severity; /* 1..5, 0 none */
    enum evidence evidence;
};
const char *evidence_name(
    enum evidence e); /* "kit", "sanitizer", "libc", "signal", "parent", "exit", "limit", "none" */
/* build_id: of the program that ran, hex, "" when it has none; only unsymbolised signatures use it. */
void classify_run(const struct replay_run *run, const char *target, const char *build_id,
                  struct verdict_of_run *ret);

#endif
