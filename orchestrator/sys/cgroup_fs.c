/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single folders and files of a cgroup hierarchy. Values go out in one write each, as the kernel
 * takes a write as a whole; everything read is bounded. A folder that is gone is an empty one.
 */
#include "sys/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "sys/proc.h"

#define FILE_BYTES_MAX (64 * 1024)
#define KILL_ROUNDS    8

int cgroup_fs_write(const char *dir, const char *file, const char *text)
{
    cleanup_free char *path = path_join(dir, file);
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    while (write(fd, text, strlen(text)) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

int cgroup_fs_write_number(const char *dir, const char *file, int64_t n)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lld", (long long)n);
    return cgroup_fs_write(dir, file, text);
}

int cgroup_fs_read_key(const char *dir, const char *file, const char *key, int64_t *ret_n)
{
    cleanup_free char *path = path_join(dir, file);
    cleanup_free char *data = NULL;
    size_t key_len = strlen(key);
    char *rest, *line;
    uint64_t n;
    int rc;

    rc = file_read_proc(path, FILE_BYTES_MAX, &data);
    if (rc < 0)
        return rc;
    /* populated 1 */
    for (rest = data; (line = strsep(&rest, "\n")) != NULL;) {
        if (strncmp(line, key, key_len) != 0 || line[key_len] != ' ')
            continue;
        rc = parse_u64(line + key_len + 1, INT64_MAX, &n);
        if (rc < 0)
            return rc;
        *ret_n = (int64_t)n;
        return 0;
    }
    return -ENOENT;
}

bool cgroup_fs_has(const char *dir, const char *file)
{
    cleanup_free char *path = path_join(dir, file);

    return access(path, F_OK) == 0;
}

/* The pids in dir/cgroup.procs, at most max; 0 in it is a process of another pid namespace and is left out. */
int cgroup_fs_listed(const char *dir, pid_t *ret_pids, int max)
{
    cleanup_free char *path = path_join(dir, "cgroup.procs");
    cleanup_free char *data = NULL;
    char *rest, *line;
    uint64_t pid;
    int rc, n = 0;

    rc = file_read_proc(path, FILE_BYTES_MAX, &data);
    if (rc < 0)
        return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
    for (rest = data; n < max && (line = strsep(&rest, "\n")) != NULL;)
        if (parse_u64(line, INT32_MAX, &pid) == 0 && pid > 0)
            ret_pids[n++] = (pid_t)pid;
    return n;
}

int cgroup_fs_kill_listed(const char *dir)
{
    cleanup_free pid_t *pids = xcalloc(CGROUP_PIDS_MAX, sizeof(*pids));
    cleanup_free pid_t *again = xcalloc(CGROUP_PIDS_MAX, sizeof(*again));
    int i, k, others = 0, n = cgroup_fs_listed(dir, pids, CGROUP_PIDS_MAX);

    for (i = 0; i < n; i++) {
        cleanup_close int fd = -1;
        int m;

        if (pids[i] == getpid())
            continue;
        others++;
        fd = (int)syscall(SYS_pidfd_open, pids[i], 0U);
        if (fd < 0)
            continue;
        /* Still listed once its pidfd is held: then it is the process meant, and not a later one of that pid. */
        m = cgroup_fs_listed(dir, again, CGROUP_PIDS_MAX);
        for (k = 0; k < m && again[k] != pids[i]; k++)
            ;
        if (k < m)
            (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0U);
    }
    return n < 0 ? n : others;
}

int cgroup_fs_kill(const char *dir)
{
    const struct timespec step = {.tv_nsec = 1000 * 1000};
    int rc = cgroup_fs_write(dir, "cgroup.kill", "1"), round;
    bool frozen;

    if (rc == -ENODEV)
        return 0;
    if (rc != -ENOENT)
        return rc;
    /* Who is frozen does not fork, and dies of SIGKILL all the same. */
    frozen = cgroup_fs_write(dir, "cgroup.freeze", "1") == 0;
    for (round = 0; round < KILL_ROUNDS; round++) {
        rc = cgroup_fs_kill_listed(dir);
        if (rc <= 0)
            break;
        (void)nanosleep(&step, NULL);
    }
    if (frozen)
        (void)cgroup_fs_write(dir, "cgroup.freeze", "0");
    return rc < 0 ? rc : 0;
}

int cgroup_fs_populated(const char *dir)
{
    cleanup_free pid_t *pids = NULL;
    struct proc_id id;
    int64_t n = 0;
    int i, count, rc;

    rc = cgroup_fs_read_key(dir, "cgroup.events", "populated", &n);
    if (rc == 0)
        return n != 0;
    if (rc == -ENODEV)
        return 0;
    if (rc != -ENOENT)
        return rc;
    pids = xcalloc(CGROUP_PIDS_MAX, sizeof(*pids));
    count = cgroup_fs_listed(dir, pids, CGROUP_PIDS_MAX);
    for (i = 0; i < count; i++)
        if (proc_identify(pids[i], &id) == 0)
            return 1;
    return count < 0 ? count : 0;
}
