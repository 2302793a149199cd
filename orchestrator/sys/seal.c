/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-only cgroup trees for the program under test. Everything here runs in a child between fork and exec, or in one that is
 * made for a trial, so nothing has to be undone. The invariant: the capabilities go from the bounding set, as a program that
 * root starts would otherwise have them again; this process has them until it becomes that program, and needs them here.
 */
#include "sys/seal.h"

#include <errno.h>
#include <linux/capability.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/seal_filter.h"

#define MOUNT_BYTES_MAX 16384

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

/* In a mount namespace of our own. */
static int trees_seal(void)
{
    int rc = mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? -errno : trees_close();

    if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN) < 0 || prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE) < 0)
        rc = -errno;
    return rc;
}

int seal_self(void)
{
    int trees, filter;

    if (unshare(CLONE_NEWNS) < 0)
        return -EPERM;
    trees = trees_seal();
    filter = seal_filter_install();
    return trees < 0 ? trees : filter;
}

enum seal seal_try(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        if (unshare(CLONE_NEWNS) < 0 || trees_seal() < 0)
            _exit(SEAL_NONE);
        (void)seal_filter_install();
        /* Tried for, and the filter not asked about: there are hosts without user namespaces. */
        _exit(unshare(CLONE_NEWUSER) == 0 ? SEAL_NAMESPACES_OPEN : SEAL_WHOLE);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) ? (enum seal)WEXITSTATUS(status) : SEAL_NONE;
}

const char *seal_lacks(enum seal seal)
{
    switch (seal) {
    case SEAL_NONE:
        return "no mount namespace of its own: a target that means to can change the limits of its "
               "own cgroup, freeze it or leave it";
    case SEAL_NAMESPACES_OPEN:
        return "the kernel takes no filter of system calls: a target that means to can make a user "
               "namespace, and change cgroups there";
    case SEAL_WHOLE:
        break;
    }
    return NULL;
}
