/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a process is. A pid alone names nobody, as pids are used again; with the start time and the
 * boot id it names exactly one process. Nothing here allocates, so that the keeper can use all of
 * it at any time. A zombie is dead: it runs nothing and holds nothing.
 */
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"

/* Field 22 counting from 1; the first field after the command's ')' is field 3. */
#define STAT_STATE      3
#define STAT_START_TIME 22

static int read_stat(pid_t pid, char *buf, size_t size)
{
    char path[32];
    cleanup_close int fd = -1;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    do
        n = read(fd, buf, size - 1);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -ESRCH;
    buf[n] = '\0';
    return 0;
}

int proc_identify(pid_t pid, struct proc_id *ret)
{
    char buf[1024];
    uint64_t start_ticks = 0;
    char *p, *word;
    int field, rc;

    if (pid <= 0)
        return -ESRCH;
    rc = read_stat(pid, buf, sizeof(buf));
    if (rc < 0)
        return rc;
    /* "4711 (a) b) c) S 1 ...": the command may hold blanks and brackets, so count from the last one. */
    p = strrchr(buf, ')');
    if (p == NULL || p[1] != ' ')
        return -ESRCH;
    p += 2;
    for (field = STAT_STATE; (word = strsep(&p, " ")) != NULL; field++) {
        if (field == STAT_STATE && (*word == 'Z' || *word == 'X' || *word == 'x'))
            return -ESRCH;
        if (field == STAT_START_TIME)
            break;
    }
    if (word == NULL || parse_u64(word, UINT64_MAX, &start_ticks) < 0)
        return -ESRCH;
    ret->pid = pid;
    ret->start_ticks = start_ticks;
    (void)clock_boot_id(ret->boot_id, sizeof(ret->boot_id));
    return 0;
}

bool proc_alive(const struct proc_id *id)
{
    struct proc_id now = {0};

    if (id->pid <= 0 || proc_identify(id->pid, &now) < 0)
        return false;
    if (now.start_ticks != id->start_ticks)
        return false;
    return id->boot_id[0] == '\0' || now.boot_id[0] == '\0' ||
           strcmp(id->boot_id, now.boot_id) == 0;
}

int proc_pidfd(const struct proc_id *id)
{
    int fd;

    if (id->pid <= 0)
        return -ESRCH;
    fd = (int)syscall(SYS_pidfd_open, id->pid, 0U);
    if (fd < 0)
        return -errno;
    /* The pidfd pins whoever had the pid just now; only then does the look at /proc say who that is. */
    if (!proc_alive(id)) {
        (void)close(fd);
        return -ESRCH;
    }
    return fd;
}

int proc_signal(const struct proc_id *id, int sig)
{
    cleanup_close int fd = proc_pidfd(id);

    if (fd < 0)
        return fd;
    if (syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0U) < 0)
        return -errno;
    return 0;
}

char *proc_status_text(char *buf, size_t size, int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        int sig = WTERMSIG(wait_status);
        const char *name = sigabbrev_np(sig);

        (void)snprintf(buf, size, "signal %d (%s%s)", sig, name != NULL ? "SIG" : "unknown",
                       name != NULL ? name : "");
    } else {
        (void)snprintf(buf, size, "exit code %d", WEXITSTATUS(wait_status));
    }
    return buf;
}
