/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ARGV_H
#define PLAN_ARGV_H

#include "plan/plan.h"
#include "plan/variant.h"

/*
 * The command line and the complete environment of one instance. Only options and AFL_* variables that the probe accepted go in; what is
 * missing lands in the instance's left_out.
 */
struct argv_input {
    const struct spec_target *spec;
    const struct aflprobe *afl;
    const struct plan_host *host;
    const struct plan_target *target;
    const struct variant *variant;
    const struct elfprobe *elf; /* of the binary this instance runs; may be NULL */
    uint64_t seed;              /* of this instance */
    bool alone;                 /* the only instance of its target */
    size_t n_instances;         /* of its target */
    bool mutator;               /* this one carries the custom mutator */
};

/* Fills argv, env and left_out of inst, whose name, full_id, binary and folders are set. */
void argv_fill(const struct argv_input *in, struct plan_instance *inst);

/* Why an entry of a target's env is not passed on, or NULL when it is: an unknown AFL_* name, or one that the plan itself sets. */
const char *argv_env_refusal(const struct aflprobe *afl, const char *entry);

#endif
