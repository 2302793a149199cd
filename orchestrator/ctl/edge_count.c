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

/* The scope and the program in it; the caller closes *ret_scope and clears procs. */
static int prepare(const struct edge_count *c, const char *preload, struct elfprobe *elf,
                   struct strv *procs, struct replay_scope **ret_scope, struct forkserver_opts *ret,
                   struct err *err)
{
    int rc = elfprobe_read(c->harness, elf, err);

    if (rc < 0)
        return rc;
    if (!elf->instrumented)
        return err_set(err, -EINVAL,
                       "%s: has no fork server; build it with afl-clang-fast or the like",
                       c->harness);
    rc = replay_scope_open(c->limits.memory_bytes, procs, ret_scope, err);
    if (rc < 0)
        return rc;
    *ret = replay_scope_program(*ret_scope, elf, c->harness, c->args, procs, preload,
                                c->limits.timeout_ms, c->limits.memory_bytes);
    ret->env = c->env;
    return 0;
}

int edge_count(const struct edge_count *c, struct edges_result *ret, struct err *err)
{
    cleanup_free char *preload = path_find_program("fuzz-preload.so");
    struct manyrun_progress progress;
    struct edges_opts o = {.inputs = c->inputs,
                           .jobs = c->limits.jobs,
                           .cancel = &manyrun_stop,
                           .progress = show_progress,
                           .ctx = &progress};
    struct replay_scope *scope = NULL;
    struct strv procs = {0};
    struct elfprobe elf;
    int rc = prepare(c, preload, &elf, &procs, &scope, &o.program, err);

    if (rc == 0) {
        o.engine = runner_engine_best(&elf);
        manyrun_progress_begin(&progress, c->cmd_env);
        rc = edges_run(&o, ret, err);
        manyrun_progress_clear(&progress);
    }
    replay_scope_close(scope);
    strv_clear(&procs);
    return rc;
}

int edge_count_enough(const struct edge_count *c, size_t *ret, struct err *err)
{
    cleanup_free char *preload = path_find_program("fuzz-preload.so");
    struct manyrun_progress progress;
    struct distill_opts o = {.inputs = c->inputs,
                             .jobs = c->limits.jobs,
                             .cancel = &manyrun_stop,
                             .progress = show_progress,
                             .ctx = &progress};
    struct replay_scope *scope = NULL;
    struct distill_result r;
    struct strv procs = {0};
    struct elfprobe elf;
    int rc = prepare(c, preload, &elf, &procs, &scope, &o.program, err);

    if (rc == 0) {
        o.engine = runner_engine_best(&elf);
        manyrun_progress_begin(&progress, c->cmd_env);
        rc = distill_run(&o, &r, err);
        manyrun_progress_clear(&progress);
    }
    if (rc == 0) {
        *ret = r.n_chosen;
        distill_result_clear(&r);
    }
    replay_scope_close(scope);
    strv_clear(&procs);
    return rc;
}
