/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the Nth call fail that changes a file below one folder. Loaded by LD_PRELOAD into
 * test programs, never installed. Set up by fault_arm() of the program itself, or for the
 * programs it starts by FZ_FAULT_AT (the Nth), FZ_FAULT_ERRNO, FZ_FAULT_DIR, FZ_FAULT_STICKY (all
 * calls from the Nth on), FZ_FAULT_FROM and FZ_FAULT_UNTIL (when such a file is there), FZ_FAULT_CALL (only fsync, or
 * only rename, with what is like it) and FZ_FAULT_PROGRAM (the only one that is meant). A fault that
 * was injected leaves a file behind, FZ_FAULT_MARK, outside of the folder. Counted per process.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim.h"

static struct fault_control control;
static char dir[PATH_MAX], mark[PATH_MAX], begin[PATH_MAX], until[PATH_MAX], only[16];
static __thread bool inside;

struct fault_control *fault_control(void)
{
    return &control;
}

void fault_dir(const char *path)
{
    (void)snprintf(dir, sizeof(dir), "%s", path);
}

static void next_of(void *ret_fn, const char *name)
{
    void *fn = dlsym(RTLD_NEXT, name);

    if (fn == NULL)
        abort();
    memcpy(ret_fn, &fn, sizeof(fn));
}

