/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include <jansson.h>
#include <stdio.h>

/* Reading and making the report's JSON: a missing or odd member reads as nothing, and nothing that is printed can steer a terminal. */

/* A member as text; "" when it is none. Borrowed. */
const char *fields_text(const json_t *j, const char *key);
json_int_t fields_int(const json_t *j, const char *key);
double fields_real(const json_t *j, const char *key);

/* A string for JSON, null for NULL. What is not UTF-8 is shown as \xNN. New reference. */
json_t *fields_string(const char *s);
/* Unix ms as ISO 8601; null for 0. New reference. */
json_t *fields_time(int64_t wall_ms);
/* Text that is JSON, as it comes from a row; null when it is not. New reference. */
json_t *fields_parse(const char *text);

/* s as it may be printed: as it is when it is UTF-8 without control characters, else with \xNN. Caller frees. */
char *fields_safe(const char *s);
/* fields_safe of a member, printed. */
void fields_print(FILE *out, const json_t *j, const char *key);

#endif
