/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend that the harness gives a session: it records what the session does
 * with it, and produces what the operations tell it to. The record is apart from
 * the handle, and stays when the session frees that.
 */
#ifndef MOCK_H
#define MOCK_H

#include "backend.h"

#define MOCK_BYTES_MAX   33024u /* of each stream: the harness's bound and some barriers */
#define MOCK_CONTROL_MAX 256u   /* a dispatch more is counted, not kept */

enum mock_control_kind { MOCK_RESIZE, MOCK_SIGNAL, MOCK_EOF, MOCK_CONTROL_KINDS };

struct mock_control {
    enum mock_control_kind kind;
    int32_t a; /* cols, or the signal's number */
    int32_t b; /* rows */
};

/* What an output of the backend will give: the bytes, then the end if it is set. */
struct mock_output {
    uint8_t d[MOCK_BYTES_MAX];
    size_t len;
    size_t pos; /* read so far */
    bool eof;
};

struct mock {
    struct backend backend;

    /* told by the operations */
    struct mock_output out;
    struct mock_output err;
    enum be_wait exit; /* BE_WAIT_PENDING until it is decided */
    int32_t exit_code;

    /* done by the session */
    uint8_t in[MOCK_BYTES_MAX]; /* what came to stdin */
    size_t in_len;
    unsigned in_closed;
    bool in_after_close;
    struct mock_control dispatched[MOCK_CONTROL_MAX];
    size_t dispatched_count;
    unsigned allocates;
    unsigned takes[BE_SLOT_COUNT];
    unsigned kills;
    unsigned releases;
    bool exit_observed; /* the waiter told it */
};

/* Makes it as new; the buffers keep what they hold. */
void mock_init(struct mock *m);

/* Appends n bytes, at most as many as fit, to an output: a pattern that begins with
 * first and does not repeat, so that a lost or moved chunk shows. */
void mock_produce(struct mock_output *o, uint8_t first, size_t n);

/* Decides how waiting ends; only the first call counts. */
void mock_exit(struct mock *m, enum be_wait how, int32_t code);

#endif
