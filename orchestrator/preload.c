/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-preload.so, loaded into the program under test by AFL_PRELOAD. Before main it has the keeper
 * move the fork server into the target's own cgroup (orchestrator/sys/gate.h), so that the kernel's out-of-memory killer and the limit of
 * processes meet the target and not afl-fuzz; and it sets the ladder by which that killer chooses:
 * the fork server before afl-fuzz, a forked child before both. The server's child dies with it. The program under test may use any
 * allocator and any sanitizer, so there is nothing here but system calls; a step that fails is
 * left out, and the limits of the instance as a whole still hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* The name of the keeper's abstract socket; empty: the group is entered already. */
#define VARIABLE       "FUZZ_TARGET_GATE"
#define ANSWER_S       2
#define OOM_ADJ_FILE   "/proc/self/oom_score_adj"
#define OOM_ADJ_SERVER "500"
#define OOM_ADJ_CHILD  "1000"

static void file_put(const char *path, const char *text, size_t size)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)syscall(SYS_write, fd, text, size);
    (void)syscall(SYS_close, fd);
}

/* Knocks, and waits until the keeper has moved us, which it says by closing. */
static void gate_pass(const char *name)
{
    const struct timeval patience = {.tv_sec = ANSWER_S};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    size_t n = strlen(name);
    char answer;
    long fd;

    if (n == 0 || n >= sizeof(un.sun_path))
        return;
    memcpy(un.sun_path + 1, name, n);
    fd = syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    (void)syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (syscall(SYS_connect, fd, &un, offsetof(struct sockaddr_un, sun_path) + 1 + n) == 0)
        (void)syscall(SYS_read, fd, &answer, sizeof(answer));
    (void)syscall(SYS_close, fd);
}

static pid_t server;

static void on_fork_in_child(void)
{
    int saved = errno;

    /* Neither AFL++'s runtime nor we are there to end a child whose server was killed. What the child forks is its own affair. */
    if (syscall(SYS_getppid) == server)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    file_put(OOM_ADJ_FILE, OOM_ADJ_CHILD, sizeof(OOM_ADJ_CHILD) - 1);
    errno = saved;
}

/*
 * Takes the variable out of the environment and returns its value. By hand, as a program may have
 * getenv and unsetenv of its own, not ready before its main (bash does).
 */
static const char *variable_take(void)
{
    const size_t n = sizeof(VARIABLE) - 1;
    const char *value = NULL;
    char **from, **to;

    if (environ == NULL)
        return NULL;
    for (from = to = environ; *from != NULL; from++) {
        if (strncmp(*from, VARIABLE "=", n + 1) == 0)
            value = *from + n + 1;
        else
            *to++ = *from;
    }
    *to = NULL;
    return value;
}

__attribute__((constructor(101))) static void enter_target_group(void)
{
    const char *gate = variable_take();
    int saved = errno;

    if (gate == NULL)
        return;
    gate_pass(gate);
    file_put(OOM_ADJ_FILE, OOM_ADJ_SERVER, sizeof(OOM_ADJ_SERVER) - 1);
    server = (pid_t)syscall(SYS_getpid);
    (void)pthread_atfork(NULL, NULL, on_fork_in_child);
    errno = saved;
}
