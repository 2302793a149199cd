/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_VARIANT_H
#define PLAN_VARIANT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "plan/plan.h"

/*
 * Which instances a target gets: roles by published advice. Instance k is the same whatever the number of instances, so a
 * run on more cores has the small run inside. Source: AFL++ docs/fuzzing_in_depth.md, "Using multiple cores".
 */
struct variant {
    char name[32]; /* of the instance: "main", "sched3" */
    enum plan_role role;
    const char *schedule;    /* -p, NULL: AFL++'s default */
    const char *strategy;    /* -P, NULL: none */
    const char *input_type;  /* -a, NULL: none */
    const char *cmplog_opts; /* -l, NULL: not a cmplog instance */
    bool mopt;               /* -L 0 */
    bool sequential;         /* -Z */
    bool no_trim;            /* AFL_DISABLE_TRIM */
    struct strv left_out;    /* "-P explore: afl-fuzz 4.04c has no -P" */
};

/* The builds a target has beside its harness. */
struct variant_builds {
    bool sanitizer, cmplog, laf;
    bool own_mutator; /* every instance runs a custom mutator of the user's */
};

/* Fills v[0..n), n >= 1. */
void variant_choose(const struct aflprobe *afl, const struct variant_builds *builds, size_t n,
                    struct variant *v);
void variant_clear(struct variant *v);

#endif
