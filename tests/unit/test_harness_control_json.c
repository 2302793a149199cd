/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of control messages, written out: each text is tried on the parser and
 * on the oracle that judges it, so that the two cannot be wrong together. Then the
 * names of signals, the writer, failing memory, and the whole harness over the
 * committed seeds, in this process, where sanitizers see it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sdk/fz_inputs.h"
#include "sdk/fz_kit.h"
#include "targets/control_json/control_json.h"
#include "targets/control_json/oracle.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct row {
    const char *text;
    enum json_err err;
    size_t at;
    struct ctl_message want;
};
#define RESIZE(c, r, w, h)                                                                         \
    {                                                                                              \
        .kind = CTL_RESIZE, .cols = (c), .rows = (r), .pixel_width = (w), .pixel_height = (h)      \
    }
#define SIGNAL(s)                                                                                  \
    {                                                                                              \
        .kind = CTL_SIGNAL, .name = {(char *)(uintptr_t)(s), sizeof(s) - 1 }                       \
    }
#define EXIT(c)                                                                                    \
    {                                                                                              \
        .kind = CTL_EXIT, .code = (c)                                                              \
    }

static const struct row rows[] = {
    {"{\"type\":\"resize\",\"cols\":80,\"rows\":24}", 0, 0, RESIZE(80, 24, 0, 0)},
    {"{\"pixel_height\":4,\"pixel_width\":3,\"rows\":2,\"cols\":1,\"type\":\"resize\"}", 0, 0,
     RESIZE(1, 2, 3, 4)},
    {"{\"type\":\"resize\",\"cols\":65535,\"rows\":0,\"pixel_width\":65535}", 0, 0,
     RESIZE(65535, 0, 65535, 0)},
    {"{\"type\":\"signal\",\"name\":\"INT\"}", 0, 0, SIGNAL("INT")},
    {"{\"type\":\"signal\",\"name\":\"\"}", 0, 0, SIGNAL("")},
    {"{\"type\":\"signal\",\"name\":\"a\\u0000b\"}", 0, 0, SIGNAL("a\0b")},
    {" { \"\\u0074ype\" : \"\\u0073ignal\" , \"n\\u0061me\" : \"\\u0049NT\" } ", 0, 0,
     SIGNAL("INT")},
    {"{\"type\":\"eof\"}", 0, 0, {.kind = CTL_EOF}},
    {"{\"type\":\"exit\",\"code\":-2147483648}", 0, 0, EXIT(INT32_MIN)},
    {"{\"type\":\"exit\",\"code\":2147483647}", 0, 0, EXIT(INT32_MAX)},
    /* what is not of the message is ignored, twice and of any type, but is JSON */
    {"{\"type\":\"eof\",\"cols\":-1,\"cols\":\"x\",\"name\":[],\"code\":1e9,\"y\":{}}",
     0,
     0,
     {.kind = CTL_EOF}},
    {"{\"type\":\"eof\",\"x\":01}", JSON_E_NUMBER, 18, {0}},
    {"{\"type\":\"eof\",\"x\":\"\\ud800\"}", JSON_E_ESCAPE, 19, {0}},
    /* twice */
    {"{\"type\":\"eof\",\"type\":\"eof\"}", JSON_E_DUPLICATE, 21, {0}},
    {"{\"type\":\"eof\",\"t\\u0079pe\":\"eof\"}", JSON_E_DUPLICATE, 26, {0}},
    {"{\"cols\":1,\"cols\":1,\"rows\":1,\"type\":\"resize\"}", JSON_E_DUPLICATE, 17, {0}},
    {"{\"type\":\"signal\",\"name\":\"A\",\"name\":\"B\"}", JSON_E_DUPLICATE, 35, {0}},
    {"{\"type\":\"exit\",\"code\":1,\"code\":1}", JSON_E_DUPLICATE, 31, {0}},
    /* missing */
    {"{}", JSON_E_MISSING, 2, {0}},
    {"{\"name\":\"INT\"}", JSON_E_MISSING, 14, {0}},
    {"{\"Type\":\"eof\"}", JSON_E_MISSING, 14, {0}},
    {"{\"type\":\"resize\",\"rows\":1}", JSON_E_MISSING, 26, {0}},
    {"{\"type\":\"resize\",\"cols\":1}", JSON_E_MISSING, 26, {0}},
    {"{\"type\":\"signal\"}", JSON_E_MISSING, 17, {0}},
    {"{\"type\":\"exit\"}", JSON_E_MISSING, 15, {0}},
    /* of another type, or an unknown one */
    {"[]", JSON_E_TYPE, 0, {0}},
    {"\"eof\"", JSON_E_TYPE, 0, {0}},
    {"null", JSON_E_TYPE, 0, {0}},
    {"{\"type\":1}", JSON_E_TYPE, 8, {0}},
    {"{\"type\":null}", JSON_E_TYPE, 8, {0}},
    {"{\"type\":\"EOF\"}", JSON_E_UNKNOWN, 8, {0}},
    {"{\"type\":\"eof\\u0000\"}", JSON_E_UNKNOWN, 8, {0}},
    {"{\"type\":\"\"}", JSON_E_UNKNOWN, 8, {0}},
    {"{\"type\":\"resize\",\"cols\":\"1\",\"rows\":1}", JSON_E_TYPE, 24, {0}},
    {"{\"type\":\"resize\",\"cols\":1,\"rows\":1,\"pixel_width\":null}", JSON_E_TYPE, 49, {0}},
    {"{\"type\":\"signal\",\"name\":2}", JSON_E_TYPE, 24, {0}},
    {"{\"type\":\"signal\",\"name\":null}", JSON_E_TYPE, 24, {0}},
    {"{\"type\":\"exit\",\"code\":\"0\"}", JSON_E_TYPE, 22, {0}},
    /* out of range, or not whole */
    {"{\"type\":\"resize\",\"cols\":65536,\"rows\":1}", JSON_E_RANGE, 24, {0}},
    {"{\"type\":\"resize\",\"cols\":-1,\"rows\":1}", JSON_E_RANGE, 24, {0}},
    {"{\"type\":\"resize\",\"cols\":-0,\"rows\":1}", JSON_E_RANGE, 24, {0}},
    {"{\"type\":\"resize\",\"cols\":1.0,\"rows\":1}", JSON_E_RANGE, 24, {0}},
    {"{\"type\":\"resize\",\"cols\":1e2,\"rows\":1}", JSON_E_RANGE, 24, {0}},
    {"{\"type\":\"exit\",\"code\":2147483648}", JSON_E_RANGE, 22, {0}},
    {"{\"type\":\"exit\",\"code\":-2147483649}", JSON_E_RANGE, 22, {0}},
    {"{\"type\":\"exit\",\"code\":4294967296}", JSON_E_RANGE, 22, {0}},
    {"{\"type\":\"exit\",\"code\":-0}", JSON_E_RANGE, 22, {0}},
    /* cut, and more */
    {"", JSON_E_END, 0, {0}},
    {"{\"type\":\"eof\"", JSON_E_END, 13, {0}},
    {"{\"type\":\"eof\"}x", JSON_E_TRAILING, 14, {0}},
};

