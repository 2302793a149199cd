/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_REPLAY_H
#define TRIAGE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "sys/proc.h"

/*
 * Runs one input in a program once, under limits. Kit builds get --one FILE; others the target's args, with @@ replaced by the
 * file; without @@ the file comes behind them (takes_file) or on standard input. The limits are the campaign's own.
 *
 * The program sees a copy of the input in a fresh folder, which is its cwd, HOME and TMPDIR and is removed afterwards; it inherits
 * nothing of our environment but PATH.
 *
 * Time: the limit holds for wall and for CPU time. A run that hit the wall limit with less than half of it spent as CPU time was blocked
 * or starved; it is repeated once with REPLAY_PATIENCE times the wall time. It then counts as a timeout when it hits that too, or when
 * its CPU time alone passed the limit.
 *
 * Memory: address space for plain programs; for sanitizer builds, which need terabytes of it, the sanitizer's own limits. A SIGKILL
 * that is not ours is the kernel's for want of memory. A program that copes with a failed allocation shows nothing under a limit of address
 * space; with by_group it runs in the target's own cgroup, as it did in the campaign (FUZZ_TARGET_PROCS names the way in).
 */
struct replay_program {
    const char *path;
    const struct strv *args, *env; /* of the target */
    bool kit;
    bool
        takes_file; /* main() of libFuzzer or libAFLDriver: runs the files it is given, reads no standard input */
    bool asan, msan, tsan,
        ubsan;  /* which sanitizers are in it: all but UBSan reserve address space */
    bool twice; /* FZ_TWICE=1, for the kit's check that no state survives; doubles the time */
    int64_t timeout_ms;                  /* of wall and of CPU time */
    int64_t memory_bytes;                /* 0: none */
    bool symbolize;                      /* sanitizer options with symbolize=1 */
    bool impatient;                      /* no repetition of a starved run */
    const volatile sig_atomic_t *cancel; /* not 0: a run ends with -ECANCELED, soon; may be NULL */
    bool by_group; /* the memory limit is that of the target's cgroup, not one of address space */
};
#define REPLAY_PATIENCE     4
#define REPLAY_ERR_BYTES    65536 /* of stderr kept: head and tail */
#define REPLAY_INPUT_MAX    (64 << 20)
#define REPLAY_FSIZE_MAX    (256 << 20) /* largest file the program may write */
#define REPLAY_PARENT_WORDS "killed or stopped its parent"
enum replay_end {
    REPLAY_EXIT,
    REPLAY_SIGNAL,
    REPLAY_TIMEOUT,
    REPLAY_OOM,
    REPLAY_PARENT /* it killed or stopped its parent; of its own end nothing is known */
};
struct replay_run {
    enum replay_end end;
    int code;           /* exit code or signal */
    bool exit_is_crash; /* the exit code is the one that AFL_CRASH_EXITCODE of the target names */
    int64_t wall_ms, cpu_ms, max_rss_bytes;
    char *
        err_text; /* captured stderr, bounded, without NUL bytes; caller frees with replay_run_clear */
    bool starved; /* the wall limit passed with little CPU used, and the run was repeated */
    /* Where a plain signal struck, when replay_pc was asked; "" unknown. */
    char pc_module[64]; /* base name */
    uint64_t pc_offset; /* in the file's address space, the same in every run */
};
/* Whether there is a cgroup for by_group. */
bool replay_has_group(void);
/* 0 with *ret filled, -ECANCELED, or -errno (the input cannot be read, the program cannot be started). Blocking. */
int replay_once(const struct replay_program *prog, const char *input, struct replay_run *ret,
                struct err *err);
void replay_run_clear(struct replay_run *r);
/*
 * Runs once more under ptrace and fills pc_module and pc_offset of a run that ended by a signal: the first place on the way up that is not in
 * a C library. Best effort: leaves them empty where ptrace is not allowed. At most timeout_ms.
 */
void replay_pc(const struct replay_program *prog, const char *input, struct replay_run *run);

/* argv and environment exactly as replay_once uses them (for the bundle and "replay" lines); input named as given. The environment is what
 * the program gets beside PATH, HOME and TMPDIR. The input goes to standard input when replay_uses_stdin. */
void replay_command(const struct replay_program *prog, const char *input, struct strv *ret_argv,
                    struct strv *ret_env);

/* The same as one line for a shell. Caller frees. */
char *replay_command_line(const struct replay_program *prog, const char *input);

bool replay_uses_stdin(const struct replay_program *prog);

#endif
