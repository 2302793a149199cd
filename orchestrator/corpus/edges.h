/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_EDGES_H
#define CORPUS_EDGES_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "engine/runner.h"

/* What inputs cover together of a program with a fork server, and which of them add to it. */
enum edges_end { EDGES_NOT_RUN, EDGES_OK, EDGES_CRASH, EDGES_TIMEOUT, EDGES_LOST, EDGES_ENDS };
/* "not run", "ok", "crash", "timeout", "lost" */
const char *edges_end_name(enum edges_end end);

struct edges_opts {
    struct forkserver_opts program;
    enum runner_engine engine; /* one that tells of coverage */
    const struct inputs *inputs;
    int jobs; /* servers; 0: one a core. With 1 inputs are run in their order, and "adds" is said in that order */
    const volatile sig_atomic_t *cancel;
    void (*progress)(void *ctx, size_t done,
                     size_t all); /* may be NULL; not from several threads at once */
    void *ctx;
};
struct edges_result {
    size_t edges,
        tuples; /* of those that ended well; a tuple is an edge with a bucket of its count */
    size_t map_bytes;
    uint8_t *end;  /* enum edges_end, one an input */
    int *code;     /* of those not run: why, as inputs_read says */
    uint8_t *adds; /* not 0: had a tuple that none before it had */
    size_t count[EDGES_ENDS];
};

/* 0, -ECANCELED, or what runner_run said. Clear the result in the first case. Blocking. */
int edges_run(const struct edges_opts *o, struct edges_result *ret, struct err *err);
void edges_result_clear(struct edges_result *r);

#endif
