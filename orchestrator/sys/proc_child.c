/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork and exec with everything a child must not inherit put right: signal mask and handlers,
 * file descriptors, process group, limits, cgroup. A child that cannot exec says why over a
 * close-on-exec pipe, so that the caller learns of it as of any failed call.
 */
#include "sys/proc_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "sys/drop.h"
#include "sys/nofile.h"
#include "sys/raw.h"
#include "sys/seal.h"

#define KEEP_MAX   3
#define HIGH_FD    16 /* above every descriptor that is put into place */
#define TREE_DEPTH 32

enum step {
    STEP_SESSION,
    STEP_PARENT,
    STEP_CGROUP,
    STEP_CWD,
    STEP_LIMITS,
    STEP_FDS,
    STEP_USER,
    STEP_EXEC
};
static const char *const step_names[] = {
    [STEP_SESSION] = "new session", [STEP_PARENT] = "parent-death signal",
    [STEP_CGROUP] = "enter cgroup", [STEP_CWD] = "change folder",
    [STEP_LIMITS] = "set limits",   [STEP_FDS] = "file descriptors",
    [STEP_USER] = "change user",    [STEP_EXEC] = "execute program",
};
struct failure {
    int step;
    int code; /* negative errno */
};

static int limit_set(__rlimit_resource_t what, int64_t value)
{
    struct rlimit rl, old;

    if (value <= 0)
        return 0;
    if (getrlimit(what, &old) < 0)
        return -errno;
    rl.rlim_cur = (rlim_t)value;
    /* The CPU limit sends SIGXCPU at the soft and SIGKILL at the hard one; the second makes it stick. */
    rl.rlim_max = (rlim_t)value + (what == RLIMIT_CPU ? 1 : 0);
    if (old.rlim_max != RLIM_INFINITY && rl.rlim_max > old.rlim_max)
        rl.rlim_max = old.rlim_max;
    if (rl.rlim_cur > rl.rlim_max)
        rl.rlim_cur = rl.rlim_max;
    return setrlimit(what, &rl) < 0 ? -errno : 0;
}

