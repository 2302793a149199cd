/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_INI_H
#define SPEC_INI_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The lines of a spec, one event each, in file order. Knows sections, keys and continuation lines, not their meaning.
 *
 *   [section]            INI_SECTION
 *   key = value ; note   INI_KEY; the value ends before a ';' that follows a blank
 *       one more         INI_MORE; the whole line is the value, ';' and all
 *   ; note, # note       nothing, indented or not
 *
 * A line that cannot be read is INI_FAULT, and reading goes on with the next: what hangs on a faulty line (the keys of a
 * section, the continuation lines of a key) is passed over, so that one fault is told once. On a continuation line a
 * backslash before a leading ';', '#' or '\' is dropped, so that every item can be written.
 *
 * Source: inih 55 (ini.c) for the form of a line; a ':' stands for '=' as it does there.
 */
#define INI_LINE_MAX 4096 /* bytes of a line, without its end */
#define INI_NAME_MAX 48   /* bytes of a section or key name; inih cuts longer ones */

/* What is no part of a value at its begin and end. */
bool ini_is_blank(char c);

enum ini_kind { INI_SECTION, INI_KEY, INI_MORE, INI_FAULT };

struct ini_event {
    enum ini_kind kind;
    int line;
    const char *section; /* NULL before the first, and when its line was faulty */
    const char *key;     /* of INI_KEY and INI_MORE, else NULL */
    const char *value;   /* INI_FAULT: what is wrong and what is allowed */
};
/* The strings are valid during the call only. */
typedef void ini_fn(void *arg, const struct ini_event *ev);

/* Reads size bytes of any content. Faults are events; there is no other failure. */
void ini_read(const char *text, size_t size, ini_fn *fn, void *arg);

#endif