static struct text text;
static struct message expected;

static void assert_message(const struct ctl_message *got, const struct ctl_message *want)
{
    assert_int_equal(got->kind, want->kind);
    assert_int_equal(got->cols, want->cols);
    assert_int_equal(got->rows, want->rows);
    assert_int_equal(got->pixel_width, want->pixel_width);
    assert_int_equal(got->pixel_height, want->pixel_height);
    assert_int_equal(got->code, want->code);
    assert_int_equal(got->name.len, want->name.len);
    if (want->name.len > 0)
        assert_memory_equal(got->name.s, want->name.s, want->name.len);
}

static void parser_and_oracle_follow_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *row = &rows[i];
        size_t n = strlen(row->text);
        struct ctl_message m;
        size_t at = 0;
        enum json_err err = ctl_from_slice(fz_guarded_copy(row->text, n), n, fz_mem(), &m, &at);

        if (err != row->err || at != row->at)
            fail_msg("%s: error %d at %zu", row->text, err, at);
        assert_message(&m, &row->want);
        ctl_clear(&m, fz_mem());
        oracle_text(&text, (const uint8_t *)row->text, n);
        oracle_message(&expected, &text);
        if ((expected.want == WANT_OK) != (err == JSON_OK) ||
            (expected.want == WANT_RANGE) != (err == JSON_E_RANGE))
            fail_msg("%s: the oracle wants %d", row->text, expected.want);
        if (err == JSON_OK) {
            assert_int_equal(expected.kind, row->want.kind);
            assert_int_equal(expected.name_len, row->want.name.len);
            assert_memory_equal(expected.name_bytes, row->want.name.s ? row->want.name.s : "",
                                row->want.name.len);
        }
    }
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

