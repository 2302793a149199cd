/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock is on what is written itself, so it moves with it. Who sweeps holds it meanwhile; a writer
 * that gets it late looks whether its own is still there, and makes another if not.
 */
#include "base/beside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"

#define MARK        ".fuzz.tmp-" /* and the writer's pid */
#define WRITE_MARK  ".tmp-"      /* the same, of file_write_atomic */
#define FOLDER_MODE 0700
#define FILE_MODE   0600
#define ATTEMPTS    100

/* What beside_make makes, by its type and mode. */
static bool is_beside(mode_t mode)
{
    return mode == (S_IFDIR | FOLDER_MODE) || mode == (S_IFREG | FILE_MODE);
}

static bool is_file(mode_t mode)
{
    return S_ISREG(mode);
}

/* Of ours, of that kind, and of nobody who lives: open and locked. Else -1. */
static int left_over(int dirfd, const char *name, bool (*is_kind)(mode_t mode))
{
    cleanup_close int fd = -1;
    struct stat st;

    /* Nothing else is opened: a device may mind. */
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_kind(st.st_mode))
        return -1;
    fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || !is_kind(st.st_mode))
        return -1;
    /* Its writer may have put it in its place meanwhile. */
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && file_lies_at(fd, dirfd, name) ? steal_fd(&fd) : -1;
}

static void sweep(const char *place)
{
    const char *slash = strrchr(place, '/');
    cleanup_free char *parent = path_dirname(place);
    cleanup_free char *prefix = xasprintf("%s" MARK, slash != NULL ? slash + 1 : place);
    const size_t n = strlen(prefix);
    cleanup_dir DIR *dir = opendir(parent);
    const struct dirent *de;
    uint64_t pid;

    while (dir != NULL && (de = readdir(dir)) != NULL) {
        cleanup_close int fd = -1;

        if (strncmp(de->d_name, prefix, n) != 0 || parse_u64(de->d_name + n, INT32_MAX, &pid) < 0)
            continue;
        fd = left_over(dirfd(dir), de->d_name, is_beside);
        if (fd >= 0)
            (void)path_remove_tree_at(dirfd(dir), de->d_name);
    }
}

/* NAME.tmp-PID as file_write_atomic spells it, of a process that is gone. */
static bool is_dead_write(const char *name)
{
    const char *mark = NULL;
    uint64_t pid;

    for (const char *p = name; (p = strstr(p, WRITE_MARK)) != NULL; p++)
        mark = p;
    if (mark == NULL || mark == name || mark[strlen(WRITE_MARK)] == '0' ||
        parse_u64(mark + strlen(WRITE_MARK), INT32_MAX, &pid) < 0)
        return false;
    return (pid_t)pid == getpid() || (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}

void beside_sweep_writes(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *de;

    if (dir == NULL && copy >= 0)
        (void)close(copy);
    while (dir != NULL && (de = readdir(dir)) != NULL) {
        cleanup_close int fd =
            is_dead_write(de->d_name) ? left_over(dirfd(dir), de->d_name, is_file) : -1;

        if (fd >= 0)
            (void)unlinkat(dirfd(dir), de->d_name, 0);
    }
}

/* 0, -ESTALE when another took it for left over, or -errno. */
static int make_one(const char *path, enum beside_kind kind, int *ret_fd)
{
    cleanup_close int fd = -1;

    if (kind == BESIDE_FOLDER && mkdir(path, FOLDER_MODE) < 0)
        return -errno;
    fd = kind == BESIDE_FOLDER
             ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
             : open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return errno == ENOENT && kind == BESIDE_FOLDER ? -ESTALE : -errno;
    /* Not every file system has locks: there it stays, as nobody can tell that it was left. */
    if (flock(fd, LOCK_EX) == 0 && !file_lies_at(fd, AT_FDCWD, path))
        return -ESTALE;
    *ret_fd = steal_fd(&fd);
    return 0;
}

int beside_make(const char *place, enum beside_kind kind, mode_t mode, struct beside *ret)
{
    cleanup_free char *own = xstrdup(place);
    cleanup_free char *path = NULL;
    const mode_t mask = umask(077);
    int rc = -ESTALE, fd = -1;

    (void)umask(mask);
    for (size_t n = strlen(own); n > 1 && own[n - 1] == '/'; n--)
        own[n - 1] = '\0';
    path = xasprintf("%s" MARK "%d", own, (int)getpid());
    sweep(own);
    for (int i = 0; i < ATTEMPTS && rc == -ESTALE; i++)
        rc = make_one(path, kind, &fd);
    if (rc < 0)
        return rc;
    *ret = (struct beside){.path = steal_ptr(&path), .fd = fd, .mode = mode & ~mask};
    return 0;
}

int beside_whole(const struct beside *b)
{
    return fchmod(b->fd, b->mode) < 0 || fsync(b->fd) < 0 ? -errno : 0;
}

void beside_placed(struct beside *b)
{
    free(b->path);
    (void)close(b->fd);
    *b = (struct beside){.fd = -1};
}

void beside_clear(struct beside *b)
{
    if (b->path == NULL)
        return;
    (void)path_remove_tree(b->path);
    beside_placed(b);
}
