/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of captured output. The text comes from programs under test: any bytes,
 * any length of line; nothing here reads behind the terminating NUL or writes
 * more than it was given room for.
 */
#include "triage/text.h"

#include <ctype.h>
#include <string.h>

bool text_next(const char **pos, struct text_line *ret)
{
    const char *end;

    if (**pos == '\0')
        return false;
    end = strchr(*pos, '\n');
    ret->s = *pos;
    ret->n = end != NULL ? (size_t)(end - *pos) : strlen(*pos);
    *pos += ret->n + (end != NULL ? 1 : 0);
    if (ret->n > 0 && ret->s[ret->n - 1] == '\r')
        ret->n--;
    if (ret->n > TEXT_LINE_MAX)
        ret->n = TEXT_LINE_MAX;
    return true;
}

const char *text_find(const struct text_line *l, const char *needle)
{
    return memmem(l->s, l->n, needle, strlen(needle));
}

bool text_starts(const struct text_line *l, const char *prefix)
{
    size_t n = strlen(prefix);

    return l->n >= n && memcmp(l->s, prefix, n) == 0;
}

char *text_copy(char *buf, size_t size, const char *s, size_t n)
{
    size_t i;

    for (i = 0; i < n && i + 1 < size; i++) {
        unsigned char c = (unsigned char)s[i];

        buf[i] = c >= 0x20 && c <= 0x7e ? (char)c : '?';
    }
    buf[i] = '\0';
    return buf;
}

bool text_value(const struct text_line *l, const char *key, char *buf, size_t size)
{
    const char *p = text_find(l, key), *end = l->s + l->n, *q;

    if (p == NULL || (p > l->s && p[-1] != ' '))
        return false;
    p += strlen(key);
    for (q = p; q < end && *q != ' '; q++)
        ;
    text_copy(buf, size, p, (size_t)(q - p));
    return true;
}

char *text_no_numbers(char *buf, size_t size, const char *s, size_t n)
{
    size_t out = 0, i = 0;

    while (i < n && out + 1 < size) {
        unsigned char c = (unsigned char)s[i];

        if (!isdigit(c)) {
            buf[out++] = c >= 0x20 && c <= 0x7e ? (char)c : '?';
            i++;
            continue;
        }
        if (c == '0' && i + 1 < n && s[i + 1] == 'x') {
            for (i += 2; i < n && isxdigit((unsigned char)s[i]); i++)
                ;
        } else {
            for (; i < n && isdigit((unsigned char)s[i]); i++)
                ;
        }
        buf[out++] = 'N';
    }
    buf[out] = '\0';
    return buf;
}
