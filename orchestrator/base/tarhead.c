/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only what carries names is read, and what cannot be followed to the member's own header is
 * refused: whoever walks other steps than libarchive does must not pass for checked.
 */
#include "base/tarhead.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BLOCK      512U
#define SIZE_AT    124
#define SIZE_BYTES 12
#define TYPE_AT    156

static const char cut[] = "a member's name has a zero byte in it";
static const char damaged[] = "no tar archive, or a damaged one";

/* Digits, the blanks before and the zero or blank behind them. False for another way of writing it, or one beyond max. */
static bool number(const char *p, size_t n, unsigned base, size_t max, size_t *ret)
{
    size_t v = 0, i = 0;

    while (i < n && (p[i] == ' ' || p[i] == '\t'))
        i++;
    for (; i < n && p[i] >= '0' && (unsigned)(p[i] - '0') < base; i++) {
        v = v * base + (unsigned)(p[i] - '0');
        if (v > max)
            return false;
    }
    *ret = v;
    return i == n || p[i] == '\0' || p[i] == ' ';
}

static bool is_name(const char *key, size_t n)
{
    static const char *const names[] = {"path", "linkpath", "GNU.sparse.name"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == n && memcmp(names[i], key, n) == 0)
            return true;
    return false;
}

/* Records "LENGTH KEY=VALUE\n". */
static const char *pax_fault(const char *p, size_t n)
{
    while (n > 0) {
        const char *blank = memchr(p, ' ', n), *equals;
        size_t size = 0, key;

        if (blank == NULL || !number(p, (size_t)(blank - p), 10, n, &size))
            return damaged;
        key = (size_t)(blank + 1 - p);
        if (size <= key)
            return damaged;
        equals = memchr(p + key, '=', size - key);
        if (equals == NULL)
            return damaged;
        if (is_name(p + key, (size_t)(equals - p) - key) &&
            memchr(equals, '\0', (size_t)(p + size - equals)) != NULL)
            return cut;
        p += size;
        n -= size;
    }
    return NULL;
}

/* A name with a zero behind it, and nothing behind that. */
static const char *long_name_fault(const char *p, size_t n)
{
    const char *end = memchr(p, '\0', n);

    for (; end != NULL && end < p + n; end++)
        if (*end != '\0')
            return cut;
    return NULL;
}

const char *tarhead_fault(const void *header, size_t n)
{
    const char *p = header;

    while (n > BLOCK) {
        const char type = p[TYPE_AT], *why = NULL;
        size_t size = 0, room;

        if (!number(p + SIZE_AT, SIZE_BYTES, 8, n, &size))
            return damaged;
        room = BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
        /* The member's own header comes last. */
        if (memchr("xXgLKAV", type, 7) == NULL || room >= n)
            return damaged;
        /* What a global one says libarchive passes over, too. */
        if (type == 'x' || type == 'X')
            why = pax_fault(p + BLOCK, size);
        else if (type == 'L' || type == 'K')
            why = long_name_fault(p + BLOCK, size);
        if (why != NULL)
            return why;
        p += room;
        n -= room;
    }
    return NULL;
}
