/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations and bytes: the exact operations of each committed seed, and what any
 * bytes decode to. The seeds' lists are written by hand from what each is to show,
 * not from its bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sdk/fz_inputs.h"
#include "targets/session_opseq/ops.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* `sched knobs-in-hex` and each operation with its fields. */
static void print(const struct opseq *q, char *text, size_t size)
{
    static const char *const names[OP_TAG_COUNT] = {
        "write",  "shutdown", "barrier", "control", "read", "stdout",
        "stderr", "eof",      "exit",    "fail",    "drop", "yield",
    };
    FILE *f = fmemopen(text, size, "w");

    assert_non_null(f);
    fprintf(f, "%u %02x:", q->sched, q->knobs);
    for (size_t i = 0; i < q->count; i++) {
        const struct op *op = &q->ops[i];

        fprintf(f, " %s", names[op->tag]);
        switch (op_field_len(op->tag)) {
        case 1:
            fprintf(f, " %u", op->f[0]);
            break;
        case 3:
            fprintf(f, " %u %u", op_u16(op, 0), op->f[2]);
            break;
        case 4:
            fprintf(f, " %d", op_i32(op, 0));
            break;
        case 5:
            fprintf(f, " %u %u %u", op->f[0], op_u16(op, 1), op_u16(op, 3));
            break;
        default:
            break;
        }
    }
    fclose(f);
}

static const struct {
    const char *name;
    const char *want;
} seeds[] = {
    {"000-echo-exit-0", "0 0a: write 5 97 yield 1 stdout 5 97 read 0 exit 0"},
    {"001-stdin-shutdown-exit", "1 09: write 300 16 write 20 128 shutdown yield 3 exit 0"},
    {"002-barrier-ping-pong",
     "2 24: write 40 1 barrier 33 stdout 40 2 read 0 write 1 3 barrier 63 stdout 100 4 read 1 "
     "control 0 132 43 barrier 46 exit 3"},
    {"003-resize-signal-eof",
     "3 05: control 0 80 24 control 1 5 0 control 0 65535 0 control 3 0 0 control 1 10 0 yield 15 "
     "exit 143"},
    {"004-stdout-eof-exit-7", "4 0e: stdout 1000 120 stdout 24 121 eof 0 exit 7"},
    {"005-stderr-only", "0 09: stderr 600 101 yield 2 stderr 1 102 eof 1 exit 1"},
    {"006-exit-fail", "1 08: stdout 100 0 fail exit 5 yield 3"},
    {"007-exit-drop", "2 0c: stderr 3 0 drop fail read 15"},
    {"008-no-exit-kill", "3 1a: write 100 0 stdout 200 0 yield 2"},
    {"009-32k-through-ring-64-quantum-1",
     "4 00: stdout 4096 0 stdout 4096 1 stdout 4096 2 stdout 4096 3 stdout 4096 4 stdout 4096 5 "
     "stdout 4096 6 stdout 4096 7 eof 0 exit -2147483648"},
    {"010-write-after-exit", "0 0e: stdout 10 111 exit 9 yield 9 write 4 119 read 3"},
    {"011-after-shutdown-bad-control-bad-type",
     "1 09: write 2 0 shutdown write 2 2 control 4 4 0 control 2 0 0 control 5 2 9 control 6 0 0 "
     "yield 5 control 7 0 0"},
};

static void each_seed_decodes_to_its_operations(void **state)
{
    struct fz_inputs in = {0};

    (void)state;
    assert_int_equal(fz_inputs_add(&in, "seeds/session_opseq"), 0);
    assert_int_equal(in.count, COUNT(seeds));
    fz_inputs_clear(&in);
    for (size_t i = 0; i < COUNT(seeds); i++) {
        uint8_t d[OPS_BYTES_MAX + 1];
        uint8_t again[OPS_BYTES_MAX];
        char path[256];
        char text[1024];
        struct opseq q;
        size_t n = 0;

        snprintf(path, sizeof(path), "seeds/session_opseq/%s", seeds[i].name);
        assert_int_equal(fz_input_read(path, d, sizeof(d), &n), 0);
        ops_decode(d, n, &q);
        print(&q, text, sizeof(text));
        assert_string_equal(text, seeds[i].want);
        assert_int_equal(ops_encode(&q, again, sizeof(again)), n);
        assert_memory_equal(again, d, n);
    }
}

