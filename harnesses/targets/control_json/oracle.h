/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the invariants compare the control parser with: the grammar of RFC 8259 and
 * the table of messages, written here a second time and in another way. It shares
 * no code and no constant with the library: a slip there must not be a slip here.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "control_json.h"
#include "sdk/fz.h"

/* A stretch of the text. */
struct token {
    uint32_t start;
    uint32_t end;
};

/* A member of the top-level object. */
struct member {
    struct token key; /* with its quotes */
    struct token value;
};

struct text {
    const uint8_t *d;
    size_t n;
    bool json;   /* a value of the grammar, not nested too deep, nothing behind it */
    bool object; /* and that value is an object */
    struct token tokens[FZ_INPUT_MAX];
    size_t token_count;
    struct member members[FZ_INPUT_MAX / 4];
    size_t member_count;
};

/* Reads n bytes at d, which are borrowed, by the grammar. */
void oracle_text(struct text *t, const uint8_t *d, size_t n);

enum want { WANT_ERROR, WANT_RANGE, WANT_OK }; /* RANGE: nothing but a number is wrong */

/* A message as the table of messages wants it of a text. */
struct message {
    enum want want;
    enum ctl_kind kind;
    struct member *first;       /* of the members of this kind; NULL = none */
    struct member *numbers[4];  /* cols rows pixel_width pixel_height, or code; NULL = absent */
    struct member *required[3]; /* type first; NULL = no more */
    struct member *name;
    size_t name_len; /* of the name, unescaped into name_bytes */
    uint8_t name_bytes[FZ_INPUT_MAX + 4];
};

void oracle_message(struct message *m, struct text *t);

/* Unescapes a string token; out has room for its length. */
size_t oracle_unescape(const struct text *t, struct token s, uint8_t *out);

/* Whether the token is a whole number in the range, by its digits alone. */
bool oracle_in_range(const struct text *t, struct token token, bool u16);

/* Whether the token reads exactly as v does in decimal. */
bool oracle_is_decimal(const struct text *t, struct token token, long long v);

/* Well-formed UTF-8 without NUL. */
bool oracle_utf8(const uint8_t *d, size_t n);

/* The number of a signal's name by a walk over all of them; 0 = none has it. */
int oracle_signal(const uint8_t *name, size_t n);

#endif
