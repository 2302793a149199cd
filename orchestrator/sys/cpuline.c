/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for cores over all daemons of a host.
 *
 * Nobody keeps the line: each place is a file whose name has the time and whose lock has the life. A place without a lock is
 * one of somebody who is gone, and whoever meets it removes it. A place that cannot be read bars nobody; one that is held and not written
 * yet bars everybody, for the instant that takes.
 */
#include "sys/cpuline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "sys/cpu.h"

#define PREFIX       "fuzzd-wait-"
#define TIME_DIGITS  13
#define TEXT_MAX     8192
#define TRIES        16
#define ENTRIES_MAX  4096 /* looked at */
#define CPUS_KEYWORD "cpus"

struct cpu_place {
    int fd;
    char name[64];
    char *text;
};

/* "LINE\ncpus 0 1 5\n" */
static char *place_text(const int *cpus, int n, const char *line)
{
    char *text = xcalloc(1, TEXT_MAX);
    size_t used;

    (void)snprintf(text, TEXT_MAX, "%.200s", line);
    text[strcspn(text, "\n")] = '\0';
    (void)strlcat(text, "\n" CPUS_KEYWORD, TEXT_MAX);
    used = strlen(text);
    for (int i = 0; i < n && used + 16 < TEXT_MAX; i++)
        used += (size_t)snprintf(text + used, TEXT_MAX - used, " %d", cpus[i]);
    (void)strlcat(text, "\n", TEXT_MAX);
    return text;
}

/* Makes, locks and fills a new file. fd, -EEXIST, -EAGAIN (somebody removed it as stale), or -errno. */
static int place_make(int dir, const char *name, const char *text)
{
    cleanup_close int fd =
        openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    struct stat st;

    if (fd < 0)
        return -errno;
    (void)fchmod(fd, 0644);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0) {
        (void)unlinkat(dir, name, 0);
        return -EAGAIN;
    }
    if (file_write_all(fd, text, strlen(text)) < 0) {
        int r = -errno;

        (void)unlinkat(dir, name, 0);
        return r < 0 ? r : -EIO;
    }
    return steal_fd(&fd);
}

int cpu_place_take(struct cpu_place **place, int64_t since_ms, const int *cpus, int n,
                   const char *line)
{
    cleanup_free char *text = place_text(cpus, n, line);
    cleanup_close int dir = -1;
    char head[40];
    int fd = -EAGAIN;

    (void)snprintf(head, sizeof(head), PREFIX "%0*lld-", TIME_DIGITS, (long long)since_ms);
    if (*place != NULL && strncmp((*place)->name, head, strlen(head)) == 0 &&
        strcmp((*place)->text, text) == 0)
        return 0;
    cpu_place_leave(place);
    dir = cpu_lock_dir_open();
    if (dir < 0)
        return dir;
    for (int i = 0; i < TRIES && (fd == -EAGAIN || fd == -EEXIST); i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%s%d-%d", head, (int)getpid(), i);
        fd = place_make(dir, name, text);
        if (fd >= 0) {
            *place = xcalloc(1, sizeof(**place));
            (*place)->fd = fd;
            (*place)->text = steal_ptr(&text);
            (void)strlcpy((*place)->name, name, sizeof((*place)->name));
        }
    }
    return fd < 0 ? fd : 0;
}

void cpu_place_leave(struct cpu_place **place)
{
    cleanup_close int dir = -1;

    if (*place == NULL)
        return;
    dir = cpu_lock_dir_open();
    if (dir >= 0)
        (void)unlinkat(dir, (*place)->name, 0);
    (void)close((*place)->fd);
    free((*place)->text);
    free(*place);
    *place = NULL;
}

/* Whether a place's text asks for one of cpus; its first line goes to who. Cuts text. */
static bool wants_one_of(char *text, const int *cpus, int n, char *who, int size)
{
    char *rest = strchr(text, '\n'), *word;
    uint64_t cpu;

    if (rest == NULL) { /* not written yet */
        (void)snprintf(who, (size_t)size, "another fuzzd");
        return true;
    }
    *rest++ = '\0';
    rest[strcspn(rest, "\n")] = '\0';
    word = strsep(&rest, " ");
    if (word == NULL || strcmp(word, CPUS_KEYWORD) != 0)
        return false;
    while ((word = strsep(&rest, " ")) != NULL)
        for (int i = 0; parse_u64(word, CPU_MAX, &cpu) == 0 && i < n; i++)
            if ((int)cpu == cpus[i]) {
                (void)text_printable(who, (size_t)size, text);
                return true;
            }
    return false;
}

/* One place of somebody else: 1 when it comes before ours, else 0. */
static int look_at(int dir, const char *name, const int *cpus, int n, char *who, int size)
{
    cleanup_close int fd =
        openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    char text[TEXT_MAX + 1];
    struct stat st;
    ssize_t got;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        (void)unlinkat(dir, name, 0);
        return 0;
    }
    if (errno != EWOULDBLOCK)
        return 0;
    got = pread(fd, text, TEXT_MAX, 0);
    if (got < 0)
        return 0;
    text[got] = '\0';
    return wants_one_of(text, cpus, n, who, size);
}

int cpu_line_ahead(const struct cpu_place *mine, int64_t since_ms, const int *cpus, int n,
                   char *who, int size)
{
    cleanup_close int fd = cpu_lock_dir_open();
    cleanup_dir DIR *d = NULL;
    const struct dirent *de;
    char ours[64];
    int listing, looked = 0;

    if (fd < 0)
        return fd;
    listing = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d = listing >= 0 ? fdopendir(listing) : NULL;
    if (d == NULL)
        return -errno;
    (void)snprintf(ours, sizeof(ours), PREFIX "%0*lld-", TIME_DIGITS, (long long)since_ms);
    while ((de = readdir(d)) != NULL && looked < ENTRIES_MAX) {
        if (strncmp(de->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        /* Of one time, the names decide; who has no place yet comes last of it. */
        if (strncmp(de->d_name, ours, strlen(ours)) == 0
                ? mine != NULL && strcmp(de->d_name, mine->name) >= 0
                : strcmp(de->d_name, ours) >= 0)
            continue;
        if (mine != NULL && strcmp(de->d_name, mine->name) == 0)
            continue;
        looked++;
        if (look_at(fd, de->d_name, cpus, n, who, size) == 1)
            return 1;
    }
    return 0;
}
