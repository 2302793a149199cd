/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of fuzzer_stats and of StatsD datagrams.
 *
 * One table of keys serves both. A value that is not a plain number of its kind is skipped as if the
 * line were not there; nothing is read past the given size, and a struct is changed only as a whole
 * (fuzzer_stats) or by whole gauges (StatsD).
 */
#include "farm/stats.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define STATS_MAX_LINES 256

enum stats_type { STATS_INT, STATS_COUNT, STATS_REAL, STATS_TEXT };

struct stats_key {
    const char *name;   /* in fuzzer_stats */
    const char *statsd; /* its gauge, NULL when it has none */
    enum stats_type type;
    size_t offset;
};

#define AT(field) offsetof(struct stats, field)
static const struct stats_key stats_keys[] = {
    {"start_time", NULL, STATS_INT, AT(start_time_s)},
    {"last_update", NULL, STATS_INT, AT(last_update_s)},
    {"run_time", NULL, STATS_INT, AT(run_time_s)},
    {"fuzzer_pid", NULL, STATS_INT, AT(fuzzer_pid)},
    {"cycles_done", "cycle_done", STATS_INT, AT(cycles_done)},
    {"cycles_wo_finds", "cycles_wo_finds", STATS_INT, AT(cycles_wo_finds)},
    {"execs_done", "execs_done", STATS_INT, AT(execs_done)},
    {"execs_per_sec", "execs_per_sec", STATS_REAL, AT(execs_per_sec)},
    {"corpus_count", "corpus_count", STATS_COUNT, AT(corpus_count)},
    {"corpus_favored", "corpus_favored", STATS_COUNT, AT(corpus_favored)},
    {"corpus_found", "corpus_found", STATS_COUNT, AT(corpus_found)},
    {"corpus_imported", "corpus_imported", STATS_COUNT, AT(corpus_imported)},
    {"corpus_variable", "corpus_variable", STATS_COUNT, AT(corpus_variable)},
    {"max_depth", "max_depth", STATS_INT, AT(max_depth)},
    {"cur_item", "cur_item", STATS_INT, AT(cur_item)},
    {"pending_favs", "pending_favs", STATS_COUNT, AT(pending_favs)},
    {"pending_total", "pending_total", STATS_COUNT, AT(pending_total)},
    {"stability", NULL, STATS_REAL, AT(stability_pct)},
    {"bitmap_cvg", NULL, STATS_REAL, AT(bitmap_cvg_pct)},
    {"saved_crashes", "saved_crashes", STATS_COUNT, AT(saved_crashes)},
    {"saved_hangs", "saved_hangs", STATS_COUNT, AT(saved_hangs)},
    {"total_crashes", "total_crashes", STATS_COUNT, AT(total_crashes)},
    {"last_find", NULL, STATS_INT, AT(last_find_s)},
    {"last_crash", NULL, STATS_INT, AT(last_crash_s)},
    {"last_hang", NULL, STATS_INT, AT(last_hang_s)},
    {"exec_timeout", NULL, STATS_INT, AT(exec_timeout_ms)},
    {"slowest_exec_ms", "slowest_exec_ms", STATS_INT, AT(slowest_exec_ms)},
    {"peak_rss_mb", NULL, STATS_INT, AT(peak_rss_mb)},
    {"edges_found", "edges_found", STATS_COUNT, AT(edges_found)},
    {"total_edges", NULL, STATS_COUNT, AT(total_edges)},
    {"afl_version", NULL, STATS_TEXT, AT(afl_version)},
};
#undef AT

int64_t stats_sane_count(int64_t v)
{
    /* A u32 that was counted below zero; no count of ours comes near it. */
    if (v < 0 || (v >= 4294000000LL && v <= 4294967295LL))
        return 0;
    return v;
}

/* Digits only, the whole of s; what is larger than any real figure is none. */
static bool read_int(const char *s, size_t n, int64_t *ret)
{
    int64_t v = 0;

    if (n == 0 || n > 18)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        v = v * 10 + (s[i] - '0');
    }
    if (v > STATS_MAX_NUMBER)
        return false;
    *ret = v;
    return true;
}

