/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, durations and sizes as people write them, and back. A parser takes the
 * whole string or refuses it, never wraps, and knows no sign, blank or locale.
 */
#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DURATION_MAX_MS (INT64_C(3650) * 24 * 3600 * 1000)
#define SIZE_MAX_BYTES  (INT64_C(1) << 62)

/* Reads digits at *s and moves past them; at least one. -EINVAL, or -ERANGE above max. */
static int take_digits(const char **s, uint64_t max, uint64_t *ret_n)
{
    const char *p = *s;
    uint64_t n = 0;
    bool over = false;
    if (*p < '0' || *p > '9')
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (n > (UINT64_MAX - digit) / 10)
            over = true;
        else
            n = n * 10 + digit;
    }
    *s = p;
    if (over || n > max)
        return -ERANGE;
    *ret_n = n;
    return 0;
}

int parse_u64(const char *s, uint64_t max, uint64_t *ret_n)
{
    uint64_t n = 0;
    int r = take_digits(&s, max, &n);
    if (r == -EINVAL || *s != '\0')
        return -EINVAL;
    if (r < 0)
        return r;
    *ret_n = n;
    return 0;
}

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
#define N_UNITS (sizeof(units) / sizeof(units[0]))

int parse_duration_ms(const char *s, int64_t *ret_ms)
{
    int64_t sum = 0;
    size_t next = 0; /* units come in falling order, each at most once */
    bool over = false;
    if (*s == '\0')
        return -EINVAL;
    for (bool first = true; *s != '\0'; first = false) {
        uint64_t n = 0;
        int r = take_digits(&s, (uint64_t)DURATION_MAX_MS, &n);
        if (r == -EINVAL)
            return r;
        over = over || r < 0;
        size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz"), u = next;
        if (len == 0 && *s == '\0' && first) {
            u = 3; /* a bare number is seconds */
        } else {
            while (u < N_UNITS && (strlen(units[u].name) != len || memcmp(units[u].name, s, len)))
                u++;
            if (u == N_UNITS)
                return -EINVAL;
        }
        s += len;
        next = u + 1;
        if (over || n > (uint64_t)((DURATION_MAX_MS - sum) / units[u].ms))
            over = true;
        else
            sum += (int64_t)n * units[u].ms;
    }
    if (over)
        return -ERANGE;
    *ret_ms = sum;
    return 0;
}

int parse_size_bytes(const char *s, int64_t *ret_bytes)
{
    static const char letters[] = "KMGT";
    uint64_t n = 0;
    unsigned shift = 0;
    int r = take_digits(&s, (uint64_t)SIZE_MAX_BYTES, &n);
    if (r == -EINVAL)
        return r;
    const char *at = *s != '\0' ? strchr(letters, *s) : NULL;
    if (at != NULL) {
        shift = 10 * (unsigned)(at - letters + 1);
        s++;
        if (strcmp(s, "iB") == 0)
            s += 2;
    }
    if (strcmp(s, "B") == 0)
        s++;
    if (*s != '\0')
        return -EINVAL;
    if (r < 0 || n > (uint64_t)SIZE_MAX_BYTES >> shift)
        return -ERANGE;
    *ret_bytes = (int64_t)(n << shift);
    return 0;
}

int parse_cores(const char *s, int n_cpus, int *ret_cores)
{
    uint64_t n = 0;
    if (n_cpus < 1)
        n_cpus = 1;
    if (strncmp(s, "all", 3) == 0) {
        if (s[3] != '\0') {
            if (s[3] != '-')
                return -EINVAL;
            int r = parse_u64(s + 4, 65536, &n);
            if (r < 0)
                return r;
        }
        *ret_cores = (int)n < n_cpus ? n_cpus - (int)n : 1;
        return 0;
    }
    const char *end = s;
    int r = take_digits(&end, 65536, &n);
    if (r == -EINVAL || (strcmp(end, "%") != 0 && *end != '\0'))
        return -EINVAL;
    if (r < 0 || n == 0 || (*end == '%' && n > 100))
        return -ERANGE;
    if (*end == '%') {
        int64_t part = (int64_t)n_cpus * (int64_t)n / 100;
        n = part > 1 ? (uint64_t)part : 1;
    }
    *ret_cores = (int)n;
    return 0;
}