static void a_signal_has_one_name(void **state)
{
    static const struct {
        const char *name;
        int signo;
    } known[] = {
        {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"FPE", SIGFPE},   {"HUP", SIGHUP},
        {"ILL", SIGILL},   {"INT", SIGINT},   {"KILL", SIGKILL}, {"PIPE", SIGPIPE},
        {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV}, {"TERM", SIGTERM}, {"USR1", SIGUSR1},
        {"USR2", SIGUSR2},
    };
    static const char *const unknown[] = {"",     "I",    "IN",   "INTR", "int",  "Int", "SIGINT",
                                          "INT ", " INT", "STOP", "CONT", "USR3", "9",   "USR"};
    int signo;

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        size_t n = strlen(known[i].name);

        signo = 0;
        assert_true(ctl_signal_from_name(known[i].name, n, &signo));
        assert_int_equal(signo, known[i].signo);
        assert_int_equal(oracle_signal((const uint8_t *)known[i].name, n), signo);
        assert_false(ctl_signal_from_name(known[i].name, n + 1, &signo));
        assert_false(ctl_signal_from_name(known[i].name, n - 1, &signo));
    }
    signo = 4711;
    for (size_t i = 0; i < COUNT(unknown); i++) {
        assert_false(ctl_signal_from_name(unknown[i], strlen(unknown[i]), &signo));
        assert_int_equal(oracle_signal((const uint8_t *)unknown[i], strlen(unknown[i])), 0);
    }
    assert_int_equal(signo, 4711);
}

