/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error text for people. Whatever a file or a program put into the text ends up
 * on somebody's terminal and in JSON, so control bytes and what is not UTF-8 are always
 * spelt out here, and a text that is too long is cut rather than refused.
 */
#include "base/err.h"

#include <stdio.h>
#include <stdarg.h>
#include <string.h>

#include "base/parse.h"

/* Bytes of the character at s when it can stand in a text: whole, well-formed, no control. 0: spell its byte out. */
static size_t char_length(const char *s)
{
    unsigned char c = (unsigned char)s[0];
    size_t n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (c < 0x80)
        return c >= 0x20 && c != 0x7f;
    if (strnlen(s, n) < n || !text_utf8_ok(s, n) || (c == 0xc2 && (unsigned char)s[1] <= 0x9f))
        return 0;
    return n;
}

static void copy_escaped(char *out, size_t size, const char *s)
{
    size_t n = 0;
    while (*s != '\0') {
        size_t len = char_length(s);
        if (n + (len > 0 ? len : 4) + 1 > size)
            break;
        if (len > 0)
            memcpy(out + n, s, len);
        else
            (void)snprintf(out + n, 5, "\\x%02x", (unsigned char)*s);
        n += len > 0 ? len : 4;
        s += len > 0 ? len : 1;
    }
    out[n] = '\0';
}

__attribute__((format(printf, 2, 0))) static void format_text(struct err *err, const char *fmt,
                                                              va_list ap, const char *tail)
{
    char text[sizeof(err->msg)], whole[2 * sizeof(err->msg)];
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    (void)snprintf(whole, sizeof(whole), "%s%s%s", text, tail != NULL ? ": " : "",
                   tail != NULL ? tail : "");
    copy_escaped(err->msg, sizeof(err->msg), whole);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    va_list ap;
    va_start(ap, fmt);
    format_text(err, fmt, ap, NULL);
    va_end(ap);
    err->code = code;
    return code;
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    va_list ap;
    va_start(ap, fmt);
    format_text(err, fmt, ap, strerror(code < 0 ? -code : code));
    va_end(ap);
    err->code = code;
    return code;
}

void err_wrap(struct err *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    char before[sizeof(err->msg)];
    memcpy(before, err->msg, sizeof(before));
    va_list ap;
    va_start(ap, fmt);
    format_text(err, fmt, ap, before);
    va_end(ap);
}
