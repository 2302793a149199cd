/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_JSON_UTIL_H
#define TRIAGE_JSON_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/* Members of an object as values, with a default when they are missing or of another type. Strings are borrowed from j. */
const char *json_str(const json_t *j, const char *key, const char *none);
int64_t json_int(const json_t *j, const char *key, int64_t none);
bool json_flag(const json_t *j, const char *key);
/* An array of strings, appended; at most max (the rest and what is no string is left out). */
void json_strv_get(const json_t *j, const char *key, size_t max, struct strv *ret);
json_t *json_strv(const struct strv *sv); /* new reference */
/* jansson takes valid UTF-8 only: the text with other bytes shown as '?', newline and tab kept. Returns buf. */
char *json_text_ascii(char *buf, size_t size, const char *s);

#endif
