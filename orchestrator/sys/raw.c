/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls for a process that may not allocate. Every buffer is on the stack and of a fixed
 * size; a list longer than it is worked off in several calls.
 */
#include "sys/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/parse.h"

int raw_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int rc = 0;

    if (fd < 0)
        return -errno;
    if (write(fd, text, strlen(text)) < 0)
        rc = -errno;
    (void)close(fd);
    return rc;
}

/* Reads what fits; *buf is always terminated. */
static void text_read(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, buf, size - 1);
        (void)close(fd);
    }
    buf[n > 0 ? n : 0] = '\0';
}

static int64_t number_read(const char *path, const char *key)
{
    char buf[4096], *p = buf, *line;
    size_t len = strlen(key);
    uint64_t v;

    text_read(path, buf, sizeof(buf));
    while ((line = strsep(&p, "\n")) != NULL)
        if (strncmp(line, key, len) == 0 && line[len] == ' ' &&
            parse_u64(line + len + 1, INT32_MAX, &v) == 0)
            return (int64_t)v;
    return 0;
}

int64_t raw_sum(const struct strv *files, const char *key)
{
    int64_t sum = 0;
    size_t i;

    for (i = 0; i < files->n; i++)
        sum += number_read(files->v[i], key);
    return sum;
}

void raw_children_usage(int64_t *ret_user_ms, int64_t *ret_system_ms, int64_t *ret_max_rss_bytes)
{
    struct rusage ru;

    if (getrusage(RUSAGE_CHILDREN, &ru) < 0)
        return;
    *ret_user_ms = (int64_t)ru.ru_utime.tv_sec * 1000 + ru.ru_utime.tv_usec / 1000;
    *ret_system_ms = (int64_t)ru.ru_stime.tv_sec * 1000 + ru.ru_stime.tv_usec / 1000;
    *ret_max_rss_bytes = (int64_t)ru.ru_maxrss * 1024;
}

void raw_kill_children(void)
{
    char path[64], buf[16384], *p = buf, *word, *last;
    uint64_t pid;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    text_read(path, buf, sizeof(buf));
    /* Each pid is followed by a blank; what is not was cut off and is another pid. */
    last = strrchr(buf, ' ');
    if (last == NULL)
        return;
    last[1] = '\0';
    while ((word = strsep(&p, " ")) != NULL)
        if (parse_u64(word, INT32_MAX, &pid) == 0 && pid > 1)
            (void)kill((pid_t)pid, SIGKILL);
}
