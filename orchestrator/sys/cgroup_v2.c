/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pure cgroup v2 hosts: all by one tree. Each group on the way down hands its controllers on before
 * the next is made; the instance hands on memory and pids but not cpu, as each execution switches
 * between afl-fuzz and target, and between two cpu groups that costs 6 %. Any controller may be
 * missing: then its limit is left out, and the root's words say so.
 * Source: Linux Documentation/admin-guide/cgroup-v2.rst.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "sys/cgroup_internal.h"

#define CPU_PERIOD_US   100000
#define CPU_WEIGHT_FULL 100
#define PIDS_SPARE      16 /* for keeper, afl-fuzz and what it starts */
#define DIR_MODE        0755

static int set_text(const char *dir, const char *file, const char *text, struct err *err)
{
    int rc = cgroup_fs_write(dir, file, text);

    return rc < 0 ? err_sys(err, rc, "%s/%s", dir, file) : 0;
}

/* n 0: no limit. */
static int set_max(const char *dir, const char *file, int64_t n, struct err *err)
{
    char text[32] = "max";

    if (n > 0)
        (void)snprintf(text, sizeof(text), "%lld", (long long)n);
    return set_text(dir, file, text, err);
}

static int make_dir(const char *dir, struct err *err)
{
    int rc = path_mkdirs(dir, DIR_MODE);

    return rc < 0 ? err_sys(err, rc, "cannot make cgroup %s", dir) : 0;
}

/* A share counts between neighbours, so it is set on every group from below PREFIX down to the instance. */
static int set_weight(const char *dir, int weight_pct, struct err *err)
{
    int64_t weight = (int64_t)weight_pct * CPU_WEIGHT_FULL / 100;
    int rc = cgroup_fs_write_number(dir, "cpu.weight", weight > 0 ? weight : 1);

    return rc < 0 ? err_sys(err, rc, "%s/cpu.weight", dir) : 0;
}

/* Makes PREFIX and what is between it and the instance. *ret_controllers: those the instance gets. */
static int make_way(const struct cgroup *cg, int weight_pct, unsigned *ret_controllers,
                    struct err *err)
{
    cleanup_free char *inst = cgroup_dir(cg, CGROUP_H_UNIFIED);
    size_t at = strlen(cg->root->dir[CGROUP_H_UNIFIED]) + 1 + strlen(cg->root->prefix);
    unsigned have;
    int rc, error;

    have = cgroup_v2_hand_on(cg->root->dir[CGROUP_H_UNIFIED], cg->root->controllers, &error);
    for (; inst[at] == '/'; at += 1 + strcspn(inst + at + 1, "/")) {
        bool below = at > strlen(cg->root->dir[CGROUP_H_UNIFIED]) + 1 + strlen(cg->root->prefix);

        inst[at] = '\0';
        rc = make_dir(inst, err);
        if (rc == 0 && below && weight_pct > 0 && (have & CGROUP_HOLDS_CPU) != 0)
            rc = set_weight(inst, weight_pct, err);
        if (rc < 0)
            return rc;
        have = cgroup_v2_hand_on(inst, have, &error);
        inst[at] = '/';
    }
    *ret_controllers = have;
    return 0;
}

static int set_instance(const char *inst, const struct cgroup_limits *lim, unsigned have,
                        struct err *err)
{
    char quota[48];
    int rc = 0;

    if ((have & CGROUP_HOLDS_MEMORY) != 0)
        rc = set_max(inst, "memory.max", lim->memory_bytes, err);
    if (rc == 0 && (have & CGROUP_HOLDS_PIDS) != 0)
        rc = set_max(inst, "pids.max", lim->pids > 0 ? lim->pids + PIDS_SPARE : 0, err);
    if (rc < 0 || (have & CGROUP_HOLDS_CPU) == 0)
        return rc;
    (void)snprintf(quota, sizeof(quota), "max %d", CPU_PERIOD_US);
    if (lim->cpu_pct > 0)
        (void)snprintf(quota, sizeof(quota), "%lld %d",
                       (long long)lim->cpu_pct * CPU_PERIOD_US / 100, CPU_PERIOD_US);
    rc = set_text(inst, "cpu.max", quota, err);
    return rc < 0 ? rc : set_weight(inst, lim->cpu_weight_pct > 0 ? lim->cpu_weight_pct : 100, err);
}

static int set_target_memory(const char *t, const struct cgroup_limits *lim, struct err *err)
{
    int rc = set_max(t, "memory.max", lim->target_memory_bytes, err);

    if (rc < 0)
        return rc;
    /* Without this a target over its limit swaps for minutes before it is killed. Not there without swap accounting. */
    (void)cgroup_fs_write(t, "memory.swap.max", lim->target_memory_bytes > 0 ? "0" : "max");
    /* 1 would take the fork server with the child, and the input with it. */
    (void)cgroup_fs_write(t, "memory.oom.group", "0");
    return 0;
}

static int set_target(const char *t, const struct cgroup_limits *lim, unsigned have,
                      struct err *err)
{
    int rc = 0;

    if ((have & CGROUP_HOLDS_MEMORY) != 0)
        rc = set_target_memory(t, lim, err);
    if (rc == 0 && (have & CGROUP_HOLDS_PIDS) != 0)
        rc = set_max(t, "pids.max", lim->pids, err);
    return rc;
}

