/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants S1-S12 of the session. An input is a schedule, some knobs and a
 * sequence of operations (ops.h), run on a session over a mock backend. What can
 * be judged as it happens is noted there; the rest is judged here, when the
 * session is gone. The lowest id is reported, the catch-all S1 last. S12, equal
 * bytes make equal traces, is the kit's INV-STATE.
 */
#include "drive.h"
#include "sdk/fz.h"

static const char *const ids[] = {"S1", "S2", "S3", "S4",  "S5",  "S6",
                                  "S7", "S8", "S9", "S10", "S11", NULL};

static const char *const required[] = {"op_client_write",
                                       "op_client_shutdown",
                                       "op_client_barrier",
                                       "op_client_control",
                                       "op_client_read",
                                       "op_backend_stdout",
                                       "op_backend_stderr",
                                       "op_backend_eof",
                                       "op_exit_resolve",
                                       "op_exit_fail",
                                       "op_exit_drop",
                                       "op_yield",
                                       "exit_chunk",
                                       "sentinel",
                                       "kill",
                                       "barrier_ok",
                                       "backpressure",
                                       "write_after_close",
                                       "fatal_proto",
                                       NULL};

/* S2: what nobody waited for is killed, once, and nothing else is. */
static void check_kill(const struct drive *v)
{
    unsigned want = v->m.exit_observed ? 0 : 1;

    if (v->m.kills != want || (!v->w.exit_issued && v->m.kills != 1))
        fz_note(2, "%u kills, the exit was %s", v->m.kills,
                v->m.exit_observed ? "observed" : "not observed");
    if (v->m.releases != 1)
        fz_note(1, "the handle is freed %u times", v->m.releases);
}

/* S3, S4: one exit chunk, with the code of the first exit operation. */
static void check_exit(const struct drive *v, bool orderly)
{
    const struct client *c = &v->c;

    if (c->exits > 1 || (orderly && v->w.exit_issued && c->exits != 1))
        fz_note(3, "%u exit chunks", c->exits);
    if (c->exits > 0 && (!v->w.exit_issued || c->exit_code != v->w.exit_code))
        fz_note(4, "the exit code is %d, expected %s%d", c->exit_code,
                v->w.exit_issued ? "" : "none, not ", v->w.exit_code);
}

/* S6, S7: whoever saw the exit saw all output before it, and its end. */
static void check_output(const struct drive *v, bool orderly)
{
    const struct client *c = &v->c;

    if (c->exits > 0 && (c->out_len != v->m.out.len || c->err_len != v->m.err.len))
        fz_note(6, "an exit after %zu of %zu bytes of stdout, %zu of %zu of stderr", c->out_len,
                v->m.out.len, c->err_len, v->m.err.len);
    if (orderly && v->w.exit_issued && v->w.eof_before_exit && c->sentinels != 1)
        fz_note(7, "stdout ended before the exit, and was ended %u times", c->sentinels);
}

/* S10: the backend is asked once for each thing. */
static void check_takes(const struct drive *v)
{
    if (v->m.allocates != 1)
        fz_note(10, "the backend allocated %u times", v->m.allocates);
    for (unsigned i = 0; i < BE_SLOT_COUNT; i++) {
        if (v->m.takes[i] > 1)
            fz_note(10, "part %u is taken %u times", i, v->m.takes[i]);
    }
}

/* S10: a part that was taken cannot be had again, and asking changes nothing. */
static void probe_takes(struct drive *v)
{
    struct be_handle *h = session_handle(v->s);

    for (unsigned i = 0; h != NULL && i < BE_SLOT_COUNT; i++) {
        if (be_handle_take(h, (enum be_slot)i) != NULL)
            fz_note(10, "part %u can be taken twice", i);
    }
}

static void trace(const struct drive *v)
{
    const struct mock *m = &v->m;

    fz_trace_u64(v->rounds);
    fz_trace_u64(v->steps);
    fz_trace_u64((uint64_t)m->in_len << 32 | m->in_closed);
    fz_trace_u64(v->w.skipped);
    for (size_t i = 0; i < m->dispatched_count && i < MOCK_CONTROL_MAX; i++)
        fz_trace(&m->dispatched[i], sizeof(m->dispatched[i]));
    fz_trace_u64((uint64_t)m->kills << 32 | m->exit_observed);
    fz_trace_u64((uint64_t)v->c.chunks << 32 | (uint32_t)v->c.exit_code);
}

/* Runs one sequence on a drive and judges it. */
static void run(struct drive *v, const struct opseq *q)
{
    bool orderly = !knobs_abrupt(q->knobs);
    int rc = drive_open(v, q);

    if (rc != 0) {
        fz_note(1, "the session does not open: error %d", rc);
        return;
    }
    probe_takes(v);
    for (size_t i = 0; i < q->count; i++)
        drive_op(v, &q->ops[i]);
    probe_takes(v);
    drive_end(v);

    /* Of a stream that does not decode (S5) nothing more is asked. */
    orderly = orderly && !v->w.fatal && !v->c.lost;
    check_kill(v);
    check_exit(v, orderly);
    check_output(v, orderly);
    model_check_stdin(&v->w, &v->m);
    model_check_control(&v->w, &v->m);
    check_takes(v);
    trace(v);
}

int fz_one(const uint8_t *d, size_t n)
{
    static struct drive drive;
    static struct opseq q;

    n = n < OPS_BYTES_MAX ? n : OPS_BYTES_MAX;
    ops_decode(fz_guarded_copy(d, n), n, &q);
    run(&drive, &q);
    fz_report();
    return 0;
}

/* A session that cannot have all it needs does not open, and leaves nothing. */
static void self_test_memory(void)
{
    static const struct opseq none;
    static struct drive v;
    size_t live = fz_alloc_stats()->live_bytes;
    int64_t k = 0;
    int rc;

    do {
        fz_alloc_fail_at(k++);
        rc = drive_open(&v, &none);
        if (rc != 0 && fz_alloc_stats()->live_bytes != live)
            fz_fail(FZ_INTERNAL, "SELFTEST", "%zu bytes leaked by a session that did not open",
                    fz_alloc_stats()->live_bytes - live);
    } while (rc != 0 && k < 100);
    fz_alloc_fail_at(-1);
    if (rc != 0)
        fz_fail(FZ_INTERNAL, "SELFTEST", "a session does not open: error %d", rc);
    drive_end(&v);
    if (v.m.kills != 1)
        fz_fail(FZ_INTERNAL, "SELFTEST", "a session without an exit: %u kills", v.m.kills);
}

/* The shortest life of a session ends by an exit chunk. */
static void self_test_exit(void)
{
    static const struct opseq q = {
        .knobs = 0x0f, .count = 1, .ops = {{.tag = OP_EXIT_RESOLVE, .f = {7, 0, 0, 0}}}};
    static struct drive v;

    run(&v, &q);
    if (fz_noted() || v.c.exits != 1 || v.c.exit_code != 7)
        fz_fail(FZ_INTERNAL, "SELFTEST", "exit 7: %u exit chunks, code %d", v.c.exits,
                v.c.exit_code);
}

static void self_test(void)
{
    self_test_memory();
    self_test_exit();
}

const struct fz_target fz_target = {
    .name = "session_opseq",
    .alloc_limit = 65536 + 16,
    .invariants = ids,
    .reach = required,
    .self_test = self_test,
};
