/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_REPLAY_HARNESS_H
#define CTL_REPLAY_HARNESS_H

#include <stdint.h>

#include "base/alloc.h"
#include "ctl/cmd.h"

/* fuzzctl replay --harness: any inputs through one program, whatever campaign they are of. */
struct replay_harness {
    const char *program;
    const char *engine; /* "auto", or runner_engine_name */
    const struct strv *args;
    char **paths;
    int n_paths;
    int64_t timeout_ms, memory_bytes; /* 0: the default */
    int jobs;                         /* 0: one a core */
};

/* Runs all, prints what came of them, returns the exit code. */
int replay_harness(const struct cmd_env *env, const struct replay_harness *o);

#endif
