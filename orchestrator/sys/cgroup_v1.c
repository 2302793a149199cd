/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroup v1 and hybrid hosts: limits by the v1 hierarchies, kill, freeze and populated by the v2
 * tree beside them. Any of the four may be missing. The cpu hierarchy ends at the instance: each
 * execution switches between afl-fuzz and target, and between two cpu groups that costs 6 %. The
 * v1 freezer is not used: a task it has frozen does not die of SIGKILL.
 * Source: Linux Documentation/admin-guide/cgroup-v1/{memory,pids}.rst, cgroup-v2.rst.
 */
#include "sys/cgroup_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"

#define CPU_PERIOD_US   100000
#define CPU_SHARES_FULL 1024
#define CPU_SHARES_MIN  2
#define PIDS_SPARE      16 /* for keeper, afl-fuzz and what it starts */
#define DIR_MODE        0755

/* The cpu hierarchy has no leaves: all of an instance is in its one group. */
static char *place_dir(const struct cgroup *cg, enum cgroup_hierarchy h, enum cgroup_leaf leaf)
{
    return h == CGROUP_H_CPU ? cgroup_dir(cg, h) : cgroup_leaf_dir(cg, h, leaf);
}

static int set(const char *dir, const char *file, int64_t n, struct err *err)
{
    int rc = cgroup_fs_write_number(dir, file, n);

    return rc < 0 ? err_sys(err, rc, "%s/%s", dir, file) : 0;
}

/* limit_bytes 0: none. A group that is taken over may have any limits, so they go up before they go down. */
static int set_memory(const char *dir, int64_t limit_bytes, struct err *err)
{
    bool swap = cgroup_fs_has(dir, "memory.memsw.limit_in_bytes");
    int rc = 0;

    if (swap)
        rc = set(dir, "memory.memsw.limit_in_bytes", -1, err);
    if (rc == 0)
        rc = set(dir, "memory.limit_in_bytes", limit_bytes > 0 ? limit_bytes : -1, err);
    if (rc == 0 && swap && limit_bytes > 0)
        rc = set(dir, "memory.memsw.limit_in_bytes", limit_bytes, err);
    return rc;
}

static int set_pids(const char *dir, int64_t pids, struct err *err)
{
    int rc;

    if (pids > 0)
        return set(dir, "pids.max", pids, err);
    rc = cgroup_fs_write(dir, "pids.max", "max");
    return rc < 0 ? err_sys(err, rc, "%s/pids.max", dir) : 0;
}

static int set_shares(const char *dir, int weight_pct, struct err *err)
{
    int64_t shares = (int64_t)weight_pct * CPU_SHARES_FULL / 100;

    return set(dir, "cpu.shares", shares < CPU_SHARES_MIN ? CPU_SHARES_MIN : shares, err);
}

/* A share counts between neighbours, so a low one is set on every group below PREFIX and above dir, too. */
static int set_shares_above(const struct cgroup *cg, int weight_pct, struct err *err)
{
    cleanup_free char *dir = cgroup_dir(cg, CGROUP_H_CPU);
    size_t prefix_len = strlen(dir) - strlen(cg->name) - 1;
    char *slash;
    int rc = 0;

    while (rc == 0 && (slash = strrchr(dir, '/')) > dir + prefix_len) {
        *slash = '\0';
        rc = set_shares(dir, weight_pct, err);
    }
    return rc;
}

static int set_cpu(const char *dir, const struct cgroup_limits *lim, struct err *err)
{
    int rc;

    rc = set(dir, "cpu.cfs_period_us", CPU_PERIOD_US, err);
    if (rc == 0)
        rc = set(dir, "cpu.cfs_quota_us",
                 lim->cpu_pct > 0 ? (int64_t)lim->cpu_pct * CPU_PERIOD_US / 100 : -1, err);
    if (rc == 0)
        rc = set_shares(dir, lim->cpu_weight_pct > 0 ? lim->cpu_weight_pct : 100, err);
    return rc;
}

static int v1_limits(const struct cgroup *cg, const struct cgroup_limits *lim, struct err *err)
{
    char *const *dir = cg->root->dir;
    int rc = 0;

    if (dir[CGROUP_H_MEMORY] != NULL) {
        cleanup_free char *inst = cgroup_dir(cg, CGROUP_H_MEMORY);
        cleanup_free char *t = cgroup_leaf_dir(cg, CGROUP_H_MEMORY, CGROUP_T);

        rc = set_memory(inst, lim->memory_bytes, err);
        if (rc == 0)
            rc = set_memory(t, lim->target_memory_bytes, err);
        /* Without this a target over its limit swaps for minutes before it is killed. */
        if (rc == 0)
            (void)cgroup_fs_write_number(t, "memory.swappiness", 0);
    }
    if (rc == 0 && dir[CGROUP_H_PIDS] != NULL) {
        cleanup_free char *inst = cgroup_dir(cg, CGROUP_H_PIDS);
        cleanup_free char *t = cgroup_leaf_dir(cg, CGROUP_H_PIDS, CGROUP_T);

        rc = set_pids(inst, lim->pids > 0 ? lim->pids + PIDS_SPARE : 0, err);
        if (rc == 0)
            rc = set_pids(t, lim->pids, err);
    }
    if (rc == 0 && dir[CGROUP_H_CPU] != NULL) {
        cleanup_free char *inst = cgroup_dir(cg, CGROUP_H_CPU);

        rc = set_cpu(inst, lim, err);
        if (rc == 0 && lim->cpu_weight_pct > 0)
            rc = set_shares_above(cg, lim->cpu_weight_pct, err);
    }
    return rc;
}

