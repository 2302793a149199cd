/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines that do not count what other processes took. Only the main thread's waiting is known,
 * which is the one that runs the input.
 */
#include "engine/deadline.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

int64_t deadline_now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Of all its life; 0 where that is not known. */
static int64_t waited_us(pid_t pid)
{
    char path[64], buf[128], *p = buf, *word;
    cleanup_close int fd = -1;
    uint64_t ns;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, buf, sizeof(buf) - 1) : 0;
    if (n <= 0)
        return 0;
    buf[n] = '\0';
    /* Nanoseconds run, nanoseconds waited, time slices. */
    (void)strsep(&p, " ");
    word = strsep(&p, " ");
    return word != NULL && parse_u64(word, INT64_MAX, &ns) == 0 ? (int64_t)(ns / 1000) : 0;
}

void deadline_begin(struct deadline *d, pid_t pid, int64_t limit_ms)
{
    *d = (struct deadline){.pid = pid,
                           .began_us = deadline_now_us(),
                           .limit_us = limit_ms * 1000,
                           .waited_us = waited_us(pid)};
}

int deadline_left_ms(const struct deadline *d)
{
    const int64_t wall_us = deadline_now_us() - d->began_us;
    int64_t left_us = d->limit_us - wall_us, waited;

    if (wall_us >= d->limit_us * DEADLINE_PATIENCE)
        return 0;
    if (left_us <= 0) {
        waited = waited_us(d->pid) - d->waited_us;
        left_us = d->limit_us - (wall_us - (waited > 0 ? waited : 0));
        if (left_us <= 0)
            return 0;
        if (left_us > d->limit_us)
            left_us = d->limit_us;
    }
    return left_us / 1000 >= INT32_MAX ? INT32_MAX : (int)(left_us / 1000) + 1;
}
