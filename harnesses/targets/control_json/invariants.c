/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants J1-J8 of the control messages. The input is one message, parsed
 * from a copy that ends at a guard page; an oracle written from the grammar and
 * from the table of messages says what must come of it. What was accepted is then
 * written, changed where the change must not matter, and changed where it must.
 * J1, the catch-all, is the verdict itself: accepted, and as what.
 */
#include <string.h>

#include "control_json.h"
#include "oracle.h"
#include "sdk/fz.h"

#define OUT_FACTOR  6u /* an escape takes six bytes */
#define OUT_EXTRA   128u
#define BLANK_KINDS 6u
#define WORK_MAX    (4u * FZ_INPUT_MAX) /* up to 3 bytes between any two tokens */

static const char *const ids[] = {"J1", "J2", "J3", "J4", "J5", "J6", "J7", "J8", NULL};

static const char *const required[] = {
    "ok_resize", "ok_signal_known", "ok_signal_unknown", "ok_eof",   "ok_exit_neg", "e_type",
    "e_range",   "e_utf8",          "e_trailing",        "edge_u16", "edge_i32",    NULL};

static struct text text;        /* of the input */
static struct message expected; /* of that */
static uint8_t work[WORK_MAX];

static bool is_zero(const struct ctl_message *m)
{
    static const struct ctl_message zero;

    return memcmp(m, &zero, sizeof(zero)) == 0;
}

/* J2: whatever the text, an error says so and leaves nothing. */
static enum json_err parse(const uint8_t *d, size_t n, struct ctl_message *m, size_t *at)
{
    size_t live = fz_alloc_stats()->live_bytes;
    enum json_err err;

    memset(m, 0xa5, sizeof(*m));
    *at = SIZE_MAX;
    err = ctl_from_slice(d, n, fz_mem(), m, at);
    if (err == JSON_OK) {
        if (m->kind < CTL_RESIZE || m->kind > CTL_EXIT)
            fz_note(2, "accepted as kind %d", m->kind);
        return err;
    }
    if (err > JSON_E_NOMEM || *at > n)
        fz_note(2, "error %d at %zu of %zu", err, *at, n);
    if (!is_zero(m))
        fz_note(2, "error %d leaves kind %d", err, m->kind);
    if (fz_alloc_stats()->live_bytes != live)
        fz_note(2, "error %d leaves %zu bytes allocated", err, fz_alloc_stats()->live_bytes - live);
    return err;
}

static bool equal(const struct ctl_message *a, const struct ctl_message *b)
{
    return a->kind == b->kind && a->cols == b->cols && a->rows == b->rows &&
           a->pixel_width == b->pixel_width && a->pixel_height == b->pixel_height &&
           a->code == b->code && a->name.len == b->name.len &&
           (a->name.len == 0 || memcmp(a->name.s, b->name.s, a->name.len) == 0);
}

/* A changed text, where nothing behind it can be read. */
static const uint8_t *guarded(const uint8_t *d, size_t n)
{
    return n <= FZ_INPUT_MAX ? fz_guarded_copy(d, n) : d;
}

/* The text must give the message; id is that of the invariant which says so. */
static void expect_equal(unsigned id, const char *what, const uint8_t *d, size_t n,
                         const struct ctl_message *m)
{
    struct ctl_message again;
    size_t at;
    enum json_err err = parse(guarded(d, n), n, &again, &at);

    if (err != JSON_OK)
        fz_note(id, "%s: error %d at %zu", what, err, at);
    else if (!equal(m, &again))
        fz_note(id, "%s: another message, kind %d", what, again.kind);
    if (err == JSON_OK)
        ctl_clear(&again, fz_mem());
}

static void expect_error(unsigned id, const char *what, const uint8_t *d, size_t n)
{
    struct ctl_message m;
    size_t at;

    if (parse(guarded(d, n), n, &m, &at) != JSON_OK)
        return;
    fz_note(id, "%s: accepted, kind %d", what, m.kind);
    ctl_clear(&m, fz_mem());
}

static void trace(enum json_err err, size_t at, const struct ctl_message *m)
{
    fz_trace_u64((uint64_t)err << 32 | at);
    fz_trace_u64((uint64_t)m->cols << 48 | (uint64_t)m->rows << 32 |
                 (uint64_t)m->pixel_width << 16 | m->pixel_height);
    fz_trace_u64((uint64_t)m->kind << 32 | (uint32_t)m->code);
    fz_trace(m->name.s, m->name.len);
}

