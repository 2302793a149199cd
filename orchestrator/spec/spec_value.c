/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value of a spec: text to field, by the row of the key table. Every refusal says
 * what was written and what is allowed; a field is untouched when its value is refused.
 */
#include "spec/spec_load.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/path.h"

_Static_assert(sizeof(enum spec_stop_on) == sizeof(int) &&
                   sizeof(enum spec_variant) == sizeof(int) &&
                   sizeof(enum spec_sweep) == sizeof(int) &&
                   sizeof(enum spec_corpus) == sizeof(int) &&
                   sizeof(enum spec_share) == sizeof(int) &&
                   sizeof(enum spec_plant_replay) == sizeof(int) &&
                   sizeof(enum spec_plant_startup) == sizeof(int),
               "word_index sets an int");

char *spec_value_shown(char buf[64], const char *s)
{
    size_t n = strlen(s);
    if (n <= 60) {
        (void)strlcpy(buf, s, 64);
        return buf;
    }
    n = 57;
    while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
        n--; /* not in the middle of a character */
    (void)snprintf(buf, 64, "%.*s...", (int)n, s);
    return buf;
}

static void format_bound(const struct spec_key *k, char buf[32], int64_t n)
{
    if (k->type == SPEC_DURATION)
        (void)format_duration(buf, 32, n);
    else if (k->type == SPEC_SIZE)
        (void)format_size(buf, 32, n);
    else
        (void)snprintf(buf, 32, "%" PRId64, n);
}

char *spec_value_allowed(const struct spec_key *k, char *buf, size_t size)
{
    char least[32], most[32];
    const char *what = "";
    format_bound(k, least, k->min);
    format_bound(k, most, k->max);
    switch (k->type) {
    case SPEC_NAME:
        what = SPEC_NAME_TEXT;
        break;
    case SPEC_DURATION:
        what = "a duration such as 500ms, 10s or 1h30m,";
        break;
    case SPEC_SIZE:
        what = "a number with K, M, G or T (such as 512M),";
        break;
    case SPEC_COUNT:
    case SPEC_PERCENT:
        what = "a whole number";
        break;
    case SPEC_CORES:
        what = "a number of cores from 1, all, all-N, or a share such as 50%";
        break;
    case SPEC_ENUM:
        break;
    case SPEC_PATH_DIR:
        what = "a folder, relative to root";
        break;
    case SPEC_PATH_FILE:
        what = "a file, relative to root";
        break;
    case SPEC_PATH_PROGRAM:
        what = "an executable file, relative to root";
        break;
    case SPEC_LIST:
        what = "one item an indented line";
        break;
    case SPEC_PATH_LIST:
        what = "files and folders, one an indented line, relative to root";
        break;
    case SPEC_WORDS:
        what = k->scope == SPEC_PLANT ? "words, separated by blanks"
                                      : "names of other targets, separated by blanks";
        break;
    case SPEC_TEXT:
        what = "one line of text";
        break;
    }
    if (k->type == SPEC_DURATION || k->type == SPEC_SIZE || k->type == SPEC_COUNT ||
        k->type == SPEC_PERCENT)
        (void)snprintf(buf, size, "%s from %s to %s", what, least, most);
    else
        (void)strlcpy(buf, what, size);
    for (const char *w = k->words; w != NULL && *w != '\0';) {
        size_t len = strcspn(w, "|"), used = strlen(buf);
        (void)snprintf(buf + used, size - used, "%s%.*s", used > 0 ? " or " : "", (int)len, w);
        w += len + (w[len] == '|');
    }
    return buf;
}

static int refuse(const struct spec_key *k, const struct spec_where *at, size_t item,
                  struct spec_faults *faults, const char *value, const char *wrong)
{
    char shown[64], allowed[160];
    spec_faults_add(faults, at->lines != NULL ? at->lines[item] : at->line, at->section, at->key,
                    false, "\"%s\" %s; allowed: %s", spec_value_shown(shown, value), wrong,
                    spec_value_allowed(k, allowed, sizeof(allowed)));
    return -EINVAL;
}

/* Index of value among k's words, or -1. */
static int word_index(const struct spec_key *k, const char *value)
{
    int i = 0;
    for (const char *w = k->words; w != NULL && *w != '\0'; i++) {
        size_t len = strcspn(w, "|");
        if (strlen(value) == len && memcmp(w, value, len) == 0)
            return i;
        w += len + (w[len] == '|');
    }
    return -1;
}