static int v1_create(const struct cgroup *cg, const struct cgroup_limits *lim, struct err *err)
{
    int h, leaf, rc;

    for (h = 0; h < CGROUP_H_COUNT; h++) {
        if (cg->root->dir[h] == NULL)
            continue;
        for (leaf = 0; leaf < (h == CGROUP_H_CPU ? 1 : CGROUP_LEAVES); leaf++) {
            cleanup_free char *dir = place_dir(cg, h, leaf);

            rc = path_mkdirs(dir, DIR_MODE);
            if (rc < 0)
                return err_sys(err, rc, "cannot make cgroup %s", dir);
        }
    }
    return v1_limits(cg, lim, err);
}

static void v1_procs_paths(const struct cgroup *cg, enum cgroup_leaf leaf, struct strv *ret)
{
    int h;

    for (h = 0; h < CGROUP_H_COUNT; h++) {
        if (cg->root->dir[h] != NULL) {
            cleanup_free char *dir = place_dir(cg, h, leaf);

            strv_addf(ret, "%s/cgroup.procs", dir);
        }
    }
}

static void v1_watch_paths(const struct cgroup *cg, struct strv *ret_kill, struct strv *ret_events,
                           struct strv *ret_oom)
{
    int leaf;

    for (leaf = 0; leaf < CGROUP_LEAVES; leaf++) {
        if (cg->root->dir[CGROUP_H_UNIFIED] != NULL && leaf != CGROUP_KEEP) {
            cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);

            if (ret_kill != NULL && cgroup_fs_has(dir, "cgroup.kill"))
                strv_addf(ret_kill, "%s/cgroup.kill", dir);
            if (ret_events != NULL)
                strv_addf(ret_events, "%s/cgroup.events", dir);
        }
        if (cg->root->dir[CGROUP_H_MEMORY] != NULL && ret_oom != NULL) {
            cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_MEMORY, leaf);

            strv_addf(ret_oom, "%s/memory.oom_control", dir);
        }
    }
}

static void v1_paths(const struct cgroup *cg, struct strv *ret)
{
    int h, leaf;

    for (h = 0; h < CGROUP_H_COUNT; h++) {
        if (cg->root->dir[h] == NULL)
            continue;
        for (leaf = 0; leaf < CGROUP_LEAVES && h != CGROUP_H_CPU; leaf++)
            strv_take(ret, cgroup_leaf_dir(cg, h, leaf));
        strv_take(ret, cgroup_dir(cg, h));
    }
}

/* The hierarchy that tells who is in a leaf: the v2 tree, or the best of the rest. */
static enum cgroup_hierarchy census(const struct cgroup *cg)
{
    if (cg->root->dir[CGROUP_H_UNIFIED] != NULL)
        return CGROUP_H_UNIFIED;
    return cg->root->dir[CGROUP_H_PIDS] != NULL ? CGROUP_H_PIDS : CGROUP_H_MEMORY;
}

static int v1_kill(const struct cgroup *cg, enum cgroup_leaf leaf)
{
    cleanup_free char *dir = cgroup_leaf_dir(cg, census(cg), leaf);

    return cgroup_fs_kill(dir);
}

static int v1_kill_all(const struct cgroup *cg)
{
    struct strv dirs = {0};
    size_t i;
    int rc = 0, n;

    /* A process caught while it entered may be in one hierarchy and not yet in the next. */
    v1_paths(cg, &dirs);
    for (i = 0; i < dirs.n; i++) {
        n = cgroup_fs_has(dirs.v[i], "cgroup.kill") ? cgroup_fs_kill(dirs.v[i])
                                                    : cgroup_fs_kill_listed(dirs.v[i]);
        if (n < 0 && rc == 0)
            rc = n;
    }
    strv_clear(&dirs);
    return rc;
}

static int v1_populated(const struct cgroup *cg, enum cgroup_leaf leaf)
{
    cleanup_free char *dir = cgroup_leaf_dir(cg, census(cg), leaf);

    return cgroup_fs_populated(dir);
}

static int v1_freeze(const struct cgroup *cg, enum cgroup_leaf leaf, bool freeze)
{
    cleanup_free char *dir = NULL;

    if (cg->root->dir[CGROUP_H_UNIFIED] == NULL)
        return -EOPNOTSUPP;
    dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);
    return cgroup_fs_write_number(dir, "cgroup.freeze", freeze);
}

static int v1_limit_target(const struct cgroup *cg, int64_t bytes)
{
    cleanup_free char *t = NULL;
    struct err err = {0};

    if (cg->root->dir[CGROUP_H_MEMORY] == NULL)
        return -EOPNOTSUPP;
    t = cgroup_leaf_dir(cg, CGROUP_H_MEMORY, CGROUP_T);
    return set_memory(t, bytes, &err);
}

/* v1 counts each kill in the group the victim was in and in none above. */
static int64_t v1_oom_kills(const struct cgroup *cg)
{
    int64_t sum = 0;
    int leaf;

    if (cg->root->dir[CGROUP_H_MEMORY] == NULL)
        return 0;
    for (leaf = 0; leaf < CGROUP_LEAVES; leaf++) {
        cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_MEMORY, leaf);
        int64_t n = 0;
        int rc = cgroup_fs_read_key(dir, "memory.oom_control", "oom_kill", &n);

        if (rc < 0 && rc != -ENOENT && rc != -ENODEV)
            return rc;
        sum += n;
    }
    return sum;
}

const struct cgroup_ops cgroup_ops_v1 = {
    .name = "v1",
    .create = v1_create,
    .procs_paths = v1_procs_paths,
    .watch_paths = v1_watch_paths,
    .paths = v1_paths,
    .kill = v1_kill,
    .kill_all = v1_kill_all,
    .populated = v1_populated,
    .freeze = v1_freeze,
    .limit_target = v1_limit_target,
    .oom_kills = v1_oom_kills,
};
