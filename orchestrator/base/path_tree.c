/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing and measuring whole trees. They were filled by programs under test, so no
 * link is followed, no mount is entered, and the depth costs neither stack nor
 * descriptors: what lies too deep is first moved up.
 */
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_DEPTH  32
#define MAX_ROUNDS 100000

struct removal {
    int top;
    dev_t dev;
    uint64_t mount;
    unsigned moved;
    int first_error;
};

/* The mount an open folder lies on; 0 when the kernel does not tell (before 5.8). */
static uint64_t mount_of(int fd)
{
    struct statx sx;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) < 0 || !(sx.stx_mask & STATX_MNT_ID))
        return 0;
    return sx.stx_mnt_id;
}

static void note(struct removal *rm, int code)
{
    if (rm->first_error == 0)
        rm->first_error = code;
}

/* A stream over the folder fd without taking fd over. NULL with errno. */
static DIR *open_stream(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (dir == NULL && copy >= 0)
        (void)close(copy);
    return dir;
}

static int open_folder(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, flags);
    return fd;
}

static void remove_content(struct removal *rm, int fd, int depth);

static void remove_folder(struct removal *rm, int parent, const char *name, int depth)
{
    if (depth >= MAX_DEPTH) {
        char moved[40];
        (void)snprintf(moved, sizeof(moved), ".removed-%ld-%u", (long)getpid(), rm->moved++);
        if (renameat(parent, name, rm->top, moved) < 0)
            note(rm, -errno);
        return;
    }
    cleanup_close int fd = open_folder(parent, name);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (errno != ENOENT)
            note(rm, -errno);
        return;
    }
    if (st.st_dev != rm->dev || mount_of(fd) != rm->mount) {
        note(rm, -EXDEV);
        return;
    }
    remove_content(rm, fd, depth + 1);
    if (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        note(rm, -errno);
}

static void remove_content(struct removal *rm, int fd, int depth)
{
    cleanup_dir DIR *dir = open_stream(fd);
    if (dir == NULL) {
        note(rm, -errno);
        return;
    }
    const struct dirent *de;
    while ((de = readdir(dir)) != NULL) {
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        /* A folder answers EISDIR on Linux; a mount point on a file, EBUSY. */
        if (unlinkat(fd, de->d_name, 0) == 0 || errno == ENOENT)
            continue;
        int r = -errno;
        struct stat st;
        if (fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
            remove_folder(rm, fd, de->d_name, depth);
        else
            note(rm, r);
    }
}

int path_remove_tree(const char *path)
{
    return path_remove_tree_at(AT_FDCWD, path);
}

int path_remove_tree_at(int dirfd, const char *name)
{
    if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
        return 0;
    cleanup_close int top = open_folder(dirfd, name);
    struct stat st;
    if (top < 0 || fstat(top, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    struct removal rm = {.top = top, .dev = st.st_dev, .mount = mount_of(top)};
    for (int round = 0; round < MAX_ROUNDS; round++) {
        unsigned moved = rm.moved;
        rm.first_error = 0;
        remove_content(&rm, top, 1);
        if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
            return 0;
        /* Another round only helps when folders were moved up to the top. */
        if (rm.moved == moved)
            break;
    }
    return rm.first_error != 0 ? rm.first_error : -errno;
}

/* Adds what lies below fd; entries that vanish meanwhile are passed over. */
static void add_bytes(int fd, dev_t dev, int depth, long *left, long long *sum)
{
    cleanup_dir DIR *dir = open_stream(fd);
    const struct dirent *de;
    while (dir != NULL && *left > 0 && (de = readdir(dir)) != NULL) {
        struct stat st;
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
            fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != dev)
            continue;
        (*left)--;
        *sum += (long long)st.st_blocks * 512;
        if (!S_ISDIR(st.st_mode) || depth >= MAX_DEPTH)
            continue;
        cleanup_close int sub =
            openat(fd, de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0)
            add_bytes(sub, dev, depth + 1, left, sum);
    }
}

long long path_tree_bytes(const char *path, long max_files)
{
    cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    long long sum = (long long)st.st_blocks * 512;
    add_bytes(fd, st.st_dev, 1, &max_files, &sum);
    return sum;
}
