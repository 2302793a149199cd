/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the invariants compare the codec with: the format's table, written here a
 * second time and in another way, and the ends of the streams that feed it.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "chunk_frame.h"
#include "sdk/fz.h"

#define STEP_MAX (FZ_INPUT_MAX / WL_HEADER_LEN + 2)

/* What one call of wl_read_chunk must do. */
struct step {
    size_t start; /* bytes consumed before it */
    size_t end;   /* and after it */
    wl_err err;
    uint8_t type;
    uint32_t len;
    bool header;    /* a whole header is there */
    uint64_t calls; /* of the allocator by reader A */
};

struct source {
    const uint8_t *d;
    size_t n;
    size_t pos;
    size_t fail_at; /* reading this byte is an I/O error; SIZE_MAX = none */
    unsigned cuts;  /* > 0: reads are cut to 1..7 bytes, beginning with this phase */
};

struct sink {
    uint8_t *out;
    size_t room;
    size_t pos;
    unsigned cuts;
};

/*
 * Fills s (room for STEP_MAX) with what reading n bytes must give, call by call
 * to the first error. Returns the number of steps, at least 1; the last is the error.
 */
size_t oracle_steps(const uint8_t *d, size_t n, struct step *s);

/* Whether the step's header is complete and passed. */
bool step_admitted(const struct step *w);

/* The read of a wl_src over a struct source, and the write of a wl_sink into a
 * struct sink; a full sink is an I/O error. */
ptrdiff_t source_read(void *ctx, void *buf, size_t n);
ptrdiff_t sink_write(void *ctx, const void *buf, size_t n);

#endif
