/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_STABILITY_H
#define CORPUS_STABILITY_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "engine/forkserver.h"

/*
 * Whether a program does the same with an input each time, and whatever it was given before.
 *
 * Alone: the input is run k times in a fresh child, and again in three others when these differ. Compared are runs of one place: the first
 * run of a child, its last one and those between enter and leave the loop in other ways. An input whose runs differ is stateful when
 * all four children did the same, run by run (it depends on how often it was run); else it is unstable, or flaky when its verdict differs.
 *
 * Shuffled: all inputs in one process in an order made from the seed, then backwards, so that of any two each is once before the other;
 * those that end their process in any case come behind the others, and without those found to end it by state it is done again.
 * A verdict that is not the one alone always counts, but for a timeout, which must repeat. A map counts when an edge has a count (in
 * AFL++'s buckets) above or below all that the input has shown alone in two fresh children, the edge does not vary by itself, and the
 * same is seen again when what was before is run again in a fresh child. So what a first run sets up, at once or piece by piece, is
 * no difference: alone, the input shows itself both with it and without. For what counts, the smallest single earlier input is looked
 * for that is enough; else the shortest row of inputs.
 *
 * Memory does not grow with coverage: some 100 bytes an input, and 12 maps.
 */
struct stability_opts {
    struct forkserver_opts program;
    const struct inputs *inputs; /* files */
    const char *folder;          /* names below it are told from there on; may be NULL */
    int runs;                    /* k, of each input alone; 0: STABILITY_RUNS */
    uint64_t seed;               /* of the order */
    int64_t budget_ms;           /* of wall time for all; 0 none. What is left then is told */
    const volatile sig_atomic_t *cancel;
    void (*progress)(void *ctx,
                     uint64_t runs); /* may be NULL; from another thread than the caller's */
    void *ctx;
};
#define STABILITY_RUNS     8
#define STABILITY_RUNS_MAX 1000
#define STABILITY_TOLD     10000 /* findings that are kept */
#define STABILITY_AFTER    16    /* longest row of earlier inputs that is looked for */
#define STABILITY_EDGES    8     /* edges named in a finding */

enum stability_kind {
    STABILITY_UNSTABLE, /* its map differs from run to run */
    STABILITY_FLAKY,    /* its verdict does */
    STABILITY_STATEFUL, /* either depends on what the process ran before */
    STABILITY_KINDS
};
/* "unstable", "flaky", "stateful" */
const char *stability_kind_name(enum stability_kind kind);

struct stability_verdict {
    enum forkserver_end end;
    int signo, exit_code; /* exit_code -1: returned, or exited with 0 */
};
/* "returns", "exits with 3", "crashes with SIGABRT", "is out of time", "takes its fork server along". In buf, which is returned. */
const char *stability_verdict_text(struct stability_verdict v, char *buf, size_t size);

struct stability_finding {
    size_t index;
    enum stability_kind kind;
    struct stability_verdict alone, other; /* equal when only the map differs */
    bool repeats;                          /* false: a verdict that was seen once */
    size_t after[STABILITY_AFTER];         /* what is run before, in this order; itself: it alone */
    size_t n_after;                        /* 0: not found, or kind is another than stateful */
    uint32_t edges[STABILITY_EDGES];
    size_t n_edges; /* all that differ */
};

struct stability_edge {
    uint32_t id;
    size_t inputs;   /* in which it varies from run to run, alone */
    size_t stateful; /* of these, in step with how often the input was run */
};

struct stability_result {
    size_t checked, unread,
        left; /* of the inputs; unread: cannot be read, too large, or takes its server along */
    size_t count[STABILITY_KINDS];
    size_t unrepeated; /* maps that differed once in a shuffled run */
    size_t edges;      /* of all inputs together */
    uint64_t runs;
    bool over;           /* the budget was: what was not looked into counts as left */
    size_t reasons_left; /* stateful inputs for which no earlier one was looked for */
    struct stability_finding *findings; /* by (kind descending, index) */
    size_t n_findings;
    struct stability_edge *unstable; /* most inputs first, then by id */
    size_t n_unstable;
    size_t smallest;      /* the finding with the smallest pair, SIZE_MAX none */
    size_t *unread_index; /* numbers of inputs, unread of them */
    int *unread_code;     /* why each is, as inputs_read says; 0: it takes its server along */
};

/* 0, -ECANCELED, or what forkserver_open said. Clear the result in the first case. Blocking. */
int stability_run(const struct stability_opts *o, struct stability_result *ret, struct err *err);
/* As JSON, with the first max findings and edges, of these at most 1000; documented in fuzzctl(1). New reference. */
json_t *stability_json(const struct stability_opts *o, const struct stability_result *r,
                       size_t max);
void stability_result_clear(struct stability_result *r);

#endif
