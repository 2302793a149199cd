/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_SEEDRUN_H
#define TRIAGE_SEEDRUN_H

#include <jansson.h>
#include <stdbool.h>

#include "triage/replay.h"
#include "triage/seedlist.h"

/*
 * All seeds of a target through one program: a build with the harness kit takes many at once and tells the kit's classes; any other
 * program runs once a seed, by its own command line, and is judged as an artifact is.
 */
struct seedrun_result {
    bool pass;
    char class_[24]; /* "pass", else "invariant", "timeout", "memory", ... */
    char inv[96];    /* id of the invariant or kind of the fault, "" none */
    char detail[256];
    int signal;
    double ms;
};
typedef void seedrun_fn(void *ctx, const struct seed *seed, const struct seedrun_result *r);

struct seedrun {
    struct replay_program prog;
    const char *target;
    char build_id[65];
    int64_t budget_ms; /* of all inputs, 0 none */
    seedrun_fn *fn;    /* told for each input that was run */
    void *ctx;
};
struct seedrun_sum {
    size_t passed, failed;
    size_t left;    /* not run: the budget was over, or the program is broken */
    bool self_test; /* the program's start-up self-test fails */
    bool over;      /* the budget was */
    char words[512];
};

/* Fills what an ELF file tells of a program: which sanitizers, the build id, the kit. 0 or -errno. */
int seedrun_probe(struct seedrun *s, const char *path, struct err *err);
/*
 * Runs each readable seed. Blocking. 0, or -errno when the program cannot be used (see kitrun); *ret is filled in each case. Seeds with an
 * error are neither run nor counted.
 */
int seedrun_all(const struct seedrun *s, const struct seedlist *l, struct seedrun_sum *ret,
                struct err *err);
/* Whether a kit program comes up: its self-test is part of that. 0, or -ECHILD with ret->self_test and words, -errno. */
int seedrun_start(const struct seedrun *s, struct seedrun_sum *ret, struct err *err);
/* The ids a kit program requires (new array in *ret, caller frees), 0 or -errno. */
int seedrun_required(const struct seedrun *s, json_t **ret, struct err *err);
/* How often the readable seeds reach each place: {id: count}; new reference. */
int seedrun_reach(const struct seedrun *s, const struct seedlist *l, json_t **ret, struct err *err);

#endif
