/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving the starter. A session or process group that is killed, a terminal that closes, a pipe that nobody reads:
 * none of it may reach the daemon. The cgroup is left by the caller before, as fork inherits it and setsid does not leave it.
 */
#include "fuzzd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/file.h"

/* The launching process: its exit code is whether the daemon came up. */
static void launcher(int status_fd, pid_t child)
{
    char byte;
    int status;
    ssize_t n;

    do
        n = read(status_fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        _exit(EXIT_DONE);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    /* As a shell tells it, so that whoever started us can tell a kill from a failure. */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int detach_daemon(struct detach *dt)
{
    int pipe_fds[2], null_fd;
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return -errno;
    pid = fork();
    if (pid < 0) {
        int r = -errno;

        (void)close(pipe_fds[0]);
        (void)close(pipe_fds[1]);
        return r;
    }
    if (pid > 0) {
        (void)close(pipe_fds[1]);
        launcher(pipe_fds[0], pid);
    }
    (void)close(pipe_fds[0]);
    dt->status_fd = pipe_fds[1];
    /* Fails only for a group leader, which a fresh child is not. */
    (void)setsid();
    /* Of a service that started us: what we say of ourselves, it would be believed to have said. */
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    if (chdir("/") != 0)
        return -errno;
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd >= 0) {
        (void)dup2(null_fd, STDIN_FILENO);
        (void)dup2(null_fd, STDOUT_FILENO);
        if (null_fd > STDERR_FILENO)
            (void)close(null_fd);
    }
    /* Descriptors that the starter forgot to close: a pipe held open keeps its reader waiting for ever. */
    for (int fd = 3, keep_a = dt->status_fd, keep_b = dt->ready_fd; fd < 1024; fd++)
        if (fd != keep_a && fd != keep_b)
            (void)close(fd);
    (void)close_range(1024, ~0U, 0);
    return 0;
}

void detach_ready(struct detach *dt)
{
    int null_fd;

    if (dt->ready_fd >= 0) {
        (void)file_write_all(dt->ready_fd, "1", 1);
        (void)close(dt->ready_fd);
        dt->ready_fd = -1;
    }
    if (dt->status_fd < 0)
        return;
    (void)file_write_all(dt->status_fd, "1", 1);
    (void)close(dt->status_fd);
    dt->status_fd = -1;
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd >= 0) {
        (void)dup2(null_fd, STDERR_FILENO);
        (void)close(null_fd);
    }
}
