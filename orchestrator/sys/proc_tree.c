/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process and all below it stand still. The numbers of each that only grow are folded into one: who used no processor time,
 * started nobody and lost nobody shows the same twice. It needs no cgroup, so that it holds wherever an instance does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "sys/proc.h"

#define TREE_DEPTH 16
#define TREE_MAX   256 /* processes; what is beyond is not looked at */

/* Fields of /proc/PID/stat from 1 on: state, and utime, stime, cutime, cstime of all threads and of children that ended. */
#define STAT_STATE 3
#define STAT_UTIME 14
#define STAT_CTIME 17

static void fold(uint64_t *life, const char *word)
{
    for (; *word != '\0'; word++)
        *life = (*life ^ (unsigned char)*word) * UINT64_C(0x100000001b3); /* FNV-1a */
    *life = (*life ^ ' ') * UINT64_C(0x100000001b3);
}

/* 0 with text in buf, or -errno. */
static int read_file(pid_t pid, const char *name, char *buf, size_t size)
{
    char path[64];
    cleanup_close int fd = -1;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        return -errno;
    buf[n] = '\0';
    return 0;
}

/* The clock ticks of all its threads, and where the kernel tells them the nanoseconds of the first. */
static int fold_one(pid_t pid, uint64_t *life)
{
    char buf[1024], number[16];
    char *p, *word;
    int r = read_file(pid, "stat", buf, sizeof(buf));

    if (r < 0)
        return r;
    p = strrchr(buf, ')');
    if (p == NULL || p[1] != ' ')
        return -EBADMSG;
    (void)snprintf(number, sizeof(number), "%d", (int)pid);
    fold(life, number);
    p += 2;
    for (int field = STAT_STATE; field <= STAT_CTIME && (word = strsep(&p, " ")) != NULL; field++)
        if (field >= STAT_UTIME)
            fold(life, word);
    if (read_file(pid, "schedstat", buf, sizeof(buf)) == 0) {
        p = buf;
        fold(life, strsep(&p, " "));
    }
    return 0;
}

static int fold_tree(pid_t pid, int depth, int *left, uint64_t *life)
{
    char name[32], buf[8192];
    char *p = buf, *word;
    uint64_t child;
    int r;

    if (depth >= TREE_DEPTH || *left <= 0)
        return 0;
    (*left)--;
    r = fold_one(pid, life);
    if (r < 0)
        return r;
    (void)snprintf(name, sizeof(name), "task/%d/children", (int)pid);
    r = read_file(pid, name, buf, sizeof(buf));
    if (r < 0)
        return r;
    while ((word = strsep(&p, " ")) != NULL) {
        if (*word == '\0' || parse_u64(word, INT32_MAX, &child) < 0)
            continue;
        r = fold_tree((pid_t)child, depth + 1, left, life);
        if (r < 0)
            return r;
    }
    return 0;
}

int proc_tree_life(pid_t pid, uint64_t *ret)
{
    uint64_t life = UINT64_C(0xcbf29ce484222325);
    int left = TREE_MAX, r;

    if (pid <= 0)
        return -ESRCH;
    r = fold_tree(pid, 0, &left, &life);
    if (r == 0)
        *ret = life;
    return r;
}
