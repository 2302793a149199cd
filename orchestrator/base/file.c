/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files in and out, and their hashes. Every read has a bound and opens without
 * following a link or waiting for a fifo's writer; every write that must last is a
 * temporary file, fsynced, renamed, and the folder fsynced after it.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/sort.h"

#define PROGRAM_MAX_BYTES (4ULL << 30)
#define TREE_MAX_FILES    1000000
#define TREE_MAX_DEPTH    64
#define TREE_MAX_BYTES    (UINT64_C(4) << 30)

/* Opens a regular file for reading. Descriptor or -errno. */
static int open_regular(int dirfd, const char *path, int flags, struct stat *ret_st)
{
    cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd < 0)
        return -errno;
    if (fstat(fd, ret_st) < 0)
        return -errno;
    if (!S_ISREG(ret_st->st_mode))
        return -EINVAL;
    return steal_fd(&fd);
}

/* Reads to the end. The buffer doubles from a first guess and never passes max_bytes + 1. */
static int read_all(int fd, size_t guess, size_t max_bytes, char **ret_data, size_t *ret_size)
{
    size_t room = guess < max_bytes ? guess + 1 : max_bytes + 1, n = 0;
    if (max_bytes >= SIZE_MAX / 4)
        return -EFBIG;
    cleanup_free char *data = malloc(room + 1);
    if (data == NULL)
        return -ENOMEM;
    for (;;) {
        ssize_t got = read(fd, data + n, room - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        n += (size_t)got;
        if (n > max_bytes)
            return -EFBIG;
        if (n == room) {
            room = 2 * room < max_bytes + 1 ? 2 * room : max_bytes + 1;
            char *more = realloc(data, room + 1);
            if (more == NULL)
                return -ENOMEM;
            data = more;
        }
    }
    data[n] = '\0';
    *ret_data = steal_ptr(&data);
    if (ret_size != NULL)
        *ret_size = n;
    return 0;
}

static int read_path(int dirfd, const char *path, int flags, size_t max_bytes, char **ret_data,
                     size_t *ret_size)
{
    struct stat st;
    cleanup_close int fd = open_regular(dirfd, path, flags, &st);
    if (fd < 0)
        return fd;
    if (st.st_size > 0 && (uint64_t)st.st_size > max_bytes)
        return -EFBIG;
    return read_all(fd, (size_t)st.st_size, max_bytes, ret_data, ret_size);
}

int file_read(int dirfd, const char *path, size_t max_bytes, char **ret_data, size_t *ret_size)
{
    return read_path(dirfd, path, O_NOFOLLOW, max_bytes, ret_data, ret_size);
}

int file_read_below(const char *top, const char *path, size_t max_bytes, char **ret_data,
                    size_t *ret_size)
{
    const char *name;
    cleanup_close int fd = path_open_parent_below(top, path, &name);
    return fd < 0 ? fd : file_read(fd, name, max_bytes, ret_data, ret_size);
}

int file_read_follow(int dirfd, const char *path, size_t max_bytes, char **ret_data,
                     size_t *ret_size)
{
    return read_path(dirfd, path, 0, max_bytes, ret_data, ret_size);
}

int file_read_proc(const char *path, size_t max_bytes, char **ret_data)
{
    struct stat st;
    cleanup_close int fd = open_regular(AT_FDCWD, path, 0, &st);
    return fd < 0 ? fd : read_all(fd, 1024, max_bytes, ret_data, NULL);
}

int file_write_all(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size > 0) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

bool file_lies_at(int fd, int dirfd, const char *path)
{
    struct stat own, there;

    return fstat(fd, &own) == 0 && fstatat(dirfd, path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

int file_sync_parent(int dirfd, const char *path)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *dir = slash == NULL   ? xstrdup(".")
                             : slash == path ? xstrdup("/")
                                             : xstrndup(path, (size_t)(slash - path));
    cleanup_close int fd = openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fsync(fd) < 0 ? -errno : 0;
}

int file_write_atomic(int dirfd, const char *path, const void *data, size_t size, mode_t mode)
{
    cleanup_free char *tmp = xasprintf("%s.tmp-%ld", path, (long)getpid());
    struct stat st;
    /* A rename would put a file where a device or a pipe was, and that of the whole host. */
    if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
        !S_ISLNK(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
    /* A temporary of that name was left by a dead process that had our pid. */
    if (unlinkat(dirfd, tmp, 0) < 0 && errno != ENOENT)
        return -errno;
    int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return -errno;
    int r = file_write_all(fd, data, size);
    if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(dirfd, tmp, dirfd, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlinkat(dirfd, tmp, 0);
        return r;
    }
    return file_sync_parent(dirfd, path);
}

int file_write_named(const char *path, const void *data, size_t size, mode_t mode)
{
    struct stat st;
    if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
        return file_write_atomic(AT_FDCWD, path, data, size, mode);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    int r = file_write_all(fd, data, size);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

static void digest_hex(SHA2_CTX *ctx, char ret_hex[65])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, ctx);
    for (size_t i = 0; i < sizeof(digest); i++)
        (void)snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

int file_sha256(int dirfd, const char *path, uint64_t max_bytes, char ret_hex[65],
                uint64_t *ret_size)
{
    struct stat st;
    cleanup_close int fd = open_regular(dirfd, path, O_NOFOLLOW, &st);
    if (fd < 0)
        return fd;
    if ((uint64_t)st.st_size > max_bytes)
        return -EFBIG;
    enum { CHUNK = 1 << 16 };
    cleanup_free unsigned char *buf = xmalloc(CHUNK);
    uint64_t total = 0;
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    for (;;) {
        ssize_t n = read(fd, buf, CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        total += (uint64_t)n;
        if (total > max_bytes)
            return -EFBIG;
        SHA256Update(&ctx, buf, (size_t)n);
    }
    digest_hex(&ctx, ret_hex);
    if (ret_size != NULL)
        *ret_size = total;
    return 0;
}

int file_has_sha256(const char *path, const char *hex)
{
    char now[65];
    int r = file_sha256(AT_FDCWD, path, PROGRAM_MAX_BYTES, now, NULL);

    return r < 0 ? r : strcmp(now, hex) == 0;
}

static char *join(const char *prefix, const char *name)
{
    return *prefix != '\0' ? path_join(prefix, name) : xstrdup(name);
}

/*
 * Adds "prefix/name" of each regular file below fd. Takes ownership of fd. 0 or -errno, with what it is of in *ret_bad; "" is the
 * top. Caller frees.
 */
static int list_tree(int fd, const char *prefix, int depth, struct strv *files, char **ret_bad)
{
    cleanup_dir DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        int r = -errno;
        (void)close(fd);
        *ret_bad = xstrdup(prefix);
        return r;
    }
    for (;;) {
        errno = 0;
        const struct dirent *de = readdir(dir);
        if (de == NULL) {
            int r = -errno;
            if (r < 0)
                *ret_bad = xstrdup(prefix);
            return r;
        }
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        struct stat st;
        if (fstatat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            int r = -errno;
            if (r == -ENOENT)
                continue;
            *ret_bad = join(prefix, de->d_name);
            return r;
        }
        cleanup_free char *name = join(prefix, de->d_name);
        if (S_ISREG(st.st_mode)) {
            if (files->n >= TREE_MAX_FILES) {
                *ret_bad = steal_ptr(&name);
                return -EFBIG;
            }
            strv_take(files, steal_ptr(&name));
        } else if (S_ISDIR(st.st_mode)) {
            int sub = -1, r = -ELOOP;
            if (depth < TREE_MAX_DEPTH) {
                sub =
                    openat(dirfd(dir), de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                r = sub < 0 ? -errno : 0;
            }
            if (r < 0) {
                *ret_bad = steal_ptr(&name);
                return r;
            }
            r = list_tree(sub, name, depth + 1, files, ret_bad);
            if (r < 0)
                return r;
        }
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return name != NULL && strcmp(slash != NULL ? slash + 1 : path, name) == 0;
}

static int tree_error(const char *path, const char *bad, int r, struct err *err)
{
    if (r == -EFBIG)
        return err_set(err, r, "%s holds more than 4G or a million files", path);
    if (bad == NULL || *bad == '\0')
        return err_sys(err, r, "%s cannot be read", path);
    return err_sys(err, r, "%s/%s cannot be read", path, bad);
}

int file_tree_sha256(const char *path, const char *uncounted, char ret_hex[65], long *ret_n_files,
                     struct err *err)
{
    cleanup_close int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return tree_error(path, NULL, -errno, err);
    int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tree_error(path, NULL, -errno, err);
    struct strv files = {0};
    cleanup_free char *bad = NULL;
    int r = list_tree(fd, "", 0, &files, &bad);
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    if (r == 0 && files.n > 0)
        array_sort(files.v, files.n, sizeof(*files.v), compare_names);
    uint64_t left = TREE_MAX_BYTES;
    long n = 0;
    for (size_t i = 0; r == 0 && i < files.n; i++) {
        char hex[65];
        uint64_t size = 0;
        r = file_sha256(top, files.v[i], left, hex, &size);
        if (r < 0)
            str_set(&bad, files.v[i]);
        left -= size;
        n += !is_named(files.v[i], uncounted);
        SHA256Update(&ctx, (const uint8_t *)files.v[i], strlen(files.v[i]) + 1);
        SHA256Update(&ctx, (const uint8_t *)hex, 64);
    }
    strv_clear(&files);
    if (r < 0)
        return tree_error(path, bad, r, err);
    digest_hex(&ctx, ret_hex);
    if (ret_n_files != NULL)
        *ret_n_files = n;
    return 0;
}
