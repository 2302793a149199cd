/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and bytes; nothing here knows what an operation does. */
#include <string.h>

#include "ops.h"

size_t op_field_len(uint8_t tag)
{
    static const uint8_t len[OP_TAG_COUNT] = {
        [OP_CLIENT_WRITE] = 3, [OP_CLIENT_BARRIER] = 1, [OP_CLIENT_CONTROL] = 5,
        [OP_CLIENT_READ] = 1,  [OP_BACKEND_STDOUT] = 3, [OP_BACKEND_STDERR] = 3,
        [OP_BACKEND_EOF] = 1,  [OP_EXIT_RESOLVE] = 4,   [OP_YIELD] = 1,
    };

    return tag < OP_TAG_COUNT ? len[tag] : 0;
}

uint16_t op_u16(const struct op *op, size_t at)
{
    return (uint16_t)(op->f[at] | op->f[at + 1] << 8);
}

int32_t op_i32(const struct op *op, size_t at)
{
    return (int32_t)(op_u16(op, at) | (uint32_t)op_u16(op, at + 2) << 16);
}

void ops_decode(const uint8_t *d, size_t n, struct opseq *q)
{
    size_t at = 2;

    q->sched = n > 0 ? d[0] : 0;
    q->knobs = n > 1 ? d[1] : 0;
    q->count = 0;
    while (at < n && q->count < OPS_MAX) {
        struct op *op = &q->ops[q->count++];
        size_t len;

        *op = (struct op){.tag = d[at++] % OP_TAG_COUNT};
        len = op_field_len(op->tag);
        if (len > n - at)
            len = n - at;
        if (len > 0)
            memcpy(op->f, d + at, len);
        at += len;
    }
}

size_t ops_encode(const struct opseq *q, uint8_t *d, size_t size)
{
    const uint8_t head[2] = {q->sched, q->knobs};
    size_t at = size < sizeof(head) ? size : sizeof(head);

    if (at > 0)
        memcpy(d, head, at);
    for (size_t i = 0; i < q->count; i++) {
        const struct op *op = &q->ops[i];
        size_t len = op_field_len(op->tag);

        if (size - at < 1 + len)
            break;
        d[at++] = op->tag;
        memcpy(d + at, op->f, len);
        at += len;
    }
    return at;
}

size_t knobs_ring_bytes(uint8_t knobs)
{
    static const size_t bytes[] = {64, 256, 4096, 65536};

    return bytes[knobs & 3];
}

size_t knobs_quantum(uint8_t knobs)
{
    static const size_t bytes[] = {1, 7, 256, 4096};

    return bytes[knobs >> 2 & 3];
}

bool knobs_abrupt(uint8_t knobs)
{
    return knobs & 0x10;
}

bool knobs_split(uint8_t knobs)
{
    return knobs & 0x20;
}