/* "22109.59", "85.71%", "-nan" is not one. Independent of the locale. */
static bool read_real(const char *s, size_t n, double *ret)
{
    double v = 0, unit = 1;
    bool point = false, digit = false;

    if (n > 0 && s[n - 1] == '%')
        n--;
    if (n > 24)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
        } else if (s[i] >= '0' && s[i] <= '9') {
            digit = true;
            v = v * 10 + (s[i] - '0');
            if (point)
                unit *= 10;
        } else {
            return false;
        }
    }
    if (!digit)
        return false;
    *ret = v / unit;
    return true;
}

static bool read_text(const char *s, size_t n, char *out, size_t size)
{
    if (n > 2 && s[0] == '+' && s[1] == '+') { /* "++4.04c" */
        s += 2;
        n -= 2;
    }
    if (n == 0 || n >= size)
        return false;
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~')
            return false;
    memcpy(out, s, n);
    out[n] = '\0';
    return true;
}

static bool set_value(struct stats *st, const struct stats_key *k, const char *s, size_t n)
{
    char *at = (char *)st + k->offset;
    int64_t v;
    double d;

    switch (k->type) {
    case STATS_INT:
    case STATS_COUNT:
        if (!read_int(s, n, &v))
            return false;
        if (k->type == STATS_COUNT)
            v = stats_sane_count(v);
        memcpy(at, &v, sizeof(v));
        return true;
    case STATS_REAL:
        if (!read_real(s, n, &d))
            return false;
        memcpy(at, &d, sizeof(d));
        return true;
    case STATS_TEXT:
        return read_text(s, n, at, sizeof(st->afl_version));
    }
    return false;
}

static const struct stats_key *find_key(const char *name, size_t n, bool statsd)
{
    for (size_t i = 0; i < sizeof(stats_keys) / sizeof(stats_keys[0]); i++) {
        const char *want = statsd ? stats_keys[i].statsd : stats_keys[i].name;

        /* A name read from outside may have a zero byte within its n. */
        if (want != NULL && strlen(want) == n && memcmp(want, name, n) == 0)
            return &stats_keys[i];
    }
    return NULL;
}

/* "execs_done        : 109752": key and value of a line of n bytes. */
static bool split_line(const char *line, size_t n, size_t *ret_key, const char **ret_value,
                       size_t *ret_n)
{
    const char *colon = memchr(line, ':', n);
    const char *v, *end = line + n;
    size_t k;

    if (colon == NULL)
        return false;
    k = (size_t)(colon - line);
    while (k > 0 && line[k - 1] == ' ')
        k--;
    for (v = colon + 1; v < end && *v == ' '; v++)
        ;
    while (end > v && (end[-1] == ' ' || end[-1] == '\r'))
        end--;
    *ret_key = k;
    *ret_value = v;
    *ret_n = (size_t)(end - v);
    return k > 0;
}

int stats_parse(const char *text, size_t size, struct stats *st)
{
    struct stats now = {.have_stats = true, .have_statsd = st->have_statsd};
    const char *p = text, *end = text + size;

    if (size > STATS_MAX_BYTES)
        return -EAGAIN;
    /* These two come by StatsD on every version, and in the file not on every one. */
    now.total_crashes = st->total_crashes;
    for (int lines = 0; p < end && lines < STATS_MAX_LINES; lines++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const struct stats_key *k;
        const char *value;
        size_t n_key, n_value;

        if (nl == NULL)
            return -EAGAIN;
        if (split_line(p, (size_t)(nl - p), &n_key, &value, &n_value)) {
            /* The last line that AFL++ writes. What stands behind it is not looked at. */
            if (n_key == 12 && memcmp(p, "command_line", 12) == 0) {
                *st = now;
                return 0;
            }
            k = find_key(p, n_key, false);
            if (k != NULL)
                (void)set_value(&now, k, value, n_value);
        }
        p = nl + 1;
    }
    return -EAGAIN;
}

