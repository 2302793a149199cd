/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error text for people. Whatever a file or a program put into the text ends up
 * on somebody's terminal, so control bytes are always spelt out here, and a text
 * that is too long is cut rather than refused.
 */
#include "base/err.h"

#include <stdio.h>
#include <stdarg.h>
#include <string.h>

/* True when s[i] is a control byte of ASCII, or the second byte of a C1 control in UTF-8. */
static int is_control(const char *s, size_t i)
{
    unsigned char c = (unsigned char)s[i];
    if (c < 0x20 || c == 0x7f)
        return 1;
    return c >= 0x80 && c <= 0x9f && i > 0 && (unsigned char)s[i - 1] == 0xc2;
}

static void copy_escaped(char *out, size_t size, const char *s)
{
    size_t n = 0;
    for (size_t i = 0; s[i] != '\0'; i++) {
        if (is_control(s, i)) {
            if (n + 5 > size)
                break;
            (void)snprintf(out + n, 5, "\\x%02x", (unsigned char)s[i]);
            n += 4;
        } else {
            if (n + 2 > size)
                break;
            out[n++] = s[i];
        }
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
