/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the harnesses of our own parsers share. The parsers take their heap from
 * malloc, so leaks are the sanitizer's business and not the kit's.
 */
#ifndef SELFTEST_CHECK_H
#define SELFTEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/parse.h"
#include "sdk/fz.h"

/* Fails invariant id unless cond. The rest is the detail, as for printf. */
#define MUST(cond, id, ...)                                                                        \
    do {                                                                                           \
        if (!(cond))                                                                               \
            fz_fail(FZ_INVARIANT, id, __VA_ARGS__);                                                \
    } while (0)

/* Terminated within size bytes, and nothing but printable ASCII. */
static inline bool is_printable(const char *s, size_t size)
{
    size_t n = strnlen(s, size);

    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] < 0x20 || (unsigned char)s[i] > 0x7e)
            return false;
    }
    return n < size;
}

/* Terminated within size bytes, UTF-8 without control bytes: what a terminal and JSON take. */
static inline bool is_text(const char *s, size_t size)
{
    size_t n = strnlen(s, size);

    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
            return false;
    }
    return n < size && text_utf8_ok(s, n);
}

#endif
