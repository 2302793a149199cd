/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_CGROUP_INTERNAL_H
#define SYS_CGROUP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/err.h"
#include "sys/cgroup.h"

/* The hierarchies a back-end may use; v2 has everything in CGROUP_H_UNIFIED. */
enum cgroup_hierarchy {
    CGROUP_H_MEMORY,
    CGROUP_H_PIDS,
    CGROUP_H_CPU,
    CGROUP_H_UNIFIED,
    CGROUP_H_COUNT
};

#define CGROUP_LEAVES   3
#define CGROUP_CTL      "ctl"
#define CGROUP_PIDS_MAX 1024 /* looked at in one round of killing */

struct cgroup_ops {
    const char *name;
    /* Makes the folders and sets the limits. */
    int (*create)(const struct cgroup *cg, const struct cgroup_limits *lim, struct err *err);
    void (*procs_paths)(const struct cgroup *cg, enum cgroup_leaf leaf, struct strv *ret);
    void (*watch_paths)(const struct cgroup *cg, struct strv *ret_kill, struct strv *ret_events,
                        struct strv *ret_oom);
    /* Folders of the subtree, deepest first. */
    void (*paths)(const struct cgroup *cg, struct strv *ret);
    int (*kill)(const struct cgroup *cg, enum cgroup_leaf leaf);
    int (*kill_all)(const struct cgroup *cg); /* keep too, whatever the hierarchy */
    int (*populated)(const struct cgroup *cg, enum cgroup_leaf leaf);
    int (*freeze)(const struct cgroup *cg, enum cgroup_leaf leaf, bool freeze);
    int (*limit_target)(const struct cgroup *cg, int64_t bytes);
    int64_t (*oom_kills)(const struct cgroup *cg);
    /* Where it differs between back-ends, else NULL: what ctl needs after we are in it, and before we leave. */
    void (*ctl_entered)(struct cgroup_root *root);
    void (*ctl_leaving)(struct cgroup_root *root);
};

struct cgroup_root {
    const struct cgroup_ops *ops;
    char *fs; /* as given to cgroup_root_open */
    char *prefix;
    char *dir[CGROUP_H_COUNT];    /* mount folder of each hierarchy in use, else NULL */
    char *origin[CGROUP_H_COUNT]; /* where this process was before it entered ctl */
    bool in_ctl;
    char *why;
    /* Of v2 only. */
    unsigned controllers; /* CGROUP_HOLDS_* an instance gets */
    unsigned handed_on;   /* those we have enabled in the place itself, to be taken back */
    bool delegated;       /* systemd gave us the place: whoever else sits in it may be moved */
};

struct cgroup {
    const struct cgroup_ops *ops;
    struct cgroup_root *root; /* borrowed */
    char *name;
    char *place;                 /* NULL: the root's; else by the record */
    struct cgroup_limits limits; /* as created */
};

extern const struct cgroup_ops cgroup_ops_v2;
extern const struct cgroup_ops cgroup_ops_v1;
extern const struct cgroup_ops cgroup_ops_none;

/* The subtree's folder in a hierarchy that is in use, or a leaf of it. Caller frees. */
char *cgroup_dir(const struct cgroup *cg, enum cgroup_hierarchy h);
char *cgroup_leaf_dir(const struct cgroup *cg, enum cgroup_hierarchy h, enum cgroup_leaf leaf);

/* ---- cgroup_root.c ---- */
/* cgroup_root_open for a process whose group in the v2 tree is self ("/a/b"); NULL: this process. */
struct cgroup_root *cgroup_root_open_from(const char *fs, const char *prefix, const char *force,
                                          const char *self);
/* What does not hold without one of CGROUP_HOLDS_*. */
const char *cgroup_lost(unsigned what);

/* ---- cgroup_v2_root.c: the place in a v2 tree, and the controllers handed on from it ---- */
/*
 * Fills in place, controllers and words. self is our group as in /proc/self/cgroup, may be NULL; user 0 is root, who may
 * use the top. True when there is a place.
 */
bool cgroup_v2_open(struct cgroup_root *root, const char *fs, const char *self, uid_t user);
/*
 * True when systemd delegated to us the group self, or the one around it (DelegateSubgroup=). A service's own group does not
 * count: where it hands controllers on, systemd cannot start the service again.
 */
bool cgroup_v2_is_given(const char *fs, const char *self);
/* Enables controllers for the children of dir, of those that dir has. Returns those enabled; *ret_error is 0 or what the kernel said. */
unsigned cgroup_v2_hand_on(const char *dir, unsigned controllers, int *ret_error);
void cgroup_v2_ctl_entered(struct cgroup_root *root);
void cgroup_v2_ctl_leaving(struct cgroup_root *root);

/* ---- cgroup_fs.c: single folders and files of any hierarchy ---- */
/* Writes text to dir/file, which must exist. 0 or -errno. */
int cgroup_fs_write(const char *dir, const char *file, const char *text);
int cgroup_fs_write_number(const char *dir, const char *file, int64_t n);
/* The number after "key " at a line's start of dir/file. 0, -ENOENT (file or key), -errno. */
int cgroup_fs_read_key(const char *dir, const char *file, const char *key, int64_t *ret_n);
bool cgroup_fs_has(const char *dir, const char *file);
/*
 * SIGKILL by cgroup.kill; where the file is missing (before Linux 5.14) one by one, frozen meanwhile where that can be,
 * and over again for what was forked. Blocks for 10 ms at most. A missing folder is success. 0 or -errno.
 */
int cgroup_fs_kill(const char *dir);
/* SIGKILL to each process listed in dir/cgroup.procs but ourselves, one round. The number of those, or -errno. */
int cgroup_fs_kill_listed(const char *dir);
/* The pids in dir/cgroup.procs, at most max. The number, 0 for a missing folder, or -errno. */
int cgroup_fs_listed(const char *dir, pid_t *ret_pids, int max);
/* 1, 0 (also: gone), -errno; by cgroup.events, or by cgroup.procs where that is missing. */
int cgroup_fs_populated(const char *dir);

#endif
