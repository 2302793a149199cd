/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opening exchange of a session: [length u32 BE][body], where the client's
 * body is a NegotiateRequest in JSON and the server's, when it refuses, an error
 * object. The reader never looks into a body. As long as a frame is shorter than
 * NEG_MAX_LEN its first byte is 0, which no chunk of a server begins with: that
 * is how a client tells a refusal from a session. A result is either whole or
 * all zero.
 */
#ifndef NEGOTIATION_FRAME_H
#define NEGOTIATION_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_lib.h"
#include "targets/json/json.h"

#define NEG_PREFIX_LEN 4u
/* Bytes of body; this many are admitted. No length below it has a first byte other than 0. */
#ifdef PLANT_BUG_NEG_MAX_GROW
#define NEG_MAX_LEN 0x02000000u
#else
#define NEG_MAX_LEN 0x01000000u
#endif
#define NEG_DETAIL_MAX      1024u /* bytes of detail in an error response */
#define NEG_ERROR_FRAME_MAX 8192u /* an error response is shorter */

enum neg_err {
    NEG_OK,
    NEG_E_CLOSED,    /* the source ended, between frames or inside one */
    NEG_E_TOO_LARGE, /* length above NEG_MAX_LEN */
    NEG_E_JSON,      /* the body is not a NegotiateRequest; never from the reader */
    NEG_E_IO,        /* the source failed */
    NEG_E_NOMEM
};

/* A source: > 0 bytes were read (may be fewer than asked), 0 end, < 0 I/O error. */
struct neg_src {
    ptrdiff_t (*read)(void *ctx, void *buf, size_t n);
    void *ctx;
};

/* The members are the library's. */
struct neg_reader {
    struct neg_src src;
    const fz_allocator *mem;
    uint64_t consumed;
    enum neg_err failed; /* NEG_OK, or what every later call returns */
    uint8_t held;        /* a byte that was pulled before, if has_held */
    bool has_held;
};

struct neg_body {
    uint8_t *data; /* NULL when len is 0 */
    uint32_t len;
};

/* Text with a length; NUL is legal inside. Never NULL in a request that parsed. */
struct neg_str {
    const char *p;
    size_t n;
};

struct neg_env {
    struct neg_str key;
    struct neg_str value;
};

struct neg_tty {
    uint16_t cols;
    uint16_t rows;
    uint16_t pixel_width;
    uint16_t pixel_height;
};

struct neg_request {
    struct neg_str carriage;
    struct neg_str backend;
    struct neg_str cwd; /* when has_cwd */
    struct neg_tty tty; /* when has_tty; else pipes */
    bool has_cwd;
    bool has_tty;
    struct neg_str *cmd;
    size_t cmd_count;
    struct neg_env *env; /* sorted bytewise by key, no key twice */
    size_t env_count;
    void *block; /* the one allocation: cmd, env, and what the strings point into */
};

/* Why a body is refused, and where: offset <= the length of the body. */
struct neg_fault {
    enum json_err err;
    size_t offset;
};

enum neg_error_kind {
    NEG_UNKNOWN_BACKEND, /* detail: the backend's name */
    NEG_MALFORMED,       /* detail of this and the others: a message */
    NEG_ALLOCATE_FAILED,
    NEG_FORBIDDEN
};

/* The verdict on a request that parsed. */
enum neg_verdict { NEG_ACCEPTED, NEG_REFUSED_MALFORMED, NEG_REFUSED_BACKEND };

/* Prepares a reader; src and mem are borrowed and must outlive it. */
void neg_reader_init(struct neg_reader *r, struct neg_src src, const fz_allocator *mem);

/* Gives the reader the first byte of the first frame, which another codec had
 * pulled from the source. Counts as consumed; call before the first read. */
void neg_reader_prepend(struct neg_reader *r, uint8_t byte);

/*
 * Reads the next frame. n bytes left: n < 4 CLOSED, all consumed; length above
 * NEG_MAX_LEN TOO_LARGE, 4 consumed, nothing allocated; n - 4 < length CLOSED,
 * all consumed; else OK. An error is final and leaves *ret_body all zero. Freed
 * by neg_body_free().
 */
enum neg_err neg_read_frame(struct neg_reader *r, struct neg_body *ret_body);

/* Bytes pulled from the source so far, a prepended one included. */
uint64_t neg_reader_consumed(const struct neg_reader *r);

void neg_body_free(const fz_allocator *mem, struct neg_body *body);

/* The prefix of a frame with len bytes of body. */
void neg_prefix_encode(uint8_t out[NEG_PREFIX_LEN], uint32_t len);

/*
 * Makes a frame of n bytes of body. Returns TOO_LARGE without reading the body,
 * or NOMEM. *ret_frame (4 + n bytes) is freed by the allocator; untouched on error.
 */
enum neg_err neg_write_frame(const fz_allocator *mem, const void *body, size_t n,
                             uint8_t **ret_frame);

/*
 * Parses a body: the shape only, see neg_request_validate(). Returns OK, JSON or
 * NOMEM; on error *ret_request is all zero and nothing is allocated. fault may
 * be NULL; it is written for JSON only. Released by neg_request_clear().
 */
enum neg_err neg_request_from_slice(const fz_allocator *mem, const void *body, size_t n,
                                    struct neg_request *ret_request, struct neg_fault *fault);

/*
 * Whether a request can be served: the carriage must be "raw", cmd must name a
 * program, no string that reaches a system call holds a NUL, and the backend is
 * one of names (NULL ends). *ret_why is a constant that says what is wrong, for
 * NEG_ACCEPTED NULL.
 */
enum neg_verdict neg_request_validate(const struct neg_request *rq, const char *const *names,
                                      const char **ret_why);

/* Writes the request in compact JSON, keys in fixed order, what is absent or
 * empty and optional left out. Returns OK or NOMEM; *ret_json is freed by the
 * allocator and has no NUL behind it. */
enum neg_err neg_request_to_json(const fz_allocator *mem, const struct neg_request *rq,
                                 char **ret_json, size_t *ret_len);

void neg_request_clear(const fz_allocator *mem, struct neg_request *rq);

/*
 * Makes the frame of an error response. Of the detail every byte that is not
 * part of valid UTF-8 becomes U+FFFD, then it is cut to NEG_DETAIL_MAX bytes
 * between two characters. Returns the length of the frame, always below
 * NEG_ERROR_FRAME_MAX, or 0 when out of memory; *ret_frame is freed by the allocator.
 */
size_t neg_error_response(const fz_allocator *mem, enum neg_error_kind kind, const char *detail,
                          size_t n, uint8_t **ret_frame);

#endif
