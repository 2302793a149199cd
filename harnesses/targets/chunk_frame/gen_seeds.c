/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds of chunk_frame: 132 inputs that touch every row of the format's
 * table, and three minimal ones from which a planted bug is still quiet.
 */
#include <stdio.h>
#include <string.h>

#include "sdk/seedgen.h"

#define MAX_LEN  0x01000000u
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char seed_target[] = "chunk_frame";

static const char *const type_names[] = {"stdin", "stdout", "stderr", "ctrl-in", "ctrl-out"};

struct buf {
    uint8_t d[65536];
    size_t n;
};
static struct buf b;

static void put_header(uint8_t type, uint32_t len)
{
    const uint8_t h[5] = {type, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                          (uint8_t)len};

    memcpy(b.d + b.n, h, sizeof(h));
    b.n += sizeof(h);
}

/* Payload bytes tell their place, so that a shift by one shows. */
static void put_payload(uint8_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b.d[b.n++] = (uint8_t)(first + i * 7);
}

static void put_chunk(uint8_t type, uint32_t len)
{
    put_header(type, len);
    put_payload((uint8_t)(0x41 + type), len);
}

#define EMIT(...)                                                                                  \
    do {                                                                                           \
        seed_add("", b.d, b.n, __VA_ARGS__);                                                       \
        b.n = 0;                                                                                   \
    } while (0)

static void single_chunks(void)
{
    static const uint32_t lens[] = {0, 1, 2, 5, 255, 256, 4096};

    for (uint8_t type = 0; type < 5; type++) {
        for (size_t i = 0; i < COUNT(lens); i++) {
            put_chunk(type, lens[i]);
            EMIT("%s-len-%u", type_names[type], lens[i]);
        }
    }
}

static void truncations(void)
{
    EMIT("empty");
    for (uint8_t type = 0; type < 5; type++) {
        for (size_t n = 1; n <= 4; n++) {
            put_header(type, 3);
            b.n = n;
            EMIT("%s-header-cut-%zu", type_names[type], n);
        }
    }
    for (size_t n = 0; n < 8; n++) {
        put_header(1, 8);
        put_payload(0x61, n);
        EMIT("stdout-body-%zu-of-8", n);
    }
}

static void lengths(void)
{
    static const uint32_t lens[] = {MAX_LEN - 1, MAX_LEN,     MAX_LEN + 1,
                                    0x7fffffffu, 0x80000000u, 0xffffffffu};
    static const uint8_t bad_types[] = {5, 6, 7, 8, 0x10, 0x7f, 0x80, 0xff};
    static const uint32_t bad_lens[] = {0, 1, MAX_LEN + 1};

    for (uint8_t type = 0; type < 5; type++) {
        for (size_t i = 0; i < COUNT(lens); i++) {
            put_header(type, lens[i]);
            EMIT("%s-header-len-%08x", type_names[type], lens[i]);
        }
    }
    for (size_t t = 0; t < COUNT(bad_types); t++) {
        for (size_t i = 0; i < COUNT(bad_lens); i++) {
            put_header(bad_types[t], bad_lens[i]);
            if (bad_lens[i] == 1)
                put_payload(0x21, 1);
            EMIT("type-%02x-len-%08x", bad_types[t], bad_lens[i]);
        }
    }
}

static void streams(void)
{
    for (uint8_t type = 0; type < 5; type++)
        put_chunk(type, 3u + type);
    EMIT("stream-all-types");
    put_chunk(1, 4);
    put_chunk(1, 0);
    put_chunk(4, 6);
    EMIT("stream-sentinel-between");
    put_chunk(2, 5);
    put_header(1, 12);
    put_payload(0x30, 7);
    EMIT("stream-partial-tail");
    for (int i = 0; i < 64; i++)
        put_chunk((uint8_t)(i % 5), 0);
    EMIT("stream-64-empty");
    put_chunk(3, 6);
    put_chunk(3, 6);
    EMIT("stream-same-type-twice");
    put_chunk(0, 8192);
    put_chunk(0, 1);
    EMIT("stream-big-and-small");
}

/* What a caller meets that peeks before it reads. */
static void peeks(void)
{
    put_chunk(4, 0);
    EMIT("peek-then-end");
    put_header(2, 16);
    b.n = 1;
    EMIT("peek-then-truncated");
    put_header(9, 2);
    put_payload(0x50, 2);
    EMIT("peek-invalid-type");
    put_chunk(1, 2);
    put_header(3, 1);
    b.n -= 4;
    EMIT("peek-at-second-chunk");
    put_chunk(0, 3);
    put_chunk(2, 2);
    EMIT("peek-valid-twice");
}

/* Frames of the negotiation codec: a length prefix, so the first byte is 0. */
static void error_frames(void)
{
    static const char *const bodies[] = {
        "{\"error\":\"unknown_backend\",\"backend\":\"ssh\"}",
        "{\"error\":\"malformed_negotiation\",\"message\":\"cmd is empty\"}",
        "{\"error\":\"allocate_failed\",\"message\":\"\"}",
    };
    static const char *const names[] = {"unknown-backend", "malformed", "allocate-failed"};

    for (size_t i = 0; i < COUNT(bodies); i++) {
        size_t n = strlen(bodies[i]);
        const uint8_t prefix[4] = {0, 0, (uint8_t)(n >> 8), (uint8_t)n};

        memcpy(b.d, prefix, sizeof(prefix));
        memcpy(b.d + sizeof(prefix), bodies[i], n);
        b.n = sizeof(prefix) + n;
        EMIT("error-frame-%s", names[i]);
    }
}

void seeds_generate(void)
{
    single_chunks();
    truncations();
    lengths();
    streams();
    peeks();
    error_frames();

    seed_add("-min", "\x01", 1, "one-byte");
    seed_add("-min", "\x00\x00\x00", 3, "three-zeros");
    seed_add("-min", "\x04\x00", 2, "two-bytes");
}
