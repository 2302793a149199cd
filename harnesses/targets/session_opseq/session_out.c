/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the backend to the client. What the backend wrote is gathered, a quantum a
 * step, and sent as one chunk when a chunk is full or nothing more comes at the
 * moment: small quanta must not mean small chunks. Order within a stream is the
 * order of the queue.
 */
#include "session_impl.h"

/* Gathers at most a quantum; true when the source gave less than there is room for. */
static bool gather(struct session *s, struct outbound *o, bool *ret_moved)
{
    size_t budget = s->quantum;

    while (!o->eof && budget > 0 && o->held_len < SESSION_CHUNK_MAX) {
        size_t room = SESSION_CHUNK_MAX - o->held_len;
        ptrdiff_t k =
            o->source->read(o->source, o->held + o->held_len, room < budget ? room : budget);

        if (k == 0)
            return true;
        *ret_moved = true;
        if (k == BE_EOF) {
            o->eof = true;
        } else {
            o->held_len += (size_t)k;
            budget -= (size_t)k;
        }
    }
    return o->eof;
}

/* Queues what is held, then the sentinel; false when the queue has no room. */
static bool flush(struct session *s, struct outbound *o, bool *ret_moved)
{
    if (o->held_len > 0) {
#ifdef PLANT_BUG_SESS_DROP_ON_FULL
        if (ring_room(&s->x->s2c) == 0 && ring_room(&s->queue) < QUEUE_CAPACITY / 2)
            o->held_len = 0;
        else
#endif
            if (!session_queue(s, o->type, o->held, o->held_len)) {
#ifdef PLANT_BUG_SESS_REORDER
            if (o->eof && !o->sentinel)
                o->sentinel = session_queue(s, o->type, NULL, 0);
#endif
            return false;
        }
        o->held_len = 0;
        *ret_moved = true;
    }
    if (o->eof && !o->sentinel) {
        if (!session_queue(s, o->type, NULL, 0))
            return false;
        FZ_REACH(sentinel);
        o->sentinel = true;
        *ret_moved = true;
    }
    return true;
}

enum session_poll session_out(struct session *s, struct outbound *o)
{
    bool moved = false;
    bool all;

    if (o->done)
        return SESSION_DONE;
    all = gather(s, o, &moved);
    if (!all && o->held_len < SESSION_CHUNK_MAX)
        return moved ? SESSION_PROGRESS : SESSION_PENDING;
    if (!flush(s, o, &moved))
        return moved ? SESSION_PROGRESS : SESSION_PENDING;
    if (o->eof || (all && s->exit_observed)) {
#ifdef PLANT_BUG_SESS_DOUBLE_SENTINEL
        if (o->eof && o->type == WL_STDOUT && s->exit_observed)
            session_queue(s, o->type, NULL, 0);
#endif
        o->done = true;
        return SESSION_PROGRESS; /* DRAIN may have waited for it */
    }
    return moved ? SESSION_PROGRESS : SESSION_PENDING;
}
