/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_EDGE_COUNT_H
#define CTL_EDGE_COUNT_H

#include "corpus/edges.h"
#include "ctl/manyrun.h"

/* edges_run for a verb: the program is looked at, run in a scope of its own, and progress shown. */
struct edge_count {
    const char *harness;
    const struct strv *args, *env; /* of the target; may be NULL */
    const struct inputs *inputs;
    struct manyrun_limits limits; /* without a 0 but in jobs */
    const struct cmd_env *cmd_env;
};
/* 0; -EINVAL: it has no fork server; -ECANCELED; -errno. */
int edge_count(const struct edge_count *c, struct edges_result *ret, struct err *err);
/* How many of them are enough for the same edges and counts, as distill_run finds. The same errors. */
int edge_count_enough(const struct edge_count *c, size_t *ret, struct err *err);

#endif
