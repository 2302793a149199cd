/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the control protocol. A peer's bytes are hostile: the buffer is bounded, a line must be one JSON object with our
 * version, and nothing else is assumed of it here.
 */
#include "ctl/proto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

int proto_buf_add(struct proto_buf *b, const void *data, size_t size)
{
    if (size > PROTO_MAX_LINE || b->used > PROTO_MAX_LINE - size)
        return -E2BIG;
    if (size == 0)
        return 0;
    if (b->used + size > b->size) {
        size_t want = b->size == 0 ? 4096 : b->size;

        while (want < b->used + size)
            want *= 2;
        b->data = xreallocarray(b->data, want, 1);
        b->size = want;
    }
    memcpy(b->data + b->used, data, size);
    b->used += size;
    return 0;
}

int proto_buf_next(struct proto_buf *b, json_t **ret)
{
    char *nl = b->used == 0 ? NULL : memchr(b->data + b->scanned, '\n', b->used - b->scanned);
    if (nl == NULL) {
        b->scanned = b->used;
        return 0;
    }

    size_t line_len = (size_t)(nl - b->data);
    json_t *j = json_loadb(b->data, line_len, JSON_REJECT_DUPLICATES, NULL);

    b->used -= line_len + 1;
    b->scanned = 0;
    memmove(b->data, nl + 1, b->used);
    if (!json_is_object(j)) {
        json_decref(j);
        return -EBADMSG;
    }
    const json_t *version = json_object_get(j, "version");
    if (!json_is_integer(version) || json_integer_value(version) != PROTO_VERSION) {
        json_decref(j);
        return -EPROTO;
    }
    *ret = j;
    return 1;
}

void proto_buf_clear(struct proto_buf *b)
{
    free(b->data);
    *b = (struct proto_buf){0};
}
