/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mock backend. Each part of a handle is an allocation of its own, so that
 * whoever uses a part after the handle was freed is seen by ASan.
 */
#include <errno.h>
#include <string.h>

#include "mock.h"

static uint8_t pattern[256 + MOCK_BYTES_MAX];

struct part {
    struct mock *m;
    union {
        struct be_stdin in;
        struct be_output out;
        struct be_control control;
        struct be_waiter waiter;
    } as;
    struct mock_output *output; /* of the two outputs */
};

struct handle {
    struct be_handle base; /* first: the handle is what the session holds */
    const fz_allocator *mem;
    struct mock *m;
    struct part *parts[BE_SLOT_COUNT];
};

#define PART_OF(p, member) ((struct part *)(void *)((char *)(p)-offsetof(struct part, as.member)))

static void in_write(struct be_stdin *in, const uint8_t *d, size_t n)
{
    struct mock *m = PART_OF(in, in)->m;
    size_t room = sizeof(m->in) - m->in_len;

    if (m->in_closed > 0)
        m->in_after_close = true;
    memcpy(m->in + m->in_len, d, n < room ? n : room);
    m->in_len += n < room ? n : room;
}

static void in_close(struct be_stdin *in)
{
    PART_OF(in, in)->m->in_closed++;
}

static ptrdiff_t output_read(struct be_output *out, uint8_t *d, size_t n)
{
    struct mock_output *o = PART_OF(out, out)->output;
    size_t left = o->len - o->pos;

    if (left == 0)
        return o->eof ? BE_EOF : 0;
    if (n > left)
        n = left;
    memcpy(d, o->d + o->pos, n);
    o->pos += n;
    return (ptrdiff_t)n;
}

static void record(struct be_control *c, enum mock_control_kind kind, int32_t a, int32_t b)
{
    struct mock *m = PART_OF(c, control)->m;

    if (m->dispatched_count < MOCK_CONTROL_MAX)
        m->dispatched[m->dispatched_count] = (struct mock_control){kind, a, b};
    m->dispatched_count++;
}

static void control_resize(struct be_control *c, uint16_t cols, uint16_t rows)
{
    record(c, MOCK_RESIZE, cols, rows);
}

static void control_signal(struct be_control *c, int signo)
{
    record(c, MOCK_SIGNAL, signo, 0);
}

static void control_eof(struct be_control *c)
{
    record(c, MOCK_EOF, 0, 0);
}

static enum be_wait waiter_poll(struct be_waiter *w, int32_t *ret_code)
{
    struct mock *m = PART_OF(w, waiter)->m;

    if (m->exit == BE_WAIT_PENDING)
        return BE_WAIT_PENDING;
    if (m->exit_observed)
        return BE_WAIT_DROPPED;
    m->exit_observed = true;
    if (m->exit == BE_WAIT_EXITED)
        *ret_code = m->exit_code;
    return m->exit;
}

static void *part_object(struct part *p, enum be_slot slot)
{
    switch (slot) {
    case BE_STDIN:
        p->as.in = (struct be_stdin){in_write, in_close};
        return &p->as.in;
    case BE_STDOUT:
    case BE_STDERR:
        p->output = slot == BE_STDOUT ? &p->m->out : &p->m->err;
        p->as.out = (struct be_output){output_read};
        return &p->as.out;
    case BE_CONTROL:
        p->as.control = (struct be_control){control_resize, control_signal, control_eof};
        return &p->as.control;
    case BE_EXIT:
        p->as.waiter = (struct be_waiter){waiter_poll};
        return &p->as.waiter;
    default:
        return NULL;
    }
}

static void *handle_take(struct be_handle *base, enum be_slot slot)
{
    struct handle *h = (struct handle *)base;

    h->m->takes[slot]++;
    return part_object(h->parts[slot], slot);
}

static void handle_kill(struct be_handle *base)
{
    ((struct handle *)base)->m->kills++;
}

static void parts_free(struct handle *h)
{
    const fz_allocator *mem = h->mem;

    for (size_t i = 0; i < BE_SLOT_COUNT; i++)
        mem->free(mem->ctx, h->parts[i]);
    mem->free(mem->ctx, h);
}

static void handle_release(struct be_handle *base)
{
    ((struct handle *)base)->m->releases++;
    parts_free((struct handle *)base);
}

static int mock_allocate(struct backend *b, const fz_allocator *mem, struct be_handle **ret_h)
{
    static const struct be_handle_ops ops = {handle_take, handle_kill, handle_release};
    struct mock *m = (struct mock *)b;
    struct handle *h = mem->alloc(mem->ctx, sizeof(*h));

    if (h == NULL)
        return -ENOMEM;
    *h = (struct handle){.base = {.ops = &ops}, .mem = mem, .m = m};
    for (size_t i = 0; i < BE_SLOT_COUNT; i++) {
        h->parts[i] = mem->alloc(mem->ctx, sizeof(struct part));
        if (h->parts[i] == NULL) {
            parts_free(h);
            return -ENOMEM;
        }
        *h->parts[i] = (struct part){.m = m};
    }
    m->allocates++;
    *ret_h = &h->base;
    return 0;
}

void mock_init(struct mock *m)
{
    m->backend.allocate = mock_allocate;
    m->out.len = m->out.pos = m->err.len = m->err.pos = 0;
    m->out.eof = m->err.eof = false;
    m->exit = BE_WAIT_PENDING;
    m->exit_code = 0;
    m->in_len = 0;
    m->in_closed = 0;
    m->in_after_close = false;
    m->dispatched_count = 0;
    m->allocates = m->kills = m->releases = 0;
    memset(m->takes, 0, sizeof(m->takes));
    m->exit_observed = false;
}

/* Before main: a table filled by the first input would be an edge of that input only. */
__attribute__((constructor)) static void pattern_fill(void)
{
    for (uint32_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)(i + (i >> 8));
}

void mock_produce(struct mock_output *o, uint8_t first, size_t n)
{
    if (n > sizeof(o->d) - o->len)
        n = sizeof(o->d) - o->len;
    memcpy(o->d + o->len, pattern + first, n);
    o->len += n;
}

void mock_exit(struct mock *m, enum be_wait how, int32_t code)
{
    if (m->exit != BE_WAIT_PENDING)
        return;
    m->exit = how;
    m->exit_code = code;
}