static void decoded(const char *d, size_t n, const char *want)
{
    struct opseq q;
    char text[256];

    ops_decode((const uint8_t *)d, n, &q);
    print(&q, text, sizeof(text));
    assert_string_equal(text, want);
}

static void fields_past_the_end_are_zero(void **state)
{
    (void)state;
    decoded("", 0, "0 00:");
    decoded("\x09", 1, "9 00:");
    decoded("\x09\xff", 2, "9 ff:");
    decoded("\0\0\x00", 3, "0 00: write 0 0");
    decoded("\0\0\x00\x05", 4, "0 00: write 5 0");
    decoded("\0\0\x08\x01\x02\x03", 6, "0 00: exit 197121");
    decoded("\0\0\x03\x07", 4, "0 00: control 7 0 0");
}

static void a_tag_counts_modulo_twelve(void **state)
{
    (void)state;
    decoded("\0\0\x0c\x05\x00\x01\xfe\x02\xfe", 9, "0 00: write 5 1 barrier 2 barrier 0");
    decoded("\0\0\x0b\xff\x17\x01", 6, "0 00: yield 255 yield 1");
}

static void what_follows_128_operations_is_ignored(void **state)
{
    uint8_t d[2 + OPS_MAX + 40];
    struct opseq q;

    (void)state;
    memset(d, OP_EXIT_FAIL, sizeof(d));
    ops_decode(d, sizeof(d), &q);
    assert_int_equal(q.count, OPS_MAX);
}

static void encoding_leaves_out_what_does_not_fit(void **state)
{
    struct opseq q = {.sched = 3,
                      .knobs = 4,
                      .count = 2,
                      .ops = {{.tag = OP_YIELD, .f = {7}}, {.tag = OP_EXIT_RESOLVE, .f = {1}}}};
    static const uint8_t want[] = {3, 4, OP_YIELD, 7, OP_EXIT_RESOLVE, 1, 0, 0, 0};
    static const size_t fits[] = {0, 1, 2, 2, 4, 4, 4, 4, 4, 9};

    (void)state;
    for (size_t size = 0; size < COUNT(fits); size++) {
        uint8_t d[16];

        memset(d, 0xee, sizeof(d));
        assert_int_equal(ops_encode(&q, d, size), fits[size]);
        assert_memory_equal(d, want, fits[size]);
        assert_int_equal(d[size], 0xee);
    }
}

static void knobs_are_ring_quantum_end_and_split(void **state)
{
    static const size_t rings[] = {64, 256, 4096, 65536};
    static const size_t quanta[] = {1, 7, 256, 4096};

    (void)state;
    for (unsigned k = 0; k < 256; k++) {
        assert_int_equal(knobs_ring_bytes((uint8_t)k), rings[k % 4]);
        assert_int_equal(knobs_quantum((uint8_t)k), quanta[k / 4 % 4]);
        assert_int_equal(knobs_abrupt((uint8_t)k), k / 16 % 2);
        assert_int_equal(knobs_split((uint8_t)k), k / 32 % 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_seed_decodes_to_its_operations),
        cmocka_unit_test(fields_past_the_end_are_zero),
        cmocka_unit_test(a_tag_counts_modulo_twelve),
        cmocka_unit_test(what_follows_128_operations_is_ignored),
        cmocka_unit_test(encoding_leaves_out_what_does_not_fit),
        cmocka_unit_test(knobs_are_ring_quantum_end_and_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
