/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of one session: it carries a backend's stdin, stdout, stderr,
 * control and exit over a duplex, in chunks. Five steps, each polled by whoever
 * owns the session, in any order; a step moves at most a quantum of bytes and
 * never waits. The exit chunk is the last thing that is ever written.
 */
#ifndef SESSION_H
#define SESSION_H

#include "backend.h"
#include "duplex.h"

#define SESSION_CHUNK_MAX   4096u /* bytes of payload that the session sends in a chunk */
#define SESSION_CONTROL_MAX 4096u /* a longer control message is dropped and counted as bad */

enum session_step {
    SESSION_IN,    /* c2s to the backend's stdin and control */
    SESSION_OUT,   /* the backend's stdout into the queue */
    SESSION_ERR,   /* its stderr */
    SESSION_EXIT,  /* polls the waiter */
    SESSION_DRAIN, /* the queue to s2c: the only writer of it */
    SESSION_STEP_COUNT
};

enum session_poll {
    SESSION_PROGRESS, /* something was moved */
    SESSION_PENDING,  /* nothing to do until something else happens */
    SESSION_DONE      /* this step has nothing to do any more */
};

struct session;

/*
 * Allocates the backend's handle and takes its parts. x, b and mem are borrowed
 * and must outlive the session; quantum is in bytes, > 0. Returns 0, -EINVAL,
 * -ENOMEM, or what the backend's allocate returned.
 */
int session_open(struct session **ret_s, struct backend *b, struct duplex *x, size_t quantum,
                 const fz_allocator *mem);

/* Runs one step once. After the session ended every step is DONE. */
enum session_poll session_step(struct session *s, enum session_step step);

/* Ends the session if it has not ended, and frees it; NULL is accepted. */
void session_free(struct session *s);

/* Control messages that were dropped: no JSON, not ours, unknown signal, too long. */
uint64_t session_bad_control(const struct session *s);

/* The handle, borrowed; NULL once the session ended. */
struct be_handle *session_handle(struct session *s);

#endif
