/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, durations, sizes and cores: what is taken, what is refused, and that what
 * is printed reads back to the same value.
 */
#include "base/parse.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void durations_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        int rc;
        int64_t ms;
    } rows[] = {
        {"500ms", 0, 500},
        {"10s", 0, 10000},
        {"10m", 0, 600000},
        {"1h30m", 0, 5400000},
        {"2d", 0, 172800000},
        {"90", 0, 90000},
        {"0", 0, 0},
        {"1d1h1m1s1ms", 0, 90061001},
        {"90m", 0, 5400000},
        {"3650d", 0, INT64_C(315360000000)},
        {"3650d1ms", -ERANGE, 0},
        {"99999999999999999999s", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"10q", -EINVAL, 0},
        {"1m1h", -EINVAL, 0},
        {"1h1h", -EINVAL, 0},
        {"1h30", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"+1s", -EINVAL, 0},
        {" 1s", -EINVAL, 0},
        {"1s ", -EINVAL, 0},
        {"1 s", -EINVAL, 0},
        {"1.5h", -EINVAL, 0},
        {"1H", -EINVAL, 0},
        {"99999999999999999999q", -EINVAL, 0},
    };
    for (size_t i = 0; i < LEN(rows); i++) {
        int64_t ms = -7;
        if (parse_duration_ms(rows[i].s, &ms) != rows[i].rc)
            fail_msg("\"%s\": wrong status", rows[i].s);
        if (ms != (rows[i].rc == 0 ? rows[i].ms : -7))
            fail_msg("\"%s\": %lld", rows[i].s, (long long)ms);
    }
}

static void sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        int rc;
        int64_t n;
    } rows[] = {
        {"4096", 0, 4096},
        {"0", 0, 0},
        {"8M", 0, 8 << 20},
        {"2G", 0, INT64_C(2) << 30},
        {"512K", 0, 512 << 10},
        {"1T", 0, INT64_C(1) << 40},
        {"2GB", 0, INT64_C(2) << 30},
        {"2GiB", 0, INT64_C(2) << 30},
        {"12B", 0, 12},
        {"4611686018427387904", 0, INT64_C(1) << 62},
        {"4611686018427387905", -ERANGE, 0},
        {"4194304T", 0, INT64_C(1) << 62},
        {"4194305T", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"2Q", -EINVAL, 0},
        {"2g", -EINVAL, 0},
        {"2iB", -EINVAL, 0},
        {"2Gi", -EINVAL, 0},
        {"G", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"1.5G", -EINVAL, 0},
        {"2 G", -EINVAL, 0},
    };
    for (size_t i = 0; i < LEN(rows); i++) {
        int64_t n = -7;
        if (parse_size_bytes(rows[i].s, &n) != rows[i].rc)
            fail_msg("\"%s\": wrong status", rows[i].s);
        if (n != (rows[i].rc == 0 ? rows[i].n : -7))
            fail_msg("\"%s\": %lld", rows[i].s, (long long)n);
    }
}

static void cores_are_counted_on_this_host(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        int cpus, rc, cores;
    } rows[] = {
        {"2", 8, 0, 2},
        {"3", 2, 0, 3},
        {"all", 8, 0, 8},
        {"all-1", 8, 0, 7},
        {"all-1", 1, 0, 1},
        {"all-99", 8, 0, 1},
        {"50%", 8, 0, 4},
        {"50%", 3, 0, 1},
        {"1%", 8, 0, 1},
        {"100%", 8, 0, 8},
        {"101%", 8, -ERANGE, 0},
        {"0%", 8, -ERANGE, 0},
        {"0", 8, -ERANGE, 0},
        {"", 8, -EINVAL, 0},
        {"all-", 8, -EINVAL, 0},
        {"all+1", 8, -EINVAL, 0},
        {"all-1x", 8, -EINVAL, 0},
        {"ALL", 8, -EINVAL, 0},
        {"-1", 8, -EINVAL, 0},
        {"50%%", 8, -EINVAL, 0},
        {"999999", 8, -ERANGE, 0},
        {"all", 0, 0, 1},
        {"all-99999999", 8, -ERANGE, 0},
        {"99999999999999999999%", 8, -ERANGE, 0},
    };
    for (size_t i = 0; i < LEN(rows); i++) {
        int n = -7;
        if (parse_cores(rows[i].s, rows[i].cpus, &n) != rows[i].rc)
            fail_msg("\"%s\": wrong status", rows[i].s);
        if (n != (rows[i].rc == 0 ? rows[i].cores : -7))
            fail_msg("\"%s\" of %d: %d", rows[i].s, rows[i].cpus, n);
    }
}

static void whole_numbers_have_an_upper_bound(void **state)
{
    (void)state;
    uint64_t n = 7;
    assert_int_equal(parse_u64("18446744073709551615", UINT64_MAX, &n), 0);
    assert_true(n == UINT64_MAX);
    assert_int_equal(parse_u64("18446744073709551616", UINT64_MAX, &n), -ERANGE);
    assert_int_equal(parse_u64("11", 10, &n), -ERANGE);
    assert_int_equal(parse_u64("11x", 10, &n), -EINVAL);
    assert_int_equal(parse_u64("", 10, &n), -EINVAL);
    assert_int_equal(parse_u64("-0", 10, &n), -EINVAL);
    assert_true(n == UINT64_MAX);
    assert_int_equal(parse_u64("007", 10, &n), 0);
    assert_int_equal(n, 7);
}

