/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders of ours, reached without following a link. A program under test may run with
 * our uid and put a link in the place of any folder of a run, so what is read, written
 * or wiped there is opened step by step from the state directory on.
 */
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* What of path lies below the folder top, which is open as fd; NULL when it does not. */
static const char *rest_of(int fd, const char *top, const char *path)
{
    size_t n = strlen(top);
    struct stat a, b;

    while (n > 1 && top[n - 1] == '/')
        n--;
    if (strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0'))
        return path + n;
    /* One folder may have two spellings, by links above it. */
    if (fstat(fd, &a) < 0)
        return NULL;
    for (const char *p = path; *p != '\0'; p += *p != '\0') {
        p += strcspn(p, "/");
        cleanup_free char *front = xstrndup(path, p > path ? (size_t)(p - path) : 1);

        if (stat(front, &b) < 0)
            return NULL;
        if (a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return p;
    }
    return NULL;
}

/* One step down, with words for what stands in the way. */
static int open_step(int fd, const char *name, mode_t mode)
{
    struct stat sb;
    int next;

    if (!path_component_ok(name))
        return -EINVAL;
    if (mode != 0 && mkdirat(fd, name, mode) < 0 && errno != EEXIST)
        return -errno;
    next = openat(fd, name, FOLDER_FLAGS);
    if (next < 0 && errno == ENOTDIR && fstatat(fd, name, &sb, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(sb.st_mode))
        return -ELOOP;
    return next < 0 ? -errno : next;
}

int path_open_below(const char *top, const char *path, mode_t mode)
{
    cleanup_close int fd = open(top, FOLDER_FLAGS);
    const char *p;

    if (fd < 0)
        return errno == ENOTDIR ? -ELOOP : -errno;
    p = rest_of(fd, top, path);
    if (p == NULL)
        return access(path, F_OK) < 0 && errno == ENOENT ? -ENOENT : -EXDEV;
    for (p += strspn(p, "/"); *p != '\0'; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        cleanup_free char *name = xstrndup(p, n);
        int next = open_step(fd, name, mode);

        if (next < 0)
            return next;
        (void)close(fd);
        fd = next;
        p += n;
    }
    return steal_fd(&fd);
}

int path_open_parent_below(const char *top, const char *path, const char **ret_name)
{
    cleanup_free char *dir = path_dirname(path);
    const char *slash = strrchr(path, '/');

    if (slash == NULL || !path_component_ok(slash + 1))
        return -EINVAL;
    *ret_name = slash + 1;
    return path_open_below(top, dir, 0);
}

int path_mkdirs_below(const char *top, const char *path, mode_t mode)
{
    cleanup_close int fd = path_open_below(top, path, mode);

    return fd < 0 ? fd : 0;
}

int path_remove_tree_below(const char *top, const char *path)
{
    const char *name;
    cleanup_close int fd = path_open_parent_below(top, path, &name);

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    return path_remove_tree_at(fd, name);
}

int path_unlink_below(const char *top, const char *path)
{
    const char *name;
    cleanup_close int fd = path_open_parent_below(top, path, &name);

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    return unlinkat(fd, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

/*
 * What lies in a state directory: the lock is the first that fuzzd makes, and stays with the index, so that either tells of
 * one whatever else is there. Where both are lost, or not made yet, it holds no other names than these.
 */
static bool state_is_foreign(const char *dir)
{
    static const char *const sure[] = {"fuzzd.lock", "state.db"};
    static const char *const ours[] = {
        "bundles",      "cache",        "campaigns",  "corpora",   "fuzzd.log",
        "fuzzd.sock",   "locks",        "lost+found", "seeds.job", "state.db-journal",
        "state.db-shm", "state.db-wal", "store",      "triage.job"};
    cleanup_dir DIR *d = opendir(dir);
    const struct dirent *de;
    bool other = false;

    while (d != NULL && (de = readdir(d)) != NULL) {
        bool known = de->d_name[0] == '.';

        for (size_t i = 0; i < sizeof(sure) / sizeof(sure[0]); i++)
            if (strcmp(de->d_name, sure[i]) == 0)
                return false;
        for (size_t i = 0; !known && i < sizeof(ours) / sizeof(ours[0]); i++)
            known = strcmp(de->d_name, ours[i]) == 0;
        other |= !known;
    }
    return other;
}

int path_state_check(const char *dir, struct err *err)
{
    uid_t uid = geteuid();
    struct stat sb;

    if (lstat(dir, &sb) < 0)
        return errno == ENOENT ? 0 : err_sys(err, -errno, "%s", dir);
    if (S_ISLNK(sb.st_mode))
        return err_set(err, -ELOOP,
                       "state directory %s is a symbolic link: name the folder it leads to", dir);
    if (!S_ISDIR(sb.st_mode))
        return err_set(err, -ENOTDIR, "state directory %s is not a folder", dir);
    if (sb.st_uid != uid && sb.st_uid != 0)
        return err_set(err, -EPERM,
                       "state directory %s belongs to user %ld and this is user %ld: use one of "
                       "your own",
                       dir, (long)sb.st_uid, (long)uid);
    if ((sb.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_set(err, -EPERM,
                       "state directory %s can be written by others (mode %04o): chmod go-w it",
                       dir, (unsigned)(sb.st_mode & 07777));
    if (state_is_foreign(dir))
        return err_set(err, -ENOTEMPTY,
                       "%s holds other files and is no state directory: name a new or an empty "
                       "folder",
                       dir);
    return 0;
}
