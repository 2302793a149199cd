/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the negotiation: what they become, why a body is refused and where,
 * what is served. The verdict that a seed has in its name is the parser's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sdk/fz_inputs.h"
#include "targets/negotiation_frame/neg_oracle.h"

#define HEAD    "{\"carriage\":\"raw\",\"backend\":\"local\""
#define MINIMAL HEAD ",\"cmd\":[\"x\"]}"
#define WITH(m) HEAD ",\"cmd\":[\"x\"]," m "}"
#define TTY(m)  WITH("\"tty\":{" m "}")

static enum neg_err parse(const char *text, size_t n, struct neg_request *rq, struct neg_fault *f)
{
    return neg_request_from_slice(fz_mem(), fz_guarded_copy(text, n), n, rq, f);
}

static void str_is(const struct neg_str *s, const char *want, size_t n)
{
    assert_int_equal(s->n, n);
    assert_memory_equal(s->p, want, n);
}

static void every_member_is_taken(void **state)
{
    static const char text[] =
        "{\"env\":{\"b\":\"2\",\"\":\"\",\"a\\u0000\":\"\\u20ac\",\"a\":\"1\"},\"cwd\":\"/\\/\","
        "\"cmd\":[\"echo\",\"\\ud83d\\ude00\",\"\"],\"tty\":{\"pixel_height\":4,\"rows\":2,"
        "\"cols\":65535,\"pixel_width\":3},\"backend\":\"ssh\",\"carriage\":\"cooked\"}";
    struct neg_request rq;

    (void)state;
    assert_int_equal(parse(text, sizeof(text) - 1, &rq, NULL), NEG_OK);
    str_is(&rq.carriage, "cooked", 6);
    str_is(&rq.backend, "ssh", 3);
    assert_true(rq.has_tty);
    assert_int_equal(rq.tty.cols, 65535);
    assert_int_equal(rq.tty.rows, 2);
    assert_int_equal(rq.tty.pixel_width, 3);
    assert_int_equal(rq.tty.pixel_height, 4);
    assert_int_equal(rq.cmd_count, 3);
    str_is(&rq.cmd[0], "echo", 4);
    str_is(&rq.cmd[1], "\xf0\x9f\x98\x80", 4);
    str_is(&rq.cmd[2], "", 0);
    assert_true(rq.has_cwd);
    str_is(&rq.cwd, "//", 2);
    assert_int_equal(rq.env_count, 4);
    str_is(&rq.env[0].key, "", 0);
    str_is(&rq.env[1].key, "a", 1);
    str_is(&rq.env[2].key, "a\0", 2);
    str_is(&rq.env[2].value, "\xe2\x82\xac", 3);
    str_is(&rq.env[3].key, "b", 1);
    neg_request_clear(fz_mem(), &rq);
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

static void what_is_left_out_is_absent(void **state)
{
    static const char *const texts[] = {MINIMAL, WITH("\"tty\":null,\"cwd\":null,\"env\":{}")};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct neg_request rq;

        assert_int_equal(parse(texts[i], strlen(texts[i]), &rq, NULL), NEG_OK);
        assert_false(rq.has_tty);
        assert_false(rq.has_cwd);
        assert_int_equal(rq.env_count, 0);
        neg_request_clear(fz_mem(), &rq);
    }
}

static void written_json_is_compact_and_in_order(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } pairs[] = {
        {MINIMAL, MINIMAL},
        {WITH("\"tty\":null,\"cwd\":null,\"env\":{}"), MINIMAL},
        {TTY("\"rows\":24,\"cols\":80"),
         HEAD ",\"tty\":{\"cols\":80,\"rows\":24,\"pixel_width\":0,\"pixel_height\":0},"
              "\"cmd\":[\"x\"]}"},
        {" { \"cwd\" : \"\\u007f\\/\\u00e9\" , \"env\" : { \"b\" : \"\\u000a\" , \"a\" : "
         "\"\\u001F\" } ,"
         "\"cmd\":[ ] , \"backend\":\"local\",\"x\":[{}],\"carriage\":\"raw\" } ",
         HEAD ",\"cmd\":[],\"env\":{\"a\":\"\\u001f\",\"b\":\"\\n\"},\"cwd\":\"\x7f/\xc3\xa9\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct neg_request rq;
        char *json = NULL;
        size_t len = 0;

        assert_int_equal(parse(pairs[i].text, strlen(pairs[i].text), &rq, NULL), NEG_OK);
        assert_int_equal(neg_request_to_json(fz_mem(), &rq, &json, &len), NEG_OK);
        assert_int_equal(len, strlen(pairs[i].want));
        assert_memory_equal(json, pairs[i].want, len);
        fz_mem()->free(fz_mem()->ctx, json);
        neg_request_clear(fz_mem(), &rq);
    }
}

