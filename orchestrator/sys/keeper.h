/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_KEEPER_H
#define SYS_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

/*
 * The words between fuzzd and fuzz-keeper. The description is handed over as a sealed memory file on fd 3 (NUL-separated
 * "key=value" items, repeated keys make lists); the core lock is fd 4. Records are text, "key=value" a line:
 *   exit/T.I.run   written by the keeper at start by temporary, fsync and rename
 *   exit/T.I.exit  preallocated (KEEPER_RECORD_BYTES) at start and written in place at the end, the last line being
 *                  "sum=<sha256 of the bytes before it>"; one without a matching sum does not count
 */
#define KEEPER_RECORD_BYTES 4096
#define KEEPER_ITEMS_MAX    512
#define KEEPER_LOCK_FD      4 /* of the core */
/* The cgroup.procs files of t, separated by colons; for the keeper, which gives afl-fuzz a gate instead (sys/gate.h). */
#define KEEPER_ENV_PROCS    "FUZZ_TARGET_PROCS"

struct keeper_desc {
    struct strv argv; /* of afl-fuzz; argv[0] is its path */
    struct strv env;
    struct strv procs_keep;   /* cgroup.procs files to enter, keeper */
    struct strv procs_afl;    /* cgroup.procs files to enter, afl-fuzz */
    struct strv kill_files;   /* cgroup.kill files of afl and t; empty: kill descendants */
    struct strv events_files; /* cgroup.events files of afl and t, for "populated 0" */
    struct strv oom_files;    /* memory.oom_control / memory.events.local of the leaves */
    struct strv cgroups;      /* folders, for the record */
    char *cwd;                /* scratch folder */
    char *log_path;           /* PATH and PATH.1 */
    char *run_path, *exit_path;
    char *id; /* campaign/target/instance, for the record */
    char *plan_hash;
    int64_t log_max_bytes; /* both files together */
    int64_t grace_ms;      /* SIGTERM to kill */
    int64_t fsize_bytes;   /* RLIMIT_FSIZE of afl-fuzz, 0 none */
    int cpu;               /* -1: not pinned */
    int statsd_port;       /* 0 none; for the record */
    int uid, gid;          /* of afl-fuzz and its target; uid 0: as the keeper */
};
void keeper_desc_clear(struct keeper_desc *d);
/*
 * Fills procs_keep, procs_afl, kill_files, events_files, oom_files and cgroups from an instance's subtree, and puts
 * KEEPER_ENV_PROCS with the way into t into env.
 */
void keeper_desc_set_cgroup(struct keeper_desc *d, const struct cgroup *cg);
/* A memory file of the description, offset 0. fd (CLOEXEC), -E2BIG, -errno. */
int keeper_desc_pack(const struct keeper_desc *d);

struct keeper_run {
    struct proc_id keeper, afl;
    char id[160], plan_hash[65];
    int cpu, statsd_port;
    int64_t started_at_ms; /* Unix ms */
    struct strv cgroups;
    bool own_ipc; /* an IPC namespace of its own */
};
/* 0, -ENOENT, or -EBADMSG when the record is cut or not ours. Clear with keeper_run_clear. */
int keeper_run_load(const char *path, struct keeper_run *ret);
void keeper_run_clear(struct keeper_run *r);

enum keeper_end { KEEPER_EXITED, KEEPER_SIGNALLED, KEEPER_EXEC_FAILED, KEEPER_SETUP_FAILED };
struct keeper_exit {
    enum keeper_end end;
    int code;   /* exit code or signal number, or errno */
    bool asked; /* we had asked it to stop */
    bool killed_after_grace;
    int64_t ended_at_ms; /* Unix ms */
    int64_t oom_kills;
    int64_t user_ms, system_ms, max_rss_bytes;
    int leftover;         /* processes killed by the clean-up */
    char what[256];       /* setup step that failed, else "" */
    char started_afl[32]; /* start ticks of the run this belongs to */
};
/* 0, -ENOENT (none, or still blank), -EBADMSG (cut or changed). */
int keeper_exit_load(const char *path, struct keeper_exit *ret);

#endif
