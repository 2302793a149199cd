/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 8259, written out: each text is tried on the strict reader and on the oracle
 * that judges it, so that the two cannot be wrong together. Then what callers may
 * ask for: integers, spans, members read out of order, text that is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sdk/fz_kit.h"
#include "targets/control_json/oracle.h"
#include "targets/json/json.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct row {
    const char *text;
    size_t n;
    enum json_err err;
    size_t at;
};
#define ROW(text, ...)                                                                             \
    {                                                                                              \
        text, sizeof(text) - 1, __VA_ARGS__                                                        \
    }
#define GOOD(text) ROW(text, JSON_OK, 0)

static const struct row texts[] = {
    /* values, and whitespace around them: these four bytes and no other */
    GOOD("{}"),
    GOOD("[]"),
    GOOD("\"\""),
    GOOD("0"),
    GOOD("true"),
    GOOD("false"),
    GOOD("null"),
    GOOD(" \t\r\n{ \t\r\n} \t\r\n"),
    GOOD("[1 , 2]"),
    GOOD("[[],{},[{}],{\"a\":[]}]"),
    ROW("", JSON_E_END, 0),
    ROW("  ", JSON_E_END, 2),
    ROW("\f1", JSON_E_SYNTAX, 0),
    ROW("\v1", JSON_E_SYNTAX, 0),
    ROW("\xc2\xa0"
        "1",
        JSON_E_SYNTAX, 0),
    ROW("\xef\xbb\xbf{}", JSON_E_SYNTAX, 0), /* a byte order mark */
    ROW("\0", JSON_E_SYNTAX, 0),
    /* literals are these three, whole and in small letters */
    ROW("nul", JSON_E_END, 3),
    ROW("True", JSON_E_SYNTAX, 0),
    ROW("nulL", JSON_E_SYNTAX, 3),
    ROW("NaN", JSON_E_SYNTAX, 0),
    ROW("Infinity", JSON_E_SYNTAX, 0),
    ROW("nullx", JSON_E_TRAILING, 4),
    ROW("undefined", JSON_E_SYNTAX, 0),
    /* nothing behind the value */
    ROW("{}x", JSON_E_TRAILING, 2),
    ROW("{} }", JSON_E_TRAILING, 3),
    ROW("1 2", JSON_E_TRAILING, 2),
    ROW("{}\0", JSON_E_TRAILING, 2),
    ROW("{}//", JSON_E_TRAILING, 2),
    /* punctuation of objects and arrays */
    ROW("{", JSON_E_END, 1),
    ROW("[", JSON_E_END, 1),
    ROW("[1", JSON_E_END, 2),
    ROW("[1,", JSON_E_END, 3),
    ROW("[1,]", JSON_E_SYNTAX, 3),
    ROW("[,1]", JSON_E_SYNTAX, 1),
    ROW("[1,,2]", JSON_E_SYNTAX, 3),
    ROW("[1 2]", JSON_E_SYNTAX, 3),
    ROW("[1}", JSON_E_SYNTAX, 2),
    ROW("]", JSON_E_SYNTAX, 0),
    ROW("{]", JSON_E_SYNTAX, 1),
    ROW("{\"a\"}", JSON_E_SYNTAX, 4),
    ROW("{\"a\" 1}", JSON_E_SYNTAX, 5),
    ROW("{\"a\":}", JSON_E_SYNTAX, 5),
    ROW("{\"a\":1,}", JSON_E_SYNTAX, 7),
    ROW("{,\"a\":1}", JSON_E_SYNTAX, 1),
    ROW("{a:1}", JSON_E_SYNTAX, 1),
    ROW("{1:1}", JSON_E_SYNTAX, 1),
    ROW("{'a':1}", JSON_E_SYNTAX, 1),
    ROW("{\"a\":1 \"b\":2}", JSON_E_SYNTAX, 7),
    ROW("{\"a\":1,\"b\"", JSON_E_END, 10),
    GOOD("{\"\":0}"),
    GOOD("{\"a\":1,\"a\":2}"),
    /* numbers */
    GOOD("-0"),
    GOOD("-1"),
    GOOD("10"),
    GOOD("0.5"),
    GOOD("-0.0"),
    GOOD("1e5"),
    GOOD("1E+5"),
    GOOD("1.25e-5"),
    GOOD("0e0"),
    GOOD("123456789012345678901234567890"),
    ROW("-", JSON_E_NUMBER, 1),
    ROW("+1", JSON_E_SYNTAX, 0),
    ROW(".5", JSON_E_SYNTAX, 0),
    ROW("-.5", JSON_E_NUMBER, 1),
    ROW("01", JSON_E_NUMBER, 0),
    ROW("-01", JSON_E_NUMBER, 1),
    ROW("00", JSON_E_NUMBER, 0),
    ROW("1.", JSON_E_NUMBER, 2),
    ROW("1.e5", JSON_E_NUMBER, 2),
    ROW("1e", JSON_E_NUMBER, 2),
    ROW("1e+", JSON_E_NUMBER, 3),
    ROW("--1", JSON_E_NUMBER, 1),
    ROW("-x", JSON_E_NUMBER, 1),
    ROW("0x10", JSON_E_TRAILING, 1),
    ROW("1_000", JSON_E_TRAILING, 1),
    ROW("-Infinity", JSON_E_NUMBER, 1),
    /* strings and escapes */
    GOOD("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    GOOD("\"\\u0000\\uFFFF\\uabCD\""),
    GOOD("\"\x7f\""),
    GOOD("\"\\ud83d\\ude00\""),
    GOOD("\"\\uD800\\uDC00\\udbff\\udfff\""),
    ROW("\"", JSON_E_END, 1),
    ROW("\"a", JSON_E_END, 2),
    ROW("\"\\\"", JSON_E_END, 3),
    ROW("\"\x1f\"", JSON_E_CONTROL, 1),
    ROW("\"a\nb\"", JSON_E_CONTROL, 2),
    ROW("\"a\0b\"", JSON_E_CONTROL, 2),
    ROW("\"\\", JSON_E_ESCAPE, 1),
    ROW("\"\\x41\"", JSON_E_ESCAPE, 1),
    ROW("\"\\0\"", JSON_E_ESCAPE, 1),
    ROW("\"\\\0\"", JSON_E_ESCAPE, 1),
    ROW("\"\\'\"", JSON_E_ESCAPE, 1),
    ROW("\"\\U0041\"", JSON_E_ESCAPE, 1),
    ROW("\"\\u12\"", JSON_E_ESCAPE, 1),
    ROW("\"\\u12", JSON_E_ESCAPE, 1),
    ROW("\"\\u12g4\"", JSON_E_ESCAPE, 1),
    ROW("\"\\u 123\"", JSON_E_ESCAPE, 1),
    ROW("\"\\ud800\"", JSON_E_ESCAPE, 1),
    ROW("\"\\udc00\"", JSON_E_ESCAPE, 1),
    ROW("\"\\ud800\\u0041\"", JSON_E_ESCAPE, 1),
    ROW("\"\\ud800\\ud800\"", JSON_E_ESCAPE, 1),
    ROW("\"\\ud800\\n\"", JSON_E_ESCAPE, 1),
    ROW("\"\\ud800xudc00\"", JSON_E_ESCAPE, 1),
    ROW("\"\\ude00\\ud83d\"", JSON_E_ESCAPE, 1),
    ROW("\"\\ud83d\\ude0", JSON_E_ESCAPE, 1),
    /* UTF-8: first and last of each length, then what is none */
    GOOD("\"\xc2\x80\xdf\xbf\""),
    GOOD("\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""),
    GOOD("\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
    ROW("\"\x80\"", JSON_E_UTF8, 1),
    ROW("\"\xbf\"", JSON_E_UTF8, 1),
    ROW("\"\xc0\x80\"", JSON_E_UTF8, 1),
    ROW("\"\xc1\xbf\"", JSON_E_UTF8, 1),
    ROW("\"\xe0\x9f\xbf\"", JSON_E_UTF8, 1),
    ROW("\"\xed\xa0\x80\"", JSON_E_UTF8, 1),
    ROW("\"\xed\xbf\xbf\"", JSON_E_UTF8, 1),
    ROW("\"\xf0\x8f\xbf\xbf\"", JSON_E_UTF8, 1),
    ROW("\"\xf4\x90\x80\x80\"", JSON_E_UTF8, 1),
    ROW("\"\xf5\x80\x80\x80\"", JSON_E_UTF8, 1),
    ROW("\"\xff\"", JSON_E_UTF8, 1),
    ROW("\"\xc3\"", JSON_E_UTF8, 1),
    ROW("\"\xc3", JSON_E_UTF8, 1),
    ROW("\"\xe2\x82\"", JSON_E_UTF8, 1),
    ROW("\"\xe2\x82", JSON_E_UTF8, 1),
    ROW("\"\xf0\x9f\x98\"", JSON_E_UTF8, 1),
    ROW("\"\xf0\x9f\x98", JSON_E_UTF8, 1),
    ROW("\"a\xe2\x28\xa1\"", JSON_E_UTF8, 2),
    ROW("{\"\xc0\x80\":1}", JSON_E_UTF8, 2),
};

static struct text oracle;

static enum json_err read_all(const uint8_t *d, size_t n, size_t *at)
{
    struct json_reader r;

    json_reader_init(&r, d, n);
    if (json_skip(&r)) {
        bool ended = json_end(&r);

        assert_int_equal(ended, r.err == JSON_OK);
    }
    *at = r.err_at;
    return r.err;
}

static void reader_and_oracle_follow_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        const struct row *row = &texts[i];
        const uint8_t *d = fz_guarded_copy(row->text, row->n);
        size_t at;
        enum json_err err = read_all(d, row->n, &at);

        if (err != row->err || at != row->at)
            fail_msg("row %zu, %s: error %d at %zu", i, row->text, err, at);
        oracle_text(&oracle, d, row->n);
        if (oracle.json != (row->err == JSON_OK))
            fail_msg("row %zu, %s: the oracle does not agree", i, row->text);
    }
}

