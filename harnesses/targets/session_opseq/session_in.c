/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the client to the backend. Chunks are taken apart as their bytes come, as
 * a payload may be longer than the ring; only control messages are gathered. IN
 * never waits for the other direction. A header that is not admitted is fatal.
 */
#include "targets/control_json/control_json.h"
#include "session_impl.h"

static void stdin_shut(struct session *s)
{
    if (s->in.stdin_shut)
        return;
    s->in.stdin_shut = true;
    s->in_writer->close(s->in_writer);
}

static void dispatch_signal(struct session *s, const struct ctl_message *msg)
{
    int signo;

    if (!ctl_signal_from_name(msg->name.s, msg->name.len, &signo)) {
        s->bad_control++;
        return;
    }
#ifdef PLANT_BUG_SESS_CTRL_DUP
    if (s->in.control_len > s->quantum)
        s->control->signal(s->control, signo);
#endif
    s->control->signal(s->control, signo);
}

static void dispatch(struct session *s, const uint8_t *d, size_t n)
{
    struct ctl_message msg;

    if (ctl_from_slice(d, n, s->mem, &msg, NULL) != JSON_OK) {
        s->bad_control++;
        return;
    }
    switch (msg.kind) {
    case CTL_RESIZE:
        s->control->resize(s->control, msg.cols, msg.rows);
        break;
    case CTL_SIGNAL:
        dispatch_signal(s, &msg);
        break;
    case CTL_EOF:
        s->control->eof(s->control);
#ifndef PLANT_BUG_SESS_STDIN_AFTER_SHUT
        stdin_shut(s);
#endif
        break;
    default: /* an exit is not the client's to send */
        s->bad_control++;
        break;
    }
    ctl_clear(&msg, s->mem);
}

/* The payload is complete. */
static void chunk_end(struct session *s)
{
    struct inbound *in = &s->in;

    if (in->kind == INBOUND_CONTROL) {
#ifdef PLANT_BUG_SESS_TAKE_TWICE
        if (s->h->taken & 1u << BE_SLOT_COUNT)
            s->control = s->h->ops->take(s->h, BE_CONTROL);
        s->h->taken |= 1u << BE_SLOT_COUNT;
#endif
        dispatch(s, in->control, in->control_len);
        s->mem->free(s->mem->ctx, in->control);
        in->control = NULL;
    }
    in->header_len = 0;
}

/* A whole header came. Returns false when it ends the session. */
static bool chunk_begin(struct session *s)
{
    struct inbound *in = &s->in;
    uint32_t len = (uint32_t)in->header[1] << 24 | (uint32_t)in->header[2] << 16 |
                   (uint32_t)in->header[3] << 8 | in->header[4];

    if (wl_validate_header(in->header[0], len) != WL_OK) {
        FZ_REACH(fatal_proto);
        return false;
    }
    in->left = len;
    in->kind = INBOUND_DRAIN;
    if (in->header[0] == WL_STDIN) {
        in->kind = INBOUND_STDIN;
        if (len == 0)
            stdin_shut(s);
    } else if (in->header[0] == WL_CTRL_IN && len > SESSION_CONTROL_MAX) {
        s->bad_control++;
    } else if (in->header[0] == WL_CTRL_IN) {
        in->control = s->mem->alloc(s->mem->ctx, (size_t)len + 1);
        if (in->control == NULL)
            return false;
        in->kind = INBOUND_CONTROL;
        in->control_len = 0;
    }
    if (len == 0)
        chunk_end(s);
    return true;
}

/* Takes at most n bytes of payload; returns how many. */
static size_t payload(struct session *s, size_t n)
{
    struct inbound *in = &s->in;
    size_t k;
    const uint8_t *p;

    if (n > in->left)
        n = in->left;
    if (in->kind == INBOUND_CONTROL) {
        k = ring_take(&s->x->c2s, in->control + in->control_len, n);
        in->control_len += k;
    } else {
        p = ring_front(&s->x->c2s, n, &k);
        if (in->kind == INBOUND_STDIN && k > 0 && !in->stdin_shut)
            s->in_writer->write(s->in_writer, p, k);
        ring_skip(&s->x->c2s, k);
    }
    in->left -= k;
    if (in->left == 0)
        chunk_end(s);
    return k;
}

enum session_poll session_in(struct session *s)
{
    struct inbound *in = &s->in;
    size_t budget = s->quantum;

    if (in->ended)
        return SESSION_DONE;
#ifdef PLANT_BUG_SESS_STALL
    if (ring_room(&s->x->s2c) == 0)
        return SESSION_PENDING;
#endif
    while (budget > 0) {
        size_t k;

        if (in->header_len < WL_HEADER_LEN) {
            size_t want = WL_HEADER_LEN - in->header_len;

            k = ring_take(&s->x->c2s, in->header + in->header_len, want < budget ? want : budget);
            in->header_len += k;
            if (in->header_len == WL_HEADER_LEN && !chunk_begin(s)) {
                session_end(s);
                return SESSION_PROGRESS;
            }
        } else {
            k = payload(s, budget);
        }
        if (k == 0)
            break;
        budget -= k;
    }
    if (budget < s->quantum)
        return SESSION_PROGRESS;
    in->ended = s->x->client_ended;
    return in->ended ? SESSION_DONE : SESSION_PENDING;
}
