/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

#include <stdio.h>

/* Writes s as one word of a POSIX shell: as it is when it is harmless, else in single quotes. Any bytes but NUL survive. */
void shell_quote(FILE *out, const char *s);

#endif
