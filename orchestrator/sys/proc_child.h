/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_PROC_CHILD_H
#define SYS_PROC_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/alloc.h"

/* What a child does between fork and exec; shared by proc_start and proc_run. All pointers are borrowed for the call. */
struct proc_child {
    const struct strv *argv;
    const struct strv *env; /* NULL: inherit */
    const char *cwd;        /* NULL: keep */
    int std_fd[3];          /* -1: /dev/null */
    const int *keep_fds;    /* seen as 3, 4, ..., or by the numbers of keep_at */
    const int *keep_at;     /* ascending, above 2; may be NULL */
    int keep_count;
    const int *procs_fds; /* cgroup.procs files to enter */
    int procs_count;
    bool new_session; /* setsid; else a process group of its own */
    int pdeathsig;    /* 0 none */
    bool oom_victim;  /* oom_score_adj 1000 */
    bool seal;        /* sys/seal.h, where it is permitted */
    bool no_core;     /* RLIMIT_CORE 0 */
    bool traced;      /* by us: it stops at its exec. Source: PTRACE_TRACEME, ptrace(2) */
    bool
        subreaper; /* who loses its parent below it becomes its child, so that kill_tree finds it */
    int64_t cpu_limit_s, as_limit_bytes, fsize_limit_bytes;
};

/*
 * Forks and execs. The pid (> 0) once the program runs, or the -errno of whatever failed in the child, which is then
 * reaped and named in *ret_step (a static string; may be NULL). Blocks until the exec has happened.
 */
pid_t proc_child_start(const struct proc_child *pc, const char **ret_step);

/* A child that runs fn(ctx), with all signals blocked that can be, and ends with it. Its pid or -errno. For sys/launcher.c. */
pid_t proc_child_fork(void (*fn)(void *ctx), void *ctx);

/* SIGKILL to the descendants of pid that can be found now, whatever their session. Best effort; pid itself is left alone. */
void proc_child_kill_tree(pid_t pid);

/* Whether that child of ours is stopped, as what it started may do to it. Nothing is reaped. */
bool proc_child_stopped(pid_t pid);

/*
 * Makes this process the parent of whatever loses its own below it, remembers the children it has, and at the end kills and reaps those that
 * came since: what a program that has ended left running. Only in the main thread; elsewhere, or with more
 * children at the begin than fit, it does nothing.
 * Source: PR_SET_CHILD_SUBREAPER(2const), proc(5) task/TID/children.
 */
struct proc_sweep {
    pid_t before[64];
    int n; /* -1: not swept */
    int was_subreaper;
};
void proc_sweep_begin(struct proc_sweep *s);
void proc_sweep_end(struct proc_sweep *s);

#endif