static void a_refusal_says_why_and_where(void **state)
{
    static const struct {
        const char *text;
        enum json_err err;
        const char *at; /* the text that stands at the fault; NULL = do not ask */
    } rows[] = {
        {"", JSON_E_END, ""},
        {"[]", JSON_E_TYPE, "[]"},
        {"null", JSON_E_TYPE, "null"},
        {"{}", JSON_E_MISSING, ""},
        {HEAD "}", JSON_E_MISSING, ""},
        {"{\"carriage\":\"raw\",\"cmd\":[\"x\"]}", JSON_E_MISSING, ""},
        {"{\"backend\":\"local\",\"cmd\":[\"x\"]}", JSON_E_MISSING, ""},
        {MINIMAL "}", JSON_E_TRAILING, "}"},
        {"\xef\xbb\xbf" MINIMAL, JSON_E_SYNTAX, NULL},
        {WITH("\"cmd\":[]"), JSON_E_DUPLICATE, "cmd\":[]}"},
        {WITH("\"c\\u006dd\":[]"), JSON_E_DUPLICATE, NULL},
        {WITH("\"env\":{\"A\":\"\",\"\\u0041\":\"\"}"), JSON_E_DUPLICATE, NULL},
        {WITH("\"env\":{},\"env\":{}"), JSON_E_DUPLICATE, NULL},
        {WITH("\"env\":null"), JSON_E_TYPE, "null}"},
        {WITH("\"cwd\":1"), JSON_E_TYPE, "1}"},
        {WITH("\"tty\":[]"), JSON_E_TYPE, "[]}"},
        {TTY("\"cols\":1"), JSON_E_MISSING, NULL},
        {TTY("\"rows\":1"), JSON_E_MISSING, NULL},
        {TTY("\"rows\":1,\"cols\":1,\"rows\":1"), JSON_E_DUPLICATE, NULL},
        {TTY("\"rows\":1,\"cols\":65536"), JSON_E_RANGE, "65536}}"},
        {TTY("\"rows\":1,\"cols\":-1"), JSON_E_RANGE, "-1}}"},
        {TTY("\"rows\":1,\"cols\":-0"), JSON_E_RANGE, "-0}}"},
        {TTY("\"rows\":1,\"cols\":1.0"), JSON_E_RANGE, "1.0}}"},
        {TTY("\"rows\":1,\"cols\":1e2"), JSON_E_RANGE, "1e2}}"},
        {TTY("\"rows\":1,\"cols\":01"), JSON_E_NUMBER, NULL},
        {WITH("\"x\":\"\xc0\x80\""), JSON_E_UTF8, "\xc0\x80\"}"},
        {WITH("\"x\":[\"\\ud800\"]"), JSON_E_ESCAPE, "\\ud800\"]}"},
        {WITH("\"x\":+1"), JSON_E_SYNTAX, "+1}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const struct neg_request zero;
        size_t n = strlen(rows[i].text);
        struct neg_request rq;
        struct neg_fault f = {0};

        memset(&rq, 0x5a, sizeof(rq));
        assert_int_equal(parse(rows[i].text, n, &rq, &f), NEG_E_JSON);
        assert_memory_equal(&rq, &zero, sizeof(rq));
        if (f.err != rows[i].err)
            fail_msg("%s: error %d, expected %d", rows[i].text, f.err, rows[i].err);
        assert_true(f.offset <= n);
        if (rows[i].at != NULL)
            assert_string_equal(rows[i].text + f.offset, rows[i].at);
        assert_int_equal(fz_alloc_stats()->live_bytes, 0);
    }
}

static void unknown_members_may_repeat(void **state)
{
    static const char text[] =
        WITH("\"x\":1,\"x\":{\"cmd\":0,\"cmd\":0},\"tty\":{\"rows\":1,\"z\":0,"
             "\"cols\":1,\"z\":0}");
    struct neg_request rq;

    (void)state;
    assert_int_equal(parse(text, sizeof(text) - 1, &rq, NULL), NEG_OK);
    neg_request_clear(fz_mem(), &rq);
}

static void many_variables_are_sorted_and_twins_found(void **state)
{
    enum { COUNT = 2000 };
    static char text[COUNT * 16 + 256];

    (void)state;
    for (int twin = 0; twin < 2; twin++) {
        size_t n = (size_t)snprintf(text, sizeof(text), HEAD ",\"cmd\":[],\"env\":{");
        struct neg_request rq;

        for (unsigned i = 0; i < COUNT; i++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"%x\":\"\"", i > 0 ? "," : "",
                                  i * 2654435761u);
        if (twin)
            n += (size_t)snprintf(text + n, sizeof(text) - n, ",\"%x\":\"\"", 1000 * 2654435761u);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "}}");
        assert_int_equal(parse(text, n, &rq, NULL), twin ? NEG_E_JSON : NEG_OK);
        if (twin)
            break;
        assert_int_equal(rq.env_count, COUNT);
        for (size_t i = 1; i < COUNT; i++) {
            const struct neg_str *a = &rq.env[i - 1].key;
            const struct neg_str *b = &rq.env[i].key;
            int order = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);

            assert_true(order < 0 || (order == 0 && a->n < b->n));
        }
        neg_request_clear(fz_mem(), &rq);
    }
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

