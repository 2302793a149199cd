/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder is ours when it has our mark, and left over when nobody holds the mark's lock: so a later
 * fuzzctl can tell whose owner is gone, and takes away only that. It holds the lock meanwhile, and an
 * owner who gets the lock late looks whether the folder is still there, and makes another if not.
 */
#include "ctl/private_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

#define FOLDER   "fuzzctl-replay."
#define ATTEMPTS 100
#define MARK     ".fuzzctl-replay" /* in a folder of ours, and locked */

/* A closed folder of the same user, with our mark, that nobody holds: the mark, locked. Else -1. */
static int left_mark(int tmp_fd, const char *name)
{
    cleanup_close int dir = openat(tmp_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_close int mark = -1;
    struct stat st;

    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 0777) != 0700)
        return -1;
    mark = openat(dir, MARK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return mark >= 0 && flock(mark, LOCK_EX | LOCK_NB) == 0 ? steal_fd(&mark) : -1;
}

static void sweep_folders(const char *tmp)
{
    cleanup_dir DIR *dir = opendir(tmp);
    const struct dirent *de;

    while (dir != NULL && (de = readdir(dir)) != NULL) {
        cleanup_close int mark = strncmp(de->d_name, FOLDER, strlen(FOLDER)) == 0
                                     ? left_mark(dirfd(dir), de->d_name)
                                     : -1;

        if (mark >= 0)
            (void)path_remove_tree_at(dirfd(dir), de->d_name);
    }
}

/* 0, -ESTALE when another took it for left over, or -errno with the message. */
static int open_one(const char *tmp, struct private_dir *d, struct err *err)
{
    cleanup_free char *path = xasprintf("%s/" FOLDER "XXXXXX", tmp);
    cleanup_free char *mark = NULL;
    cleanup_close int fd = -1;
    struct stat own, there;
    int rc;

    if (mkdtemp(path) == NULL)
        return err_sys(err, -errno, "%s", path);
    mark = path_join(path, MARK);
    fd = open(mark, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &own) < 0) {
        rc = err_sys(err, -errno, "%s", mark);
        (void)path_remove_tree(path);
        return rc;
    }
    if (lstat(mark, &there) < 0 || there.st_ino != own.st_ino || there.st_dev != own.st_dev)
        return -ESTALE;
    d->path = steal_ptr(&path);
    d->lock_fd = steal_fd(&fd);
    return 0;
}

int private_dir_open(struct private_dir *d, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    int rc = -ESTALE;

    if (tmp == NULL || tmp[0] != '/')
        tmp = "/tmp";
    sweep_folders(tmp);
    for (int i = 0; i < ATTEMPTS && rc == -ESTALE; i++)
        rc = open_one(tmp, d, err);
    return rc == -ESTALE ? err_sys(err, rc, "%s", tmp) : rc;
}

void private_dir_close(struct private_dir *d)
{
    if (d->path == NULL)
        return;
    (void)path_remove_tree(d->path);
    (void)close(d->lock_fd);
    free(d->path);
    *d = (struct private_dir){0};
}
