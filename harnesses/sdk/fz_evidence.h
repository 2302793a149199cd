/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a failed run proves: from what it wrote on stderr and how it ended.
 */
#ifndef FZ_EVIDENCE_H
#define FZ_EVIDENCE_H

#include <stddef.h>

struct fz_verdict {
    const char *class; /* "pass" or a class of failure; static */
    char inv[64];      /* id of the invariant, "" = none */
    char detail[256];  /* what the FZ-FAIL line or the report says, "" = nothing */
    int signo;         /* the signal that ended the run, 0 = none */
    double ms;         /* wall time */
};

/*
 * Judges a run that did not pass. Evidence in this order: a FZ-FAIL line, a
 * sanitizer report, text of glibc or the stack protector, the signal. text is
 * what the run wrote (n bytes, not terminated).
 */
void fz_evidence_judge(const char *text, size_t n, int signo, struct fz_verdict *v);

#endif
