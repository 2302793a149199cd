/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the negotiation writes: a request as JSON, and the frames of refusals. A
 * detail comes from outside and may be any bytes; what leaves here is UTF-8, so
 * a peer can parse every refusal. Each PLANT_BUG_... block is a bug that a test
 * build can switch on.
 */
#include <string.h>

#include "negotiation_frame.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static void put_str(struct json_writer *w, const char *before, const struct neg_str *s)
{
    json_put(w, before);
    json_put_string(w, s->p, s->n);
}

static void put_tty(struct json_writer *w, const struct neg_tty *tty)
{
    json_put(w, ",\"tty\":{\"cols\":");
    json_put_integer(w, tty->cols);
    json_put(w, ",\"rows\":");
    json_put_integer(w, tty->rows);
    json_put(w, ",\"pixel_width\":");
    json_put_integer(w, tty->pixel_width);
    json_put(w, ",\"pixel_height\":");
    json_put_integer(w, tty->pixel_height);
    json_put(w, "}");
}

enum neg_err neg_request_to_json(const fz_allocator *mem, const struct neg_request *rq,
                                 char **ret_json, size_t *ret_len)
{
    struct json_writer w;

    json_writer_init(&w, mem);
    put_str(&w, "{\"carriage\":", &rq->carriage);
    put_str(&w, ",\"backend\":", &rq->backend);
    if (rq->has_tty)
        put_tty(&w, &rq->tty);
    json_put(&w, ",\"cmd\":[");
    for (size_t i = 0; i < rq->cmd_count; i++)
        put_str(&w, i == 0 ? "" : ",", &rq->cmd[i]);
    json_put(&w, "]");
    for (size_t i = 0; i < rq->env_count; i++) {
        put_str(&w, i == 0 ? ",\"env\":{" : ",", &rq->env[i].key);
        put_str(&w, ":", &rq->env[i].value);
    }
    if (rq->env_count > 0)
        json_put(&w, "}");
    if (rq->has_cwd)
        put_str(&w, ",\"cwd\":", &rq->cwd);
    json_put(&w, "}");
    return json_writer_take(&w, ret_json, ret_len) ? NEG_OK : NEG_E_NOMEM;
}

/* Fills out with the detail as it may be sent. Returns its length. */
static size_t detail_scrub(const char *detail, size_t n, char out[NEG_DETAIL_MAX])
{
    size_t at = 0;
    size_t len = 0;

    while (at < n) {
        const char *from = detail + at;
        size_t took = json_utf8_len((const uint8_t *)from, n - at);
        size_t put = took;

        if (took == 0) {
            from = REPLACEMENT;
            took = 1;
            put = strlen(REPLACEMENT);
        }
        if (put > NEG_DETAIL_MAX - len)
            break;
        memcpy(out + len, from, put);
        len += put;
        at += took;
    }
    return len;
}

static void reach_kind(enum neg_error_kind kind)
{
    switch (kind) {
    case NEG_UNKNOWN_BACKEND:
        FZ_REACH(errframe_k0);
        break;
    case NEG_MALFORMED:
        FZ_REACH(errframe_k1);
        break;
    case NEG_ALLOCATE_FAILED:
        FZ_REACH(errframe_k2);
        break;
    case NEG_FORBIDDEN:
        FZ_REACH(errframe_k3);
        break;
    }
}

size_t neg_error_response(const fz_allocator *mem, enum neg_error_kind kind, const char *detail,
                          size_t n, uint8_t **ret_frame)
{
    static const char *const heads[] = {
        [NEG_UNKNOWN_BACKEND] = "{\"error\":\"unknown_backend\",\"backend\":",
        [NEG_MALFORMED] = "{\"error\":\"malformed_negotiation\",\"message\":",
        [NEG_ALLOCATE_FAILED] = "{\"error\":\"allocate_failed\",\"message\":",
        [NEG_FORBIDDEN] = "{\"error\":\"forbidden\",\"message\":",
    };
    static const uint8_t no_prefix[NEG_PREFIX_LEN];
    char sent[NEG_DETAIL_MAX];
    struct json_writer w;
    char *frame;
    size_t len;

    json_writer_init(&w, mem);
    json_put_bytes(&w, no_prefix, sizeof(no_prefix));
    json_put(&w, heads[kind]);
    json_put_string(&w, sent, detail_scrub(detail, n, sent));
    json_put(&w, "}");
    if (!json_writer_take(&w, &frame, &len))
        return 0;
    *ret_frame = (uint8_t *)frame;
    neg_prefix_encode(*ret_frame, (uint32_t)(len - NEG_PREFIX_LEN));
#ifdef PLANT_BUG_NEG_ERRFRAME_LE
    for (size_t i = 0; i < NEG_PREFIX_LEN; i++)
        (*ret_frame)[i] = (uint8_t)((len - NEG_PREFIX_LEN) >> 8 * i);
#endif
    reach_kind(kind);
    return len;
}
