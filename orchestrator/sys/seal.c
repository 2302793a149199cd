/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-only cgroup trees for the program under test. Everything here runs in a child between fork and exec, or in one that is
 * made for a trial, so nothing has to be undone. The invariant: the capabilities go last, as sealing needs them, and they go
 * from the bounding set, as a program that root starts would otherwise have them again.
 */
#include "sys/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOUNT_BYTES_MAX 16384
/* Descriptors of groups: below those of AFL++ (198 and up), above what a program opens by itself. */
#define GROUP_FD        180
#define GROUPS_MAX      8

static int trees_close(void)
{
    static char buf[MOUNT_BYTES_MAX];
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent m;
    int rc = 0;

    if (mounts == NULL)
        return -errno;
    while (getmntent_r(mounts, &m, buf, sizeof(buf)) != NULL) {
        if (strcmp(m.mnt_type, "cgroup") != 0 && strcmp(m.mnt_type, "cgroup2") != 0)
            continue;
        if (mount(NULL, m.mnt_dir, NULL,
                  MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
            rc = -errno;
    }
    (void)endmntent(mounts);
    return rc;
}

int seal_self(void)
{
    int rc;

    if (unshare(CLONE_NEWNS) < 0)
        return -EPERM;
    rc = mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? -errno : trees_close();
    if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN) < 0 || prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE) < 0)
        rc = -errno;
    return rc;
}

/* Opens the files of a list and appends their numbers to text; how many. */
static int groups_open(const char *paths, char *text, size_t size)
{
    const char *p = paths;
    char path[1024];
    int count = 0;

    while (*p != '\0' && count < GROUPS_MAX) {
        size_t n = strcspn(p, ":"), used = strlen(text);
        int fd = -1;

        if (n > 0 && n < sizeof(path)) {
            memcpy(path, p, n);
            path[n] = '\0';
            fd = open(path, O_WRONLY | O_CLOEXEC);
        }
        if (fd >= 0 && dup2(fd, GROUP_FD + count) >= 0) {
            (void)snprintf(text + used, size - used, "%s%d", count > 0 ? ":" : "",
                           GROUP_FD + count);
            count++;
        }
        if (fd >= 0)
            (void)close(fd);
        p += n + (p[n] == ':');
    }
    return count;
}

int seal_self_but(char **env, const char *variable, char *buf, size_t size)
{
    size_t n = strlen(variable);
    int count = 0, rc;
    char **item;

    for (item = env; item != NULL && *item != NULL; item++)
        if (strncmp(*item, variable, n) == 0 && (*item)[n] == '=')
            break;
    if (item != NULL && *item != NULL) {
        (void)snprintf(buf, size, "%s=", variable);
        count = groups_open(*item + n + 1, buf, size);
    }
    rc = seal_self();
    if (count > 0 && rc != -EPERM)
        *item = buf;
    else
        while (count > 0)
            (void)close(GROUP_FD + --count);
    return rc;
}

bool seal_works(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(seal_self() == 0 ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
