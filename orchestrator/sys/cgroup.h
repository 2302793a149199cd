/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_CGROUP_H
#define SYS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * One subtree per instance: PREFIX/CAMPAIGN/TARGET.INSTANCE/{keep,afl,t} below each hierarchy in use. Mechanisms sit behind an ops
 * table: v2 (all by one tree), v1/hybrid (limits by v1 memory, pids, cpu; kill, freeze and populated by the v2 tree) and none
 * (nothing; the keeper kills its descendants). Source: cgroup-v1/memory.rst, cgroup-v2.rst.
 *
 * Kill and freeze go to afl and t, never to the parent: a keeper in a killed group dies before its record is written.
 * The cpu controller stops at the instance, as separate cpu groups for afl and t cost 6 % of executions.
 */
enum cgroup_leaf { CGROUP_KEEP, CGROUP_AFL, CGROUP_T };

/* What a back-end holds, bits of one word; TREE: who belongs to an instance can be told, killed and frozen at once. */
#define CGROUP_HOLDS_MEMORY 1U
#define CGROUP_HOLDS_PIDS   2U
#define CGROUP_HOLDS_CPU    4U
#define CGROUP_HOLDS_TREE   8U

struct cgroup_limits {
    int64_t memory_bytes;        /* of the instance, 0 none */
    int64_t target_memory_bytes; /* of t, 0 none */
    int64_t pids;                /* 0 none */
    int cpu_pct;                 /* of one core, 0 none */
    int cpu_weight_pct;          /* share of a core under contention, 0: default; used for triage */
};

struct cgroup_root; /* the host's mechanism and our prefix */
struct cgroup;      /* one instance's subtree */

/*
 * Looks at the host once. fs is the mount point (normally "/sys/fs/cgroup"; a parameter so that tests can use a folder
 * of their own); prefix is "fuzzd-<8 hex>" made by cgroup_prefix. force is NULL or a back-end's name ("v2", "v1", "none").
 * Never fails for want of cgroups: then the back-end is none, with the reason in cgroup_root_why.
 */
struct cgroup_root *cgroup_root_open(const char *fs, const char *prefix, const char *force);
/* Also leaves PREFIX/ctl when this process entered it, and removes what is empty then. */
void cgroup_root_free(struct cgroup_root *root);
const char *cgroup_root_name(const struct cgroup_root *root); /* "v2", "v1", "none" */
/* What does not hold with this back-end, in plain words, one a line; "" when all holds. Borrowed until cgroup_enter_ctl. */
const char *cgroup_root_why(const struct cgroup_root *root);
/* Adds a line to that. */
void cgroup_root_lacks(struct cgroup_root *root, const char *text);
/*
 * Where the groups come from: "unit" (of systemd, that we run in), "scope" (asked for, sys/scope.h, or that we run in),
 * "tree" (one that we may write to) or "none".
 */
const char *cgroup_root_source(const struct cgroup_root *root);
unsigned cgroup_root_holds(const struct cgroup_root *root); /* CGROUP_HOLDS_*, 0 for none */
/* The folder PREFIX is or will be made in; "" for none. Borrowed. */
const char *cgroup_root_place(const struct cgroup_root *root);

/* "fuzzd-" + 8 hex digits of the state folder's device and inode. buf >= 16. 0 or -errno. */
int cgroup_prefix(const char *state_dir, char *buf, size_t size);

/*
 * Makes PREFIX/name (name like "camp/target.main") with keep, afl and t below and sets the limits. An existing empty one
 * is taken over; one with processes in it is -EBUSY. t gets target_memory_bytes and pids, the instance memory_bytes and a
 * few pids more, so that a fork bomb in the target leaves afl-fuzz room. Components are of [A-Za-z0-9._-], at most four; "ctl"
 * as the first is the daemon's. Names with a dot in the first component never meet a campaign's.
 */
int cgroup_create(struct cgroup_root *root, const char *name, const struct cgroup_limits *lim,
                  struct cgroup **ret, struct err *err);
