/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_DISTILL_H
#define CORPUS_DISTILL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "engine/runner.h"

/*
 * A corpus with the same coverage as all inputs together, in edges and buckets of their counts, and as few and small files as can be found.
 * Inputs of equal coverage count once, as the smallest of them. An input that crashes, hangs, takes its server along, cannot be read or
 * does not cover the same twice is set aside and told; none of them ends anything. The same inputs give the same corpus.
 */
struct distill_opts {
    struct forkserver_opts program;
    enum runner_engine engine;    /* one that tells of coverage */
    const struct inputs *inputs;  /* files, in the order that decides between equals */
    size_t must;                  /* the first so many are chosen in any case */
    const struct inputs *against; /* files whose coverage is there already; may be NULL */
    bool edges_only;              /* buckets do not matter */
    size_t cap_bytes;             /* of memory for coverage; 0: DISTILL_CAP_BYTES */
    int jobs;                     /* servers; 0: one a core */
    const volatile sig_atomic_t *cancel;
    void (*progress)(void *ctx, size_t done,
                     size_t all); /* may be NULL; not from several threads at once */
    void *ctx;
};
#define DISTILL_CAP_BYTES (INT64_C(1) << 30)

enum distill_aside {
    DISTILL_CRASH,
    DISTILL_TIMEOUT,
    DISTILL_LOST,
    DISTILL_UNREAD,
    DISTILL_UNSTABLE,
    DISTILL_ASIDES
};
/* "crash", "timeout", "lost", "unread", "unstable" */
const char *distill_aside_name(enum distill_aside why);

struct distill_result {
    size_t *chosen; /* numbers of inputs, ascending */
    size_t n_chosen;
    uint64_t input_bytes; /* of all that could be read */
    size_t n_aside;
    struct {
        size_t index;
        enum distill_aside why;
        int code; /* UNREAD: why, as inputs_read says */
    } * aside;    /* ascending */
    size_t maps;  /* different ones */
    size_t
        tuples; /* edges and buckets (edges, when buckets do not matter) of what was not set aside, and of against */
    size_t new_tuples; /* that against does not have */
    size_t peak_bytes; /* of memory for coverage */
    int smallest;      /* see cover_smallest; 0: all candidates were looked at */
};

/* 0, -ECANCELED, or what runner_run said. Clear the result in the first case. Blocking. */
int distill_run(const struct distill_opts *o, struct distill_result *ret, struct err *err);
void distill_result_clear(struct distill_result *r);

#endif
