/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the client makes of a server's bytes. The backend produced every byte
 * before it can come here, so each chunk is compared when it is complete.
 */
#include <string.h>

#include "client.h"
#include "targets/control_json/control_json.h"
#include "sdk/fz.h"

void client_init(struct client *c, struct duplex *x, const struct mock *m)
{
    c->x = x;
    c->m = m;
    c->have = c->chunks = c->out_len = c->err_len = 0;
    c->lost = false;
    c->sentinels = c->exits = 0;
    c->exit_code = 0;
}

/* S6: what came continues what came before. */
static void stream_check(const char *name, const struct mock_output *made, size_t *len,
                         const uint8_t *d, size_t n)
{
    if (n > made->len - *len)
        fz_note(6, "%zu bytes of %s, %zu were produced", *len + n, name, made->len);
    else if (n > 0 && memcmp(made->d + *len, d, n) != 0)
        fz_note(6, "%s differs between %zu and %zu", name, *len, *len + n);
    *len += n < made->len - *len ? n : made->len - *len;
}

static void stdout_check(struct client *c, const uint8_t *d, size_t n)
{
    if (n > 0) {
        if (c->sentinels > 0)
            fz_note(7, "%zu bytes of stdout after its end", n);
        stream_check("stdout", &c->m->out, &c->out_len, d, n);
        return;
    }
    c->sentinels++;
    if (c->sentinels > 1)
        fz_note(7, "stdout ends %u times", c->sentinels);
    if (!c->m->out.eof)
        fz_note(7, "stdout ends, the backend's did not");
    if (c->out_len != c->m->out.len)
        fz_note(7, "stdout ends at %zu of %zu", c->out_len, c->m->out.len);
}

static void exit_check(struct client *c, const uint8_t *d, size_t n)
{
    struct ctl_message msg;
    enum json_err err;

    fz_reach_mute();
    err = ctl_from_slice(d, n, fz_mem(), &msg, NULL);
    fz_reach_unmute();
    if (err != JSON_OK) {
        fz_note(3, "a control chunk of %zu bytes that is no message", n);
        return;
    }
    if (msg.kind != CTL_EXIT)
        fz_note(3, "a control chunk of kind %d", (int)msg.kind);
    else
        c->exit_code = msg.code;
    ctl_clear(&msg, fz_mem());
    c->exits++;
}

static void chunk_check(struct client *c, uint8_t type, const uint8_t *d, size_t n)
{
    fz_trace_u64((uint64_t)type << 32 | n);
    c->chunks++;
    if (c->exits > 0)
        fz_note(3, "a chunk of type %u after the exit chunk", type);
    switch (type) {
    case WL_STDOUT:
        stdout_check(c, d, n);
        break;
    case WL_STDERR:
        if (n == 0)
            fz_note(7, "an empty chunk of stderr");
        stream_check("stderr", &c->m->err, &c->err_len, d, n);
        break;
    default:
        exit_check(c, d, n);
        break;
    }
}

/* Reads until want bytes are there. */
static bool fill(struct client *c, size_t want)
{
    if (c->have < want)
        c->have += duplex_read(c->x, c->buf + c->have, want - c->have);
    return c->have == want;
}

bool client_chunk(struct client *c)
{
    uint8_t type;
    size_t len;

    if (c->lost || (c->have < WL_HEADER_LEN && !fill(c, WL_HEADER_LEN)))
        return false;
    type = c->buf[0];
    len = (size_t)c->buf[1] << 24 | (size_t)c->buf[2] << 16 | (size_t)c->buf[3] << 8 | c->buf[4];
    if ((type != WL_STDOUT && type != WL_STDERR && type != WL_CTRL_OUT) ||
        len > SESSION_CHUNK_MAX) {
        fz_note(5, "chunk %zu has type %u and length %zu", c->chunks, type, len);
        c->lost = true;
        return false;
    }
    if (!fill(c, WL_HEADER_LEN + len))
        return false;
    c->have = 0;
    chunk_check(c, type, c->buf + WL_HEADER_LEN, len);
    return true;
}
