/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a sequence of operations on a session: the scheduler, the writing half of
 * the client, and the end. One run at a time; all of it is in one struct.
 */
#ifndef DRIVE_H
#define DRIVE_H

#include "client.h"
#include "mock.h"
#include "model.h"
#include "ops.h"
#include "session.h"

struct drive {
    const struct opseq *q;
    size_t quantum;
    struct duplex x;
    struct session *s;
    struct mock m;
    struct model w;
    struct client c;
    uint64_t rounds;
    uint64_t steps;
    unsigned pieces; /* of split writes, so far */
    bool closed;     /* a write failed: the session had closed */
    bool stuck;      /* a chunk was cut, as the session does not read; nothing more is sent */
};

/* Opens a session for q, which is borrowed. Returns 0 or what failed. */
int drive_open(struct drive *v, const struct opseq *q);

/* One round: each step once, in the order of this round. Returns whether any moved. */
bool drive_round(struct drive *v);

void drive_op(struct drive *v, const struct op *op);

/* Ends as the knobs say and frees everything. The record in m, w and c stays. */
void drive_end(struct drive *v);

#endif
