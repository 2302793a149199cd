/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits with hysteresis. Each cause looks at one reading only, and what cannot be read neither freezes nor thaws: a host without
 * pressure files is not a host under pressure, and a disk that cannot be asked is not one with room.
 */
#include "farm/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

static void take_pressure(struct guard *g, int64_t max_pct, double pct, int64_t now_ms)
{
    if (max_pct == 0)
        g->on[GUARD_PRESSURE] = false;
    if (max_pct == 0 || pct < 0)
        return;
    if (pct > (double)max_pct) {
        g->on[GUARD_PRESSURE] = true;
        g->calm_since_ms = 0;
    } else if (pct >= (double)max_pct * GUARD_CALM_PCT / 100) {
        g->calm_since_ms = 0;
    } else if (g->calm_since_ms == 0) {
        g->calm_since_ms = now_ms;
    } else if (now_ms - g->calm_since_ms >= GUARD_CALM_MS) {
        g->on[GUARD_PRESSURE] = false;
    }
}

/* n * pct / 100 without overflow. */
static int64_t percent(int64_t n, int64_t pct)
{
    return n / 100 * pct + n % 100 * pct / 100;
}

void guard_take(struct guard *g, const struct guard_limits *lim, const struct guard_reading *r,
                int64_t now_ms)
{
    take_pressure(g, lim->pressure_pct, r->pressure_pct, now_ms);
    if (lim->floor_bytes == 0)
        g->on[GUARD_FLOOR] = false;
    else if (r->free_bytes >= 0 && r->free_bytes < lim->floor_bytes)
        g->on[GUARD_FLOOR] = true;
    else if (r->free_bytes >= percent(lim->floor_bytes, GUARD_FLOOR_PCT))
        g->on[GUARD_FLOOR] = false;
    if (lim->disk_bytes == 0)
        g->on[GUARD_DISK] = false;
    else if (r->used_bytes > lim->disk_bytes)
        g->on[GUARD_DISK] = true;
    else if (r->used_bytes >= 0 && r->used_bytes <= percent(lim->disk_bytes, GUARD_DISK_PCT))
        g->on[GUARD_DISK] = false;
}

/* "1.90G", as exact sizes are hard to read. */
static char *size_text(char *buf, size_t size, int64_t bytes)
{
    static const char units[] = "BKMGTPE";
    double n = (double)(bytes < 0 ? 0 : bytes);
    size_t u = 0;

    while (n >= 1024 && u + 2 < sizeof(units)) {
        n /= 1024;
        u++;
    }
    (void)snprintf(buf, size, n < 10 && u > 0 ? "%.1f%c" : "%.0f%c", n, units[u]);
    return buf;
}

char *guard_words(char *buf, size_t size, enum guard_cause cause, const struct guard_limits *lim,
                  const struct guard_reading *r, const char *state_dir)
{
    char have[16], want[32];

    buf[0] = '\0';
    switch (cause) {
    case GUARD_PRESSURE:
        (void)snprintf(buf, size, "memory pressure of the host is %.0f %%, at most %lld %%",
                       r->pressure_pct, (long long)lim->pressure_pct);
        break;
    case GUARD_FLOOR:
        (void)snprintf(buf, size, "%s free in %.120s, at least %s stay free",
                       size_text(have, sizeof(have), r->free_bytes), state_dir,
                       format_size(want, sizeof(want), lim->floor_bytes));
        break;
    case GUARD_DISK:
        (void)snprintf(buf, size, "the run holds %s on disk, its budget is %s",
                       size_text(have, sizeof(have), r->used_bytes),
                       format_size(want, sizeof(want), lim->disk_bytes));
        break;
    case GUARD_CAUSES:
        break;
    }
    return buf;
}

/* some avg10=0.00 avg60=0.00 avg300=0.00 total=77072 */
int guard_parse_psi(const char *text, double *ret_pct)
{
    static const char head[] = "some avg10=";
    const char *p = text;
    double pct = 0, unit = 1;
    int digits = 0;

    while (p != NULL && strncmp(p, head, sizeof(head) - 1) != 0) {
        p = strchr(p, '\n');
        p = p != NULL ? p + 1 : NULL;
    }
    if (p == NULL)
        return -EBADMSG;
    for (p += sizeof(head) - 1; *p >= '0' && *p <= '9' && digits < 4; p++, digits++)
        pct = pct * 10 + (*p - '0');
    if (digits == 0)
        return -EBADMSG;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++)
            pct += (*p - '0') * (unit /= 10);
    if ((*p != ' ' && *p != '\n' && *p != '\0') || pct > 100)
        return -EBADMSG;
    *ret_pct = pct;
    return 0;
}
