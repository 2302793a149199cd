/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a plain signal struck. The program is run once more under ptrace and its
 * stack unwound in place from .eh_frame, without debug information: the first
 * place that is not in a C library names the bug as module + offset. The tracee
 * always has an end: a wall-clock limit here, PTRACE_O_EXITKILL if we die.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "sys/proc_child.h"
#include "triage/replay.h"
#include "triage/replay_env.h"

#define FRAMES_MAX 64
#define POLL_NS    500000

struct place {
    struct replay_run *run;
    int frames;
    bool own; /* the place is in the program or a library of its own */
};

/* No debug information: a system library's would cost 50 ms and its names are not wanted. */
static int no_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
                        const char *file, const char *link, GElf_Word crc, char **ret)
{
    (void)mod, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)ret;
    return -1;
}

static bool system_module(const char *base)
{
    static const char *const names[] = {"libc.so",    "libc-2", "libpthread", "ld-linux",
                                        "linux-vdso", "[vdso",  "libstdc++",  "libgcc_s"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(base, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

/* Takes pc as the place when it lies in a module. True when it is the program's own. */
static bool place_take(Dwfl *dwfl, Dwarf_Addr pc, struct place *pl)
{
    Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);
    Dwarf_Addr start = 0, end = 0;
    const char *file = NULL, *slash, *base;

    if (mod == NULL)
        return false;
    base = dwfl_module_info(mod, NULL, &start, &end, NULL, NULL, &file, NULL);
    /* Beyond the last module dwfl_addrmodule still names it. */
    if (pc < start || pc >= end || (base == NULL && file == NULL))
        return false;
    base = file != NULL ? file : base;
    slash = strrchr(base, '/');
    base = slash != NULL ? slash + 1 : base;
    if (pl->run->pc_module[0] == '\0' || !system_module(base)) {
        strlcpy(pl->run->pc_module, base, sizeof(pl->run->pc_module));
        pl->run->pc_offset = pc - start;
    }
    return !system_module(base);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
    struct place *pl = arg;
    Dwfl *dwfl = dwfl_thread_dwfl(dwfl_frame_thread(frame));
    bool activation = false;
    Dwarf_Addr pc;

    if (!dwfl_frame_pc(frame, &pc, &activation) || pl->frames++ >= FRAMES_MAX)
        return DWARF_CB_ABORT;
    /* A return address lies behind its call. */
    pl->own = place_take(dwfl, pc - (activation ? 0 : 1), pl);
    return pl->own ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The word on top of the stack: the caller, when the program jumped to nowhere. */
static Dwarf_Addr stack_top(pid_t pid)
{
#ifdef __x86_64__
    long rsp = ptrace(PTRACE_PEEKUSER, pid, (void *)(19 * sizeof(long)), NULL);

    errno = 0;
    if (rsp != -1) {
        long word = ptrace(PTRACE_PEEKDATA, pid, (void *)rsp, NULL);

        if (errno == 0)
            return (Dwarf_Addr)word;
    }
#else
    (void)pid;
#endif
    return 0;
}

static void unwind(pid_t pid, struct replay_run *run)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = no_debuginfo};
    struct place pl = {.run = run};
    Dwfl *dwfl = dwfl_begin(&callbacks);

    if (dwfl == NULL)
        return;
    dwfl_report_begin(dwfl);
    if (dwfl_linux_proc_report(dwfl, pid) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0 &&
        dwfl_linux_proc_attach(dwfl, pid, true) >= 0) {
        (void)dwfl_getthread_frames(dwfl, pid, on_frame, &pl);
        if (run->pc_module[0] == '\0') {
            Dwarf_Addr caller = stack_top(pid);

            if (caller != 0)
                (void)place_take(dwfl, caller - 1, &pl);
        }
    }
    dwfl_end(dwfl);
}

/* Waits for the signal the plain run died of; unwinds there. */
static void trace(pid_t pid, int64_t deadline_ms, struct replay_run *run)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    bool started = false;
    int status;

    while (clock_now_ms() < deadline_ms) {
        pid_t r = waitpid(pid, &status, WNOHANG);
        int sig;

        if (r == 0) {
            (void)nanosleep(&pause, NULL);
            continue;
        }
        if (r < 0 || !WIFSTOPPED(status))
            return;
        sig = WSTOPSIG(status);
        if (!started) {
            (void)ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(long)PTRACE_O_EXITKILL);
            started = true;
            sig = 0;
        } else if (sig == run->code) {
            unwind(pid, run);
            break;
        }
        if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig) != 0)
            break;
    }
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
}

/* As every run of it: the spec's user, sealed, with its limits. The pid, or -errno. */
static pid_t start(const struct replay_program *prog, const char *dir, int in,
                   const struct strv *argv, const struct strv *env)
{
    const bool by_space = !replay_hogs_address_space(prog) && !prog->by_group;
    int groups[REPLAY_GROUPS_MAX], n = 0;
    struct proc_child pc = {.argv = argv,
                            .env = env,
                            .cwd = dir,
                            .std_fd = {in, -1, -1},
                            .procs_fds = groups,
                            .pdeathsig = SIGKILL,
                            .oom_victim = true,
                            .seal = true,
                            .no_core = true,
                            .traced = true,
                            .as_limit_bytes = by_space ? prog->memory_bytes : 0,
                            .fsize_limit_bytes = REPLAY_FSIZE_MAX};
    pid_t pid = prog->by_group ? replay_group_open(groups, &n) : 0;

    pc.procs_count = n;
    if (pid == 0)
        pid = proc_child_start(&pc, NULL);
    for (int i = 0; i < n; i++)
        (void)close(groups[i]);
    return pid;
}

void replay_pc(const struct replay_program *prog, const char *input, struct replay_run *run)
{
    cleanup_free char *dir = NULL, *copy = NULL;
    cleanup_close int in = -1;
    struct strv argv = {0}, env = {0};
    struct proc_sweep sweep;
    pid_t pid;

    if (run->end != REPLAY_SIGNAL || replay_scratch_make(input, &dir, &copy, NULL) < 0)
        return;
    replay_command(prog, copy, &argv, &env);
    replay_env_scratch(dir, &env);
    if (replay_uses_stdin(prog))
        in = open(copy, O_RDONLY | O_CLOEXEC);
    proc_sweep_begin(&sweep);
    pid = start(prog, dir, in, &argv, &env);
    if (pid > 0)
        trace(pid, clock_now_ms() + prog->timeout_ms * 2, run);
    proc_sweep_end(&sweep);
    strv_clear(&argv);
    strv_clear(&env);
    (void)path_remove_tree(dir);
}
