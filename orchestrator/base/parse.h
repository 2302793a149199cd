/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text to numbers and back. All parsers take the whole string or nothing: 0, or -EINVAL (not of that form) or -ERANGE;
 * ret_ is untouched on failure. No sign, no blanks, no locale.
 */
int parse_u64(const char *s, uint64_t max, uint64_t *ret_n);

/* "500ms", "10s", "10m", "1h30m", "2d", "90" (seconds). Milliseconds, at most 10 years. */
int parse_duration_ms(const char *s, int64_t *ret_ms);

/* "8M", "2G", "512K", "1T", "4096" (bytes); binary multiples, optional trailing B or iB. At most 2^62. */
int parse_size_bytes(const char *s, int64_t *ret_bytes);

/* A number of cores out of n_cpus usable ones: "2", "all", "all-1", "50%" (rounded down). At least 1. "3" on a host of 2 gives 3: the caller judges. */
int parse_cores(const char *s, int n_cpus, int *ret_cores);

/* The shortest form that parses back to the same value: "1h30m", "500ms", "0s". buf of >= 32 bytes; returns buf. */
char *format_duration(char *buf, size_t size, int64_t ms);
/* The shortest exact form: "2G", "512M", "4097". */
char *format_size(char *buf, size_t size, int64_t bytes);
/* For people, three digits and a unit: "1 byte", "812 bytes", "41.2 KiB", "3.10 MiB". buf of >= 32 bytes; returns buf. */
char *format_bytes(char *buf, size_t size, int64_t bytes);
/* For people, three digits: "41.2k", "3.10M". */
char *format_count(char *buf, size_t size, double n);

/* What a noun ends in behind a count: "" for 1, else "s". */
const char *text_plural(int64_t n);

/* Edit distance of two short strings (at most 63 bytes each are looked at), for "did you mean". */
int parse_distance(const char *a, const char *b);

/* True when the bytes are well-formed UTF-8 (no overlong forms, no surrogates): what JSON can carry. */
bool text_utf8_ok(const char *s, size_t size);

/* Copies s to out with every byte outside printable ASCII shown as \xNN; always terminated. Returns out. */
char *text_printable(char *out, size_t size, const char *s);

#endif
