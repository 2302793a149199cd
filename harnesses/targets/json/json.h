/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict JSON reader and writer (RFC 8259), shared by the targets that speak
 * JSON. The reader pulls values from a text that it neither changes nor copies,
 * without recursion and without heap; the first error is final, and every later
 * call fails. What a caller does not want it skips, and skipping validates.
 *
 *     struct json_reader r;
 *     struct json_span key;
 *
 *     json_reader_init(&r, d, n);
 *     if (json_object_open(&r)) {
 *         while (json_object_next(&r, &key)) {
 *             if (json_span_equals(&key, "cols"))
 *                 json_u16(&r, &cols);
 *             else
 *                 json_skip(&r);
 *         }
 *         json_end(&r);
 *     }
 *     return r.err;
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_lib.h"

/* Containers within each other; the top-level value is depth 1. */
#ifdef PLANT_BUG_NEG_DEPTH_UNLIMITED
#define JSON_DEPTH_MAX 65536u
#else
#define JSON_DEPTH_MAX 128u
#endif

enum json_err {
    JSON_OK,
    JSON_E_END,       /* the text ends before the value does */
    JSON_E_SYNTAX,    /* a byte that cannot stand here */
    JSON_E_UTF8,      /* also an overlong form, a surrogate, above U+10FFFF */
    JSON_E_ESCAPE,    /* no such escape, or a surrogate without its other half */
    JSON_E_CONTROL,   /* a byte below 0x20 in a string */
    JSON_E_NUMBER,    /* not a number of the grammar */
    JSON_E_DEPTH,     /* deeper than JSON_DEPTH_MAX */
    JSON_E_TRAILING,  /* something but whitespace behind the value */
    JSON_E_TYPE,      /* the caller asked for another type */
    JSON_E_RANGE,     /* not an integer token, or not in the caller's range */
    JSON_E_DUPLICATE, /* set by callers, as the three below */
    JSON_E_MISSING,
    JSON_E_UNKNOWN, /* a value that must be one of a set and is not */
    JSON_E_NOMEM
};

enum json_type {
    JSON_NONE, /* the reader has failed */
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_BOOL,
    JSON_NULL
};

struct json_reader {
    enum json_err err; /* read it at the end; the other members are the reader's */
    size_t err_at;     /* offset, 0..n */
    const uint8_t *d;
    size_t n;
    size_t pos;
    unsigned depth;
    bool fresh; /* in a container before its first item */
    uint8_t in_object[JSON_DEPTH_MAX / 8];
};

/* The validated inside of a string, within the reader's text, not unescaped. */
struct json_span {
    const uint8_t *raw;
    size_t raw_len;
    size_t len; /* bytes when unescaped */
};

/* An unescaped string; may contain NUL, and has one behind it. */
struct json_str {
    char *s;
    size_t len;
};

/* A value to come back to. */
struct json_place {
    size_t pos;
    unsigned depth;
};

/* Prepares a reader of n bytes at d, which are borrowed. */
void json_reader_init(struct json_reader *r, const uint8_t *d, size_t n);

/* Makes the reader fail with err at the offset, unless it has failed; false. */
bool json_fail(struct json_reader *r, enum json_err err, size_t at);

/* The type of the value to come, by its first byte. */
enum json_type json_peek(struct json_reader *r);

/*
 * Members of an object and items of an array. _open enters one, _next goes to the
 * next value, which must then be read or skipped; false = closed or failed.
 */
bool json_object_open(struct json_reader *r);
bool json_object_next(struct json_reader *r, struct json_span *key);
bool json_array_open(struct json_reader *r);
bool json_array_next(struct json_reader *r);

/* Values. Each returns false and leaves *out untouched when it fails. */
bool json_string(struct json_reader *r, struct json_span *out);
bool json_bool(struct json_reader *r, bool *out);
bool json_null(struct json_reader *r);
bool json_u16(struct json_reader *r, uint16_t *out);
bool json_i32(struct json_reader *r, int32_t *out);

/* An integer token (no fraction, no exponent, not -0) in min..max. */
bool json_integer(struct json_reader *r, int64_t min, int64_t max, int64_t *out);

/* Passes over one value of any type, validating all of it. */
bool json_skip(struct json_reader *r);

/* Nothing but whitespace may be left. */
bool json_end(struct json_reader *r);

/*
 * Remembers the value to come, so that it can be read after others; json_return
 * goes there, and only that one value may be read then.
 */
struct json_place json_mark(struct json_reader *r);
void json_return(struct json_reader *r, struct json_place place);

/* Compares unescaped, without heap; text is a C string, _bytes may hold NUL. */
bool json_span_equals(const struct json_span *s, const char *text);
bool json_span_equals_bytes(const struct json_span *s, const void *p, size_t n);

/* Unescapes into out, which has room for s->len bytes; no NUL is added. */
void json_span_unescape(const struct json_span *s, char *out);

/* Unescapes into memory of the allocator; free ret->s. False when there is none. */
bool json_span_copy(const struct json_span *s, const fz_allocator *mem, struct json_str *ret);

/* Bytes of the well-formed UTF-8 sequence at p, of which n > 0 may be read; 0 = none. */
size_t json_utf8_len(const uint8_t *p, size_t n);

/* Compact text, built in memory of the allocator. Sticky: failed = out of memory. */
struct json_writer {
    const fz_allocator *mem;
    char *d;
    size_t len;
    size_t room;
    bool failed;
};

void json_writer_init(struct json_writer *w, const fz_allocator *mem);

/* As it stands: punctuation, literals, and keys that need no escape. */
void json_put(struct json_writer *w, const char *text);
void json_put_bytes(struct json_writer *w, const void *p, size_t n);

/* A string of valid UTF-8, quoted; escapes `"`, `\` and what is below 0x20 only. */
void json_put_string(struct json_writer *w, const char *s, size_t n);
void json_put_integer(struct json_writer *w, int64_t v);

/* Hands the text over: the caller frees *ret. False when the writer failed, which
 * freed it. */
bool json_writer_take(struct json_writer *w, char **ret, size_t *ret_len);
void json_writer_clear(struct json_writer *w);

#endif
