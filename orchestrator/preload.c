/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-preload.so, loaded into the program under test by AFL_PRELOAD. Before main it moves the fork
 * server into the target's own cgroup, so that the kernel's out-of-memory killer and the limit of
 * processes meet the target and not afl-fuzz; and it sets the ladder by which that killer chooses:
 * the fork server before afl-fuzz, a forked child before both. The server's child dies with it. The program under test may use any
 * allocator and any sanitizer, so there is nothing here but system calls; a step that fails is
 * left out, and the limits of the instance as a whole still hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* cgroup.procs files, separated by colons: paths, or numbers of open descriptors. */
#define VARIABLE       "FUZZ_TARGET_PROCS"
#define PATH_BYTES_MAX 1024
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

/* "180" in n bytes: that descriptor, written to and closed. */
static void descriptor_put(const char *number, size_t n)
{
    long fd = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        if (number[i] < '0' || number[i] > '9')
            return;
        fd = fd * 10 + (number[i] - '0');
    }
    (void)syscall(SYS_write, fd, "0", (size_t)1);
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
    const char *p = variable_take();
    int saved = errno;
    char path[PATH_BYTES_MAX];

    if (p == NULL)
        return;
    while (*p != '\0') {
        size_t n = strcspn(p, ":");

        if (n > 0 && n < 4 && p[0] != '/') {
            descriptor_put(p, n);
        } else if (n > 0 && n < sizeof(path)) {
            memcpy(path, p, n);
            path[n] = '\0';
            file_put(path, "0", 1);
        }
        p += n + (p[n] == ':');
    }
    file_put(OOM_ADJ_FILE, OOM_ADJ_SERVER, sizeof(OOM_ADJ_SERVER) - 1);
    server = (pid_t)syscall(SYS_getpid);
    (void)pthread_atfork(NULL, NULL, on_fork_in_child);
    errno = saved;
}
