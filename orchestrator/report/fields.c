/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small readers and makers of JSON for the report. Names of files, targets' output
 * and specs pass through here on their way to a terminal, so nothing leaves with a
 * control character in it.
 */
#include "report/fields.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/parse.h"

const char *fields_text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s != NULL ? s : "";
}

json_int_t fields_int(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

double fields_real(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static char *printable(const char *s)
{
    size_t size = 4 * strlen(s) + 1;
    char *out = xmalloc(size);

    out[0] = '\0';
    return text_printable(out, size, s);
}

json_t *fields_string(const char *s)
{
    cleanup_free char *shown = NULL;

    if (s == NULL)
        return json_null();
    if (text_utf8_ok(s, strlen(s)))
        return json_string(s);
    shown = printable(s);
    return json_string(shown);
}

json_t *fields_time(int64_t wall_ms)
{
    char buf[32];

    return wall_ms > 0 ? json_string(clock_iso8601(buf, sizeof(buf), wall_ms)) : json_null();
}

json_t *fields_parse(const char *text)
{
    json_t *j = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

    return j != NULL ? j : json_null();
}

/* C0, DEL and the C1 controls, which are C2 80 to C2 9F in UTF-8. */
static bool has_control(const char *s)
{
    for (const unsigned char *p = (const unsigned char *)s; *p != '\0'; p++) {
        if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
            return true;
    }
    return false;
}

char *fields_safe(const char *s)
{
    return text_utf8_ok(s, strlen(s)) && !has_control(s) ? xstrdup(s) : printable(s);
}

void fields_print(FILE *out, const json_t *j, const char *key)
{
    cleanup_free char *s = fields_safe(fields_text(j, key));

    (void)fputs(s, out);
}
