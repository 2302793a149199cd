/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines to stderr or to a bounded pair of files. One write(2) a line, so that
 * lines of several processes never mix; a line that cannot be written is dropped,
 * because a full disk must not stop the program that would free it.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"

static const char *log_name = "fuzzd";
static enum log_level log_max = LOG_LEVEL_INFO;
static int log_fd = -1;
static char *log_path;
static long long log_half, log_used;

void log_init(const char *name, enum log_level level)
{
    log_name = name;
    log_max = level;
}

static int open_log(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    return fd >= 0 ? fd : -errno;
}

int log_to_file(const char *path, long long max_bytes)
{
    int fd = open_log(path);
    if (fd < 0)
        return fd;
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        (void)close(fd);
        return -EINVAL;
    }
    if (log_fd >= 0)
        (void)close(log_fd);
    log_fd = fd;
    str_set(&log_path, path);
    log_half = max_bytes / 2 > 4096 ? max_bytes / 2 : 4096;
    log_used = st.st_size;
    return 0;
}

/* FILE becomes FILE.1; when that fails the file is emptied instead, as its bound counts most. */
static void rotate(void)
{
    char *old = xasprintf("%s.1", log_path);
    int fd = -1;
    if (rename(log_path, old) == 0)
        fd = open_log(log_path);
    free(old);
    if (fd >= 0) {
        (void)close(log_fd);
        log_fd = fd;
    } else if (ftruncate(log_fd, 0) < 0) {
        return;
    }
    log_used = 0;
}

__attribute__((format(printf, 2, 0))) static void log_line(enum log_level level, const char *fmt,
                                                           va_list ap)
{
    static const char *const words[] = {"error: ", "warning: ", "", "debug: "};
    if (level > log_max)
        return;
    char text[1024], line[1200], when[32] = "";
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    struct err shown;
    (void)err_set(&shown, 0, "%s", text); /* spells control bytes out */
    if (log_fd >= 0)
        (void)clock_iso8601(when, sizeof(when), clock_wall_ms());
    int n = snprintf(line, sizeof(line), "%s%s%s: %s%s\n", when, log_fd >= 0 ? " " : "", log_name,
                     words[level], shown.msg);
    if (n >= (int)sizeof(line)) {
        n = (int)sizeof(line) - 1;
        line[n - 1] = '\n';
    }
    if (log_fd < 0) {
        (void)file_write_all(STDERR_FILENO, line, (size_t)n);
        return;
    }
    if (log_used + n > log_half)
        rotate();
    if (file_write_all(log_fd, line, (size_t)n) == 0)
        log_used += n;
}

#define LOG_FN(fn, level)                                                                          \
    void fn(const char *fmt, ...)                                                                  \
    {                                                                                              \
        int saved = errno;                                                                         \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        log_line(level, fmt, ap);                                                                  \
        va_end(ap);                                                                                \
        errno = saved;                                                                             \
    }
LOG_FN(log_error, LOG_LEVEL_ERROR)
LOG_FN(log_warn, LOG_LEVEL_WARN)
LOG_FN(log_info, LOG_LEVEL_INFO)
LOG_FN(log_debug, LOG_LEVEL_DEBUG)

void fatal(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_line(LOG_LEVEL_ERROR, fmt, ap);
    va_end(ap);
    exit(1);
}

bool log_limit_pass(struct log_limit *l, int64_t now_ms)
{
    if (l->passed == 0 || now_ms - l->since_ms >= LOG_LIMIT_MS) {
        l->since_ms = now_ms;
        l->passed = 0;
    }
    if (l->passed == LOG_LIMIT_LINES) {
        l->held++;
        return false;
    }
    l->passed++;
    return true;
}

int64_t log_limit_held(struct log_limit *l)
{
    int64_t held = l->held;

    l->held = 0;
    return held;
}