/* Makes again what somebody has removed of a subtree that cgroup_create made, under the same limits. 0, -errno. */
int cgroup_renew(struct cgroup *cg, struct err *err);
/* A handle to a subtree that exists already (adoption, clean-up); missing folders are fine. Never NULL. */
struct cgroup *cgroup_attach(struct cgroup_root *root, const char *name);
/*
 * The same for a subtree whose folders are on record (cgroup_paths). On v2 the place depends on where fuzzd was started,
 * so a fuzzd started elsewhere finds its instances by the record.
 */
struct cgroup *cgroup_attach_recorded(struct cgroup_root *root, const char *name,
                                      const struct strv *paths);
void cgroup_free(struct cgroup *cg); /* the handle only */

/* The cgroup.procs files to write "0" to, to enter a leaf: absolute paths, one per hierarchy; empty for none. */
void cgroup_procs_paths(const struct cgroup *cg, enum cgroup_leaf leaf, struct strv *ret);
/*
 * What the keeper needs besides: cgroup.kill and cgroup.events of afl and t (empty without a v2 tree), and the files
 * with oom counters of the leaves. Lists are appended to; NULL is allowed.
 */
void cgroup_watch_paths(const struct cgroup *cg, struct strv *ret_kill, struct strv *ret_events,
                        struct strv *ret_oom);
/* Folders of the subtree, for the record; deepest first. */
void cgroup_paths(const struct cgroup *cg, struct strv *ret);

int cgroup_kill(struct cgroup *cg,
                enum cgroup_leaf leaf); /* SIGKILL to all in the leaf; 0, -errno */
/* 1 when a live process is in the leaf, 0 when empty or gone, -errno. */
int cgroup_populated(struct cgroup *cg, enum cgroup_leaf leaf);
int cgroup_freeze(struct cgroup *cg, enum cgroup_leaf leaf,
                  bool freeze); /* 0, -EOPNOTSUPP, -errno */
/* Another limit of memory for t, 0: none. 0, -EOPNOTSUPP (there is no way to limit it), -errno. */
int cgroup_limit_target(struct cgroup *cg, int64_t bytes);
/* Kills by the kernel for want of memory, summed over the leaves; >= 0, -errno. */
int64_t cgroup_oom_kills(struct cgroup *cg);
/* Kills what is left (keep too), waits up to timeout_ms for it to be empty, removes the folders. 0, -EBUSY. Blocking for at most timeout_ms. */
int cgroup_destroy(struct cgroup *cg, int64_t timeout_ms);
/* Adds the first components below PREFIX, in any hierarchy, each once; "ctl" is not among them. */
void cgroup_campaigns(const struct cgroup_root *root, struct strv *ret);
/* Destroys all subtrees below one of them, whoever made them; blocks at most timeout_ms for each. */
void cgroup_sweep(struct cgroup_root *root, const char *campaign, int64_t timeout_ms);
/*
 * Locks PREFIX/campaign, which is there, for as long as the descriptor is open: a lock is seen from every PID namespace, where a pid is not.
 * wait: until it can be had. The descriptor, which the caller closes; -EWOULDBLOCK: somebody else has it; -ENOENT; -errno.
 */
int cgroup_hold(const struct cgroup_root *root, const char *campaign, bool wait);
/* Removes empty parents PREFIX/CAMPAIGN and PREFIX. Best effort. */
void cgroup_prune(struct cgroup_root *root);
/* Removes all empty groups of PREFIX, the daemon's own among them, and PREFIX; one with a process in it stays. Best effort. */
void cgroup_remove_empty(struct cgroup_root *root);

/*
 * Makes PREFIX/ctl (daemon) and moves the calling process into it, so that it no longer lives and dies with whoever started
 * it. On v2 then hands the controllers on, which the kernel refuses while a process sits above. 0 or -errno.
 */
int cgroup_enter_ctl(struct cgroup_root *root);

#endif
