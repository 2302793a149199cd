/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded log. Its one promise is that whoever writes into the pipe before it is never held
 * up: a full disk, a missing folder or a limit costs lines, not the program.
 */
#include "sys/runlog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define HALF_BYTES_MIN 4096

static void file_open(struct runlog *l)
{
    struct stat st;

    l->fd =
        open(l->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (l->fd >= 0 && (fstat(l->fd, &st) < 0 || !S_ISREG(st.st_mode)))
        runlog_close(l);
    l->size_bytes = l->fd >= 0 ? (int64_t)st.st_size : 0;
}

void runlog_open(struct runlog *l, const char *path, int64_t max_bytes)
{
    l->path = path;
    l->half_bytes = max_bytes / 2 > HALF_BYTES_MIN ? max_bytes / 2 : HALF_BYTES_MIN;
    file_open(l);
}

static void rotate(struct runlog *l)
{
    char old[PATH_MAX];
    int n = snprintf(old, sizeof(old), "%s.1", l->path);

    if (l->fd >= 0 && (n < 0 || (size_t)n >= sizeof(old) || rename(l->path, old) < 0)) {
        /* Without a second file the bound still holds. */
        if (ftruncate(l->fd, 0) == 0)
            l->size_bytes = 0;
        return;
    }
    runlog_close(l);
    file_open(l);
}

void runlog_write(struct runlog *l, const char *data, size_t size)
{
    while (size > 0) {
        size_t part = size;
        ssize_t n;

        if (l->fd < 0 || l->size_bytes >= l->half_bytes)
            rotate(l);
        if (l->fd < 0 || l->size_bytes >= l->half_bytes)
            return;
        if (part > (size_t)(l->half_bytes - l->size_bytes))
            part = (size_t)(l->half_bytes - l->size_bytes);
        n = write(l->fd, data, part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        l->size_bytes += n;
        data += n;
        size -= (size_t)n;
    }
}

void runlog_close(struct runlog *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}
