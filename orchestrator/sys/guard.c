/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the owner is the end of its socket, which no signal can hold back. Sessions come one a
 * message; a session that is added twice is dropped twice.
 */
#include "sys/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"

#define SESSIONS_MAX 1024
#define ROUNDS       200 /* until nobody of a session is left: who was just forked may be missed */
#define ROUND_US     5000

struct guard {
    int fd;
    pid_t pid;
};

/* Positive pid: one more session; negative: it is over; 0: the owner ends in good order. */
typedef int32_t message;

int session_kill_member(pid_t session, pid_t pid)
{
    cleanup_close int fd = -1;

    /* Most of a host's are not, and a pidfd is dear. */
    if (getsid(pid) != session)
        return -ESRCH;
    fd = pidfd_open(pid, 0);
    if (fd < 0 || getsid(pid) != session)
        return -ESRCH;
    return pidfd_send_signal(fd, SIGKILL, NULL, 0) < 0 ? -errno : 0;
}

int session_kill(pid_t session)
{
    cleanup_dir DIR *dir = opendir("/proc");
    const struct dirent *e;
    uint64_t pid;
    int n = 0;

    while (dir != NULL && (e = readdir(dir)) != NULL)
        if (parse_u64(e->d_name, INT32_MAX, &pid) == 0 && pid > 1 &&
            session_kill_member(session, (pid_t)pid) == 0)
            n++;
    return n;
}

static void put(pid_t *sessions, size_t *n, message m)
{
    size_t i;

    if (m > 0) {
        if (*n < SESSIONS_MAX)
            sessions[(*n)++] = m;
        return;
    }
    for (i = *n; i > 0; i--)
        if (sessions[i - 1] == -m) {
            sessions[i - 1] = sessions[--*n];
            return;
        }
}

static void stand_apart(void)
{
    cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)prctl(PR_SET_PDEATHSIG, 0);
    (void)prctl(PR_SET_NAME, "fuzz-guard");
    (void)setsid();
    /* A reader of our owner's output waits for its last writer. */
    for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
        (void)dup2(null, i);
}

static void guard_main(int fd, void (*clean)(void *ctx), void *ctx) __attribute__((noreturn));
static void guard_main(int fd, void (*clean)(void *ctx), void *ctx)
{
    pid_t sessions[SESSIONS_MAX];
    size_t n = 0, i;
    message m = 0;

    stand_apart();
    while (recv(fd, &m, sizeof(m), 0) == (ssize_t)sizeof(m)) {
        if (m == 0)
            _exit(0);
        put(sessions, &n, m);
    }
    for (i = 0; i < n; i++)
        for (int round = 0; round < ROUNDS && session_kill(sessions[i]) > 0; round++)
            (void)usleep(ROUND_US);
    if (clean != NULL)
        clean(ctx);
    _exit(0);
}

struct guard *guard_open(void (*clean)(void *ctx), void *ctx)
{
    struct guard *g;
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return NULL;
    pid = fork();
    if (pid == 0) {
        (void)close(fds[0]);
        guard_main(fds[1], clean, ctx);
    }
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return NULL;
    }
    g = xcalloc(1, sizeof(*g));
    *g = (struct guard){.fd = fds[0], .pid = pid};
    return g;
}

static void tell(const struct guard *g, message m)
{
    if (g != NULL)
        (void)send(g->fd, &m, sizeof(m), MSG_NOSIGNAL);
}

void guard_add(struct guard *g, pid_t session)
{
    tell(g, session);
}

void guard_drop(struct guard *g, pid_t session)
{
    tell(g, -session);
}

void guard_close(struct guard *g)
{
    if (g == NULL)
        return;
    tell(g, 0);
    (void)close(g->fd);
    while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(g);
}