static void requests_are_judged(void **state)
{
    static const char *const backends[] = {"local", "ssh", NULL};
    static const struct {
        const char *text;
        enum neg_verdict want;
    } rows[] = {
        {MINIMAL, NEG_ACCEPTED},
        {"{\"carriage\":\"raw\",\"backend\":\"ssh\",\"cmd\":[\"x\",\"\"]}", NEG_ACCEPTED},
        {"{\"carriage\":\"raw\",\"backend\":\"ss\",\"cmd\":[\"x\"]}", NEG_REFUSED_BACKEND},
        {"{\"carriage\":\"raw\",\"backend\":\"ssh\\u0000\",\"cmd\":[\"x\"]}", NEG_REFUSED_BACKEND},
        {"{\"carriage\":\"raw\",\"backend\":\"\",\"cmd\":[\"x\"]}", NEG_REFUSED_BACKEND},
        {"{\"carriage\":\"raw \",\"backend\":\"ssh\",\"cmd\":[\"x\"]}", NEG_REFUSED_MALFORMED},
        {"{\"carriage\":\"\",\"backend\":\"none\",\"cmd\":[\"x\"]}", NEG_REFUSED_MALFORMED},
        {HEAD ",\"cmd\":[]}", NEG_REFUSED_MALFORMED},
        {HEAD ",\"cmd\":[\"\",\"x\"]}", NEG_REFUSED_MALFORMED},
        {HEAD ",\"cmd\":[\"x\",\"\\u0000\"]}", NEG_REFUSED_MALFORMED},
        {WITH("\"env\":{\"a\\u0000\":\"\"}"), NEG_REFUSED_MALFORMED},
        {WITH("\"env\":{\"a\":\"\\u0000b\"}"), NEG_REFUSED_MALFORMED},
        {WITH("\"cwd\":\"/\\u0000\""), NEG_REFUSED_MALFORMED},
        {WITH("\"cwd\":\"\",\"env\":{\"\":\"\"}"), NEG_ACCEPTED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *why = "";
        struct neg_request rq;

        assert_int_equal(parse(rows[i].text, strlen(rows[i].text), &rq, NULL), NEG_OK);
        assert_int_equal(neg_request_validate(&rq, backends, &why), rows[i].want);
        assert_int_equal(why == NULL, rows[i].want == NEG_ACCEPTED);
        assert_int_equal(neg_oracle_verdict(&rq), rows[i].want);
        neg_request_clear(fz_mem(), &rq);
    }
}

static void out_of_memory_leaves_nothing(void **state)
{
    struct neg_request rq;
    char *json = NULL;
    size_t len = 0;
    enum neg_err err;
    int k = 0;

    (void)state;
    fz_alloc_fail_at(0);
    assert_int_equal(parse(MINIMAL, strlen(MINIMAL), &rq, NULL), NEG_E_NOMEM);
    assert_null(rq.block);
    assert_int_equal(parse(MINIMAL, strlen(MINIMAL), &rq, NULL), NEG_OK);
    do {
        fz_alloc_fail_at(k++);
        err = neg_request_to_json(fz_mem(), &rq, &json, &len);
    } while (err == NEG_E_NOMEM && json == NULL && k < 10);
    assert_int_equal(err, NEG_OK);
    assert_true(k > 1);
    fz_alloc_fail_at(-1);
    fz_mem()->free(fz_mem()->ctx, json);
    neg_request_clear(fz_mem(), &rq);
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

/* Requests are accepted; an edge body as its name says. */
static void seeds_have_the_verdict_of_their_names(void **state)
{
    static uint8_t d[FZ_INPUT_MAX];
    struct fz_inputs in = {0};
    size_t ok = 0;
    size_t refused = 0;

    (void)state;
    assert_int_equal(fz_inputs_add(&in, "seeds/negotiation_frame"), 0);
    for (size_t i = 0; i < in.count; i++) {
        const char *name = strrchr(in.paths[i], '/') + strlen("/000-");
        const char *end = strrchr(name, '-');
        bool accepted = strncmp(name, "request-", 8) == 0 || strcmp(end, "-ok") == 0;
        struct neg_request rq;
        enum neg_err err;
        size_t n = 0;

        if (!accepted && strcmp(end, "-err") != 0)
            continue;
        assert_int_equal(fz_input_read(in.paths[i], d, sizeof(d), &n), 0);
        err = parse((const char *)d, n, &rq, NULL);
        if (err != (accepted ? NEG_OK : NEG_E_JSON))
            fail_msg("%s: error %d", name, err);
        neg_request_clear(fz_mem(), &rq);
        ok += accepted;
        refused += !accepted;
    }
    assert_int_equal(ok, 16 + 11);
    assert_int_equal(refused, 40 - 11);
    fz_inputs_clear(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_taken),
        cmocka_unit_test(what_is_left_out_is_absent),
        cmocka_unit_test(written_json_is_compact_and_in_order),
        cmocka_unit_test(a_refusal_says_why_and_where),
        cmocka_unit_test(unknown_members_may_repeat),
        cmocka_unit_test(many_variables_are_sorted_and_twins_found),
        cmocka_unit_test(requests_are_judged),
        cmocka_unit_test(out_of_memory_leaves_nothing),
        cmocka_unit_test(seeds_have_the_verdict_of_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
