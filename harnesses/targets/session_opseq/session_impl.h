/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the session share; nobody else includes it. */
#ifndef SESSION_IMPL_H
#define SESSION_IMPL_H

#include "targets/chunk_frame/chunk_frame.h"
#include "session.h"

#define QUEUE_CAPACITY 8192u /* bytes; takes one largest chunk and a few small ones */

/* What the chunk that IN is in the middle of is for. */
enum inbound_kind { INBOUND_STDIN, INBOUND_CONTROL, INBOUND_DRAIN };

struct inbound {
    uint8_t header[WL_HEADER_LEN];
    size_t header_len; /* bytes of it that came */
    enum inbound_kind kind;
    size_t left;        /* bytes of payload to come */
    uint8_t *control;   /* the control message so far; NULL when none is being read */
    size_t control_len; /* bytes of it that came */
    bool stdin_shut;
    bool ended; /* nothing more is read */
};

struct outbound {
    struct be_output *source;
    uint8_t type;
    uint8_t *held; /* room for SESSION_CHUNK_MAX; gathered for the next chunk */
    size_t held_len;
    bool eof;
    bool sentinel; /* the zero-length chunk at the end is queued, or there is none to send */
    bool done;
};

struct session {
    const fz_allocator *mem;
    struct duplex *x;
    struct be_handle *h; /* NULL once the session ended */
    struct be_stdin *in_writer;
    struct be_control *control;
    struct be_waiter *waiter;
    size_t quantum;
    struct inbound in;
    struct outbound out;
    struct outbound err;
    struct ring queue; /* whole chunks, in the order they go out */
    int32_t exit_code;
    bool exit_observed;
    bool exit_queued;
    uint64_t bad_control;
};

/* Closes both directions and frees the handle. Calling it again does nothing. */
void session_end(struct session *s);

/* Reads from c2s, at most a quantum. */
enum session_poll session_in(struct session *s);

/* Gathers from one of the backend's outputs, at most a quantum, and queues chunks. */
enum session_poll session_out(struct session *s, struct outbound *o);

/* Appends one chunk to the queue. Returns false, and appends nothing, when there is
 * no room now. */
bool session_queue(struct session *s, uint8_t type, const void *d, size_t n);

#endif