static int child_fds(const struct proc_child *pc, int *report_fd)
{
    int from[3 + KEEP_MAX], at[3 + KEEP_MAX];
    int count = 3 + pc->keep_count, high = HIGH_FD;
    int i, fd;

    for (i = 0; i < count; i++) {
        at[i] = i < 3 || pc->keep_at == NULL ? i : pc->keep_at[i - 3];
        if (at[i] >= high)
            high = at[i] + 1;
    }

    /* Sources may sit on the numbers we are about to fill, so all move out of the way first. */
    for (i = 0; i < count; i++) {
        int src = i < 3 ? pc->std_fd[i] : pc->keep_fds[i - 3];

        if (src < 0)
            fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        else
            fd = fcntl(src, F_DUPFD_CLOEXEC, high);
        if (fd < 0)
            return -errno;
        if (src < 0) {
            int moved = fcntl(fd, F_DUPFD_CLOEXEC, high);

            if (moved < 0)
                return -errno;
            (void)close(fd);
            fd = moved;
        }
        from[i] = fd;
    }
    fd = fcntl(*report_fd, F_DUPFD_CLOEXEC, high);
    if (fd < 0)
        return -errno;
    *report_fd = fd;
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0) {
        for (fd = 3; fd < 4096; fd++)
            (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    for (i = 0; i < count; i++)
        if (dup2(from[i], at[i]) < 0)
            return -errno;
    return 0;
}

static void child_signals(void)
{
    struct sigaction sa = {.sa_handler = SIG_DFL};
    sigset_t none;
    int sig;

    for (sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &sa, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_setup(const struct proc_child *pc, pid_t parent, int *report_fd, int *step)
{
    int i, rc;

    *step = STEP_SESSION;
    if (pc->new_session ? setsid() < 0 : setpgid(0, 0) < 0)
        return -errno;
    *step = STEP_PARENT;
    if (pc->pdeathsig != 0) {
        if (prctl(PR_SET_PDEATHSIG, pc->pdeathsig) < 0)
            return -errno;
        if (getppid() != parent)
            return -ESRCH;
    }
    if (pc->subreaper && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -errno;
    *step = STEP_CGROUP;
    for (i = 0; i < pc->procs_count; i++) {
        if (pc->procs_fds[i] >= 0 && write(pc->procs_fds[i], "0", 1) < 0)
            return -errno;
    }
    if (pc->oom_victim)
        (void)raw_put("/proc/self/oom_score_adj", "1000");
    if (pc->seal)
        (void)seal_self();
    *step = STEP_CWD;
    if (pc->cwd != NULL && chdir(pc->cwd) < 0)
        return -errno;
    *step = STEP_LIMITS;
    if (pc->no_core && setrlimit(RLIMIT_CORE, &(struct rlimit){0}) < 0)
        return -errno;
    rc = limit_set(RLIMIT_CPU, pc->cpu_limit_s);
    if (rc == 0)
        rc = limit_set(RLIMIT_AS, pc->as_limit_bytes);
    if (rc == 0)
        rc = limit_set(RLIMIT_FSIZE, pc->fsize_limit_bytes);
    if (rc < 0)
        return rc;
    *step = STEP_FDS;
    rc = child_fds(pc, report_fd);
    if (rc < 0)
        return rc;
    nofile_restore();
    if (drop_of_children() != NULL) {
        *step = STEP_USER;
        rc = drop_self(drop_of_children());
        /* The kernel forgets the signal when the user changes. */
        if (rc == 0 && pc->pdeathsig != 0 && prctl(PR_SET_PDEATHSIG, pc->pdeathsig) < 0)
            rc = -errno;
        if (rc == 0 && pc->pdeathsig != 0 && getppid() != parent)
            rc = -ESRCH;
        if (rc < 0)
            return rc;
    }
    *step = STEP_EXEC;
    child_signals();
    if (pc->traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        return -errno;
    if (pc->env != NULL) {
        static char *const no_env[] = {NULL};

        (void)execvpe(pc->argv->v[0], pc->argv->v, pc->env->n > 0 ? pc->env->v : no_env);
    } else {
        (void)execvp(pc->argv->v[0], pc->argv->v);
    }
    return -errno;
}

static void child_main(const struct proc_child *pc, pid_t parent, int report_fd)
    __attribute__((noreturn));
static void child_main(const struct proc_child *pc, pid_t parent, int report_fd)
{
    struct failure f = {0};

    f.code = child_setup(pc, parent, &report_fd, &f.step);
    if (write(report_fd, &f, sizeof(f)) != (ssize_t)sizeof(f))
        _exit(126);
    _exit(127);
}

pid_t proc_child_start(const struct proc_child *pc, const char **ret_step)
{
    cleanup_close int report_in = -1;
    cleanup_close int report_out = -1;
    struct failure f = {0};
    sigset_t all, old;
    pid_t pid, parent = getpid();
    ssize_t n;
    int fds[2], code;

    if (pc->argv == NULL || pc->argv->n == 0 || pc->keep_count > KEEP_MAX)
        return -EINVAL;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    report_in = fds[0];
    report_out = fds[1];
    /* No handler of ours may run in the child, so all wait until they are reset there. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    pid = fork();
    code = -errno;
    if (pid == 0)
        child_main(pc, parent, report_out);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    if (pid < 0)
        return code;
    (void)close(steal_fd(&report_out));
    if (!pc->new_session)
        (void)setpgid(pid, pid);
    do
        n = read(report_in, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(f))
        return pid;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (ret_step != NULL)
        *ret_step = step_names[f.step];
    return f.code;
}

pid_t proc_child_fork(void (*fn)(void *ctx), void *ctx)
{
    sigset_t all, old;
    pid_t pid;
    int code;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    pid = fork();
    code = -errno;
    if (pid == 0) {
        fn(ctx);
        _exit(0);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    return pid < 0 ? code : pid;
}

static void kill_tree(pid_t pid, int depth)
{
    char path[64], buf[8192];
    char *p = buf, *word;
    cleanup_close int fd = -1;
    uint64_t child;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || depth >= TREE_DEPTH)
        return;
    n = read(fd, buf, sizeof(buf) - 1);
    if (n <= 0)
        return;
    buf[n] = '\0';
    while ((word = strsep(&p, " ")) != NULL) {
        if (*word == '\0' || parse_u64(word, INT32_MAX, &child) < 0)
            continue;
        /* Stopped first, so that it neither forks nor ends while its own children are looked up. */
        (void)kill((pid_t)child, SIGSTOP);
        kill_tree((pid_t)child, depth + 1);
        (void)kill((pid_t)child, SIGKILL);
    }
}

void proc_child_kill_tree(pid_t pid)
{
    kill_tree(pid, 0);
}

bool proc_child_stopped(pid_t pid)
{
    siginfo_t si = {0};

    return waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOHANG | WNOWAIT) == 0 && si.si_pid == pid;
}
