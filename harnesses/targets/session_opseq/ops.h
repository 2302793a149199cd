/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input as what it is: a header and a sequence of operations. Any bytes decode:
 * `[sched][knobs]`, then each operation as one byte, modulo the number of tags,
 * and its fields, little-endian, zero-filled where the input ends. The mutator
 * uses the same code, so that the two cannot disagree about what an operation is.
 */
#ifndef OPS_H
#define OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPS_MAX       128u /* what follows is ignored */
#define OP_FIELDS_MAX 5u
#define OPS_BYTES_MAX (2u + OPS_MAX * (1u + OP_FIELDS_MAX))

enum op_tag {
    OP_CLIENT_WRITE,    /* len u16, pat u8 */
    OP_CLIENT_SHUTDOWN, /* - */
    OP_CLIENT_BARRIER,  /* pat u8 */
    OP_CLIENT_CONTROL,  /* kind u8, a u16, b u16 */
    OP_CLIENT_READ,     /* n u8 */
    OP_BACKEND_STDOUT,  /* len u16, byte u8 */
    OP_BACKEND_STDERR,  /* len u16, byte u8 */
    OP_BACKEND_EOF,     /* which u8: bit 0: 0 stdout, 1 stderr */
    OP_EXIT_RESOLVE,    /* code i32 */
    OP_EXIT_FAIL,       /* - */
    OP_EXIT_DROP,       /* - */
    OP_YIELD,           /* n u8 */
    OP_TAG_COUNT
};

/* Kinds of OP_CLIENT_CONTROL, modulo their number. */
enum op_control {
    OP_CTL_RESIZE,    /* cols a, rows b */
    OP_CTL_SIGNAL,    /* a: which of the known names */
    OP_CTL_UNKNOWN,   /* a: which of some unknown names */
    OP_CTL_EOF,       /* */
    OP_CTL_MALFORMED, /* a: which of some texts that are no control message */
    OP_CTL_IGNORED,   /* a: type 1, 2 or 4; b: length */
    OP_CTL_BAD_TYPE,  /* a: type 5..255 */
    OP_CTL_TOO_LARGE, /* a: type 0..4; b: length above the maximum */
    OP_CTL_COUNT
};

struct op {
    uint8_t tag;              /* enum op_tag */
    uint8_t f[OP_FIELDS_MAX]; /* as many as op_field_len() says; the rest is 0 */
};

struct opseq {
    uint8_t sched; /* rotation of the order of steps */
    uint8_t knobs;
    size_t count;
    struct op ops[OPS_MAX];
};

/* Bytes of fields of a tag. */
size_t op_field_len(uint8_t tag);

uint16_t op_u16(const struct op *op, size_t at);
int32_t op_i32(const struct op *op, size_t at);

/* Decodes any bytes. */
void ops_decode(const uint8_t *d, size_t n, struct opseq *q);

/* Writes bytes that decode to q; the operations from the first that does not fit
 * whole are left out. Returns the length, at most size. */
size_t ops_encode(const struct opseq *q, uint8_t *d, size_t size);

/* What the knobs mean. */
size_t knobs_ring_bytes(uint8_t knobs);
size_t knobs_quantum(uint8_t knobs);
bool knobs_abrupt(uint8_t knobs); /* the session is freed as it stands */
bool knobs_split(uint8_t knobs);  /* the client writes in pieces of 1..7 bytes */

#endif
