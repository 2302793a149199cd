/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input as a refusal: the low bits of its first byte are the kind, what is
 * behind it the detail. And the checks that are made once, at start.
 */
#include <pthread.h>
#include <string.h>

#include "neg_checks.h"

#define SELF_TEST_STACK 65536u /* bytes */
#define SELF_TEST_DEPTH 128u

/* N12: any JSON reader finds the two members, of which it knows the keys. */
static bool members_are(const uint8_t *body, size_t n, const char *second)
{
    struct json_reader r;
    struct json_span span;
    bool ok;

    json_reader_init(&r, body, n);
    ok = json_object_open(&r) && json_object_next(&r, &span) && json_span_equals(&span, "error") &&
         json_string(&r, &span) && json_object_next(&r, &span) && json_span_equals(&span, second) &&
         json_string(&r, &span) && !json_object_next(&r, &span) && json_end(&r);
    return ok && r.err == JSON_OK;
}

/* N15: the response that runs out of memory is none, and nothing stays. */
static void check_nomem(enum neg_error_kind kind, const char *detail, size_t n, uint64_t k)
{
    size_t live = fz_alloc_stats()->live_bytes;
    uint8_t *frame = NULL;
    size_t len;

    fz_alloc_fail_at((int64_t)k);
    len = neg_error_response(fz_mem(), kind, detail, n, &frame);
    fz_alloc_fail_at(-1);
    if (len != 0 || frame != NULL || fz_alloc_stats()->live_bytes != live)
        fz_note(15, "allocation %llu of an error response fails: length %zu", (unsigned long long)k,
                len);
    fz_mem()->free(fz_mem()->ctx, frame);
}

void neg_check_error(const uint8_t *d, size_t n, uint64_t h)
{
    enum neg_error_kind kind = (enum neg_error_kind)(d[0] & 3);
    const char *detail = (const char *)d + 1;
    uint8_t want[NEG_DETAIL_MAX];
    size_t want_len = neg_oracle_detail(d + 1, n - 1, want);
    uint8_t *frame = NULL;
    struct neg_body b = {0};
    uint64_t calls;
    size_t len;

    fz_alloc_mark();
    len = neg_error_response(fz_mem(), kind, detail, n - 1, &frame);
    calls = fz_alloc_stats()->calls;
    fz_trace(frame, len);
    if (len <= NEG_PREFIX_LEN || len >= 8192) {
        fz_note(12, "an error response of %zu bytes", len);
    } else {
        fz_reach_mute();
        if (neg_frame_take(frame, len, false, &b) == NEG_OK &&
            (!neg_oracle_error_body(b.data, b.len, kind, want, want_len) ||
             !members_are(b.data, b.len, kind == NEG_UNKNOWN_BACKEND ? "backend" : "message")))
            fz_note(12, "error response %d of %zu bytes of detail is not as documented", kind,
                    n - 1);
        neg_body_free(fz_mem(), &b);
        if (calls > 0)
            check_nomem(kind, detail, n - 1, h % calls);
        fz_reach_unmute();
    }
    fz_mem()->free(fz_mem()->ctx, frame);
}

/* ---- At start -------------------------------------------------------------------------- */

/* N11: the first length whose prefix could be taken for a chunk of stdout is the
 * maximum itself. */
static void boundary_test(void)
{
    uint8_t at_max[NEG_PREFIX_LEN];
    uint8_t below[NEG_PREFIX_LEN];
    uint32_t least = 1;

    while (least >> 24 == 0)
        least <<= 1;
    neg_prefix_encode(at_max, NEG_MAX_LEN);
    neg_prefix_encode(below, NEG_MAX_LEN - 1);
    if (memcmp(at_max, "\x01\x00\x00\x00", sizeof(at_max)) != 0 || below[0] != 0 ||
        least != NEG_MAX_LEN)
        fz_fail(FZ_INTERNAL, "SELFTEST",
                "N11: the longest frame has length 0x%x and begins with %02x, one byte less with "
                "%02x; the least length that begins with a chunk type is 0x%x",
                NEG_MAX_LEN, at_max[0], below[0], least);
}

/* The maximum itself is admitted; the source then ends. */
static void limit_test(void)
{
    static const uint8_t prefix[] = {0x01, 0x00, 0x00, 0x00};
    struct neg_source s = {.d = prefix, .n = sizeof(prefix)};
    struct neg_reader r;
    struct neg_body b;
    enum neg_err err;

    neg_reader_init(&r, (struct neg_src){neg_source_read, &s}, fz_mem());
    err = neg_read_frame(&r, &b);
    neg_body_free(fz_mem(), &b);
    if (err != NEG_E_CLOSED)
        fz_fail(FZ_INTERNAL, "SELFTEST", "N2: a frame of the maximum: error %d", err);
}

/* A request with an unknown member so deep that the whole has levels levels. */
static size_t deep_request(char *out, size_t levels)
{
    static const char head[] = "{\"carriage\":\"raw\",\"backend\":\"local\",\"cmd\":[\"x\"],\"x\":";
    size_t arrays = levels - 1;
    size_t n = sizeof(head) - 1;

    memcpy(out, head, n);
    memset(out + n, '[', arrays);
    memset(out + n + arrays, ']', arrays);
    out[n + 2 * arrays] = '}';
    return n + 2 * arrays + 1;
}

static void *deep_parse(void *arg)
{
    enum neg_err *ret = arg;
    char body[512];
    struct neg_request rq;

    *ret = neg_request_from_slice(fz_mem(), body, deep_request(body, SELF_TEST_DEPTH), &rq, NULL);
    neg_request_clear(fz_mem(), &rq);
    return NULL;
}

/* N14: the deepest request that is accepted does not need much of a stack. */
static void depth_test(void)
{
    enum neg_err err = NEG_E_IO;
    pthread_attr_t attr;
    pthread_t thread;

    if (pthread_attr_init(&attr) != 0 || pthread_attr_setstacksize(&attr, SELF_TEST_STACK) != 0 ||
        pthread_create(&thread, &attr, deep_parse, &err) != 0)
        fz_fail(FZ_INTERNAL, "SELFTEST", "N14: no thread of %u bytes of stack", SELF_TEST_STACK);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    if (err != NEG_OK)
        fz_fail(FZ_INTERNAL, "SELFTEST", "N14: %u levels: error %d", SELF_TEST_DEPTH, err);
}

void neg_self_test(void)
{
    boundary_test();
    limit_test();
    depth_test();
}
