/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket and the StatsD port. A socket's path is bound through /proc/self/fd/N, as
 * sun_path holds only 107 bytes while state folders may be deeper. The caller holds the daemon's
 * lock when it listens, so a socket file found there belongs to nobody alive.
 */
#include "sys/sock.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

#define BACKLOG 32

/* Opens dir into *ret_dirfd, which must stay open while sa is in use. */
static int address_make(const char *dir, const char *name, int *ret_dirfd, struct sockaddr_un *sa)
{
    int dirfd, n;

    if (!path_component_ok(name))
        return -EINVAL;
    dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dirfd < 0)
        return -errno;
    memset(sa, 0, sizeof(*sa));
    sa->sun_family = AF_UNIX;
    n = snprintf(sa->sun_path, sizeof(sa->sun_path), "/proc/self/fd/%d/%s", dirfd, name);
    if (n < 0 || (size_t)n >= sizeof(sa->sun_path)) {
        (void)close(dirfd);
        return -ENAMETOOLONG;
    }
    *ret_dirfd = dirfd;
    return 0;
}

int sock_listen(const char *dir, const char *name)
{
    cleanup_close int dirfd = -1;
    cleanup_close int fd = -1;
    struct sockaddr_un sa;
    struct stat st;
    mode_t old_mask;
    int rc;

    rc = address_make(dir, name, &dirfd, &sa);
    if (rc < 0)
        return rc;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return -EEXIST;
        if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
            return -errno;
    }
    /* By the mask and not by chmod afterwards: there is no instant in which others may connect. */
    old_mask = umask(0177);
    rc = bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ? -errno : 0;
    (void)umask(old_mask);
    if (rc < 0)
        return rc;
    if (listen(fd, BACKLOG) < 0)
        return -errno;
    return steal_fd(&fd);
}

int sock_connect(const char *dir, const char *name)
{
    cleanup_close int dirfd = -1;
    cleanup_close int fd = -1;
    struct sockaddr_un sa;
    int rc;

    rc = address_make(dir, name, &dirfd, &sa);
    if (rc < 0)
        return rc;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    while (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
        if (errno != EINTR)
            return -errno;
    return steal_fd(&fd);
}

int sock_peer(int fd, uid_t *ret_uid, pid_t *ret_pid)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -errno;
    *ret_uid = cred.uid;
    *ret_pid = cred.pid;
    return 0;
}

int sock_udp_loopback(uint16_t port, uint16_t *ret_port)
{
    cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof(sa);

    if (fd < 0)
        return -errno;
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
        return -errno;
    if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
        return -errno;
    *ret_port = ntohs(sa.sin_port);
    return steal_fd(&fd);
}

int sock_udp_inode(uint16_t port, uint64_t *ret_inode)
{
    cleanup_fclose FILE *f = fopen("/proc/net/udp", "re");
    char line[256];

    if (f == NULL)
        return -errno;
    while (fgets(line, sizeof(line), f) != NULL) {
        unsigned local;
        uint64_t inode;

        /* " 1234: 00000000:A1B2 00000000:0000 07 00000000:00000000 00:00000000 00000000  0  0 33123 2 ..." */
        if (sscanf(line, " %*u: %*8x:%4x %*x:%*x %*x %*x:%*x %*x:%*x %*x %*u %*d %" SCNu64, &local,
                   &inode) == 2 &&
            local == port && inode != 0) {
            *ret_inode = inode;
            return 0;
        }
    }
    return -ENOENT;
}

bool sock_is_open_in(pid_t pid, uint64_t inode)
{
    cleanup_dir DIR *dir = NULL;
    char path[64], want[64], link[64];
    const struct dirent *de;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    (void)snprintf(want, sizeof(want), "socket:[%" PRIu64 "]", inode);
    dir = opendir(path);
    while (dir != NULL && (de = readdir(dir)) != NULL) {
        ssize_t n = readlinkat(dirfd(dir), de->d_name, link, sizeof(link) - 1);

        if (n <= 0)
            continue;
        link[n] = '\0';
        if (strcmp(link, want) == 0)
            return true;
    }
    return false;
}