/* A text that is good is an error wherever it is cut, and never read past its end. */
static void no_text_is_good_when_it_is_cut(void **state)
{
    static const char whole[] = "{\"k\\u00e9\":[-1.5e+3,\"\xc3\xa9\\ud83d\\ude00\",true,null,{}]}";

    (void)state;
    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        size_t at;

        assert_int_not_equal(read_all(fz_guarded_copy(whole, n), n, &at), JSON_OK);
        assert_true(at <= n);
    }
}

static void nesting_ends_at_128(void **state)
{
    static uint8_t d[4096];

    (void)state;
    for (size_t depth = 127; depth <= 129; depth++) {
        size_t at;

        memset(d, '[', depth);
        memset(d + depth, ']', depth);
        assert_int_equal(read_all(d, 2 * depth, &at), depth > 128 ? JSON_E_DEPTH : JSON_OK);
        assert_int_equal(at, depth > 128 ? 128 : 0);
        oracle_text(&oracle, d, 2 * depth);
        assert_int_equal(oracle.json, depth <= 128);

        for (size_t i = 0; i < depth; i++)
            memcpy(d + i * 5, "{\"a\":", 5);
        d[depth * 5] = '0';
        memset(d + depth * 5 + 1, '}', depth);
        assert_int_equal(read_all(d, depth * 6 + 1, &at), depth > 128 ? JSON_E_DEPTH : JSON_OK);
        oracle_text(&oracle, d, depth * 6 + 1);
        assert_int_equal(oracle.json, depth <= 128);
    }
    /* Width is not depth. */
    d[0] = '[';
    for (size_t i = 0; i < 500; i++)
        memcpy(d + 1 + i * 3, "[],", 3);
    memcpy(d + 1500, "]", 1);
    {
        size_t at;

        assert_int_equal(read_all(d, 1501, &at), JSON_OK);
    }
}

