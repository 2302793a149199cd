/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others as words of a shell. Inside single quotes a POSIX shell gives no
 * byte a meaning but the quote itself, which is written as '\''.
 */
#include "base/shell.h"

#include <stdbool.h>
#include <string.h>

#include "base/parse.h"

/* "$(printf ...)" loses a newline at the end: such a word stays as it is. */
static bool needs_printf(const char *s)
{
    size_t n = strlen(s);
    bool odd = !text_utf8_ok(s, n);

    for (const unsigned char *p = (const unsigned char *)s; *p != '\0' && !odd; p++)
        odd = *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0);
    return odd && s[n - 1] != '\n';
}

static void quote_octal(FILE *out, const char *s)
{
    (void)fputs("\"$(printf '", out);
    for (const unsigned char *p = (const unsigned char *)s; *p != '\0'; p++) {
        if (*p < 0x20 || *p > 0x7e || *p == '\'' || *p == '\\' || *p == '%')
            (void)fprintf(out, "\\%03o", *p);
        else
            (void)putc(*p, out);
    }
    (void)fputs("')\"", out);
}

void shell_quote(FILE *out, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";

    if (s[0] != '\0' && s[strspn(s, plain)] == '\0') {
        (void)fputs(s, out);
        return;
    }
    if (needs_printf(s)) {
        quote_octal(out, s);
        return;
    }
    (void)putc('\'', out);
    for (; *s != '\0'; s++) {
        if (*s == '\'')
            (void)fputs("'\\''", out);
        else
            (void)putc(*s, out);
    }
    (void)putc('\'', out);
}