/* Value of "NAME:" in "banner:camp/t/main,afl_version:++4.04c". */
static const char *find_tag(const char *tags, size_t n, const char *name, size_t *ret_n)
{
    size_t n_name = strlen(name);

    while (n > 0) {
        const char *comma = memchr(tags, ',', n);
        size_t len = comma != NULL ? (size_t)(comma - tags) : n;

        if (len > n_name && memcmp(tags, name, n_name) == 0 && tags[n_name] == ':') {
            *ret_n = len - n_name - 1;
            return tags + n_name + 1;
        }
        if (comma == NULL)
            break;
        n -= len + 1;
        tags = comma + 1;
    }
    return NULL;
}

/* "fuzzing.execs_done:22747|g|#banner:camp/tgt/main,afl_version:++4.04c" */
static bool read_gauge(const char *line, size_t n, struct stats *st, const char **ret_name,
                       size_t *ret_name_len)
{
    static const char prefix[] = "fuzzing.";
    const size_t n_prefix = sizeof(prefix) - 1;
    const char *colon, *bar, *value, *banner, *version;
    const struct stats_key *k;
    size_t rest, n_tags, n_banner, n_version;

    if (n <= n_prefix || memcmp(line, prefix, n_prefix) != 0)
        return false;
    line += n_prefix;
    n -= n_prefix;
    colon = memchr(line, ':', n);
    if (colon == NULL)
        return false;
    value = colon + 1;
    rest = n - (size_t)(value - line);
    bar = memchr(value, '|', rest);
    if (bar == NULL)
        return false;
    rest -= (size_t)(bar - value);
    if (rest < 4 || memcmp(bar, "|g|#", 4) != 0)
        return false;
    n_tags = rest - 4;
    banner = find_tag(bar + 4, n_tags, "banner", &n_banner);
    if (banner == NULL || n_banner == 0 || n_banner >= STATS_MAX_NAME)
        return false;
    k = find_key(line, (size_t)(colon - line), true);
    if (k == NULL || !set_value(st, k, value, (size_t)(bar - value)))
        return false;
    version = find_tag(bar + 4, n_tags, "afl_version", &n_version);
    if (version != NULL)
        (void)read_text(version, n_version, st->afl_version, sizeof(st->afl_version));
    *ret_name = banner;
    *ret_name_len = n_banner;
    return true;
}

static int copy_name(const char *banner, size_t n, char *name, size_t name_size)
{
    if (banner == NULL || n >= name_size || memchr(banner, '\0', n) != NULL)
        return -EBADMSG;
    memcpy(name, banner, n);
    name[n] = '\0';
    return 0;
}

int stats_statsd_name(const char *data, size_t size, char *name, size_t name_size)
{
    const char *p = data, *end = data + size, *banner = NULL;
    struct stats unused;
    size_t n_banner = 0;

    if (size > STATS_MAX_DGRAM)
        return -EBADMSG;
    while (p < end && banner == NULL) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));

        (void)read_gauge(p, (size_t)((nl != NULL ? nl : end) - p), &unused, &banner, &n_banner);
        p = nl != NULL ? nl + 1 : end;
    }
    return copy_name(banner, n_banner, name, name_size);
}

int stats_parse_statsd(const char *data, size_t size, char *name, size_t name_size,
                       struct stats *st)
{
    struct stats now = *st;
    const char *p = data, *end = data + size, *first = NULL;
    size_t n_first = 0;

    if (size > STATS_MAX_DGRAM)
        return -EBADMSG;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = nl != NULL ? (size_t)(nl - p) : (size_t)(end - p), n_banner;
        const char *banner;

        if (read_gauge(p, n, &now, &banner, &n_banner)) {
            if (first == NULL) {
                first = banner;
                n_first = n_banner;
            } else if (n_first != n_banner || memcmp(first, banner, n_first) != 0) {
                return -EBADMSG; /* two instances in one datagram: not AFL++ */
            }
        }
        if (nl == NULL)
            break;
        p = nl + 1;
    }
    if (copy_name(first, n_first, name, name_size) < 0)
        return -EBADMSG;
    now.have_statsd = true;
    *st = now;
    return 0;
}