/* The function behind ours, looked up once. */
#define NEXT(type, name)                                                                           \
    static type(*next_fn) PARAMS_##name;                                                           \
    if (next_fn == NULL)                                                                           \
    next_of(&next_fn, #name)

static bool below(const char *path)
{
    size_t n = strlen(dir);

    return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool fd_below(int fd)
{
    char link[64], path[PATH_MAX];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return below(path);
}

static bool path_below(int dirfd, const char *path)
{
    char cwd[PATH_MAX];

    if (path[0] == '/')
        return below(path);
    if (dirfd != AT_FDCWD)
        return fd_below(dirfd);
    return getcwd(cwd, sizeof(cwd)) != NULL && below(cwd);
}

static void leave_mark(void)
{
    int fd;

    if (mark[0] == '\0')
        return;
    inside = true;
    fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    inside = false;
}

/* Whether it is the time for faults. */
static bool is_time(void)
{
    int saved = errno;
    bool now = (begin[0] == '\0' || access(begin, F_OK) == 0) &&
               (until[0] == '\0' || access(until, F_OK) != 0);

    errno = saved;
    return now;
}

/* True when this call is to fail; errno is set. */
static bool hit(const char *call, bool meant)
{
    bool fails;

    if (!meant || control.error == 0 || inside || (only[0] != '\0' && strcmp(only, call) != 0) ||
        !is_time())
        return false;
    control.count++;
    fails = control.at > 0 &&
            (control.sticky ? control.count >= control.at : control.count == control.at);
    if (!fails)
        return false;
    control.injected++;
    if (control.error == FAULT_KILL)
        (void)kill(getpid(), SIGKILL);
    leave_mark();
    errno = control.error;
    return true;
}

static bool program_meant(const char *want)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    const char *slash;

    if (want == NULL)
        return true;
    if (n <= 0)
        return false;
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    return slash != NULL && strcmp(slash + 1, want) == 0;
}

__attribute__((constructor)) static void set_up(void)
{
    const char *at = getenv("FZ_FAULT_AT"), *error = getenv("FZ_FAULT_ERRNO");
    const char *folder = getenv("FZ_FAULT_DIR"), *file = getenv("FZ_FAULT_MARK");
    const char *over = getenv("FZ_FAULT_UNTIL"), *call = getenv("FZ_FAULT_CALL");
    const char *sticky = getenv("FZ_FAULT_STICKY"), *from = getenv("FZ_FAULT_FROM");

    if (at == NULL || folder == NULL || !program_meant(getenv("FZ_FAULT_PROGRAM")))
        return;
    fault_dir(folder);
    (void)snprintf(mark, sizeof(mark), "%s", file != NULL ? file : "");
    (void)snprintf(begin, sizeof(begin), "%s", from != NULL ? from : "");
    (void)snprintf(until, sizeof(until), "%s", over != NULL ? over : "");
    (void)snprintf(only, sizeof(only), "%s", call != NULL ? call : "");
    control.sticky = sticky != NULL && sticky[0] != '\0';
    control.at = strtol(at, NULL, 10);
    control.error = error != NULL && strcmp(error, "EIO") == 0 ? EIO : ENOSPC;
}

#define PARAMS_write             (int, const void *, size_t)
#define PARAMS_pwrite            (int, const void *, size_t, off_t)
#define PARAMS_pwrite64          (int, const void *, size_t, off_t)
#define PARAMS_fsync             (int)
#define PARAMS_fdatasync         (int)
#define PARAMS_rename            (const char *, const char *)
#define PARAMS_renameat          (int, const char *, int, const char *)
#define PARAMS_renameat2         (int, const char *, int, const char *, unsigned)
#define PARAMS_link              (const char *, const char *)
#define PARAMS_linkat            (int, const char *, int, const char *, int)
#define PARAMS_mkdir             (const char *, mode_t)
#define PARAMS_mkdirat           (int, const char *, mode_t)
#define PARAMS_ftruncate         (int, off_t)
#define PARAMS_ftruncate64       (int, off_t)
#define PARAMS_posix_fallocate   (int, off_t, off_t)
#define PARAMS_posix_fallocate64 (int, off_t, off_t)
#define PARAMS_fallocate         (int, int, off_t, off_t)
#define PARAMS_fallocate64       (int, int, off_t, off_t)
#define PARAMS_open              (const char *, int, ...)
#define PARAMS_open64            (const char *, int, ...)
#define PARAMS_openat            (int, const char *, int, ...)
#define PARAMS_openat64          (int, const char *, int, ...)

/* A write that finds half of its room leaves half of its bytes, as a disk that fills up does. */
ssize_t write(int fd, const void *data, size_t size)
{
    NEXT(ssize_t, write);
    if (hit("other", fd_below(fd))) {
        if (control.error == ENOSPC && size > 1)
            (void)!next_fn(fd, data, size / 2);
        errno = control.error;
        return -1;
    }
    return next_fn(fd, data, size);
}

#define PWRITE(name)                                                                               \
    ssize_t name(int fd, const void *data, size_t size, off_t at)                                  \
    {                                                                                              \
        NEXT(ssize_t, name);                                                                       \
        if (hit("other", fd_below(fd))) {                                                          \
            if (control.error == ENOSPC && size > 1)                                               \
                (void)!next_fn(fd, data, size / 2, at);                                            \
            errno = control.error;                                                                 \
            return -1;                                                                             \
        }                                                                                          \
        return next_fn(fd, data, size, at);                                                        \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define BY_FD(name)                                                                                \
    int name(int fd)                                                                               \
    {                                                                                              \
        NEXT(int, name);                                                                           \
        return hit("fsync", fd_below(fd)) ? -1 : next_fn(fd);                                      \
    }
BY_FD(fsync)
BY_FD(fdatasync)

#define TRUNCATE(name)                                                                             \
    int name(int fd, off_t size)                                                                   \
    {                                                                                              \
        NEXT(int, name);                                                                           \
        return hit("other", fd_below(fd)) ? -1 : next_fn(fd, size);                                \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

/* These return the error. */
#define POSIX_FALLOCATE(name)                                                                      \
    int name(int fd, off_t at, off_t size)                                                         \
    {                                                                                              \
        NEXT(int, name);                                                                           \
        return hit("other", fd_below(fd)) ? control.error : next_fn(fd, at, size);                 \
    }
POSIX_FALLOCATE(posix_fallocate)
POSIX_FALLOCATE(posix_fallocate64)

#define FALLOCATE(name)                                                                            \
    int name(int fd, int mode, off_t at, off_t size)                                               \
    {                                                                                              \
        NEXT(int, name);                                                                           \
        return hit("other", fd_below(fd)) ? -1 : next_fn(fd, mode, at, size);                      \
    }
FALLOCATE(fallocate)
FALLOCATE(fallocate64)

int rename(const char *from, const char *to)
{
    NEXT(int, rename);
    return hit("rename", path_below(AT_FDCWD, to)) ? -1 : next_fn(from, to);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    NEXT(int, renameat);
    return hit("rename", path_below(to_fd, to)) ? -1 : next_fn(from_fd, from, to_fd, to);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    NEXT(int, renameat2);
    return hit("rename", path_below(to_fd, to)) ? -1 : next_fn(from_fd, from, to_fd, to, flags);
}

int link(const char *from, const char *to)
{
    NEXT(int, link);
    return hit("rename", path_below(AT_FDCWD, to)) ? -1 : next_fn(from, to);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    NEXT(int, linkat);
    return hit("rename", path_below(to_fd, to)) ? -1 : next_fn(from_fd, from, to_fd, to, flags);
}

int mkdir(const char *path, mode_t mode)
{
    struct stat sb;

    NEXT(int, mkdir);
    return hit("other", path_below(AT_FDCWD, path) && lstat(path, &sb) < 0) ? -1
                                                                            : next_fn(path, mode);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
    struct stat sb;
    bool meant = path_below(fd, path) && fstatat(fd, path, &sb, AT_SYMLINK_NOFOLLOW) < 0;

    NEXT(int, mkdirat);
    return hit("other", meant) ? -1 : next_fn(fd, path, mode);
}

static mode_t mode_of(int flags, va_list ap)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(ap, int) : 0;
}

/* Only a file that is not there yet needs room. */
static bool creates(int fd, const char *path, int flags)
{
    struct stat sb;

    return (flags & O_CREAT) != 0 && path_below(fd, path) &&
           fstatat(fd, path, &sb, AT_SYMLINK_NOFOLLOW) < 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list ap;                                                                                \
        mode_t mode;                                                                               \
                                                                                                   \
        NEXT(int, name);                                                                           \
        va_start(ap, flags);                                                                       \
        mode = mode_of(flags, ap);                                                                 \
        va_end(ap);                                                                                \
        return hit("other", creates(AT_FDCWD, path, flags)) ? -1 : next_fn(path, flags, mode);     \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int fd, const char *path, int flags, ...)                                             \
    {                                                                                              \
        va_list ap;                                                                                \
        mode_t mode;                                                                               \
                                                                                                   \
        NEXT(int, name);                                                                           \
        va_start(ap, flags);                                                                       \
        mode = mode_of(flags, ap);                                                                 \
        va_end(ap);                                                                                \
        return hit("other", creates(fd, path, flags)) ? -1 : next_fn(fd, path, flags, mode);       \
    }
OPENAT(openat)
OPENAT(openat64)
