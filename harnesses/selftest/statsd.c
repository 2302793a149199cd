/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of StatsD datagrams, which anybody on this host may send. A datagram
 * that is refused changes nothing; one that is taken changes gauges within their
 * bounds, gives a name that fits, and says the same when it comes twice or line by
 * line.
 */
#include <errno.h>

#include "selftest/check.h"
#include "selftest/stats_check.h"

static const char *const ids[] = {"D1", "D2", "D3", "D4", "D5", NULL};
static const char *const reach[] = {"taken", "dropped", "second_line", NULL};
const struct fz_target fz_target = {"selftest-statsd", 256u << 20, ids, reach, NULL};

/* D1: refused is untouched. */
static int parse(const uint8_t *d, size_t n, char *name, size_t name_size, struct stats *st)
{
    struct stats before;
    char name_before[STATS_MAX_NAME];
    int r;

    memcpy(&before, st, sizeof(before));
    memcpy(name_before, name, name_size);
    r = stats_parse_statsd((const char *)fz_guarded_copy(d, n), n, name, name_size, st);
    MUST(r == 0 || r == -EBADMSG, "D1", "reading gave %d", r);
    MUST(r == 0 || (memcmp(&before, st, sizeof(before)) == 0 &&
                    memcmp(name_before, name, name_size) == 0),
         "D1", "a datagram that was refused changed something");
    return r;
}

/* D4: the lines one by one give what the whole gave. */
static void check_lines(const uint8_t *d, size_t n, const char *name, const struct stats *whole)
{
    struct stats st;
    size_t at = 0, taken = 0;

    memset(&st, 0, sizeof(st));
    while (at < n) {
        const uint8_t *nl = memchr(d + at, '\n', n - at);
        size_t len = nl != NULL ? (size_t)(nl - (d + at)) : n - at;
        char one[STATS_MAX_NAME] = "";

        if (parse(d + at, len, one, sizeof(one), &st) == 0) {
            if (taken++ > 0)
                FZ_REACH(second_line);
            MUST(strcmp(one, name) == 0, "D4", "a line is of another instance");
        }
        at += len + 1;
    }
    MUST(taken > 0 && stats_same(&st, whole), "D4", "line by line it says something else");
}

int fz_one(const uint8_t *d, size_t n)
{
    char name[STATS_MAX_NAME] = "", again[STATS_MAX_NAME] = "", small[STATS_MAX_NAME] = "";
    struct stats st, second;
    size_t len;

    memset(&st, 0, sizeof(st));
    if (parse(d, n, name, sizeof(name), &st) < 0) {
        FZ_REACH(dropped);
        return 0;
    }
    FZ_REACH(taken);
    len = strnlen(name, sizeof(name));
    MUST(n <= STATS_MAX_DGRAM, "D2", "%zu bytes are taken", n);
    MUST(len > 0 && len < sizeof(name) && memchr(name, ',', len) == NULL &&
             memchr(name, '\n', len) == NULL,
         "D2", "the name is %zu bytes long", len);
    MUST(st.have_statsd && !st.have_stats, "D2", "the marks are wrong");
    stats_check("D3", &st);
    memcpy(&second, &st, sizeof(st));
    MUST(parse(d, n, again, sizeof(again), &second) == 0 && stats_same(&st, &second) &&
             strcmp(name, again) == 0,
         "D3", "taken twice it says something else");
    MUST(parse(d, n, small, len, &second) == -EBADMSG, "D5", "a name was cut");
    MUST(parse(d, n, small, len + 1, &second) == 0, "D5", "a name that fits is refused");
    MUST(stats_statsd_name((const char *)d, n, again, sizeof(again)) == 0 &&
             strcmp(name, again) == 0,
         "D5", "by the name alone it is of another");
    check_lines(d, n, name, &st);
    stats_trace(&st);
    fz_trace(name, len);
    return 0;
}
