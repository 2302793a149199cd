/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_KITRUN_H
#define TRIAGE_KITRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "triage/replay.h"

/*
 * Many inputs in one run of a program of the harness kit: it replays each in a child of its own and prints a line of
 * JSON for each. Lines are taken as they come, so that a program that hangs is known by its silence and not by
 * the sum of all time limits.
 * Source: harnesses/README.md, "Replay".
 */
#define KITRUN_FILES     256   /* in one run */
#define KITRUN_TIMEOUT   5000  /* of one input, milliseconds: the kit's own */
#define KITRUN_SILENT_MS 10000 /* beside the time of one input: then it hangs */

struct kitrun_line {
    char class_[24]; /* "pass", "invariant", ... */
    char inv[96];    /* "" none */
    char detail[256];
    int signal; /* 0 none */
    double ms;
};
typedef void kitrun_fn(void *ctx, size_t i, const struct kitrun_line *line);

struct kitrun {
    const struct replay_program *prog; /* kit; timeout_ms 0: KITRUN_TIMEOUT */
    const char *const *paths;
    size_t n;            /* at most KITRUN_FILES */
    int64_t deadline_ms; /* monotonic: stopped there, 0 none */
    kitrun_fn *fn;
    void *ctx;
};
struct kitrun_end {
    size_t done;     /* results told, in the order of paths */
    bool late;       /* stopped at the deadline */
    bool lost;       /* it was killed or stopped, maybe by the next input */
    bool self_test;  /* it failed before the first input, by its own words */
    char words[512]; /* of its FZ-FAIL line then, or the last line on stderr; "" none */
};
/*
 * Blocking. 0 with every result told or late; -ENOENT, -errno: it cannot be run; -ECHILD: it ended before its time, -ETIME: it fell silent,
 * -EPROTO: it printed what is no result; -ECANCELED, by prog->cancel. *ret is filled in each case.
 */
int kitrun(const struct kitrun *k, struct kitrun_end *ret, struct err *err);

#endif