struct number {
    const char *text;
    enum json_err u16;
    enum json_err i32;
    long long value;
};

static const struct number numbers[] = {
    {"0", JSON_OK, JSON_OK, 0},
    {"65535", JSON_OK, JSON_OK, 65535},
    {"65536", JSON_E_RANGE, JSON_OK, 65536},
    {"-1", JSON_E_RANGE, JSON_OK, -1},
    {"2147483647", JSON_E_RANGE, JSON_OK, 2147483647},
    {"2147483648", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"-2147483648", JSON_E_RANGE, JSON_OK, -2147483648LL},
    {"-2147483649", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"4294967296", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"9223372036854775808", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"18446744073709551616", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"18446744073709551617", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"99999999999999999999999999", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"-0", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"1.0", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"1e2", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"0e0", JSON_E_RANGE, JSON_E_RANGE, 0},
    {"00", JSON_E_NUMBER, JSON_E_NUMBER, 0},
    {"-", JSON_E_NUMBER, JSON_E_NUMBER, 0},
    {"\"1\"", JSON_E_TYPE, JSON_E_TYPE, 0},
    {"null", JSON_E_TYPE, JSON_E_TYPE, 0},
    {"true", JSON_E_TYPE, JSON_E_TYPE, 0},
};

static void integers_are_whole_and_in_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++) {
        const struct number *row = &numbers[i];
        size_t n = strlen(row->text);
        const uint8_t *d = fz_guarded_copy(row->text, n);
        struct json_reader r;
        uint16_t u16 = 4711;
        int32_t i32 = 4711;

        json_reader_init(&r, d, n);
        json_u16(&r, &u16);
        assert_int_equal(r.err, row->u16);
        assert_int_equal(u16, row->u16 == JSON_OK ? row->value : 4711);
        json_reader_init(&r, d, n);
        json_i32(&r, &i32);
        assert_int_equal(r.err, row->i32);
        assert_int_equal(i32, row->i32 == JSON_OK ? row->value : 4711);
    }
}

