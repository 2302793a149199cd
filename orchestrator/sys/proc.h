/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * A process named so that a recycled pid is never taken for it: pid + start time (clock ticks since boot, field 22 of
 * /proc/PID/stat) + boot id.
 */
struct proc_id {
    pid_t pid; /* 0: none */
    uint64_t start_ticks;
    char boot_id[33];
};

/* Fills *ret for a live process. 0, or -ESRCH (gone, or a zombie). Source: proc(5). */
int proc_identify(pid_t pid, struct proc_id *ret);
/* True while that very process lives; a zombie counts as dead. */
bool proc_alive(const struct proc_id *id);
/* pidfd of that very process (identity checked after the open), or -ESRCH. Caller closes. */
int proc_pidfd(const struct proc_id *id);
/* Signals by pidfd after the identity check. 0, -ESRCH. */
int proc_signal(const struct proc_id *id, int sig);
/*
 * A number that is another once the process, or any below it, has used processor time, or one has come or gone: the same twice, all of it
 * stood still meanwhile. 0, or -errno where it cannot be told (also: one ended under the look).
 * Source: proc(5) stat, schedstat, task/TID/children.
 */
int proc_tree_life(pid_t pid, uint64_t *ret);

/*
 * Runs a short helper (a probe, git) to its end: stdin from stdin_data (may be NULL), stdout and stderr
 * captured to at most max_out bytes each (the rest is read and dropped), the whole process group killed at
 * timeout_ms. It dies when the calling thread does. env NULL keeps ours. Blocking: not for the daemon's loop.
 */
struct proc_result {
    int status; /* wait status */
    bool timed_out;
    char *out, *err; /* NUL-terminated; free with proc_result_clear */
    size_t out_len, err_len;
    int64_t wall_ms, cpu_ms;
    int64_t max_rss_bytes;
};
struct proc_spec {
    const struct strv *argv;
    const struct strv *env;    /* NULL: inherit */
    const char *cwd;           /* NULL: keep */
    const char *stdin_path;    /* NULL: /dev/null */
    int64_t timeout_ms;        /* > 0 */
    int64_t cpu_limit_s;       /* RLIMIT_CPU, 0 none */
    int64_t as_limit_bytes;    /* RLIMIT_AS, 0 none */
    int64_t fsize_limit_bytes; /* RLIMIT_FSIZE, 0 none */
    size_t max_out;            /* captured bytes of each stream */
    bool oom_victim;           /* the first to be killed for want of memory */
    bool seal;                 /* cannot change cgroups; sys/seal.h, where it is permitted */
    bool
        sweep; /* it is not trusted: its parent is a launcher (-EOWNERDEAD: it did away with that), and
                   what it leaves behind is killed; for the main thread only */
    const volatile sig_atomic_t *cancel; /* not 0: -ECANCELED, soon; may be NULL */
    bool interruptible; /* a SIGINT, SIGTERM or SIGHUP that is blocked and waits: -EINTR */
    int cgroup_procs_fd
        [4]; /* fds of cgroup.procs files the child writes "0" to; -1 ends the list */
    int cgroup_procs_count;
};
#define PROC_CANCEL_MS 100 /* until cancel is heeded */
/* The signals by which a person or the host ends a program: SIGINT, SIGTERM, SIGHUP. */
void proc_interrupts(sigset_t *ret);
int proc_run(const struct proc_spec *ps, struct proc_result *ret, struct err *err);
void proc_result_clear(struct proc_result *r);

/*
 * Starts a program detached from our terminal and process group, its stdin/stdout being fds of ours (or -1: /dev/null),
 * stderr to err_fd (or /dev/null). Signal mask and handlers are reset, other fds closed except keep_fd, which the child sees as
 * fd 3 (-1: none). The parent-death signal is not set. Returns the pid (> 0) and *ret_pidfd, or -errno.
 */
struct proc_spawn {
    const struct strv *argv;
    const struct strv *env; /* NULL: inherit */
    const char *cwd;        /* NULL: keep */
    int stdin_fd, stdout_fd, stderr_fd;
    int keep_fd[3];         /* seen as 3, 4, 5; -1 ends the list */
    bool new_session;       /* setsid in the child */
    int pdeathsig;          /* 0 none */
    int cgroup_procs_fd[4]; /* entered in the child before exec */
    int cgroup_procs_count;
};
int proc_start(const struct proc_spawn *ps, pid_t *ret_pid, int *ret_pidfd);

/* "signal 11 (SIGSEGV)" or "exit code 1"; buf returned. */
char *proc_status_text(char *buf, size_t size, int wait_status);

#endif
