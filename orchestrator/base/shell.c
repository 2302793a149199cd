/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others as words of a shell. Inside single quotes a POSIX shell gives no
 * byte a meaning but the quote itself, which is written as '\''.
 */
#include "base/shell.h"

#include <string.h>

void shell_quote(FILE *out, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";

    if (s[0] != '\0' && s[strspn(s, plain)] == '\0') {
        (void)fputs(s, out);
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
