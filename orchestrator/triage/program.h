/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_PROGRAM_H
#define TRIAGE_PROGRAM_H

#include <jansson.h>

#include "base/alloc.h"
#include "engine/runner.h"

/*
 * A target's program as a job runs it by its fork server: in the target's cgroup, which fuzzd names by the environment, else under a limit
 * of address space where the build takes one; below TMPDIR, which fuzzd removes with the job.
 */
struct program {
    struct strv args, env, procs;
    char *path, *preload, *scratch;
    enum runner_engine engine;
    struct forkserver_opts opts; /* borrows the above */
};

/* From the job's "program", "args", "env", "memory_bytes". 0; -ENOTSUP it is not built by AFL++; -errno. program_clear in any case. */
int program_open(const json_t *job, int64_t run_ms, struct program *ret, struct err *err);
void program_clear(struct program *p);
/*
 * Moves this process to cores that no instance owns, where there are any, and returns how many servers are of use then: 1 where the cores are
 * shared with instances or few is asked for.
 */
int program_take_cores(bool few);

#endif
