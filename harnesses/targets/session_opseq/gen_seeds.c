/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds of session_opseq: 12 sequences, encoded by hand, each a story of one
 * session; together they reach every required place. A unit test holds the exact
 * operations that each decodes to. The minimal ones are quiet on every plant.
 */
#include "sdk/seedgen.h"

const char seed_target[] = "session_opseq";

/* Tags, and the knobs: ring, quantum, end, split. */
enum { WRITE, SHUTDOWN, BARRIER, CONTROL, READ, OUT, ERR, END, RESOLVE, FAIL, DROP, YIELD };
enum { RING_64 = 0, RING_256 = 1, RING_4K = 2, RING_64K = 3 };
enum { QUANTUM_1 = 0x0, QUANTUM_7 = 0x4, QUANTUM_256 = 0x8, QUANTUM_4K = 0xc };
enum { ABRUPT = 0x10, SPLIT = 0x20 };
enum { RESIZE, SIGNAL, UNKNOWN, CTL_EOF, MALFORMED, IGNORED, BAD_TYPE, TOO_LARGE };

#define U16(v)    (uint8_t)((v)&0xff), (uint8_t)((v) >> 8)
#define I32(v)    U16((uint32_t)(v)&0xffff), U16((uint32_t)(v) >> 16)
#define SEED(...) SET("", __VA_ARGS__)
#define MIN(...)  SET("-min", __VA_ARGS__)
#define SET(set, slug, ...)                                                                        \
    do {                                                                                           \
        static const uint8_t d[] = {__VA_ARGS__};                                                  \
        seed_add(set, d, sizeof(d), slug);                                                         \
    } while (0)

static void main_set(void)
{
    SEED("echo-exit-0", 0, RING_4K | QUANTUM_256, WRITE, U16(5), 'a', YIELD, 1, OUT, U16(5), 'a',
         READ, 0, RESOLVE, I32(0));
    SEED("stdin-shutdown-exit", 1, RING_256 | QUANTUM_256, WRITE, U16(300), 0x10, WRITE, U16(20),
         0x80, SHUTDOWN, YIELD, 3, RESOLVE, I32(0));
    SEED("barrier-ping-pong", 2, RING_64 | QUANTUM_7 | SPLIT, WRITE, U16(40), 1, BARRIER, '!', OUT,
         U16(40), 2, READ, 0, WRITE, U16(1), 3, BARRIER, '?', OUT, U16(100), 4, READ, 1, CONTROL,
         RESIZE, U16(132), U16(43), BARRIER, '.', RESOLVE, I32(3));
    SEED("resize-signal-eof", 3, RING_256 | QUANTUM_7, CONTROL, RESIZE, U16(80), U16(24), CONTROL,
         SIGNAL, U16(5), U16(0), CONTROL, RESIZE, U16(65535), U16(0), CONTROL, CTL_EOF, U16(0),
         U16(0), CONTROL, SIGNAL, U16(10), U16(0), YIELD, 15, RESOLVE, I32(143));
    SEED("stdout-eof-exit-7", 4, RING_4K | QUANTUM_4K, OUT, U16(1000), 'x', OUT, U16(24), 'y', END,
         0, RESOLVE, I32(7));
    SEED("stderr-only", 0, RING_256 | QUANTUM_256, ERR, U16(600), 'e', YIELD, 2, ERR, U16(1), 'f',
         END, 1, RESOLVE, I32(1));
    SEED("exit-fail", 1, RING_64 | QUANTUM_256, OUT, U16(100), 0, FAIL, RESOLVE, I32(5), YIELD, 3);
    SEED("exit-drop", 2, RING_64 | QUANTUM_4K, ERR, U16(3), 0, DROP, FAIL, READ, 15);
    SEED("no-exit-kill", 3, RING_4K | QUANTUM_256 | ABRUPT, WRITE, U16(100), 0, OUT, U16(200), 0,
         YIELD, 2);
    SEED("32k-through-ring-64-quantum-1", 4, RING_64 | QUANTUM_1, OUT, U16(4096), 0, OUT, U16(4096),
         1, OUT, U16(4096), 2, OUT, U16(4096), 3, OUT, U16(4096), 4, OUT, U16(4096), 5, OUT,
         U16(4096), 6, OUT, U16(4096), 7, END, 0, RESOLVE, I32(-2147483647 - 1));
    SEED("write-after-exit", 0, RING_4K | QUANTUM_4K, OUT, U16(10), 'o', RESOLVE, I32(9), YIELD, 9,
         WRITE, U16(4), 'w', READ, 3);
    SEED("after-shutdown-bad-control-bad-type", 1, RING_256 | QUANTUM_256, WRITE, U16(2), 0,
         SHUTDOWN, WRITE, U16(2), 2, CONTROL, MALFORMED, U16(4), U16(0), CONTROL, UNKNOWN, U16(0),
         U16(0), CONTROL, IGNORED, U16(2), U16(9), CONTROL, BAD_TYPE, U16(0), U16(0), YIELD, 5,
         CONTROL, TOO_LARGE, U16(0), U16(0));
}

void seeds_generate(void)
{
    main_set();
    MIN("nothing", 0, 0);
    MIN("echo", 0, RING_4K | QUANTUM_256, WRITE, U16(3), 'a', YIELD, 2, OUT, U16(3), 'a', READ, 0,
        RESOLVE, I32(0));
    MIN("output-end", 1, RING_64 | QUANTUM_256, OUT, U16(20), 'b', ERR, U16(20), 'c', END, 0, YIELD,
        3);
    MIN("control", 2, RING_256 | QUANTUM_256, CONTROL, RESIZE, U16(80), U16(24), YIELD, 1,
        SHUTDOWN);
}
