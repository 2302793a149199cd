/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle of the chunk codec. It shares no code and no constant with the
 * library: a slip there must not be a slip here.
 */
#include <string.h>

#include "oracle.h"

/* The format's table, row by row. */
size_t oracle_steps(const uint8_t *d, size_t n, struct step *s)
{
    size_t count = 0;
    size_t at = 0;

    for (;;) {
        struct step *w = &s[count++];
        const uint8_t *h = d + at;
        size_t left = n - at;
        size_t len;

        *w = (struct step){.start = at, .end = at + WL_HEADER_LEN, .err = WL_OK};
        if (left < WL_HEADER_LEN) {
            w->err = WL_E_CLOSED;
            w->end = n;
            return count;
        }
        len = ((size_t)h[1] * 256 + h[2]) * 65536 + (size_t)h[3] * 256 + h[4];
        w->header = true;
        w->type = h[0];
        w->len = (uint32_t)len;
        if (h[0] > 4) {
            w->err = WL_E_STREAM_TYPE;
            return count;
        }
        if (len > 16777216) {
            w->err = WL_E_TOO_LARGE;
            return count;
        }
        if (left - WL_HEADER_LEN < len) {
            w->err = WL_E_CLOSED;
            w->end = n;
            return count;
        }
        at = w->end = at + WL_HEADER_LEN + len;
    }
}

bool step_admitted(const struct step *w)
{
    return w->header && w->err != WL_E_STREAM_TYPE && w->err != WL_E_TOO_LARGE;
}

ptrdiff_t source_read(void *ctx, void *buf, size_t n)
{
    struct source *s = ctx;
    size_t left;

    if (s->pos >= s->fail_at)
        return -1;
    left = (s->fail_at < s->n ? s->fail_at : s->n) - s->pos;
    if (n > left)
        n = left;
    if (s->cuts > 0) {
        size_t piece = 1 + s->cuts++ % 7;

        n = n < piece ? n : piece;
    }
    memcpy(buf, s->d + s->pos, n);
    s->pos += n;
    return (ptrdiff_t)n;
}

ptrdiff_t sink_write(void *ctx, const void *buf, size_t n)
{
    struct sink *s = ctx;

    if (n > s->room - s->pos)
        n = s->room - s->pos;
    if (n == 0)
        return -1;
    if (s->cuts > 0) {
        size_t piece = 1 + s->cuts++ % 7;

        n = n < piece ? n : piece;
    }
    memcpy(s->out + s->pos, buf, n);
    s->pos += n;
    return (ptrdiff_t)n;
}
