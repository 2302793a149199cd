/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interrupted walk: the open folders from the top to where it stands are kept between calls. They are held by descriptor, so a folder
 * that is renamed or removed meanwhile costs at most its own bytes in this pass.
 */
#include "farm/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define USAGE_DEPTH 16 /* of folders; what lies deeper is not counted */
#define USAGE_BATCH 32 /* entries between two looks at the clock */
#define USAGE_REST  10 /* a pass takes at most one part in this of the time */

struct usage {
    char *path;
    DIR *open[USAGE_DEPTH];
    int depth; /* 0: no pass is under way */
    dev_t dev;
    int64_t sum, bytes;
    int64_t spent_ms, next_ms;
};

struct usage *usage_new(const char *path)
{
    struct usage *u = xcalloc(1, sizeof(*u));

    u->path = xstrdup(path);
    u->bytes = -1;
    return u;
}

static void leave_all(struct usage *u)
{
    while (u->depth > 0)
        (void)closedir(u->open[--u->depth]);
}

void usage_free(struct usage *u)
{
    if (u == NULL)
        return;
    leave_all(u);
    free(u->path);
    free(u);
}

static void enter(struct usage *u, int parent, const char *name)
{
    struct stat st;
    int fd;

    if (u->depth == USAGE_DEPTH)
        return;
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) < 0 || (u->depth > 0 && st.st_dev != u->dev) ||
        (u->open[u->depth] = fdopendir(fd)) == NULL) {
        (void)close(fd);
        return;
    }
    u->dev = st.st_dev;
    u->depth++;
}

static void count(struct usage *u, DIR *dir, const char *name)
{
    struct stat st;
    int fd = dirfd(dir);

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != u->dev)
        return;
    if (S_ISDIR(st.st_mode)) {
        u->sum += (int64_t)st.st_blocks * 512;
        enter(u, fd, name);
    } else {
        u->sum += (int64_t)st.st_blocks * 512 / (st.st_nlink > 0 ? (int64_t)st.st_nlink : 1);
    }
}

void usage_restart(struct usage *u, int64_t at_ms)
{
    leave_all(u);
    u->bytes = -1;
    u->next_ms = at_ms;
}

void usage_step(struct usage *u, int64_t now_ms, int64_t slice_ms, int64_t pause_ms)
{
    int64_t began_ms = clock_now_ms(), rest_ms;

    if (u->depth == 0) {
        if (now_ms < u->next_ms)
            return;
        u->sum = u->spent_ms = 0;
        enter(u, AT_FDCWD, u->path);
    }
    for (unsigned n = 1; u->depth > 0; n++) {
        DIR *dir = u->open[u->depth - 1];
        const struct dirent *de = readdir(dir);

        if (de != NULL)
            count(u, dir, de->d_name);
        else
            (void)closedir(u->open[--u->depth]);
        if (n % USAGE_BATCH == 0 && clock_now_ms() - began_ms >= slice_ms)
            break;
    }
    u->spent_ms += clock_now_ms() - began_ms;
    if (u->depth > 0)
        return;
    u->bytes = u->sum;
    rest_ms = USAGE_REST * u->spent_ms;
    u->next_ms = now_ms + (rest_ms > pause_ms ? rest_ms : pause_ms);
}

int64_t usage_bytes(const struct usage *u)
{
    return u->bytes;
}