static int v2_create(const struct cgroup *cg, const struct cgroup_limits *lim, struct err *err)
{
    cleanup_free char *inst = cgroup_dir(cg, CGROUP_H_UNIFIED);
    cleanup_free char *t = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, CGROUP_T);
    unsigned have = 0, below;
    int leaf, error, rc = make_way(cg, lim->cpu_weight_pct, &have, err);

    if (rc == 0)
        rc = make_dir(inst, err);
    if (rc < 0)
        return rc;
    below = cgroup_v2_hand_on(inst, have & (CGROUP_HOLDS_MEMORY | CGROUP_HOLDS_PIDS), &error);
    for (leaf = 0; leaf < CGROUP_LEAVES && rc == 0; leaf++) {
        cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);

        rc = make_dir(dir, err);
    }
    if (rc == 0)
        rc = set_instance(inst, lim, have, err);
    return rc < 0 ? rc : set_target(t, lim, below, err);
}

static void v2_procs_paths(const struct cgroup *cg, enum cgroup_leaf leaf, struct strv *ret)
{
    cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);

    strv_addf(ret, "%s/cgroup.procs", dir);
}

/* The group's own counter: memory.events sums up what is below it, and before Linux 5.2 is all there is. */
static const char *oom_file(const char *dir)
{
    return cgroup_fs_has(dir, "memory.events.local") ? "memory.events.local" : "memory.events";
}

static void v2_watch_paths(const struct cgroup *cg, struct strv *ret_kill, struct strv *ret_events,
                           struct strv *ret_oom)
{
    int leaf;

    for (leaf = 0; leaf < CGROUP_LEAVES; leaf++) {
        cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);

        if (leaf != CGROUP_KEEP && ret_kill != NULL && cgroup_fs_has(dir, "cgroup.kill"))
            strv_addf(ret_kill, "%s/cgroup.kill", dir);
        if (leaf != CGROUP_KEEP && ret_events != NULL)
            strv_addf(ret_events, "%s/cgroup.events", dir);
        if (ret_oom != NULL && cgroup_fs_has(dir, oom_file(dir)))
            strv_addf(ret_oom, "%s/%s", dir, oom_file(dir));
    }
}

static void v2_paths(const struct cgroup *cg, struct strv *ret)
{
    int leaf;

    for (leaf = 0; leaf < CGROUP_LEAVES; leaf++)
        strv_take(ret, cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf));
    strv_take(ret, cgroup_dir(cg, CGROUP_H_UNIFIED));
}

static int v2_kill(const struct cgroup *cg, enum cgroup_leaf leaf)
{
    cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);

    return cgroup_fs_kill(dir);
}

static int v2_kill_all(const struct cgroup *cg)
{
    struct strv dirs = {0};
    size_t i;
    int rc = 0, one;

    v2_paths(cg, &dirs);
    for (i = 0; i < dirs.n; i++) {
        one = cgroup_fs_kill(dirs.v[i]);
        if (one < 0 && rc == 0)
            rc = one;
    }
    strv_clear(&dirs);
    return rc;
}

static int v2_populated(const struct cgroup *cg, enum cgroup_leaf leaf)
{
    cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);

    return cgroup_fs_populated(dir);
}

static int v2_freeze(const struct cgroup *cg, enum cgroup_leaf leaf, bool freeze)
{
    cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);
    int rc = cgroup_fs_write_number(dir, "cgroup.freeze", freeze);

    /* Before Linux 5.2. */
    return rc == -ENOENT && cgroup_fs_has(dir, "cgroup.procs") ? -EOPNOTSUPP : rc;
}

static int v2_limit_target(const struct cgroup *cg, int64_t bytes)
{
    cleanup_free char *t = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, CGROUP_T);
    const struct cgroup_limits lim = {.target_memory_bytes = bytes};
    struct err err = {0};

    if (!cgroup_fs_has(t, "memory.max"))
        return -EOPNOTSUPP;
    return set_target_memory(t, &lim, &err);
}

static int64_t v2_oom_kills(const struct cgroup *cg)
{
    int64_t sum = 0;
    int leaf;

    for (leaf = 0; leaf < CGROUP_LEAVES; leaf++) {
        cleanup_free char *dir = cgroup_leaf_dir(cg, CGROUP_H_UNIFIED, leaf);
        int64_t n = 0;
        int rc = cgroup_fs_read_key(dir, oom_file(dir), "oom_kill", &n);

        if (rc < 0 && rc != -ENOENT && rc != -ENODEV)
            return rc;
        sum += n;
    }
    return sum;
}

const struct cgroup_ops cgroup_ops_v2 = {
    .name = "v2",
    .create = v2_create,
    .procs_paths = v2_procs_paths,
    .watch_paths = v2_watch_paths,
    .paths = v2_paths,
    .kill = v2_kill,
    .kill_all = v2_kill_all,
    .populated = v2_populated,
    .freeze = v2_freeze,
    .limit_target = v2_limit_target,
    .oom_kills = v2_oom_kills,
    .ctl_entered = cgroup_v2_ctl_entered,
    .ctl_leaving = cgroup_v2_ctl_leaving,
};
