/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroup is locked while its owner lives, so a later fuzzctl can tell whose is gone, also one of
 * another PID namespace, as a container's, that shares the cgroups. Without cgroups the limit of address space and the parent-death signal are what is left.
 */
#include "ctl/replay_scope.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "ctl/private_dir.h"
#include "sys/cgroup.h"
#include "sys/guard.h"
#include "sys/proc_child.h"

#define FS         "/sys/fs/cgroup"
#define PREFIX     "fuzzctl"
#define NAME       "replay."
#define DESTROY_MS 2000
#define YOUNG_S    10 /* made, and perhaps not locked yet */
#define PIDS       256
#define FSIZE_MAX  (256 << 20) /* largest file the program may write */

struct replay_scope {
    struct cgroup_root *root;
    struct cgroup *cg;
    int cg_lock; /* or -1 */
    struct private_dir folder;
    struct guard *guard;
    struct proc_sweep sweep; /* of what leaves its program; a cgroup has it, too */
};

static void end_group(struct replay_scope *s)
{
    if (s->cg == NULL)
        return;
    (void)cgroup_destroy(s->cg, DESTROY_MS);
    cgroup_free(s->cg);
    cgroup_prune(s->root);
    if (s->cg_lock >= 0)
        (void)close(s->cg_lock);
}

/* What the guard does in our stead. */
static void clean(void *ctx)
{
    struct replay_scope *s = ctx;

    end_group(s);
    private_dir_close(&s->folder);
}

/* Of our PID namespace; 0 when it is not told. */
static uint64_t own_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* "replay.PID.NAMESPACE": a pid that is not here is gone if it was of here. */
static bool is_gone(const char *name)
{
    cleanup_free char *own = xasprintf(".%" PRIu64, own_namespace());
    const char *rest = strchr(name + strlen(NAME), '.');
    cleanup_free char *digits =
        rest != NULL
            ? xasprintf("%.*s", (int)(rest - name - (long)strlen(NAME)), name + strlen(NAME))
            : NULL;
    uint64_t pid;

    return rest != NULL && strcmp(rest, own) == 0 && parse_u64(digits, INT32_MAX, &pid) == 0 &&
           kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Nobody holds it, and nobody is about to. */
static bool is_left(const struct cgroup_root *root, const char *name)
{
    cleanup_close int fd = cgroup_hold(root, name, false);
    const time_t now = time(NULL);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    return is_gone(name) || st.st_mtime > now || now - st.st_mtime >= YOUNG_S;
}

static void sweep_dead(struct cgroup_root *root)
{
    struct strv names = {0};

    cgroup_campaigns(root, &names);
    for (size_t i = 0; i < names.n; i++) {
        if (strncmp(names.v[i], NAME, strlen(NAME)) == 0 && is_left(root, names.v[i]))
            cgroup_sweep(root, names.v[i], DESTROY_MS);
    }
    strv_clear(&names);
}

static void open_group(struct replay_scope *s, const struct cgroup_limits *lim)
{
    cleanup_free char *campaign = xasprintf(NAME "%d.%" PRIu64, (int)getpid(), own_namespace());
    cleanup_free char *name = xasprintf("%s/run", campaign);

    /* Where there is no right to make one, the limits are those of the processes. */
    if (cgroup_create(s->root, name, lim, &s->cg, NULL) == 0)
        s->cg_lock = cgroup_hold(s->root, campaign, true);
}

int replay_scope_open(int64_t memory_bytes, struct strv *ret_procs, struct replay_scope **ret,
                      struct err *err)
{
    const struct cgroup_limits lim = {
        .memory_bytes = memory_bytes, .target_memory_bytes = memory_bytes, .pids = PIDS};
    struct replay_scope *s = xcalloc(1, sizeof(*s));
    int rc;

    s->sweep.n = s->cg_lock = -1;
    rc = private_dir_open(&s->folder, err);
    if (rc < 0) {
        replay_scope_close(s);
        return rc;
    }
    s->root = cgroup_root_open(FS, PREFIX, NULL);
    sweep_dead(s->root);
    open_group(s, &lim);
    if (s->cg != NULL)
        cgroup_procs_paths(s->cg, CGROUP_T, ret_procs);
    s->guard = guard_open(clean, s);
    proc_sweep_begin(&s->sweep);
    *ret = s;
    return 0;
}

const char *replay_scope_folder(const struct replay_scope *s)
{
    return s->folder.path;
}

struct forkserver_opts replay_scope_program(const struct replay_scope *s,
                                            const struct elfprobe *elf, const char *path,
                                            const struct strv *args, const struct strv *procs,
                                            const char *preload, int64_t timeout_ms,
                                            int64_t memory_bytes)
{
    /* A sanitizer needs terabytes of address space. */
    const bool by_space = procs->n == 0 && !elf->asan && !elf->msan && !elf->tsan;

    return (struct forkserver_opts){
        .path = path,
        .args = args,
        .scratch = s->folder.path,
        .persistent = elf->persistent,
        .deferred = elf->deferred,
        .procs = procs,
        .guard = s->guard,
        .preload = elf->is_static ? NULL : preload,
        .run_ms = timeout_ms,
        .as_bytes = by_space ? memory_bytes : 0,
        .fsize_bytes = FSIZE_MAX,
        .map_bytes = elf->map_size > 0 ? (size_t)elf->map_size : 0,
    };
}

void replay_scope_close(struct replay_scope *s)
{
    if (s == NULL)
        return;
    end_group(s);
    /* Before the folder, into which who still runs may write. */
    proc_sweep_end(&s->sweep);
    private_dir_close(&s->folder);
    guard_close(s->guard);
    cgroup_root_free(s->root);
    free(s);
}
