/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another user for programs under test. What they own they may have replaced by anything, so folders are handed over by
 * descriptors that were opened step by step.
 */
#include "sys/drop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

#define GIVE_DEPTH 16

static struct drop children;
static bool children_set;

int drop_find(const char *user, struct drop *ret, struct err *err)
{
    const struct passwd *pw;

    if (geteuid() != 0)
        return err_set(err, -EPERM, "only root can run targets as another user");
    errno = 0;
    pw = getpwnam(user);
    if (pw == NULL)
        return err_set(err, -ENOENT, "there is no user \"%s\"", user);
    if (pw->pw_uid == 0 || pw->pw_gid == 0 || pw->pw_uid > INT32_MAX || pw->pw_gid > INT32_MAX)
        return err_set(err, -EINVAL, "\"%s\" has the rights of root", user);
    *ret = (struct drop){.uid = pw->pw_uid, .gid = pw->pw_gid};
    return 0;
}

int drop_self(const struct drop *d)
{
    if (setgroups(1, &d->gid) < 0 || setresgid(d->gid, d->gid, d->gid) < 0 ||
        setresuid(d->uid, d->uid, d->uid) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    /* What cannot be undone is tried to be undone. */
    return setuid(0) == 0 ? -EPERM : 0;
}

void drop_children(const struct drop *d)
{
    children_set = d != NULL;
    if (d != NULL)
        children = *d;
}

const struct drop *drop_of_children(void)
{
    return children_set ? &children : NULL;
}

int drop_mkdtemp(char *template)
{
    int rc;

    if (mkdtemp(template) == NULL)
        return -errno;
    if (!children_set || lchown(template, children.uid, children.gid) == 0)
        return 0;
    rc = -errno;
    (void)rmdir(template);
    errno = -rc;
    return rc;
}

int drop_give(int fd)
{
    return !children_set || fchown(fd, children.uid, children.gid) == 0 ? 0 : -errno;
}

int drop_give_segment(int id)
{
    struct shmid_ds ds;

    if (!children_set)
        return 0;
    if (shmctl(id, IPC_STAT, &ds) < 0)
        return -errno;
    ds.shm_perm.uid = children.uid;
    ds.shm_perm.gid = children.gid;
    return shmctl(id, IPC_SET, &ds) == 0 ? 0 : -errno;
}

/* Others may pass a folder of ours; one that is not ours is left as it is. */
static int open_way(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & 0111) == 0111)
        return 0;
    return fchmod(fd, (st.st_mode & 0777) | 0111) < 0 ? -errno : 0;
}

/*
 * All that is from's in a folder, which was his; fd stays open. What is looked at and what is given are one descriptor:
 * he may still run, and put a link to a file of root's under the name meanwhile.
 */
static int give_tree(int fd, uid_t from, const struct drop *d, int depth)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    cleanup_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *de;
    struct stat st;

    if (dir == NULL) {
        rc = -errno;
        if (copy >= 0)
            (void)close(copy);
        return rc;
    }
    while (rc == 0 && (de = readdir(dir)) != NULL) {
        cleanup_close int one = -1;

        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        one = openat(fd, de->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (one < 0 || fstat(one, &st) < 0 || st.st_uid != from)
            continue;
        if (S_ISDIR(st.st_mode) && depth < GIVE_DEPTH) {
            cleanup_close int sub = openat(one, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

            rc = sub >= 0 ? give_tree(sub, from, d, depth + 1) : -errno;
        }
        if (rc == 0 && fchownat(one, "", d->uid, d->gid, AT_EMPTY_PATH) < 0)
            rc = -errno;
    }
    return rc;
}

/* A user who was made anew may have another number: what he had is still his. */
static int give(int fd, const struct drop *d)
{
    struct stat st;
    int rc = 0;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != 0 && st.st_uid != d->uid)
        rc = give_tree(fd, st.st_uid, d, 0);
    if (rc == 0 && (fchown(fd, d->uid, d->gid) < 0 || fchmod(fd, 0700) < 0))
        rc = -errno;
    return rc;
}

int drop_folder(const char *top, const char *path, const struct drop *d)
{
    size_t n = strlen(top);
    int fd = -1, rc = 0;

    while (n > 1 && top[n - 1] == '/')
        n--;
    if (strncmp(path, top, n) != 0 || path[n] != '/')
        return -EXDEV;
    for (const char *p = path + n; rc == 0; p += strcspn(p, "/")) {
        cleanup_free char *part = xstrndup(path, (size_t)(p - path));

        fd = path_open_below(top, part, 0);
        if (fd < 0)
            return fd;
        p += strspn(p, "/");
        if (*p == '\0')
            break;
        rc = open_way(fd);
        (void)close(fd);
        fd = -1;
    }
    if (rc == 0)
        rc = give(fd, d);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

int drop_folder_and_files(const char *top, const char *path, const struct drop *d)
{
    int fd = path_open_below(top, path, 0);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;

    if (fd < 0)
        return fd;
    if (dir == NULL) {
        (void)close(fd);
        return -ENOMEM;
    }
    while ((de = readdir(dir)) != NULL)
        if (de->d_name[0] != '.' &&
            fchownat(fd, de->d_name, d->uid, d->gid, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
    int r = drop_folder(top, path, d);

    if (r == 0) {
        const char *name;
        cleanup_close int above = path_open_parent_below(top, path, &name);

        r = above < 0 ? above : fchmod(above, 0755) < 0 ? -errno : 0;
    }
    return r;
}
