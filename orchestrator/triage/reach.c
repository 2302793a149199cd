/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts that a replay program prints with --reach. It runs hostile inputs, so
 * only whole numbers that are not negative count, and only so many names.
 */
#include "triage/reach.h"

#include <stdint.h>
#include <string.h>

#define REACH_IDS_MAX 4096

/* The object stands on a line of its own. */
bool reach_add(const char *out, json_t *sum)
{
    const char *p = out;
    bool found = false;

    while (p != NULL && *p != '\0') {
        const char *end = strchr(p, '\n');
        size_t n = end != NULL ? (size_t)(end - p) : strlen(p);
        json_t *j = p[0] == '{' ? json_loadb(p, n, 0, NULL) : NULL;
        const json_t *counts = json_object_get(j, "reach"), *v;
        const char *id;

        if (!json_is_object(counts))
            counts = j;
        json_object_foreach ((json_t *)(uintptr_t)counts, id, v) {
            json_int_t old = json_integer_value(json_object_get(sum, id));

            if (!json_is_integer(v) || json_integer_value(v) < 0 ||
                (json_object_size(sum) >= REACH_IDS_MAX && json_object_get(sum, id) == NULL))
                continue;
            json_object_set_new(sum, id, json_integer(old + json_integer_value(v)));
            found = true;
        }
        json_decref(j);
        p = end != NULL ? end + 1 : NULL;
    }
    return found;
}
