/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler and the operations but those of the client (drive_client.c).
 * Every wait is bounded: what a correct session does in fewer rounds is noted as
 * a violation, so that a stuck session is a finding and not a timeout.
 */
#include "drive_impl.h"
#include "sdk/fz.h"

#define TEARDOWN_STEPS_MAX 1000000u
#define END_ROUNDS_MAX     8u /* after the client went, until every step is done */

int drive_open(struct drive *v, const struct opseq *q)
{
    int rc;

    v->q = q;
    v->quantum = knobs_quantum(q->knobs);
    v->rounds = v->steps = 0;
    v->pieces = 0;
    v->closed = v->stuck = false;
    v->s = NULL;
    mock_init(&v->m);
    model_init(&v->w, v->quantum);
    client_init(&v->c, &v->x, &v->m);
    rc = duplex_init(&v->x, knobs_ring_bytes(q->knobs), fz_mem());
    if (rc != 0)
        return rc;
    rc = session_open(&v->s, &v->m.backend, &v->x, v->quantum, fz_mem());
    if (rc != 0)
        duplex_clear(&v->x, fz_mem());
    return rc;
}

bool drive_round(struct drive *v)
{
    unsigned first = (unsigned)((v->q->sched + v->rounds) % SESSION_STEP_COUNT);
    bool progress = false;

    for (unsigned i = 0; i < SESSION_STEP_COUNT; i++) {
        unsigned step = first + i < SESSION_STEP_COUNT ? first + i : first + i - SESSION_STEP_COUNT;

        progress |= session_step(v->s, (enum session_step)step) == SESSION_PROGRESS;
    }
    v->steps += SESSION_STEP_COUNT;
    v->rounds++;
    return progress;
}

uint64_t drive_bound(const struct drive *v, size_t bytes)
{
    return 4 * (uint64_t)bytes / v->quantum + 64;
}

static void produce(struct drive *v, struct mock_output *o, const struct op *op)
{
    size_t n = op_u16(op, 0) % (SESSION_CHUNK_MAX + 1);

    if (model_admits_output(&v->w, o, n))
        mock_produce(o, op->f[2], n);
}

static void output_eof(struct drive *v, struct mock_output *o)
{
    if (model_admits_output(&v->w, o, 0))
        o->eof = true;
}

static void exit_op(struct drive *v, enum be_wait how, int32_t code)
{
    if (model_exit(&v->w, code, v->m.out.eof))
        mock_exit(&v->m, how, code);
}

void drive_op(struct drive *v, const struct op *op)
{
    switch ((enum op_tag)op->tag) {
    case OP_CLIENT_WRITE:
        FZ_REACH(op_client_write);
        drive_write(v, op_u16(op, 0) % (SESSION_CHUNK_MAX + 1), op->f[2]);
        break;
    case OP_CLIENT_SHUTDOWN:
        FZ_REACH(op_client_shutdown);
        drive_write(v, 0, 0);
        break;
    case OP_CLIENT_BARRIER:
        FZ_REACH(op_client_barrier);
        drive_barrier(v, op->f[0]);
        break;
    case OP_CLIENT_CONTROL:
        FZ_REACH(op_client_control);
        drive_control(v, op->f[0] % OP_CTL_COUNT, op_u16(op, 1), op_u16(op, 3));
        break;
    case OP_CLIENT_READ:
        FZ_REACH(op_client_read);
        drive_read(v, op->f[0] % 16 + 1u);
        break;
    case OP_BACKEND_STDOUT:
        FZ_REACH(op_backend_stdout);
        produce(v, &v->m.out, op);
        break;
    case OP_BACKEND_STDERR:
        FZ_REACH(op_backend_stderr);
        produce(v, &v->m.err, op);
        break;
    case OP_BACKEND_EOF:
        FZ_REACH(op_backend_eof);
        output_eof(v, op->f[0] & 1 ? &v->m.err : &v->m.out);
        break;
    case OP_EXIT_RESOLVE:
        FZ_REACH(op_exit_resolve);
        exit_op(v, BE_WAIT_EXITED, op_i32(op, 0));
        break;
    case OP_EXIT_FAIL:
        FZ_REACH(op_exit_fail);
        exit_op(v, BE_WAIT_FAILED, -1);
        break;
    case OP_EXIT_DROP:
        FZ_REACH(op_exit_drop);
        exit_op(v, BE_WAIT_DROPPED, -1);
        break;
    case OP_YIELD:
        FZ_REACH(op_yield);
        for (unsigned i = 0; i < op->f[0] % 16 + 1u; i++)
            drive_round(v);
        break;
    case OP_TAG_COUNT:
        break;
    }
}

/* The client reads everything until the session closes, or nothing moves any more. */
static void pump(struct drive *v)
{
    uint64_t limit = v->steps + TEARDOWN_STEPS_MAX;

    for (;;) {
        while (client_chunk(&v->c)) {
        }
        if (v->c.lost || duplex_at_end(&v->x))
            break;
        if (!drive_round(v) && ring_used(&v->x.s2c) == 0)
            break;
        if (v->steps > limit) {
            fz_note(11, "teardown takes more than %u steps", TEARDOWN_STEPS_MAX);
            return;
        }
    }
    if (v->c.lost || v->w.fatal)
        return;
    if (v->w.exit_issued && !v->x.server_closed)
        fz_note(11, "nothing moves any more and the session is open");
    if (v->c.have > 0)
        fz_note(5, "the last chunk is cut after %zu bytes", v->c.have);
}

void drive_end(struct drive *v)
{
    if (!knobs_abrupt(v->q->knobs)) {
        pump(v);
        duplex_drop(&v->x);
        for (unsigned i = 0; i < END_ROUNDS_MAX && session_handle(v->s) != NULL; i++)
            drive_round(v);
        if (session_handle(v->s) != NULL || drive_round(v))
            fz_note(11, "the session goes on without its client");
    }
    session_free(v->s);
    v->s = NULL;
    duplex_clear(&v->x, fz_mem());
    if (fz_alloc_stats()->live_bytes != 0)
        fz_note(11, "%zu bytes live after the session was freed", fz_alloc_stats()->live_bytes);
}
