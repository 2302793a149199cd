/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_LASTWORDS_H
#define FARM_LASTWORDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Why afl-fuzz ended, in its own words: the text of the last "PROGRAM ABORT :" or "SYSTEM ERROR :" line, with its
 * "OS message :", colours removed, printable. Source: AFL++ include/debug.h, FATAL and PFATAL.
 */

/* From log text; out is "" when there is no such line. Returns out. */
char *lastwords_parse(const char *text, size_t size, char *out, size_t out_size);

/* From what was written to a log after byte from (a shorter file was rotated: all of it), at most its last 16 KiB. Returns out. */
char *lastwords_read(const char *log_path, int64_t from, char *out, size_t out_size);

#endif