static void what_is_printed_reads_back(void **state)
{
    (void)state;
    char buf[32];
    static const int64_t values[] = {0,     1,       499,      500,       1000,       59999,
                                     60000, 5400000, 86400000, 172801001, 31536000000};
    for (size_t i = 0; i < LEN(values); i++) {
        int64_t back = -1;
        assert_int_equal(parse_duration_ms(format_duration(buf, sizeof(buf), values[i]), &back), 0);
        assert_true(back == values[i]);
        assert_int_equal(parse_size_bytes(format_size(buf, sizeof(buf), values[i] * 1024), &back),
                         0);
        assert_true(back == values[i] * 1024);
    }
    assert_string_equal(format_duration(buf, sizeof(buf), 5400000), "1h30m");
    assert_string_equal(format_duration(buf, sizeof(buf), 500), "500ms");
    assert_string_equal(format_duration(buf, sizeof(buf), 0), "0s");
    assert_string_equal(format_size(buf, sizeof(buf), INT64_C(2) << 30), "2G");
    assert_string_equal(format_size(buf, sizeof(buf), 4097), "4097");
    assert_string_equal(format_size(buf, sizeof(buf), INT64_C(1) << 62), "4194304T");
}

static void counts_are_shown_with_three_digits(void **state)
{
    (void)state;
    static const struct {
        double n;
        const char *want;
    } rows[] = {{0, "0"},           {7, "7"},           {0.5, "0.50"},     {12.34, "12.3"},
                {999, "999"},       {999.7, "1.00k"},   {1000, "1.00k"},   {41234, "41.2k"},
                {99950, "100k"},    {999499, "999k"},   {999500, "1.00M"}, {3100000, "3.10M"},
                {9.996e9, "10.0G"}, {-41234, "-41.2k"}, {1e18, "1.00E"}};
    for (size_t i = 0; i < LEN(rows); i++) {
        char buf[32];
        assert_string_equal(format_count(buf, sizeof(buf), rows[i].n), rows[i].want);
    }
}

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(parse_distance("memory", "memory"), 0);
    assert_int_equal(parse_distance("memroy", "memory"), 2);
    assert_int_equal(parse_distance("", "abc"), 3);
    assert_int_equal(parse_distance("abc", ""), 3);
    assert_int_equal(parse_distance("kitten", "sitting"), 3);
    char many[2000];
    memset(many, 'a', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    assert_int_equal(parse_distance(many, many), 0);
    assert_int_equal(parse_distance(many, "b"), 63);
}

static void unprintable_bytes_are_spelt_out(void **state)
{
    (void)state;
    char buf[16];
    assert_string_equal(text_printable(buf, sizeof(buf), "a\x1b[1m"), "a\\x1b[1m");
    assert_string_equal(text_printable(buf, sizeof(buf), "\xc3\xa9"), "\\xc3\\xa9");
    assert_string_equal(text_printable(buf, 6, "ab\x01zz"), "ab");
    assert_string_equal(text_printable(buf, 4, "abcdef"), "abc");
    assert_string_equal(text_printable(buf, 1, "a"), "");
}

static void only_wellformed_utf8_is_text(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "abc", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\x9b", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {
        "\x80", "\xc3",     "\xc0\x80",         "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xff", "\xe2\x82", "\xf0\x80\x80\x80", "a\xc3z"};
    for (size_t i = 0; i < LEN(good); i++)
        assert_true(text_utf8_ok(good[i], strlen(good[i])));
    for (size_t i = 0; i < LEN(bad); i++)
        assert_false(text_utf8_ok(bad[i], strlen(bad[i])));
}

static void bytes_are_shown_with_a_unit(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {{0, "0 bytes"},
                {1, "1 byte"},
                {1023, "1023 bytes"},
                {1024, "1.00 KiB"},
                {12345, "12.1 KiB"},
                {1023 * 1024, "1023 KiB"},
                {1048575, "1.00 MiB"},
                {3670016, "3.50 MiB"},
                {INT64_C(5) << 30, "5.00 GiB"},
                {INT64_C(1) << 60, "1048576 TiB"}};
    char buf[32];
    for (size_t i = 0; i < LEN(rows); i++)
        assert_string_equal(format_bytes(buf, sizeof(buf), rows[i].bytes), rows[i].text);
}

static void one_is_no_plural(void **state)
{
    (void)state;
    assert_string_equal(text_plural(1), "");
    assert_string_equal(text_plural(0), "s");
    assert_string_equal(text_plural(2), "s");
    assert_string_equal(text_plural(-1), "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(cores_are_counted_on_this_host),
        cmocka_unit_test(whole_numbers_have_an_upper_bound),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(counts_are_shown_with_three_digits),
        cmocka_unit_test(bytes_are_shown_with_a_unit),
        cmocka_unit_test(one_is_no_plural),
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(only_wellformed_utf8_is_text),
        cmocka_unit_test(unprintable_bytes_are_spelt_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