/* J5: a number is what its digits say, or an error. */
static void check_numbers(enum json_err err, size_t at, const struct ctl_message *m)
{
    const long long resize[] = {m->cols, m->rows, m->pixel_width, m->pixel_height};
    const long long code[] = {m->code, 0, 0, 0};
    const long long *got = m->kind == CTL_EXIT ? code : resize;

    if (err == JSON_OK && expected.want == WANT_RANGE)
        fz_note(5, "a number out of range is accepted, kind %d", m->kind);
    if (err == JSON_E_RANGE && expected.want == WANT_OK)
        fz_note(5, "a number in range is refused at %zu", at);
    if (err != JSON_OK || expected.want != WANT_OK)
        return;
    for (size_t i = 0; i < 4; i++) {
        const struct member *number = expected.numbers[i];

        if (number == NULL ? got[i] != 0 : !oracle_is_decimal(&text, number->value, got[i]))
            fz_note(5, "number %zu is read as %lld", i, got[i]);
    }
}

/* J1: the verdict, and the name. */
static void check_verdict(enum json_err err, size_t at, const struct ctl_message *m)
{
    if ((err == JSON_OK) != (expected.want == WANT_OK))
        fz_note(1, "error %d at %zu, expected %s", err, at,
                expected.want == WANT_OK ? "a message" : "an error");
    else if (m->kind != (err == JSON_OK ? expected.kind : CTL_NONE))
        fz_note(1, "kind %d, expected %d", m->kind, expected.kind);
    else if (err == JSON_OK &&
             (m->name.len != expected.name_len ||
              (m->name.len > 0 && memcmp(m->name.s, expected.name_bytes, m->name.len) != 0)))
        fz_note(1, "a name of %zu bytes, expected %zu", m->name.len, expected.name_len);
}

/* J4, for n bytes. */
static void check_signal(const void *name, size_t n)
{
    int want = oracle_signal(name, n);
    int got = -1;
    bool known = ctl_signal_from_name(name, n, &got);

    if (known != (want != 0) || got != (known ? want : -1))
        fz_note(4, "a name of %zu bytes: %s %d, expected %d", n, known ? "known as" : "unknown",
                got, want);
}

/* J4: on a name, on what begins it, and on the name with a NUL, which is another. */
static void check_signals(const struct json_str *name)
{
    check_signal(name->s, name->len);
    check_signal(name->s, name->len + 1); /* the NUL is there */
    if (name->len > 0)
        check_signal(name->s, name->len - 1);
    check_signal(name->s, name->len / 2);
}

/* J3: written and read again. */
static void check_round_trip(const struct ctl_message *m)
{
    struct ctl_message again;
    char *out;
    char *twice;
    size_t len;
    size_t twice_len;
    size_t at;

    if (!ctl_to_json(m, fz_mem(), &out, &len)) {
        fz_note(3, "kind %d is not written", m->kind);
        return;
    }
    if (len > OUT_FACTOR * text.n + OUT_EXTRA || !oracle_utf8((const uint8_t *)out, len))
        fz_note(3, "%zu bytes of text, or not UTF-8, of %zu", len, text.n);
    if (parse((const uint8_t *)out, len, &again, &at) != JSON_OK) {
        fz_note(3, "what was written is refused at %zu", at);
    } else {
        if (!equal(m, &again))
            fz_note(3, "what was written is another message");
        if (!ctl_to_json(&again, fz_mem(), &twice, &twice_len)) {
            fz_note(3, "kind %d is not written again", m->kind);
        } else {
            if (twice_len != len || memcmp(twice, out, len) != 0)
                fz_note(3, "written again it is another text");
            fz_mem()->free(NULL, twice);
        }
        ctl_clear(&again, fz_mem());
    }
    fz_mem()->free(NULL, out);
}

static size_t append(size_t to, size_t from, size_t end)
{
    memcpy(work + to, text.d + from, end - from);
    return to + end - from;
}

/* J6: blanks between any two tokens, beginning with the kind given. */
static void check_blanks(const struct ctl_message *m, size_t kind)
{
    static const char *const blanks[] = {" ", "", "\n", "\r\n", "\t ", "   "};
    size_t n = 0;

    for (size_t i = 0; i < text.token_count; i++) {
        const char *blank = i > 0 ? blanks[(kind + i * 5) % BLANK_KINDS] : "";

        memcpy(work + n, blank, strlen(blank));
        n += strlen(blank);
        n = append(n, text.tokens[i].start, text.tokens[i].end);
    }
    expect_equal(6, "blanks between its tokens", work, n, m);
}

