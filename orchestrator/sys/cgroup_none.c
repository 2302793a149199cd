/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end of a host that gives us no cgroups: nothing is limited, nothing can be frozen, and
 * killing is left to the keeper, which is the reaper of all its descendants. Every answer here says
 * "nothing there", so that callers need no case of their own.
 */
#include <errno.h>

#include "sys/cgroup_internal.h"

static int none_create(const struct cgroup *cg, const struct cgroup_limits *lim, struct err *err)
{
    (void)cg;
    (void)lim;
    (void)err;
    return 0;
}

static void none_procs_paths(const struct cgroup *cg, enum cgroup_leaf leaf, struct strv *ret)
{
    (void)cg;
    (void)leaf;
    (void)ret;
}

static void none_watch_paths(const struct cgroup *cg, struct strv *ret_kill,
                             struct strv *ret_events, struct strv *ret_oom)
{
    (void)cg;
    (void)ret_kill;
    (void)ret_events;
    (void)ret_oom;
}

static void none_paths(const struct cgroup *cg, struct strv *ret)
{
    (void)cg;
    (void)ret;
}

static int none_kill(const struct cgroup *cg, enum cgroup_leaf leaf)
{
    (void)cg;
    (void)leaf;
    return -EOPNOTSUPP;
}

static int none_kill_all(const struct cgroup *cg)
{
    (void)cg;
    return 0;
}

static int none_populated(const struct cgroup *cg, enum cgroup_leaf leaf)
{
    (void)cg;
    (void)leaf;
    return 0;
}

static int none_freeze(const struct cgroup *cg, enum cgroup_leaf leaf, bool freeze)
{
    (void)cg;
    (void)leaf;
    (void)freeze;
    return -EOPNOTSUPP;
}

static int none_limit_target(const struct cgroup *cg, int64_t bytes)
{
    (void)cg;
    (void)bytes;
    return -EOPNOTSUPP;
}

static int64_t none_oom_kills(const struct cgroup *cg)
{
    (void)cg;
    return 0;
}

const struct cgroup_ops cgroup_ops_none = {
    .name = "none",
    .create = none_create,
    .procs_paths = none_procs_paths,
    .watch_paths = none_watch_paths,
    .paths = none_paths,
    .kill = none_kill,
    .kill_all = none_kill_all,
    .populated = none_populated,
    .freeze = none_freeze,
    .limit_target = none_limit_target,
    .oom_kills = none_oom_kills,
};
