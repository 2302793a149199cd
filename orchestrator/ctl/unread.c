/* SPDX-License-Identifier: Apache-2.0 */
/* What is not read is never passed over in silence: the file and what was in the way. */
#include "ctl/unread.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "report/fields.h"

void unread_print(const struct inputs *inputs, const struct contents *c)
{
    for (size_t i = 0; i < inputs->n; i++) {
        cleanup_free char *name = NULL;

        if (c->kind[i] != CONTENTS_UNREAD)
            continue;
        name = fields_safe(inputs->v[i]);
        printf("not read: %s: %s\n", name, inputs_why(c->code[i]));
    }
}

json_t *unread_json(const struct inputs *inputs, const struct contents *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < inputs->n; i++) {
        if (c->kind[i] == CONTENTS_UNREAD)
            (void)json_array_append_new(list,
                                        json_pack("{s:o, s:s}", "file", fields_string(inputs->v[i]),
                                                  "why", inputs_why(c->code[i])));
    }
    return list;
}
