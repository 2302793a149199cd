/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_TEXT_H
#define TRIAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reading of captured output: lines as slices of a text that is never copied whole nor changed. A line never contains
 * its newline; one longer than TEXT_LINE_MAX is cut there.
 */
#define TEXT_LINE_MAX 4096

struct text_line {
    const char *s; /* not NUL-terminated */
    size_t n;
};

/* The line at *pos, and *pos moved behind it. False at the end of the text. */
bool text_next(const char **pos, struct text_line *ret);
/* Where needle begins in the line, or NULL. */
const char *text_find(const struct text_line *l, const char *needle);
bool text_starts(const struct text_line *l, const char *prefix);
/* Copies [s, s+n) printable and NUL-terminated; control bytes and bytes over 0x7e become '?'. Returns buf. */
char *text_copy(char *buf, size_t size, const char *s, size_t n);
/* Copies the value of "key=" up to the next blank. False (buf untouched) when the line has no such key. */
bool text_value(const struct text_line *l, const char *key, char *buf, size_t size);
/* Copies text with each run of digits (and each 0x... number) as one N: what varies between two runs of one bug. */
char *text_no_numbers(char *buf, size_t size, const char *s, size_t n);

#endif