/* J7: one byte behind it. */
static void check_trailing(uint8_t byte)
{
    append(0, 0, text.n);
    work[text.n] = byte;
    expect_error(7, "one byte behind it", work, text.n + 1);
}

/*
 * J6 and J7: one probe of each for a fuzzing run, all of them for a replay. The
 * length chooses, not the bytes: what a byte changes in the path then is the
 * library's doing, which is what CmpLog and the queue of afl-fuzz go by.
 */
static void check_probes(const struct ctl_message *m)
{
    static const uint8_t bytes[] = {'x', '}', '0', '\0', ',', '"', 0xa0, '{'};

    for (size_t i = 0; i < BLANK_KINDS; i++) {
        if (fz_thorough() || i == text.n % BLANK_KINDS)
            check_blanks(m, i);
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (fz_thorough() || i == text.n % sizeof(bytes))
            check_trailing(bytes[i]);
    }
}

/* The input without one of its members. */
static size_t without(const struct member *gone)
{
    size_t n = 0;

    work[n++] = '{';
    for (size_t i = 0; i < text.member_count; i++) {
        const struct member *m = &text.members[i];

        if (m == gone)
            continue;
        if (n > 1)
            work[n++] = ',';
        n = append(n, m->key.start, m->value.end);
    }
    work[n++] = '}';
    return n;
}

/* J8: a member of its own twice, and each required one gone. */
static void check_members(void)
{
    const struct member *first = expected.first;
    size_t open = text.tokens[0].end;
    size_t n = append(0, 0, open);

    n = append(n, first->key.start, first->value.end);
    work[n++] = ',';
    n = append(n, open, text.n);
    expect_error(8, "its first member twice", work, n);
    for (size_t i = 0; i < 3 && expected.required[i] != NULL; i++)
        expect_error(8, "a required member removed", work, without(expected.required[i]));
}

/* J2: memory that is not there is an error like any other. */
static void check_no_memory(void)
{
    struct ctl_message m;
    size_t at;
    enum json_err err;

    fz_alloc_fail_at(0);
    err = parse(text.d, text.n, &m, &at);
    fz_alloc_fail_at(-1);
    if (err != JSON_E_NOMEM)
        fz_note(2, "error %d where there is no memory", err);
    if (err == JSON_OK)
        ctl_clear(&m, fz_mem());
}

int fz_one(const uint8_t *d, size_t n)
{
    const uint8_t *copy = fz_guarded_copy(d, n);
    struct ctl_message m;
    size_t at;
    enum json_err err = parse(copy, n, &m, &at);

    fz_reach_mute();
    trace(err, err == JSON_OK ? 0 : at, &m);
    check_signal(copy, n);
    oracle_text(&text, d, n);
    oracle_message(&expected, &text);
    check_numbers(err, at, &m);
    check_verdict(err, at, &m);
    if (err == JSON_OK) {
        if (m.kind == CTL_SIGNAL) {
            check_signals(&m.name);
            check_no_memory();
        }
        check_round_trip(&m);
        if (!fz_noted()) {
            check_probes(&m);
            check_members();
        }
        ctl_clear(&m, fz_mem());
    }
    fz_reach_unmute();
    fz_report();
    return 0;
}

/* Each kind is read from its example and written as it stands there. */
static void self_test(void)
{
    static const char *const examples[] = {
        "{\"type\":\"resize\",\"cols\":80,\"rows\":24,\"pixel_width\":0,\"pixel_height\":0}",
        "{\"type\":\"signal\",\"name\":\"INT\"}",
        "{\"type\":\"eof\"}",
        "{\"type\":\"exit\",\"code\":0}",
    };

    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const uint8_t *d = (const uint8_t *)examples[i];
        size_t n = strlen(examples[i]);
        struct ctl_message m;
        size_t at = 0;
        char *out;
        size_t len;

        if (ctl_from_slice(d, n, fz_mem(), &m, &at) != JSON_OK || m.kind != (enum ctl_kind)(i + 1))
            fz_fail(FZ_INTERNAL, "SELFTEST", "example %zu is refused at %zu", i, at);
        if (!ctl_to_json(&m, fz_mem(), &out, &len) || len != n || memcmp(out, d, n) != 0)
            fz_fail(FZ_INTERNAL, "SELFTEST", "example %zu is written in another way", i);
        fz_mem()->free(NULL, out);
        ctl_clear(&m, fz_mem());
    }
}

const struct fz_target fz_target = {
    .name = "control_json",
    .alloc_limit = 2u * (OUT_FACTOR * FZ_INPUT_MAX + OUT_EXTRA),
    .invariants = ids,
    .reach = required,
    .self_test = self_test,
};