static void every_member_is_written_in_its_order(void **state)
{
    static const struct {
        struct ctl_message m;
        const char *text;
    } cases[] = {
        {RESIZE(1, 65535, 0, 3),
         "{\"type\":\"resize\",\"cols\":1,\"rows\":65535,\"pixel_width\":0,\"pixel_height\":3}"},
        {SIGNAL("a\0\"\xc3\xa9\n"), "{\"type\":\"signal\",\"name\":\"a\\u0000\\\"\xc3\xa9\\n\"}"},
        {{.kind = CTL_EOF}, "{\"type\":\"eof\"}"},
        {EXIT(INT32_MIN), "{\"type\":\"exit\",\"code\":-2147483648}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *out;
        size_t len;

        assert_true(ctl_to_json(&cases[i].m, fz_mem(), &out, &len));
        assert_int_equal(len, strlen(cases[i].text));
        assert_memory_equal(out, cases[i].text, len);
        fz_mem()->free(NULL, out);
        fz_alloc_fail_at(0);
        assert_false(ctl_to_json(&cases[i].m, fz_mem(), &out, &len));
        fz_alloc_fail_at(-1);
    }
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

static void only_a_name_takes_memory(void **state)
{
    static const char signal_text[] = "{\"type\":\"signal\",\"name\":\"INT\"}";
    static const char exit_text[] = "{\"type\":\"exit\",\"code\":1,\"name\":\"INT\"}";
    struct ctl_message m;

    (void)state;
    fz_alloc_mark();
    assert_int_equal(
        ctl_from_slice((const uint8_t *)exit_text, sizeof(exit_text) - 1, fz_mem(), &m, NULL),
        JSON_OK);
    assert_int_equal(fz_alloc_stats()->calls, 0);
    fz_alloc_fail_at(0);
    assert_int_equal(
        ctl_from_slice((const uint8_t *)signal_text, sizeof(signal_text) - 1, fz_mem(), &m, NULL),
        JSON_E_NOMEM);
    fz_alloc_fail_at(-1);
    assert_int_equal(m.kind, CTL_NONE);
    assert_null(m.name.s);
    assert_int_equal(fz_alloc_stats()->live_bytes, 0);
}

static void numbers_are_compared_as_decimal_text(void **state)
{
    static const struct {
        const char *token;
        bool u16;
        bool i32;
    } cases[] = {
        {"0", true, true},
        {"9", true, true},
        {"65535", true, true},
        {"65536", false, true},
        {"70000", false, true},
        {"100000", false, true},
        {"-1", false, true},
        {"-0", false, false},
        {"-", false, false},
        {"2147483647", false, true},
        {"2147483648", false, false},
        {"-2147483648", false, true},
        {"-2147483649", false, false},
        {"9999999999", false, false},
        {"1.0", false, false},
        {"1e1", false, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct token token = {0, (uint32_t)strlen(cases[i].token)};

        text.d = (const uint8_t *)cases[i].token;
        text.n = token.end;
        assert_int_equal(oracle_in_range(&text, token, true), cases[i].u16);
        assert_int_equal(oracle_in_range(&text, token, false), cases[i].i32);
    }
}

static void the_invariants_hold_on_every_seed(void **state)
{
    static uint8_t d[FZ_INPUT_MAX];
    struct fz_inputs in = {0};

    (void)state;
    assert_int_equal(fz_inputs_add(&in, "seeds/control_json"), 0);
    assert_int_equal(in.count, 80);
    assert_int_equal(fz_inputs_add(&in, "seeds/control_json-min"), 0);
    fz_twice_default(true);
    fz_start();
    for (size_t i = 0; i < in.count; i++) {
        size_t n = 0;

        assert_int_equal(fz_input_read(in.paths[i], d, sizeof(d), &n), 0);
        fz_run(d, n);
    }
    fz_inputs_clear(&in);
}

/* The longest input, of the shapes that cost most. */
static void the_invariants_hold_on_the_longest_inputs(void **state)
{
    static uint8_t d[FZ_INPUT_MAX];
    static const char head[] = "{\"type\":\"signal\",\"name\":\"";
    static const char members[] = "{\"type\":\"eof\"";
    size_t n;

    (void)state;
    /* A name of control characters, each written with six bytes. */
    memset(d, 0x7f, sizeof(d));
    memcpy(d, head, sizeof(head) - 1);
    for (n = sizeof(head) - 1; n + 6 <= sizeof(d) - 2; n += 6)
        memcpy(d + n, "\\u0001", 6);
    memcpy(d + n, "\"}", 2);
    fz_run(d, n + 2);
    /* Members, and between them a token at every byte. */
    memcpy(d, members, sizeof(members) - 1);
    for (n = sizeof(members) - 1; n + 6 <= sizeof(d) - 1; n += 6)
        memcpy(d + n, ",\"\":[]", 6);
    d[n] = '}';
    fz_run(d, n + 1);
    memset(d, '[', sizeof(d));
    fz_run(d, sizeof(d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parser_and_oracle_follow_the_table),
        cmocka_unit_test(a_signal_has_one_name),
        cmocka_unit_test(every_member_is_written_in_its_order),
        cmocka_unit_test(only_a_name_takes_memory),
        cmocka_unit_test(numbers_are_compared_as_decimal_text),
        cmocka_unit_test(the_invariants_hold_on_every_seed),
        cmocka_unit_test(the_invariants_hold_on_the_longest_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
