/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the control protocol: split at any place, bounded, and nothing but versioned JSON objects believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "ctl/proto.h"

static const char two[] = "{\"version\":1,\"id\":1,\"verb\":\"ping\"}\n{\"version\":1,\"id\":2}\n";

static void proto_takes_lines_cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= sizeof two - 1; cut++) {
        struct proto_buf b = {0};
        json_t *j = NULL;
        int seen = 0;

        for (int part = 0; part < 2; part++) {
            const char *p = part == 0 ? two : two + cut;
            size_t n = part == 0 ? cut : sizeof two - 1 - cut;

            assert_int_equal(proto_buf_add(&b, p, n), 0);
            while (proto_buf_next(&b, &j) == 1) {
                assert_int_equal(json_integer_value(json_object_get(j, "id")), ++seen);
                json_decref(j);
            }
        }
        assert_int_equal(seen, 2);
        assert_int_equal(b.used, 0);
        proto_buf_clear(&b);
    }
}

static int next_of(const char *line, size_t size)
{
    struct proto_buf b = {0};
    json_t *j = NULL;

    assert_int_equal(proto_buf_add(&b, line, size), 0);
    int rc = proto_buf_next(&b, &j);
    if (rc == 1)
        json_decref(j);
    proto_buf_clear(&b);
    return rc;
}

static void proto_refuses_what_is_no_versioned_object(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int want;
    } cases[] = {
        {"\n", -EBADMSG},
        {"[1]\n", -EBADMSG},
        {"{\"version\":1\n", -EBADMSG},
        {"{\"version\":1}x\n", -EBADMSG},
        {"{\"version\":1,\"version\":1}\n", -EBADMSG},
        {"\"version\"\n", -EBADMSG},
        {"{}\n", -EPROTO},
        {"{\"version\":2}\n", -EPROTO},
        {"{\"version\":\"1\"}\n", -EPROTO},
        {"{\"version\":1.0}\n", -EPROTO},
        {"{\"version\":1}\n", 1},
        {"{\"version\":1}", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(next_of(cases[i].line, strlen(cases[i].line)), cases[i].want);
    static const char nul[] = "{\"version\":1,\"a\":\"\0\"}\n";
    assert_int_equal(next_of(nul, sizeof nul - 1), -EBADMSG);
}

static void proto_refuses_nesting_that_would_eat_the_stack(void **state)
{
    (void)state;
    size_t depth = 1u << 20;
    char *line = xmalloc(depth + 1);

    memset(line, '[', depth);
    line[depth] = '\n';
    assert_int_equal(next_of(line, depth + 1), -EBADMSG);
    free(line);
}

static void proto_bounds_a_line(void **state)
{
    (void)state;
    struct proto_buf b = {0};
    char *chunk = xcalloc(1, 1u << 20);
    int rc = 0, n = 0;

    memset(chunk, 'a', 1u << 20);
    while ((rc = proto_buf_add(&b, chunk, 1u << 20)) == 0)
        n++;
    assert_int_equal(rc, -E2BIG);
    assert_int_equal(n, PROTO_MAX_LINE >> 20);
    assert_int_equal(proto_buf_add(&b, chunk, SIZE_MAX), -E2BIG);
    proto_buf_clear(&b);
    free(chunk);
}

/* Looking through the whole line at each byte would take minutes here. */
static void a_long_line_in_single_bytes_is_read_in_time(void **state)
{
    const size_t size = 2u << 20;
    struct proto_buf b = {0};
    json_t *j = NULL;
    clock_t start = clock();

    (void)state;
    assert_int_equal(proto_buf_add(&b, "{\"version\":1,\"a\":\"", 18), 0);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(proto_buf_add(&b, "x", 1), 0);
        assert_int_equal(proto_buf_next(&b, &j), 0);
    }
    assert_int_equal(proto_buf_add(&b, "\"}\n{", 4), 0);
    assert_int_equal(proto_buf_next(&b, &j), 1);
    assert_int_equal(json_string_length(json_object_get(j, "a")), size);
    assert_int_equal(b.used, 1);
    json_decref(j);
    assert_int_equal(proto_buf_next(&b, &j), 0);
    assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
    proto_buf_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_line_in_single_bytes_is_read_in_time),
        cmocka_unit_test(proto_takes_lines_cut_at_every_byte),
        cmocka_unit_test(proto_refuses_what_is_no_versioned_object),
        cmocka_unit_test(proto_refuses_nesting_that_would_eat_the_stack),
        cmocka_unit_test(proto_bounds_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
