/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the invariants compare the negotiation with: the format's table, a count
 * of brackets, a decoder of UTF-8 and of JSON strings, each written here a second
 * time and in another way than in the library.
 */
#ifndef NEG_ORACLE_H
#define NEG_ORACLE_H

#include "negotiation_frame.h"
#include "sdk/fz.h"

#define NEG_STEP_MAX    (FZ_INPUT_MAX / NEG_PREFIX_LEN + 2)
#define NEG_NO_OFFSET   SIZE_MAX
#define NEG_MEMBERS_MAX 8u

/* What one call of neg_read_frame must do. */
struct neg_step {
    size_t start; /* bytes consumed before it */
    size_t end;   /* and after it */
    enum neg_err err;
    uint32_t len;
    bool prefix;    /* a whole prefix is there */
    uint64_t calls; /* of the allocator, by the reader over the whole buffer */
};

struct neg_source {
    const uint8_t *d;
    size_t n;
    size_t pos;
    size_t piece_max; /* reads are cut to 1..piece_max bytes in turn; 0 = never */
    size_t piece;     /* the last cut */
};

/* A member of an object: its bytes, without a comma. */
struct neg_member {
    size_t start;
    size_t end;
};

/* Fills s (room for NEG_STEP_MAX) with what reading n bytes must give, call by call
 * to the first error. Returns the number of steps, at least 1; the last is the error. */
size_t neg_oracle_steps(const uint8_t *d, size_t n, struct neg_step *s);

/* The read of a neg_src and of a wl_src over a struct neg_source. */
ptrdiff_t neg_source_read(void *ctx, void *buf, size_t n);

/* The offset of the bracket that opens level 129 in n bytes that are the beginning
 * of a JSON text; NEG_NO_OFFSET = there is none. *ret_deepest is the deepest level,
 * at most 129. */
size_t neg_oracle_too_deep(const uint8_t *d, size_t n, size_t *ret_deepest);

/* The members of a compact object. Returns their number, 0 if there are more than
 * NEG_MEMBERS_MAX or it is no object. */
size_t neg_oracle_members(const char *json, size_t n, struct neg_member m[NEG_MEMBERS_MAX]);

/* What becomes of a detail on its way out. Returns its length. */
size_t neg_oracle_detail(const uint8_t *d, size_t n, uint8_t out[NEG_DETAIL_MAX]);

/* Whether the body of an error response has exactly the documented members, in
 * their order, with this detail. */
bool neg_oracle_error_body(const uint8_t *body, size_t n, enum neg_error_kind kind,
                           const uint8_t *detail, size_t detail_len);

/* The verdict on a request where "local" and "ssh" are the backends. */
enum neg_verdict neg_oracle_verdict(const struct neg_request *rq);

bool neg_request_equal(const struct neg_request *a, const struct neg_request *b);

#endif
