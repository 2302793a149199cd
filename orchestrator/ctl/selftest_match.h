/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_SELFTEST_MATCH_H
#define CTL_SELFTEST_MATCH_H

#include <stdbool.h>

#include "spec/spec.h"
#include "store/results.h"

/*
 * What triage said of an input, in the words of a plant's "allow": those of the harness kit. A crash of triage's is there told apart by
 * who saw it: memory:ASAN, arithmetic:UBSAN, memory:GLIBC, memory or trap by signal.
 */
struct selftest_word {
    char class_[24];
    char id[96];   /* "ASAN", "C3", "" none */
    char kind[96]; /* triage's own, which counts as an id, too */
    bool crash;    /* one of those that triage calls a crash */
};
void selftest_word_of(const struct result_row *r, struct selftest_word *ret);
/* Whether an allowed word names it. */
bool selftest_word_allowed(const struct selftest_word *w, const struct strv *allow);
/* "invariant:C3". Returns buf. */
char *selftest_word_text(const struct selftest_word *w, char *buf, size_t size);

/*
 * The rule of "replay = no": a crash that does not reproduce alone, with the signal by which an allowed class ends.
 * Source: harnesses/sdk/fz_fail.c.
 */
bool selftest_unreproduced_allowed(const struct result_row *r, const struct strv *allow);

/*
 * Executions of the instance and time since its start at which AFL++ saved a file, from its name; -1 where it does not say.
 * Source: AFL++ src/afl-fuzz-bitmap.c, describe_op.
 */
void selftest_file_cost(const char *file, int64_t *ret_execs, int64_t *ret_ms);

#endif
