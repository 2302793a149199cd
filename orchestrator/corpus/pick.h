/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_PICK_H
#define CORPUS_PICK_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "corpus/distill.h"

/*
 * A corpus to go on from: the distilled one, and what covers edges that it does not. Distillation leaves out what does not cover the same
 * twice, and in an unstable program that may be nearly everything; here such an input stays when it showed an edge that no other does. So
 * the edges of any part of the inputs are among those of the result.
 */
struct pick_opts {
    struct forkserver_opts program;
    enum runner_engine engine;
    const struct inputs *inputs; /* files, in the order that decides between equals */
    int jobs;                    /* servers; 0: one a core */
    int64_t until_ms;            /* monotonic; 0 none */
};
struct pick_result {
    size_t *chosen; /* numbers of inputs, ascending */
    size_t n_chosen;
    struct distill_result distilled; /* .aside tells what ended badly */
    size_t edges;                    /* of the chosen */
    int64_t slowest_us;              /* the slowest of the chosen, each by the median of its runs */
    int rounds;                      /* runs that is from; 0: none was */
};
#define PICK_ROUNDS 5

/* 0; -ETIME when until_ms passed before something was chosen; or what runner_run said. Clear the result in the first case. Blocking. */
int pick_run(const struct pick_opts *o, struct pick_result *ret, struct err *err);
void pick_result_clear(struct pick_result *r);
/* Edges of all inputs in one run of each; those that end badly have none. Errors as above. */
int pick_edges(const struct pick_opts *o, size_t *ret_edges, struct err *err);

#endif
