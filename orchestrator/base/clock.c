/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, boot and run identity. Durations come from CLOCK_MONOTONIC only, which does
 * not count the time a machine was suspended; wall time is for what is shown or stored.
 */
#include "base/clock.h"

#include <bsd/stdlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"

static int64_t read_ms(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) < 0)
        return 0;
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_now_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

static char *format_time(char *buf, size_t size, int64_t wall_ms, bool basic)
{
    time_t t = (time_t)(wall_ms / 1000);
    struct tm tm;
    if (wall_ms <= 0 || gmtime_r(&t, &tm) == NULL ||
        strftime(buf, size, basic ? "%Y%m%dT%H%M%SZ" : "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        buf[0] = '\0';
    return buf;
}

int64_t clock_span_ms(int64_t from_ms, int64_t to_ms)
{
    return to_ms > from_ms ? to_ms - from_ms : 0;
}

char *clock_iso8601(char *buf, size_t size, int64_t wall_ms)
{
    return format_time(buf, size, wall_ms, false);
}

char *clock_basic(char *buf, size_t size, int64_t wall_ms)
{
    return format_time(buf, size, wall_ms, true);
}

char *clock_boot_id(char *buf, size_t size)
{
    cleanup_free char *text = NULL;
    size_t n = 0;
    buf[0] = '\0';
    if (size < 33 || file_read_proc("/proc/sys/kernel/random/boot_id", 64, &text) < 0)
        return buf;
    for (const char *p = text; *p != '\0' && *p != '\n'; p++) {
        if (*p == '-')
            continue;
        if (n == 32 || strchr("0123456789abcdef", *p) == NULL) {
            n = 0;
            break;
        }
        buf[n++] = *p;
    }
    buf[n == 32 ? n : 0] = '\0';
    return buf;
}

/* The lowest 5*n bits of v as n digits. */
static void base32(char *out, uint64_t v, size_t n)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    while (n-- > 0) {
        out[n] = digits[v & 31];
        v >>= 5;
    }
}

char *clock_ulid(char *buf, size_t size)
{
    /* Two of one millisecond keep their order: the random part counts up. */
    static uint64_t last_ms, high, low;
    const uint64_t mask = (UINT64_C(1) << 40) - 1;
    uint64_t ms = (uint64_t)clock_wall_ms();
    if (size < 27) {
        buf[0] = '\0';
        return buf;
    }
    if (ms == last_ms) {
        low = (low + 1) & mask;
        if (low == 0)
            high = (high + 1) & mask;
    } else {
        arc4random_buf(&high, sizeof(high));
        arc4random_buf(&low, sizeof(low));
        high &= mask;
        low &= mask;
        last_ms = ms;
    }
    base32(buf, ms, 10);
    base32(buf + 10, high, 8);
    base32(buf + 18, low, 8);
    buf[26] = '\0';
    return buf;
}
