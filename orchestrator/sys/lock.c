/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that end with their holder. flock belongs to the open file, so a dead process leaves none
 * behind whatever the file says; the line in it is only for people. The files are never removed:
 * removing one that somebody else is about to lock makes two holders.
 */
#include "sys/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/file.h"

#define LINE_BYTES_MAX  1024
#define TRIES           4
#define TRY_INTERVAL_NS (5 * 1000 * 1000)

static void holder_read(int fd, char *holder, size_t size)
{
    char buf[LINE_BYTES_MAX];
    ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

    if (holder == NULL || size == 0)
        return;
    buf[n > 0 ? n : 0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    (void)strlcpy(holder, buf, size);
}

/* A look by lock_holder holds the lock for an instant; whoever wants it for good asks again. */
static int flock_patient(int fd)
{
    const struct timespec pause = {.tv_nsec = TRY_INTERVAL_NS};
    int i;

    for (i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        (void)nanosleep(&pause, NULL);
    }
    return -EWOULDBLOCK;
}

/* Who holds it is only told to people: a full disk does not undo the lock. */
void lock_tell(int fd, const char *line)
{
    size_t len = strnlen(line, LINE_BYTES_MAX - 2);
    char buf[LINE_BYTES_MAX];

    memcpy(buf, line, len);
    buf[len] = '\n';
    if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        (void)file_write_all(fd, buf, len + 1);
}

int lock_take(const char *path, const char *line, char *holder, size_t holder_size)
{
    cleanup_close int fd = -1;
    struct stat st;
    int rc;

    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    rc = flock_patient(fd);
    if (rc < 0) {
        if (rc == -EWOULDBLOCK)
            holder_read(fd, holder, holder_size);
        return rc;
    }
    lock_tell(fd, line);
    return steal_fd(&fd);
}

int lock_bar(const char *path)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
        return -errno;
    return steal_fd(&fd);
}

int lock_holder(const char *path, char *holder, size_t holder_size)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return -errno;
    holder_read(fd, holder, holder_size);
    return 1;
}

int lock_last(const char *path, char *holder, size_t holder_size)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return -errno;
    holder_read(fd, holder, holder_size);
    return 0;
}