static void the_widest_integers_are_read(void **state)
{
    static const char *const edges[] = {"9223372036854775807", "-9223372036854775808"};
    static const int64_t want[] = {INT64_MAX, INT64_MIN};

    (void)state;
    for (size_t i = 0; i < COUNT(edges); i++) {
        struct json_reader r;
        int64_t v = 0;

        json_reader_init(&r, (const uint8_t *)edges[i], strlen(edges[i]));
        assert_true(json_integer(&r, INT64_MIN, INT64_MAX, &v));
        assert_true(v == want[i]);
    }
}

static void spans_compare_and_copy_unescaped(void **state)
{
    static const char text[] = "\"\\u0061b\\u0000\\ud83d\\ude00\xc3\xa9\\n\"";
    static const char want[] = "ab\0\xf0\x9f\x98\x80\xc3\xa9\n";
    struct json_reader r;
    struct json_span span;
    struct json_str str;

    (void)state;
    json_reader_init(&r, (const uint8_t *)text, sizeof(text) - 1);
    assert_true(json_string(&r, &span));
    assert_true(json_end(&r));
    assert_int_equal(span.len, sizeof(want) - 1);
    assert_true(json_span_equals_bytes(&span, want, sizeof(want) - 1));
    assert_false(json_span_equals_bytes(&span, want, sizeof(want) - 2));
    assert_false(json_span_equals_bytes(&span, "ab\0\xf0\x9f\x98\x80\xc3\xa9\r", 10));
    assert_false(json_span_equals(&span, "ab"));
    assert_true(json_span_copy(&span, fz_mem(), &str));
    assert_int_equal(str.len, sizeof(want) - 1);
    assert_memory_equal(str.s, want, sizeof(want));
    fz_mem()->free(NULL, str.s);
}

static void a_failed_reader_stays_failed(void **state)
{
    static const char text[] = "[x,1]";
    struct json_reader r;
    struct json_span span = {0};
    int64_t v = 4711;
    bool flag = true;

    (void)state;
    json_reader_init(&r, (const uint8_t *)text, sizeof(text) - 1);
    assert_true(json_array_open(&r));
    assert_true(json_array_next(&r));
    assert_false(json_skip(&r));
    assert_int_equal(r.err, JSON_E_SYNTAX);
    assert_int_equal(r.err_at, 1);
    assert_int_equal(json_peek(&r), JSON_NONE);
    assert_false(json_array_next(&r));
    assert_false(json_object_open(&r));
    assert_false(json_object_next(&r, &span));
    assert_false(json_string(&r, &span));
    assert_false(json_integer(&r, 0, 9, &v));
    assert_false(json_bool(&r, &flag));
    assert_false(json_null(&r));
    assert_false(json_skip(&r));
    assert_false(json_end(&r));
    assert_false(json_fail(&r, JSON_E_MISSING, 3));
    assert_int_equal(r.err, JSON_E_SYNTAX);
    assert_int_equal(r.err_at, 1);
    assert_null(span.raw);
    assert_int_equal(v, 4711);
}

