/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as text and back, and every text that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "base/base64.h"

/* Source: RFC 4648, section 10. */
static const char *const pairs[][2] = {{"", ""},
                                       {"f", "Zg=="},
                                       {"fo", "Zm8="},
                                       {"foo", "Zm9v"},
                                       {"foob", "Zm9vYg=="},
                                       {"fooba", "Zm9vYmE="},
                                       {"foobar", "Zm9vYmFy"}};

static void the_vectors_of_the_rfc_go_both_ways(void **ctx)
{
    (void)ctx;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const size_t n = strlen(pairs[i][0]);
        char *text = base64_encode(pairs[i][0], n);
        uint8_t *data = NULL;
        size_t size = 99;

        assert_string_equal(text, pairs[i][1]);
        assert_int_equal(base64_decode(text, strlen(text), 6, &data, &size), 0);
        assert_int_equal(size, n);
        assert_memory_equal(data, pairs[i][0], n);
        free(data);
        free(text);
    }
}

static void every_byte_survives_at_every_length(void **ctx)
{
    uint8_t in[300];

    (void)ctx;
    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t n = 0; n <= sizeof(in); n++) {
        char *text = base64_encode(in, n);
        uint8_t *out = NULL;
        size_t size = 0;

        assert_int_equal(base64_decode(text, strlen(text), n, &out, &size), 0);
        assert_int_equal(size, n);
        assert_memory_equal(in, out, n);
        free(out);
        free(text);
    }
}

static void what_is_no_such_text_is_refused(void **ctx)
{
    static const char *const bad[] = {"Z",    "Zg",       "Zg=",   "Z===", "====",
                                      "=g==", "Zg=a",     "Zh==",  "Zm9=", "Zm9\n",
                                      "Z m9", "Zg==Zg==", "Zm9v=", "-_-_", "Zm9v\n"};
    uint8_t *data = NULL;
    size_t size = 7;

    (void)ctx;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(base64_decode(bad[i], strlen(bad[i]), 100, &data, &size), -EINVAL);
    assert_int_equal(base64_decode("Z\0==", 4, 100, &data, &size), -EINVAL);
    assert_int_equal(base64_decode("Zm9v", 4, 2, &data, &size), -EFBIG);
    assert_null(data);
    assert_int_equal(size, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc_go_both_ways),
        cmocka_unit_test(every_byte_survives_at_every_length),
        cmocka_unit_test(what_is_no_such_text_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
