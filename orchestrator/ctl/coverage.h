/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_COVERAGE_H
#define CTL_COVERAGE_H

#include <jansson.h>
#include <stdio.h>

#include "base/alloc.h"
#include "ctl/cmd.h"
#include "ctl/manyrun.h"
#include "spec/spec.h"

/* Between the files of fuzzctl coverage. */
struct coverage_opts {
    const struct cmd_env *env;
    const struct strv *given; /* --corpus; empty: the target's own places */
    const char *html; /* a folder that is there, where each target's pages get theirs; NULL none */
    struct manyrun_limits limits;
};

/*
 * One target, as it stands in the JSON of the verb. What could not be had is null, with the reason among "errors"; "notes" is what
 * belongs to the figures. New reference. In *ret_code -ECANCELED when we were interrupted, -ENODATA when there are no
 * inputs.
 */
json_t *coverage_target(const struct coverage_opts *o, const struct spec *spec,
                        const struct spec_target *t, int *ret_code);

/* For people; paths below root without it. brief: totals, and what did not end well. */
void coverage_print(const json_t *target, const char *root, bool brief, FILE *out);

#endif
