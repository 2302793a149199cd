/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cores there are, and who owns one. A core is owned by a lock on a file all daemons of the
 * host agree on, whoever runs them; the lock travels with the descriptor into the keeper and ends
 * with the last copy, so a killed daemon frees nothing that is still in use.
 */
#include "sys/cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"

#define SHARED_LOCK_DIR "/run/lock"
#define LOCKS_BYTES_MAX (1 << 20)

int cpu_allowed(int *ret_cpus, int max)
{
    cpu_set_t *set = CPU_ALLOC(CPU_MAX);
    size_t size = CPU_ALLOC_SIZE(CPU_MAX);
    int n = 0, cpu;

    if (set != NULL) {
        CPU_ZERO_S(size, set);
        if (sched_getaffinity(0, size, set) == 0) {
            for (cpu = 0; cpu < CPU_MAX && n < max; cpu++)
                if (CPU_ISSET_S((size_t)cpu, size, set))
                    ret_cpus[n++] = cpu;
        }
        CPU_FREE(set);
    }
    if (n == 0 && max > 0)
        ret_cpus[n++] = 0;
    return n;
}

/* The folder of a user without /run/lock: own, or made now; never somebody else's. */
static int private_dir(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    cleanup_close int fd = -1;
    struct stat st;
    char path[64];

    if (runtime != NULL && runtime[0] == '/') {
        fd = open(runtime, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && faccessat(fd, ".", W_OK, 0) == 0)
            return steal_fd(&fd);
        cleanup_close_fn(&fd);
        fd = -1;
    }
    (void)snprintf(path, sizeof(path), "/tmp/fuzzd-%u", (unsigned)geteuid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return -EPERM;
    return steal_fd(&fd);
}

/* fd, or -1 where it is not there or not ours to write to. */
static int shared_dir(void)
{
    cleanup_close int fd = open(SHARED_LOCK_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && faccessat(fd, ".", W_OK, 0) == 0 ? steal_fd(&fd) : -1;
}

int cpu_lock_dir_open(void)
{
    int fd = shared_dir();

    return fd >= 0 ? fd : private_dir();
}

bool cpu_locks_are_shared(void)
{
    cleanup_close int fd = shared_dir();
    struct stat st;

    /* Where root alone may write, others have folders of their own. */
    return fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IWOTH) != 0;
}

/*
 * Read-only is enough for flock, and works on a file of another user. O_CREAT only when it is not
 * there: with fs.protected_regular an O_CREAT of another user's file in a sticky folder is refused.
 */
static int lock_file_open(int dirfd, int cpu)
{
    char name[32];
    int tries, fd;

    (void)snprintf(name, sizeof(name), "fuzzd-cpu%d", cpu);
    for (tries = 0; tries < 3; tries++) {
        fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 || errno != ENOENT)
            return fd >= 0 ? fd : -errno;
        fd = openat(dirfd, name, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd >= 0) {
            (void)fchmod(fd, 0644);
            return fd;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EAGAIN;
}

int cpu_take(const int *cpus, int n, int *ret_cpu)
{
    cleanup_close int dirfd = cpu_lock_dir_open();
    int i, rc = -EBUSY;

    if (dirfd < 0)
        return dirfd;
    for (i = 0; i < n; i++) {
        int fd = lock_file_open(dirfd, cpus[i]);

        if (fd < 0) {
            rc = fd;
            continue;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            *ret_cpu = cpus[i];
            return fd;
        }
        (void)close(fd);
    }
    return rc;
}

/* An unused core first, by a lock that only then becomes one for many; between the two it may be lost. */
int cpu_take_shared(const int *cpus, int n, int *ret_cpu)
{
    cleanup_close int dirfd = cpu_lock_dir_open();
    int rc = -EBUSY;

    if (dirfd < 0)
        return dirfd;
    for (int i = 0; i < 2 * n; i++) {
        int fd = lock_file_open(dirfd, cpus[i % n]);

        if (fd < 0) {
            rc = fd;
            continue;
        }
        if ((i >= n || flock(fd, LOCK_EX | LOCK_NB) == 0) && flock(fd, LOCK_SH | LOCK_NB) == 0) {
            *ret_cpu = cpus[i % n];
            return fd;
        }
        (void)close(fd);
    }
    return rc;
}

int cpu_take_over(int pidfd, int number, int cpu)
{
    cleanup_close int dirfd = cpu_lock_dir_open();
    cleanup_close int fd = -1;
    struct stat held, lock;
    char name[32];

    if (dirfd < 0)
        return dirfd;
    (void)snprintf(name, sizeof(name), "fuzzd-cpu%d", cpu);
    fd = pidfd_getfd(pidfd, number, 0);
    if (fd < 0 || fstat(fd, &held) < 0 || fstatat(dirfd, name, &lock, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (held.st_dev != lock.st_dev || held.st_ino != lock.st_ino)
        return -ESTALE;
    return steal_fd(&fd);
}

/* "5: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF" in /proc/locks, device and inode being the file's. */
static bool is_flocked(const struct stat *st)
{
    cleanup_free char *data = NULL;
    char want[64], *rest, *line;

    (void)snprintf(want, sizeof(want), " %02x:%02x:%llu ", major(st->st_dev), minor(st->st_dev),
                   (unsigned long long)st->st_ino);
    if (file_read_proc("/proc/locks", LOCKS_BYTES_MAX, &data) < 0)
        return false;
    for (rest = data; (line = strsep(&rest, "\n")) != NULL;)
        if (strstr(line, " FLOCK ") != NULL && strstr(line, "-> ") == NULL &&
            strstr(line, want) != NULL)
            return true;
    return false;
}

static bool has_open(const char *pid, const struct stat *lock)
{
    cleanup_free char *path = xasprintf("/proc/%s/fd", pid);
    cleanup_dir DIR *d = opendir(path);
    struct dirent *de;
    struct stat st;

    while (d != NULL && (de = readdir(d)) != NULL)
        if (de->d_name[0] != '.' && fstatat(dirfd(d), de->d_name, &st, 0) == 0 &&
            st.st_ino == lock->st_ino && st.st_dev == lock->st_dev)
            return true;
    return false;
}

static bool is_keeper(const char *pid)
{
    cleanup_free char *path = xasprintf("/proc/%s/comm", pid);
    cleanup_free char *comm = NULL;

    return file_read_proc(path, 64, &comm) == 0 && strncmp(comm, "fuzz-keeper", 11) == 0;
}

/* 0 when the lock of that name could be taken by one who is first, else why not. *ret_st: nlink 0 where it is not made yet. */
static int lock_usable(int dirfd, const char *name, struct stat *ret_st)
{
    cleanup_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct statvfs fs;

    ret_st->st_nlink = 0;
    if (fd >= 0)
        return fstat(fd, ret_st) < 0 ? -errno : 0;
    if (errno != ENOENT)
        return -errno;
    return fstatvfs(dirfd, &fs) == 0 && fs.f_files > 0 && fs.f_ffree == 0 ? -ENOSPC : 0;
}

int cpu_owner(int cpu, pid_t *ret_pid)
{
    cleanup_close int dirfd = cpu_lock_dir_open();
    cleanup_dir DIR *proc = NULL;
    struct dirent *de;
    struct stat st;
    char name[32];
    uint64_t pid;
    int r;

    *ret_pid = 0;
    if (dirfd < 0)
        return dirfd;
    (void)snprintf(name, sizeof(name), "fuzzd-cpu%d", cpu);
    r = lock_usable(dirfd, name, &st);
    if (r < 0 || st.st_nlink == 0 || !is_flocked(&st))
        return r;
    proc = opendir("/proc");
    while (proc != NULL && (de = readdir(proc)) != NULL) {
        if (parse_u64(de->d_name, INT32_MAX, &pid) < 0 || !has_open(de->d_name, &st))
            continue;
        *ret_pid = (pid_t)pid;
        if (is_keeper(de->d_name))
            break;
    }
    return 1;
}
