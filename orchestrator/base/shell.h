/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

#include <stdio.h>

/* Writes s as one word of a POSIX shell: as it is when it is harmless, else in single quotes. Any bytes but NUL survive.
 * What a terminal must not see, control bytes and what is not UTF-8, is given to printf(1) in octal. */
void shell_quote(FILE *out, const char *s);

#endif
