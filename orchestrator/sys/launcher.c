/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's half and the calls that talk to it. It is forked of a process that may have threads
 * and is sealed once for all its programs; its socket and what it waits for are out of their
 * reach, as they get no descriptor of it and lose CAP_SYS_PTRACE by the seal.
 */
#include "sys/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "sys/seal.h"

struct apart {
    struct proc_child pc;
    pid_t parent;
    int fd;
};

static bool is_kept(const struct apart *a, int fd)
{
    if (fd == a->fd)
        return true;
    for (int i = 0; i < 3; i++)
        if (fd == a->pc.std_fd[i])
            return true;
    for (int i = 0; i < a->pc.procs_count; i++)
        if (fd == a->pc.procs_fds[i])
            return true;
    return false;
}

/* What we have open is not the launcher's to hold: somebody may wait for its last user. */
static void close_others(const struct apart *a)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int top = a->fd;

    for (int i = 0; i < 3; i++)
        top = a->pc.std_fd[i] > top ? a->pc.std_fd[i] : top;
    for (int i = 0; i < a->pc.procs_count; i++)
        top = a->pc.procs_fds[i] > top ? a->pc.procs_fds[i] : top;
    for (int fd = 0; fd <= top; fd++) {
        if (is_kept(a, fd))
            continue;
        if (fd > STDERR_FILENO || null < 0)
            (void)close(fd);
        else if (fd != null)
            (void)dup2(null, fd);
    }
    (void)close_range((unsigned)top + 1, ~0U, 0);
}

/* Once the program is reaped. Who lost his parent below it is a child of ours by then. */
static void take_rest_away(void)
{
    struct proc_sweep left = {.n = 0, .was_subreaper = 1};
    siginfo_t si;

    if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0)
        proc_sweep_end(&left);
}

static bool say(const struct apart *a, const struct launcher_said *s)
{
    return send(a->fd, s, sizeof(*s), MSG_NOSIGNAL) == (ssize_t)sizeof(*s);
}

/* False when nobody listens any more. */
static bool run_one(const struct apart *a)
{
    struct launcher_said s = {.word = LAUNCHER_STARTED};
    const char *step = "start";
    pid_t pid = proc_child_start(&a->pc, &step);
    int status = 0;

    s.value = pid;
    if (pid < 0) {
        s.word = LAUNCHER_FAILED;
        (void)strlcpy(s.step, step, sizeof(s.step));
        return say(a, &s);
    }
    if (!say(a, &s))
        return false;
    while (wait4(pid, &status, 0, &s.usage) < 0 && errno == EINTR)
        ;
    take_rest_away();
    s.word = LAUNCHER_ENDED;
    s.value = status;
    return say(a, &s);
}

static void launcher_main(void *ctx) __attribute__((noreturn));
static void launcher_main(void *ctx)
{
    struct apart *a = ctx;
    char go;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "fuzz-launcher");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != a->parent)
        _exit(0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    close_others(a);
    if (a->pc.seal)
        (void)seal_self();
    a->pc.seal = a->pc.new_session = a->pc.subreaper = false;
    while (recv(a->fd, &go, sizeof(go), 0) == (ssize_t)sizeof(go) && run_one(a))
        ;
    _exit(0);
}

pid_t launcher_open(const struct proc_child *pc, int *ret_fd)
{
    cleanup_close int ours = -1;
    cleanup_close int its = -1;
    struct apart a = {.pc = *pc, .parent = getpid()};
    int fds[2];
    pid_t pid;

    if (pc->keep_count != 0)
        return -EINVAL;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    ours = fds[0];
    a.fd = its = fds[1];
    pid = proc_child_fork(launcher_main, &a);
    if (pid > 0)
        *ret_fd = steal_fd(&ours);
    return pid;
}

int launcher_go(int fd)
{
    static const char go = 'g';

    return send(fd, &go, sizeof(go), MSG_NOSIGNAL) == (ssize_t)sizeof(go) ? 0 : -EPIPE;
}

int launcher_hear(int fd, struct launcher_said *ret)
{
    ssize_t n;

    do
        n = recv(fd, ret, sizeof(*ret), 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*ret) ? 0 : -EPIPE;
}
