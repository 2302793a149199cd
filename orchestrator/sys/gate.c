/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate into the target's group. The invariant: nobody is moved who is not in all the groups of afl-fuzz, so a pid that
 * has passed to a stranger since the knock does no harm, and neither does one who guesses the name.
 */
#include "sys/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sys/raw.h"
#include "sys/sock.h"

#define BACKLOG          16
#define GROUPS_BYTES_MAX 16384
#define PATH_BYTES_MAX   1024

int gate_open(char *name, size_t size)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
    socklen_t len = sizeof(un);

    /* An address of the family alone lets the kernel choose. */
    if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un.sun_family)) < 0 ||
        listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&un, &len) < 0)
        return -errno;
    if (len <= head || len - head >= size)
        return -ENAMETOOLONG;
    memcpy(name, un.sun_path + 1, len - head);
    name[len - head] = '\0';
    return steal_fd(&fd);
}

/* All of /proc/PID/cgroup. Its length or -errno. */
static ssize_t groups_read(pid_t pid, char *buf, size_t size)
{
    char path[64];
    size_t used = 0;
    ssize_t n = 1;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while (n > 0 && used < size) {
        n = read(fd, buf + used, size - used);
        if (n > 0)
            used += (size_t)n;
    }
    (void)close(fd);
    if (n != 0)
        return n < 0 ? -EIO : -E2BIG;
    return (ssize_t)used;
}

static bool same_groups(pid_t a, pid_t b)
{
    static char of_a[GROUPS_BYTES_MAX], of_b[GROUPS_BYTES_MAX];
    ssize_t n = groups_read(a, of_a, sizeof(of_a));

    return n > 0 && groups_read(b, of_b, sizeof(of_b)) == n && memcmp(of_a, of_b, (size_t)n) == 0;
}

/* Into all of them, or as many as can be: each holds a limit of its own. */
static int move(pid_t pid, const char *ways)
{
    char path[PATH_BYTES_MAX], number[16];
    const char *p = ways;
    int rc = 0, r;

    (void)snprintf(number, sizeof(number), "%d", (int)pid);
    while (*p != '\0') {
        size_t n = strcspn(p, ":");

        if (n > 0 && n < sizeof(path)) {
            memcpy(path, p, n);
            path[n] = '\0';
            r = raw_put(path, number);
            rc = r < 0 ? r : rc;
        }
        p += n + (p[n] == ':');
    }
    return rc;
}

int gate_answer(int fd, const char *ways, pid_t like)
{
    cleanup_close int peer = -1;
    struct sockaddr_un from;
    socklen_t size = sizeof(from);
    pid_t pid = 0;
    uid_t uid;
    int rc;

    peer = accept4(fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
    if (peer < 0)
        return -errno;
    rc = sock_peer(peer, &uid, &pid);
    if (rc < 0)
        return rc;
    if (pid <= 0 || pid == like || !same_groups(pid, like))
        return -EPERM;
    return move(pid, ways);
}
