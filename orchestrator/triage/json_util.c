/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON that others wrote without asking at each member whether it is
 * there. json_pack fails as a whole on bytes that are not UTF-8, so text of
 * programs under test passes json_text_ascii first.
 */
#include "triage/json_util.h"

#include <string.h>

const char *json_str(const json_t *j, const char *key, const char *none)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s != NULL ? s : none;
}

int64_t json_int(const json_t *j, const char *key, int64_t none)
{
    const json_t *v = json_object_get(j, key);

    return json_is_integer(v) ? json_integer_value(v) : none;
}

bool json_flag(const json_t *j, const char *key)
{
    return json_is_true(json_object_get(j, key));
}

void json_strv_get(const json_t *j, const char *key, size_t max, struct strv *ret)
{
    const json_t *list = json_object_get(j, key), *v;
    size_t i;

    json_array_foreach (list, i, v) {
        if (ret->n >= max)
            break;
        if (json_is_string(v))
            strv_add(ret, json_string_value(v));
    }
}

json_t *json_strv(const struct strv *sv)
{
    json_t *list = json_array();

    for (size_t i = 0; sv != NULL && i < sv->n; i++) {
        json_t *s = json_string(sv->v[i]);

        json_array_append_new(list, s != NULL ? s : json_string("?"));
    }
    return list;
}

char *json_text_ascii(char *buf, size_t size, const char *s)
{
    size_t i;

    for (i = 0; s[i] != '\0' && i + 1 < size; i++) {
        unsigned char c = (unsigned char)s[i];

        buf[i] = (c >= 0x20 && c <= 0x7e) || c == '\n' || c == '\t' ? (char)c : '?';
    }
    buf[i] = '\0';
    return buf;
}
