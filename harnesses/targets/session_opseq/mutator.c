/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A custom mutator of afl-fuzz that works on operations instead of bytes: insert,
 * delete, swap, duplicate, splice, change fields in place, change the header. It
 * decodes what it is given with the target's own code, so any bytes will do, and
 * what it gives back decodes to exactly what it made. All choices come from the
 * seed that afl-fuzz passes.
 * Source: AFL++ docs/custom_mutators.md (4.04c), AFL_CUSTOM_MUTATOR_LIBRARY.
 */
#include <stdlib.h>
#include <string.h>

#include "mutator.h"

struct mutator {
    uint64_t state;
    struct opseq q;
    struct opseq other;
    uint8_t out[OPS_BYTES_MAX];
};

/* Source: George Marsaglia, "Xorshift RNGs", 2003; the multiplier is Vigna's. */
static uint32_t below(struct mutator *m, size_t n)
{
    m->state ^= m->state >> 12;
    m->state ^= m->state << 25;
    m->state ^= m->state >> 27;
    return (uint32_t)((m->state * 0x2545f4914f6cdd1du >> 33) % n);
}

/* A 16-bit field: an edge of the target more often than a random value. */
static uint16_t interesting(struct mutator *m)
{
    static const uint16_t edges[] = {0,   1,   2,    5,    6,    7,    8,    59,    63,    64,
                                     65,  255, 256,  257,  1000, 2048, 4091, 4095,  4096,  4097,
                                     128, 300, 4098, 8193, 511,  512,  33,   32767, 32768, 65535};

    if (below(m, 4) == 0)
        return (uint16_t)below(m, 65536);
    return edges[below(m, sizeof(edges) / sizeof(edges[0]))];
}

static void put_u16(struct op *op, size_t at, uint16_t v)
{
    op->f[at] = (uint8_t)v;
    op->f[at + 1] = (uint8_t)(v >> 8);
}

static void fields_make(struct mutator *m, struct op *op)
{
    memset(op->f, 0, sizeof(op->f));
    switch (op_field_len(op->tag)) {
    case 1:
        op->f[0] = (uint8_t)(below(m, 2) ? below(m, 16) : below(m, 256));
        break;
    case 3:
        put_u16(op, 0, interesting(m));
        op->f[2] = (uint8_t)below(m, 256);
        break;
    case 4:
        put_u16(op, 0, interesting(m));
        put_u16(op, 2, below(m, 2) ? 0 : interesting(m));
        break;
    case 5:
        op->f[0] = (uint8_t)below(m, OP_CTL_COUNT);
        put_u16(op, 1, interesting(m));
        put_u16(op, 3, interesting(m));
        break;
    default:
        break;
    }
}

static void change_insert(struct mutator *m)
{
    struct opseq *q = &m->q;
    size_t at = below(m, q->count + 1);

    if (q->count == OPS_MAX)
        return;
    memmove(&q->ops[at + 1], &q->ops[at], (q->count - at) * sizeof(q->ops[0]));
    q->ops[at].tag = (uint8_t)below(m, OP_TAG_COUNT);
    fields_make(m, &q->ops[at]);
    q->count++;
}

static void change_delete(struct mutator *m)
{
    struct opseq *q = &m->q;
    size_t at;
    size_t n;

    if (q->count == 0)
        return;
    at = below(m, q->count);
    n = 1 + below(m, q->count - at < 4 ? q->count - at : 4);
    memmove(&q->ops[at], &q->ops[at + n], (q->count - at - n) * sizeof(q->ops[0]));
    q->count -= n;
}

static void change_swap(struct mutator *m)
{
    struct opseq *q = &m->q;
    size_t a;
    size_t b;
    struct op op;

    if (q->count < 2)
        return;
    a = below(m, q->count);
    b = (a + 1 + below(m, q->count - 1)) % q->count;
    op = q->ops[a];
    q->ops[a] = q->ops[b];
    q->ops[b] = op;
}

static void change_duplicate(struct mutator *m)
{
    struct opseq *q = &m->q;
    size_t from;
    size_t to;
    struct op op;

    if (q->count == 0 || q->count == OPS_MAX)
        return;
    from = below(m, q->count);
    to = below(m, 2) ? from : below(m, q->count + 1);
    op = q->ops[from];
    memmove(&q->ops[to + 1], &q->ops[to], (q->count - to) * sizeof(q->ops[0]));
    q->ops[to] = op;
    q->count++;
}

/* The beginning of one sequence and the end of the other. */
static void change_splice(struct mutator *m)
{
    struct opseq *q = &m->q;
    size_t keep = below(m, q->count + 1);
    size_t from = below(m, m->other.count + 1);
    size_t n = m->other.count - from;

    if (n > OPS_MAX - keep)
        n = OPS_MAX - keep;
    memcpy(&q->ops[keep], &m->other.ops[from], n * sizeof(q->ops[0]));
    q->count = keep + n;
}

static void change_fields(struct mutator *m)
{
    struct op *op;
    size_t len;

    if (m->q.count == 0)
        return;
    op = &m->q.ops[below(m, m->q.count)];
    len = op_field_len(op->tag);
    if (len == 0)
        return;
    if (below(m, 2))
        fields_make(m, op);
    else
        op->f[below(m, len)] ^= (uint8_t)(1u << below(m, 8));
}

static void change_header(struct mutator *m)
{
    if (below(m, 3) == 0)
        m->q.sched = (uint8_t)below(m, 256);
    else
        m->q.knobs = (uint8_t)below(m, 64);
}

void mutator_change(struct mutator *m, enum mutator_kind kind)
{
    static void (*const changes[MUTATOR_KIND_COUNT])(struct mutator *) = {
        [MUTATOR_INSERT] = change_insert, [MUTATOR_DELETE] = change_delete,
        [MUTATOR_SWAP] = change_swap,     [MUTATOR_DUPLICATE] = change_duplicate,
        [MUTATOR_SPLICE] = change_splice, [MUTATOR_FIELDS] = change_fields,
        [MUTATOR_HEADER] = change_header,
    };

    changes[kind](m);
}

struct opseq *mutator_seq(struct mutator *m)
{
    return &m->q;
}

struct opseq *mutator_other(struct mutator *m)
{
    return &m->other;
}

void *afl_custom_init(void *afl, unsigned int seed)
{
    struct mutator *m = calloc(1, sizeof(*m));

    (void)afl;
    if (m != NULL)
        m->state = ((uint64_t)seed + 1) * 0x9e3779b97f4a7c15u;
    return m;
}

size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t buf_size, uint8_t **out_buf,
                       uint8_t *add_buf, size_t add_buf_size, size_t max_size)
{
    struct mutator *m = data;
    bool can_splice = add_buf != NULL && add_buf_size > 2;
    size_t n;

    ops_decode(buf, buf_size, &m->q);
    if (can_splice)
        ops_decode(add_buf, add_buf_size, &m->other);
    n = 1u << below(m, 4);
    for (size_t i = 0; i < n; i++) {
        enum mutator_kind kind = (enum mutator_kind)below(m, MUTATOR_KIND_COUNT);

        if (kind != MUTATOR_SPLICE || can_splice)
            mutator_change(m, kind);
    }
    *out_buf = m->out;
    return ops_encode(&m->q, m->out, max_size < sizeof(m->out) ? max_size : sizeof(m->out));
}

void afl_custom_deinit(void *data)
{
    free(data);
}