char *format_duration(char *buf, size_t size, int64_t ms)
{
    size_t used = 0;
    if (ms <= 0) {
        (void)snprintf(buf, size, "0s");
        return buf;
    }
    for (size_t u = 0; u < N_UNITS && used < size; u++) {
        int64_t n = ms / units[u].ms;
        ms %= units[u].ms;
        if (n > 0)
            used +=
                (size_t)snprintf(buf + used, size - used, "%lld%s", (long long)n, units[u].name);
    }
    return buf;
}

char *format_size(char *buf, size_t size, int64_t bytes)
{
    static const char letters[] = "KMGT";
    size_t i = 0;
    while (bytes > 0 && bytes % 1024 == 0 && i < 4) {
        bytes /= 1024;
        i++;
    }
    (void)snprintf(buf, size, i > 0 ? "%lld%c" : "%lld", (long long)bytes,
                   i > 0 ? letters[i - 1] : 0);
    return buf;
}

char *format_count(char *buf, size_t size, double n)
{
    static const char letters[] = "kMGTPE";
    const char *sign = n < 0 ? "-" : "";
    size_t i = 0;
    if (!isfinite(n)) {
        (void)snprintf(buf, size, "?");
        return buf;
    }
    n = fabs(n);
    while (n >= 999.5 && i < sizeof(letters) - 1) {
        n /= 1000;
        i++;
    }
    /* 9.996 would print as 10.00 */
    int digits = n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
    if (i == 0 && n == floor(n))
        digits = 0;
    char unit[2] = {i > 0 ? letters[i - 1] : '\0', '\0'};
    (void)snprintf(buf, size, "%s%.*f%s", sign, digits, n, unit);
    return buf;
}

char *format_bytes(char *buf, size_t size, int64_t bytes)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    size_t i = 0;

    if (bytes < 1024) {
        (void)snprintf(buf, size, "%lld byte%s", (long long)bytes, text_plural(bytes));
        return buf;
    }
    for (n /= 1024; n >= 1023.5 && i < sizeof(names) / sizeof(names[0]) - 1; n /= 1024)
        i++;
    (void)snprintf(buf, size, "%.*f %s", n < 9.995 ? 2 : n < 99.95 ? 1 : 0, n, names[i]);
    return buf;
}

const char *text_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

int parse_distance(const char *a, const char *b)
{
    enum { LOOKED_AT = 63 };
    int row[LOOKED_AT + 1];
    int len_a = (int)strnlen(a, LOOKED_AT), len_b = (int)strnlen(b, LOOKED_AT);
    for (int j = 0; j <= len_b; j++)
        row[j] = j;
    for (int i = 1; i <= len_a; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= len_b; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[len_b];
}

bool text_utf8_ok(const char *s, size_t size)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t i = 0;
    while (i < size) {
        unsigned c = p[i], more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        static const unsigned lowest[] = {0, 0x80, 0x800, 0x10000};
        if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || more >= size - i)
            return false;
        unsigned code = more == 0 ? c : c & (0x3fU >> more);
        for (unsigned k = 1; k <= more; k++) {
            if ((p[i + k] & 0xc0) != 0x80)
                return false;
            code = code << 6 | (p[i + k] & 0x3fU);
        }
        if (code < lowest[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
        i += more + 1;
    }
    return true;
}

char *text_printable(char *out, size_t size, const char *s)
{
    size_t n = 0;
    if (size == 0)
        return out;
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        size_t need = c >= 0x20 && c < 0x7f ? 1 : 4;
        if (n + need + 1 > size)
            break;
        if (need == 1)
            out[n] = *s;
        else
            (void)snprintf(out + n, need + 1, "\\x%02x", c);
        n += need;
    }
    out[n] = '\0';
    return out;
}
