/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a session: opening, waiting for the exit, draining, ending. There
 * is one way out, session_end(), and one place that writes to the client,
 * drain(). Each PLANT_BUG_... block is a bug that a test build can switch on.
 */
#include <errno.h>
#include <string.h>

#include "targets/control_json/control_json.h"
#include "session_impl.h"

uint64_t session_bad_control(const struct session *s)
{
    return s->bad_control;
}

struct be_handle *session_handle(struct session *s)
{
    return s->h;
}

/* The sink of a chunk writer: room was made sure of before. */
static ptrdiff_t queue_write(void *ctx, const void *buf, size_t n)
{
    return (ptrdiff_t)ring_put(ctx, buf, n);
}

bool session_queue(struct session *s, uint8_t type, const void *d, size_t n)
{
    wl_writer w;

    if (ring_room(&s->queue) < WL_HEADER_LEN + n)
        return false;
    wl_writer_init(&w, (wl_sink){queue_write, &s->queue}, WL_SERVER);
    return wl_write_chunk(&w, type, d, n) == WL_OK;
}

void session_end(struct session *s)
{
    struct be_handle *h = s->h;

    if (h == NULL)
        return;
    s->h = NULL;
    s->x->server_closed = true;
#ifdef PLANT_BUG_SESS_NO_KILL
    if (ring_used(&s->x->s2c) > 0)
        h->exit_observed = true;
#endif
    be_handle_free(h);
#ifdef PLANT_BUG_SESS_UAF
    if (s->in.control != NULL)
        s->control->eof(s->control);
#endif
}

static enum session_poll poll_exit(struct session *s)
{
    int32_t code = 0;

    if (s->exit_observed)
        return SESSION_DONE;
    switch (s->waiter->poll(s->waiter, &code)) {
    case BE_WAIT_PENDING:
        return SESSION_PENDING;
    case BE_WAIT_EXITED:
        s->exit_code = code;
        s->h->exit_observed = true;
        break;
    case BE_WAIT_FAILED:
    case BE_WAIT_DROPPED:
        s->exit_code = -1;
#ifndef PLANT_BUG_SESS_KILL_AFTER_EXIT
        s->h->exit_observed = true;
#endif
        break;
    }
    s->exit_observed = true;
    return SESSION_PROGRESS;
}

/* Queues the exit chunk; the queue is empty, so there is room. */
static bool exit_queue(struct session *s)
{
    struct ctl_message msg = {.kind = CTL_EXIT, .code = s->exit_code};
    char *text = NULL;
    size_t n = 0;
    bool queued;

    if (!ctl_to_json(&msg, s->mem, &text, &n))
        return false;
    queued = session_queue(s, WL_CTRL_OUT, text, n);
    s->mem->free(s->mem->ctx, text);
    return queued;
}

static bool outputs_done(const struct session *s)
{
#ifdef PLANT_BUG_SESS_EXIT_EARLY
    if (s->out.held_len > 0)
        return true;
#endif
    return s->out.done && s->err.done;
}

static enum session_poll drain(struct session *s)
{
    if (ring_used(&s->queue) > 0) {
        if (ring_move(&s->x->s2c, &s->queue, s->quantum) > 0)
            return SESSION_PROGRESS;
        FZ_REACH(backpressure);
#ifdef PLANT_BUG_SESS_LOST_EXIT
        if (s->exit_observed && s->out.done && s->err.done)
            s->exit_queued = true;
#endif
#ifdef PLANT_BUG_SESS_SPIN
        for (volatile bool spin = s->exit_queued; spin;) {
        }
#endif
        return SESSION_PENDING;
    }
    if (!s->exit_observed || !outputs_done(s))
        return SESSION_PENDING;
    if (!s->exit_queued) {
        FZ_REACH(exit_chunk);
        s->exit_queued = true;
        if (!exit_queue(s))
            session_end(s);
        return SESSION_PROGRESS;
    }
    session_end(s);
    return SESSION_PROGRESS;
}

enum session_poll session_step(struct session *s, enum session_step step)
{
    if (s->h != NULL && s->x->client_gone)
        session_end(s);
    if (s->h == NULL)
        return SESSION_DONE;
    switch (step) {
    case SESSION_IN:
        return session_in(s);
    case SESSION_OUT:
        return session_out(s, &s->out);
    case SESSION_ERR:
        return session_out(s, &s->err);
    case SESSION_EXIT:
        return poll_exit(s);
    case SESSION_DRAIN:
        return drain(s);
    default:
        return SESSION_DONE;
    }
}

static int outbound_init(struct session *s, struct outbound *o, uint8_t type, enum be_slot slot)
{
    o->type = type;
    o->sentinel = type != WL_STDOUT;
    o->source = be_handle_take(s->h, slot);
    o->held = s->mem->alloc(s->mem->ctx, SESSION_CHUNK_MAX);
    return o->held != NULL ? 0 : -ENOMEM;
}

static int parts_take(struct session *s)
{
    int rc = outbound_init(s, &s->out, WL_STDOUT, BE_STDOUT);

    if (rc == 0)
        rc = outbound_init(s, &s->err, WL_STDERR, BE_STDERR);
    if (rc != 0)
        return rc;
    s->in_writer = be_handle_take(s->h, BE_STDIN);
    s->control = be_handle_take(s->h, BE_CONTROL);
    s->waiter = be_handle_take(s->h, BE_EXIT);
    if (s->out.source == NULL || s->err.source == NULL || s->in_writer == NULL ||
        s->control == NULL || s->waiter == NULL)
        return -EINVAL;
    return 0;
}

int session_open(struct session **ret_s, struct backend *b, struct duplex *x, size_t quantum,
                 const fz_allocator *mem)
{
    struct session *s;
    int rc;

    if (quantum == 0)
        return -EINVAL;
    s = mem->alloc(mem->ctx, sizeof(*s));
    if (s == NULL)
        return -ENOMEM;
    *s = (struct session){.mem = mem, .x = x, .quantum = quantum};
    rc = ring_init(&s->queue, QUEUE_CAPACITY, mem);
    if (rc == 0)
        rc = b->allocate(b, mem, &s->h);
    if (rc == 0)
        rc = parts_take(s);
    if (rc != 0) {
        session_free(s);
        return rc;
    }
    *ret_s = s;
    return 0;
}

void session_free(struct session *s)
{
    const fz_allocator *mem;

    if (s == NULL)
        return;
    mem = s->mem;
    session_end(s);
    mem->free(mem->ctx, s->in.control);
    mem->free(mem->ctx, s->out.held);
    mem->free(mem->ctx, s->err.held);
    ring_clear(&s->queue, mem);
    mem->free(mem->ctx, s);
}
