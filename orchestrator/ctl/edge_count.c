/* SPDX-License-Identifier: Apache-2.0 */
/* Ties edges_run to the scope, the limits and the progress line of fuzzctl. */
#include "ctl/edge_count.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "corpus/distill.h"
#include "ctl/replay_scope.h"
#include "plan/elfprobe.h"

static void show_progress(void *ctx, size_t done, size_t all)
{
    manyrun_progress_show(ctx, done, all, "");
}

/* One run of the inputs, from the program's probe to the end of its scope. */
struct job {
    const struct edge_count *c;
    struct manyrun_progress progress;
    struct forkserver_opts program;
    enum runner_engine engine;
    int (*run)(struct job *job, void *ret, struct err *err);
};

static int job_run(struct job *job, void *ret, struct err *err)
{
    const struct edge_count *c = job->c;
    cleanup_free char *preload = path_find_preload();
    struct replay_scope *scope = NULL;
    struct strv procs = {0};
    struct elfprobe elf;
    int rc = elfprobe_read(c->harness, &elf, err);

    if (rc < 0)
        return rc;
    if (!elf.instrumented)
        return err_set(err, -EINVAL,
                       "%s has no fork server; build it with afl-clang-fast or the like",
                       c->harness);
    rc = replay_scope_open(c->limits.memory_bytes, &procs, &scope, err);
    if (rc == 0) {
        job->program = replay_scope_program(scope, &elf, c->harness, c->args, &procs, preload,
                                            c->limits.timeout_ms, c->limits.memory_bytes);
        job->program.env = c->env;
        job->engine = runner_engine_best(&elf);
        manyrun_progress_begin(&job->progress, c->cmd_env);
        rc = job->run(job, ret, err);
        manyrun_progress_clear(&job->progress);
    }
    replay_scope_close(scope);
    strv_clear(&procs);
    return rc;
}

static int run_edges(struct job *job, void *ret, struct err *err)
{
    return edges_run(&(struct edges_opts){.program = job->program,
                                          .engine = job->engine,
                                          .inputs = job->c->inputs,
                                          .jobs = job->c->limits.jobs,
                                          .cancel = &manyrun_stop,
                                          .progress = show_progress,
                                          .ctx = &job->progress},
                     ret, err);
}

static int run_distill(struct job *job, void *ret, struct err *err)
{
    struct distill_result r;
    int rc = distill_run(&(struct distill_opts){.program = job->program,
                                                .engine = job->engine,
                                                .inputs = job->c->inputs,
                                                .jobs = job->c->limits.jobs,
                                                .cancel = &manyrun_stop,
                                                .progress = show_progress,
                                                .ctx = &job->progress},
                         &r, err);

    if (rc == 0) {
        *(size_t *)ret = r.n_chosen;
        distill_result_clear(&r);
    }
    return rc;
}

int edge_count(const struct edge_count *c, struct edges_result *ret, struct err *err)
{
    return job_run(&(struct job){.c = c, .run = run_edges}, ret, err);
}

int edge_count_enough(const struct edge_count *c, size_t *ret, struct err *err)
{
    return job_run(&(struct job){.c = c, .run = run_distill}, ret, err);
}
