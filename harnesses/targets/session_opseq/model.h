/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operations mean, without any session: what the backend must have seen
 * when all of it arrived, and which exit was the first. The order of events is
 * the order of operations; how far the session came is not known here.
 */
#ifndef MODEL_H
#define MODEL_H

#include "mock.h"

struct model {
    size_t cap; /* bytes of stdin, and of each output, that an input may have */

    /* up to the first shutdown or fatal chunk */
    uint8_t sent[MOCK_BYTES_MAX];
    size_t sent_len;
    size_t asked_len; /* bytes of stdin, those after the shutdown too */
    bool shut;

    /* up to the first fatal chunk */
    struct mock_control controls[MOCK_CONTROL_MAX];
    size_t control_count;
    size_t bad_count; /* control messages that must be dropped */
    bool fatal;

    bool exit_issued;
    int32_t exit_code;
    bool eof_before_exit; /* of stdout */
    size_t skipped;       /* operations out of bounds or out of place */
};

void model_init(struct model *w, size_t quantum);

/* Whether n more bytes of stdin may be sent, of an output may be produced;
 * counts what is skipped. */
bool model_admits_stdin(struct model *w, size_t n);
bool model_admits_output(struct model *w, const struct mock_output *o, size_t n);

/* The client is about to send... */
void model_stdin(struct model *w, const uint8_t *d, size_t n);
void model_shutdown(struct model *w);
void model_control(struct model *w, enum mock_control_kind kind, int32_t a, int32_t b);
void model_bad_control(struct model *w);
void model_fatal(struct model *w);

/* An exit operation; returns whether it is the first. */
bool model_exit(struct model *w, int32_t code, bool stdout_eof);

/* S8 and S9 as they must hold at any time. */
void model_check_stdin(const struct model *w, const struct mock *m);
void model_check_control(const struct model *w, const struct mock *m);

#endif
