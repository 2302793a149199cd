/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of a session's inbound half. It is written from the operations alone;
 * what the session delivers must be a beginning of what stands here.
 */
#include <string.h>

#include "model.h"
#include "sdk/fz.h"

#define CAP_MAX         32768u /* bytes */
#define CAP_PER_QUANTUM 4096u

void model_init(struct model *w, size_t quantum)
{
    size_t cap = CAP_PER_QUANTUM * quantum;

    w->cap = cap < CAP_MAX ? cap : CAP_MAX;
    w->sent_len = w->asked_len = 0;
    w->shut = false;
    w->control_count = w->bad_count = 0;
    w->fatal = false;
    w->exit_issued = false;
    w->exit_code = 0;
    w->eof_before_exit = false;
    w->skipped = 0;
}

bool model_admits_stdin(struct model *w, size_t n)
{
    if (n > w->cap - w->asked_len) {
        w->skipped++;
        return false;
    }
    w->asked_len += n;
    return true;
}

bool model_admits_output(struct model *w, const struct mock_output *o, size_t n)
{
    if (w->exit_issued || o->eof || n > w->cap - o->len) {
        w->skipped++;
        return false;
    }
    return true;
}

void model_stdin(struct model *w, const uint8_t *d, size_t n)
{
    if (w->shut || w->fatal)
        return;
    memcpy(w->sent + w->sent_len, d, n);
    w->sent_len += n;
}

void model_shutdown(struct model *w)
{
    if (!w->fatal)
        w->shut = true;
}

void model_control(struct model *w, enum mock_control_kind kind, int32_t a, int32_t b)
{
    if (w->fatal)
        return;
    w->controls[w->control_count++] = (struct mock_control){kind, a, b};
    if (kind == MOCK_EOF)
        w->shut = true;
}

void model_bad_control(struct model *w)
{
    if (!w->fatal)
        w->bad_count++;
}

void model_fatal(struct model *w)
{
    w->fatal = true;
}

bool model_exit(struct model *w, int32_t code, bool stdout_eof)
{
    if (w->exit_issued)
        return false;
    w->exit_issued = true;
    w->exit_code = code;
    w->eof_before_exit = stdout_eof;
    return true;
}

void model_check_stdin(const struct model *w, const struct mock *m)
{
    if (m->in_len > w->sent_len)
        fz_note(8, "the backend saw %zu bytes of stdin, %zu were sent", m->in_len, w->sent_len);
    else if (memcmp(m->in, w->sent, m->in_len) != 0)
        fz_note(8, "the %zu bytes of stdin are not those sent", m->in_len);
    if (m->in_after_close)
        fz_note(8, "stdin after its end");
    if (m->in_closed > 1 || (m->in_closed == 1 && !w->shut))
        fz_note(8, "stdin is closed %u times", m->in_closed);
}

void model_check_control(const struct model *w, const struct mock *m)
{
    size_t n = m->dispatched_count;

    if (n > w->control_count) {
        fz_note(9, "%zu control messages dispatched, %zu sent", n, w->control_count);
        n = w->control_count;
    }
    for (size_t i = 0; i < n; i++) {
        const struct mock_control *got = &m->dispatched[i];
        const struct mock_control *want = &w->controls[i];

        if (got->kind != want->kind || got->a != want->a || got->b != want->b)
            fz_note(9, "control %zu is %d(%d, %d), sent was %d(%d, %d)", i, (int)got->kind, got->a,
                    got->b, (int)want->kind, want->a, want->b);
    }
}