static void members_may_be_read_out_of_order(void **state)
{
    static const char text[] = "{\"list\":[1,[2]],\"t\":true,\"f\":false,\"n\":null,\"k\":7}";
    struct json_place places[8];
    struct json_reader r;
    struct json_span key;
    size_t count = 0;
    uint16_t v = 0;
    bool flag = true;

    (void)state;
    json_reader_init(&r, (const uint8_t *)text, sizeof(text) - 1);
    assert_true(json_object_open(&r));
    while (json_object_next(&r, &key)) {
        places[count++] = json_mark(&r);
        assert_true(json_skip(&r));
    }
    assert_true(json_end(&r));
    assert_int_equal(count, 5);
    json_return(&r, places[4]);
    assert_true(json_u16(&r, &v));
    assert_int_equal(v, 7);
    json_return(&r, places[2]);
    assert_true(json_bool(&r, &flag));
    assert_false(flag);
    json_return(&r, places[1]);
    assert_true(json_bool(&r, &flag));
    assert_true(flag);
    json_return(&r, places[3]);
    assert_true(json_null(&r));
    json_return(&r, places[0]);
    assert_true(json_array_open(&r));
    assert_true(json_array_next(&r));
    assert_true(json_u16(&r, &v));
    assert_int_equal(v, 1);
    assert_true(json_array_next(&r));
    assert_true(json_skip(&r));
    assert_false(json_array_next(&r));
    assert_int_equal(r.err, JSON_OK);
}

static void the_writer_escapes_what_it_must(void **state)
{
    static const char in[] = "q\"b\\/\b\f\n\r\t\x01\x1f\x7f\0\xc3\xa9";
    static const char want[] =
        "{\"q\\\"b\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000\xc3\xa9\":-9223372036854775808}";
    struct json_writer w;
    char *out;
    size_t len;

    (void)state;
    json_writer_init(&w, fz_mem());
    json_put(&w, "{");
    json_put_string(&w, in, sizeof(in) - 1);
    json_put(&w, ":");
    json_put_integer(&w, INT64_MIN);
    json_put(&w, "}");
    assert_true(json_writer_take(&w, &out, &len));
    assert_int_equal(len, sizeof(want) - 1);
    assert_memory_equal(out, want, len);
    fz_mem()->free(NULL, out);
    json_writer_clear(&w);
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

static void a_writer_without_memory_fails_and_leaks_nothing(void **state)
{
    char *out = NULL;
    size_t len = 4711;

    (void)state;
    for (int k = 0; k < 3; k++) {
        struct json_writer w;

        json_writer_init(&w, fz_mem());
        fz_alloc_fail_at(k);
        for (int i = 0; i < 100; i++)
            json_put(&w, "0123456789");
        assert_false(json_writer_take(&w, &out, &len));
        fz_alloc_fail_at(-1);
        assert_null(out);
        assert_int_equal(len, 4711);
        assert_int_equal(fz_alloc_stats()->live_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_and_oracle_follow_the_table),
        cmocka_unit_test(no_text_is_good_when_it_is_cut),
        cmocka_unit_test(nesting_ends_at_128),
        cmocka_unit_test(integers_are_whole_and_in_range),
        cmocka_unit_test(the_widest_integers_are_read),
        cmocka_unit_test(spans_compare_and_copy_unescaped),
        cmocka_unit_test(a_failed_reader_stays_failed),
        cmocka_unit_test(members_may_be_read_out_of_order),
        cmocka_unit_test(the_writer_escapes_what_it_must),
        cmocka_unit_test(a_writer_without_memory_fails_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
