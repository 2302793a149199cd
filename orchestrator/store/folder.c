/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that opens files below an instance's folder. The program under test
 * runs with our uid and can put anything there, so every step is openat with
 * O_NOFOLLOW, nothing but a regular file is read, and nothing blocks.
 */
#include "store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

#define FOLDER_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FOLDER_YOUNG_MS  2000

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a folder, sorted; takes ownership of fd. */
static int list_names(int fd, struct strv *names)
{
    cleanup_dir DIR *dir = fdopendir(fd);
    const struct dirent *de;

    if (dir == NULL) {
        int r = -errno;

        (void)close(fd);
        return r;
    }
    while ((errno = 0, de = readdir(dir)) != NULL) {
        if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
            strv_add(names, de->d_name);
    }
    if (errno != 0)
        return -errno;
    if (names->n > 1)
        qsort(names->v, names->n, sizeof(names->v[0]), by_name);
    return 0;
}

static bool folder_kind(const char *name, enum artifact_kind *ret)
{
    size_t n = strcspn(name, ".");

    if (n == strlen("crashes") && strncmp(name, "crashes", n) == 0)
        *ret = ARTIFACT_CRASH;
    else if (n == strlen("hangs") && strncmp(name, "hangs", n) == 0)
        *ret = ARTIFACT_HANG;
    else
        return false;
    return true;
}

static int walk_folder(int out_fd, const char *folder, enum artifact_kind kind, folder_fn *fn,
                       void *ctx, struct err *err)
{
    struct strv names = {0};
    struct folder_file file = {.folder = folder, .kind = kind};
    cleanup_close int fd = openat(out_fd, folder, FOLDER_DIR_FLAGS);
    int r, list_fd;

    if (fd < 0) {
        if (errno == ENOENT) /* renamed this very moment */
            return 0;
        if (errno != ENOTDIR && errno != ELOOP)
            return err_sys(err, -errno, "cannot open %s", folder);
        file.name = "";
        file.skipped = true;
        return fn(ctx, &file, err);
    }
    list_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    r = list_fd < 0 ? -errno : list_names(list_fd, &names);
    if (r < 0)
        r = err_sys(err, r, "cannot list %s", folder);
    for (size_t i = 0; r == 0 && i < names.n; i++) {
        file.folder_fd = fd;
        file.name = names.v[i];
        if (strcmp(file.name, "README.txt") == 0 ||
            fstatat(fd, file.name, &file.sb, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        file.skipped = !S_ISREG(file.sb.st_mode);
        r = fn(ctx, &file, err);
    }
    strv_clear(&names);
    return r;
}

int folder_walk(const char *state_dir, const char *out_dir, folder_fn *fn, void *ctx,
                struct err *err)
{
    struct strv names = {0};
    cleanup_close int fd = path_open_below(state_dir, out_dir, 0);
    int r, list_fd;

    if (fd == -ELOOP)
        return err_set(err, fd, "cannot open %s: there is a symbolic link in it", out_dir);
    if (fd < 0)
        return fd == -ENOENT ? 0 : err_sys(err, fd, "cannot open %s", out_dir);
    list_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    r = list_fd < 0 ? -errno : list_names(list_fd, &names);
    if (r < 0)
        r = err_sys(err, r, "cannot list %s", out_dir);
    for (size_t i = 0; r == 0 && i < names.n; i++) {
        enum artifact_kind kind;

        if (folder_kind(names.v[i], &kind))
            r = walk_folder(fd, names.v[i], kind, fn, ctx, err);
    }
    strv_clear(&names);
    return r;
}

/*
 * afl-fuzz opens the final name, writes and closes: a scan can meet a file half-way. The kernel knows: a read lease is
 * refused with EAGAIN while any descriptor is open for writing. It is given back at once; a writer that comes in that
 * instant would make the kernel signal us, so the signal is one that is ignored by default. Where there are no leases, a young file waits.
 * Source: fcntl(2), "Leases".
 */
static bool being_written(int fd, const struct stat *sb)
{
    struct timespec now;

    (void)fcntl(fd, F_SETSIG, SIGURG);
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        (void)fcntl(fd, F_SETLEASE, F_UNLCK);
        return false;
    }
    if (errno == EAGAIN)
        return true;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0)
        return false;
    return (now.tv_sec - sb->st_mtim.tv_sec) * 1000 < FOLDER_YOUNG_MS;
}

static int read_all(int fd, char *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = pread(fd, data + at, size - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EBUSY; /* cut while we read: look again later */
        at += (size_t)n;
    }
    return 0;
}

int folder_read(const struct folder_file *file, int64_t max_bytes, char **ret_data,
                struct stat *ret_sb)
{
    cleanup_free char *data = NULL;
    struct stat before, after;
    int r;
    cleanup_close int fd =
        openat(file->folder_fd, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &before) < 0)
        return -errno;
    if (!S_ISREG(before.st_mode))
        return -EINVAL;
    if (being_written(fd, &before))
        return -EBUSY;
    if (before.st_size > max_bytes)
        return -EFBIG;
    data = malloc((size_t)before.st_size + 1);
    if (data == NULL)
        return -ENOMEM;
    if ((r = read_all(fd, data, (size_t)before.st_size)) < 0)
        return r;
    if (fstat(fd, &after) < 0)
        return -errno;
    if (after.st_size != before.st_size || folder_mtime_ns(&after) != folder_mtime_ns(&before))
        return -EBUSY;
    data[before.st_size] = '\0';
    *ret_data = steal_ptr(&data);
    *ret_sb = after;
    return 0;
}
