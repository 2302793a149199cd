/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_CGROUP_INTERNAL_H
#define SYS_CGROUP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

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
    int64_t (*oom_kills)(const struct cgroup *cg);
};

struct cgroup_root {
    const struct cgroup_ops *ops;
    char *prefix;
    char *dir[CGROUP_H_COUNT];    /* mount folder of each hierarchy in use, else NULL */
    char *origin[CGROUP_H_COUNT]; /* where this process was before it entered ctl */
    bool in_ctl;
    char *why;
};

struct cgroup {
    const struct cgroup_ops *ops;
    struct cgroup_root *root; /* borrowed */
    char *name;
};

extern const struct cgroup_ops cgroup_ops_v1;
extern const struct cgroup_ops cgroup_ops_none;

/* The subtree's folder in a hierarchy that is in use, or a leaf of it. Caller frees. */
char *cgroup_dir(const struct cgroup *cg, enum cgroup_hierarchy h);
char *cgroup_leaf_dir(const struct cgroup *cg, enum cgroup_hierarchy h, enum cgroup_leaf leaf);

/* ---- cgroup_fs.c: single folders and files of any hierarchy ---- */
/* Writes text to dir/file, which must exist. 0 or -errno. */
int cgroup_fs_write(const char *dir, const char *file, const char *text);
int cgroup_fs_write_number(const char *dir, const char *file, int64_t n);
/* The number after "key " at a line's start of dir/file. 0, -ENOENT (file or key), -errno. */
int cgroup_fs_read_key(const char *dir, const char *file, const char *key, int64_t *ret_n);
bool cgroup_fs_has(const char *dir, const char *file);
/* SIGKILL by cgroup.kill, or one by one where the file is missing; a missing folder is success. 0 or -errno. */
int cgroup_fs_kill(const char *dir);
/* SIGKILL to each process listed in dir/cgroup.procs but ourselves, one round. The number listed, or -errno. */
int cgroup_fs_kill_listed(const char *dir);
/* 1, 0 (also: gone), -errno; by cgroup.events, or by cgroup.procs where that is missing. */
int cgroup_fs_populated(const char *dir);

#endif
