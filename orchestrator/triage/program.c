/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits are the campaign's own; where there is no cgroup a sanitizer build has none but its own, as it needs
 * terabytes of address space.
 */
#include "triage/program.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/elfprobe.h"
#include "sys/cpu.h"
#include "sys/drop.h"
#include "sys/keeper.h"
#include "triage/json_util.h"
#include "triage/replay.h"

#define ARGS_MAX 4096

static void add_procs(struct strv *procs)
{
    const char *paths = getenv(KEEPER_ENV_PROCS);
    cleanup_free char *copy = xstrdup(paths != NULL ? paths : "");
    char *rest = copy, *path;

    while ((path = strsep(&rest, ":")) != NULL) {
        if (path[0] == '/')
            strv_add(procs, path);
    }
}

int program_open(const json_t *job, int64_t run_ms, struct program *ret, struct err *err)
{
    const char *path = json_str(json_object_get(job, "program"), "path", "");
    const int64_t memory_bytes = json_int(job, "memory_bytes", 0);
    const char *tmp = getenv("TMPDIR");
    struct elfprobe elf = {0};
    int r;

    *ret = (struct program){0};
    if (path[0] != '/')
        return err_set(err, -EINVAL, "no program");
    r = elfprobe_read(path, &elf, err);
    if (r < 0)
        return r;
    if (!elf.instrumented)
        return err_set(err, -ENOTSUP, "%s is not built by AFL++", path);
    json_strv_get(job, "args", ARGS_MAX, &ret->args);
    json_strv_get(job, "env", ARGS_MAX, &ret->env);
    add_procs(&ret->procs);
    ret->path = xstrdup(path);
    if (!elf.is_static && !elf.asan_dynamic)
        ret->preload = path_find_preload();
    ret->scratch = xasprintf("%s/run.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    if (drop_mkdtemp(ret->scratch) < 0) {
        r = err_sys(err, -errno, "%s", ret->scratch);
        str_set(&ret->scratch, NULL);
        return r;
    }
    ret->engine = runner_engine_best(&elf);
    ret->opts = (struct forkserver_opts){
        .path = ret->path,
        .args = &ret->args,
        .env = &ret->env,
        .scratch = ret->scratch,
        .persistent = elf.persistent,
        .deferred = elf.deferred,
        .procs = &ret->procs,
        .preload = ret->preload,
        .run_ms = run_ms,
        .as_bytes = ret->procs.n == 0 && !elf.asan && !elf.msan && !elf.tsan ? memory_bytes : 0,
        .fsize_bytes = REPLAY_FSIZE_MAX,
        .map_bytes = elf.map_size > 0 ? (size_t)elf.map_size : 0,
    };
    return 0;
}

void program_clear(struct program *p)
{
    if (p->scratch != NULL)
        (void)path_remove_tree(p->scratch);
    free(p->scratch);
    free(p->path);
    free(p->preload);
    strv_clear(&p->args);
    strv_clear(&p->env);
    strv_clear(&p->procs);
    *p = (struct program){0};
}

int program_take_cores(bool few)
{
    cleanup_free int *cpus = xcalloc(CPU_MAX, sizeof(*cpus));
    int n = cpu_allowed(cpus, CPU_MAX), n_free = 0;
    pid_t owner;
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = 0; i < n; i++) {
        if (cpu_owner(cpus[i], &owner) != 0)
            continue;
        CPU_SET(cpus[i], &set);
        n_free++;
    }
    if (n_free > 0)
        (void)sched_setaffinity(0, sizeof(set), &set);
    return few || n_free == 0 ? 1 : n_free;
}
