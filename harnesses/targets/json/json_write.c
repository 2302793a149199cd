/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer: compact text in one growing block. A request that fails frees
 * the block at once, and everything written later is dropped.
 */
#include <stdio.h>
#include <string.h>

#include "json.h"

#define ROOM_FIRST 128u

void json_writer_init(struct json_writer *w, const fz_allocator *mem)
{
    *w = (struct json_writer){.mem = mem};
}

void json_writer_clear(struct json_writer *w)
{
    w->mem->free(w->mem->ctx, w->d);
    *w = (struct json_writer){.mem = w->mem, .failed = w->failed};
}

void json_put_bytes(struct json_writer *w, const void *p, size_t n)
{
    if (w->failed || n == 0)
        return;
    if (n > w->room - w->len) {
        size_t room = w->room == 0 ? ROOM_FIRST : w->room * 2;
        char *grown;

        if (room < w->len + n)
            room = w->len + n;
        grown = w->mem->realloc(w->mem->ctx, w->d, room);
        if (grown == NULL) {
            w->failed = true;
            json_writer_clear(w);
            return;
        }
        w->d = grown;
        w->room = room;
    }
    memcpy(w->d + w->len, p, n);
    w->len += n;
}

void json_put(struct json_writer *w, const char *text)
{
    json_put_bytes(w, text, strlen(text));
}

void json_put_string(struct json_writer *w, const char *s, size_t n)
{
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    size_t from = 0;

    json_put_bytes(w, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)s[i];
        const char *at;
        char esc[8];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        at = c == 0 ? NULL : strchr(named, c);
        if (at != NULL)
            snprintf(esc, sizeof(esc), "\\%c", names[at - named]);
        else
            snprintf(esc, sizeof(esc), "\\u%04x", c);
        json_put_bytes(w, s + from, i - from);
        json_put(w, esc);
        from = i + 1;
    }
    json_put_bytes(w, s + from, n - from);
    json_put_bytes(w, "\"", 1);
}

void json_put_integer(struct json_writer *w, int64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)v);

    json_put_bytes(w, text, (size_t)n);
}

bool json_writer_take(struct json_writer *w, char **ret, size_t *ret_len)
{
    if (w->failed || w->d == NULL)
        return false;
    *ret = w->d;
    *ret_len = w->len;
    *w = (struct json_writer){.mem = w->mem};
    return true;
}