static int parse_number(const struct spec_key *k, const char *value, int64_t *ret_n)
{
    uint64_t n = 0;
    int r;
    if (k->type == SPEC_DURATION)
        return parse_duration_ms(value, ret_n);
    if (k->type == SPEC_SIZE)
        return parse_size_bytes(value, ret_n);
    size_t len = strlen(value);
    if (k->type == SPEC_PERCENT && len > 1 && value[len - 1] == '%') {
        char *digits = xstrndup(value, len - 1);
        r = parse_u64(digits, INT64_MAX, &n);
        free(digits);
    } else {
        r = parse_u64(value, INT64_MAX, &n);
    }
    if (r == 0)
        *ret_n = (int64_t)n;
    return r;
}

static int set_number(const struct spec_key *k, void *field, const char *value,
                      const struct spec_where *at, struct spec_faults *faults)
{
    int64_t n = 0;
    if (word_index(k, value) < 0) {
        int r = parse_number(k, value, &n);
        if (r == 0 && (n < k->min || n > k->max))
            r = -ERANGE;
        if (r == -ERANGE)
            return refuse(k, at, 0, faults, value, "is out of range");
        if (r < 0)
            return refuse(k, at, 0, faults, value,
                          k->type == SPEC_DURATION ? "is not a duration"
                          : k->type == SPEC_SIZE   ? "is not a size"
                                                   : "is not a whole number");
    }
    memcpy(field, &n, sizeof(n));
    return 0;
}

static bool is_env_item(const char *s)
{
    static const char ok[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t n = strspn(s, ok);
    return n > 0 && s[n] == '=' && (*s < '0' || *s > '9');
}

static int check_list(const struct spec_key *k, const struct strv *values,
                      const struct spec_where *at, struct spec_faults *faults)
{
    int r = 0;
    if (strcmp(k->name, "env") != 0)
        return 0;
    for (size_t i = 0; i < values->n; i++) {
        const char *item = values->v[i];
        char shown[64];
        if (!is_env_item(item)) {
            spec_faults_add(faults, at->lines[i], at->section, at->key, false,
                            "\"%s\" is not a variable; allowed: NAME=VALUE, one an indented line",
                            spec_value_shown(shown, item));
            r = -EINVAL;
            continue;
        }
        size_t len = strcspn(item, "=");
        for (size_t j = 0; j < i; j++) {
            if (strncmp(values->v[j], item, len + 1) != 0)
                continue;
            spec_faults_add(faults, at->lines[i], at->section, at->key, false,
                            "%.*s is set again, first on line %d; allowed: each variable once",
                            (int)(len < 60 ? len : 60), item, at->lines[j]);
            r = -EINVAL;
            break;
        }
    }
    return r;
}

/* The words of all lines, in their order. */
static void split_words(struct strv *ret, const struct strv *values)
{
    strv_clear(ret);
    for (size_t i = 0; i < values->n; i++) {
        for (const char *s = values->v[i]; *s != '\0';) {
            size_t n = strcspn(s, " \t");

            if (n > 0)
                strv_take(ret, xstrndup(s, n));
            s += n + strspn(s + n, " \t");
        }
    }
}

int spec_value_set(const struct spec_key *k, void *base, const struct strv *values,
                   const struct spec_where *at, struct spec_faults *faults)
{
    void *field = (char *)base + k->offset;
    if (k->type == SPEC_LIST || k->type == SPEC_PATH_LIST) {
        if (check_list(k, values, at, faults) < 0)
            return -EINVAL;
        strv_copy(field, values);
        return 0;
    }
    if (k->type == SPEC_WORDS) {
        split_words(field, values);
        return 0;
    }
    const char *value = values->v[0];
    int word = word_index(k, value), cores = 0, r;
    switch (k->type) {
    case SPEC_DURATION:
    case SPEC_SIZE:
    case SPEC_COUNT:
    case SPEC_PERCENT:
        return set_number(k, field, value, at, faults);
    case SPEC_ENUM:
        if (word < 0)
            return refuse(k, at, 0, faults, value, "is not a word known here");
        memcpy(field, &word, sizeof(word));
        return 0;
    case SPEC_CORES:
        r = parse_cores(value, 1, &cores);
        if (r < 0)
            return refuse(k, at, 0, faults, value,
                          r == -ERANGE ? "is out of range" : "is not a number of cores");
        break;
    case SPEC_NAME:
        if (!path_name_ok(value, SPEC_NAME_LEN))
            return refuse(k, at, 0, faults, value, "is not a name");
        break;
    case SPEC_PATH_DIR:
    case SPEC_PATH_FILE:
    case SPEC_PATH_PROGRAM:
    case SPEC_PATH_LIST:
    case SPEC_LIST:
    case SPEC_WORDS:
    case SPEC_TEXT:
        break;
    }
    str_set(field, value);
    return 0;
}
