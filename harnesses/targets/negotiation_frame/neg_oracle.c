/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle of the negotiation. It shares no code and no constant with the
 * library: a slip there must not be a slip here.
 */
#include <string.h>

#include "neg_oracle.h"

#define DEPTH_MAX 128u

/* The format's table, row by row. */
size_t neg_oracle_steps(const uint8_t *d, size_t n, struct neg_step *s)
{
    size_t count = 0;
    size_t at = 0;

    for (;;) {
        struct neg_step *w = &s[count++];
        size_t left = n - at;
        size_t len = 0;

        *w = (struct neg_step){.start = at, .end = n, .err = NEG_E_CLOSED};
        if (left < 4)
            return count;
        for (size_t i = 0; i < 4; i++)
            len = len * 256 + d[at + i];
        w->prefix = true;
        w->len = (uint32_t)len;
        if (len > 16777216) {
            w->err = NEG_E_TOO_LARGE;
            w->end = at + 4;
            return count;
        }
        if (left - 4 < len)
            return count;
        w->err = NEG_OK;
        at = w->end = at + 4 + len;
    }
}

ptrdiff_t neg_source_read(void *ctx, void *buf, size_t n)
{
    struct neg_source *s = ctx;

    if (n > s->n - s->pos)
        n = s->n - s->pos;
    if (s->piece_max > 0) {
        s->piece = s->piece % s->piece_max + 1;
        n = n < s->piece ? n : s->piece;
    }
    memcpy(buf, s->d + s->pos, n);
    s->pos += n;
    return (ptrdiff_t)n;
}

size_t neg_oracle_too_deep(const uint8_t *d, size_t n, size_t *ret_deepest)
{
    size_t open = 0;
    size_t deepest = 0;
    bool quoted = false;

    for (size_t i = 0; i < n; i++) {
        if (quoted) {
            if (d[i] == '\\')
                i++;
            else if (d[i] == '"')
                quoted = false;
        } else if (d[i] == '"') {
            quoted = true;
        } else if (d[i] == '[' || d[i] == '{') {
            deepest = ++open > deepest ? open : deepest;
            if (deepest > DEPTH_MAX) {
                *ret_deepest = deepest;
                return i;
            }
        } else if ((d[i] == ']' || d[i] == '}') && open > 0) {
            open--;
        }
    }
    *ret_deepest = deepest;
    return NEG_NO_OFFSET;
}

size_t neg_oracle_members(const char *json, size_t n, struct neg_member m[NEG_MEMBERS_MAX])
{
    size_t count = 0;
    size_t start = 1;
    size_t open = 0;
    bool quoted = false;

    if (n < 2 || json[0] != '{' || json[n - 1] != '}')
        return 0;
    for (size_t i = 1; i < n; i++) {
        char c = json[i];

        if (quoted) {
            if (c == '\\')
                i++;
            else
                quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        if (open == 0 && (c == ',' || i == n - 1)) {
            if (count == NEG_MEMBERS_MAX)
                return 0;
            m[count++] = (struct neg_member){start, i};
            start = i + 1;
        }
        open += c == '[' || c == '{';
        open -= open > 0 && (c == ']' || c == '}');
    }
    return start == n ? count : 0;
}

/* The code point at p, of which n bytes may be read, and the bytes it takes; 0 = none. */
static size_t code_point(const uint8_t *p, size_t n, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t ones = 0;
    uint32_t code;

    while (ones < 5 && p[0] & 0x80 >> ones)
        ones++;
    if (ones == 0) {
        *ret = p[0];
        return 1;
    }
    if (ones < 2 || ones > 4 || ones > n)
        return 0;
    code = p[0] & (0x7fu >> ones);
    for (size_t i = 1; i < ones; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code * 64 + p[i] % 64;
    }
    if (code < least[ones] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    *ret = code;
    return ones;
}

size_t neg_oracle_detail(const uint8_t *d, size_t n, uint8_t out[NEG_DETAIL_MAX])
{
    static uint8_t whole[3 * FZ_INPUT_MAX];
    size_t len = 0;
    size_t cut;
    uint32_t code;

    for (size_t i = 0; i < n;) {
        size_t took = code_point(d + i, n - i, &code);

        if (took == 0) {
            whole[len] = 0xef;
            whole[len + 1] = 0xbf;
            whole[len + 2] = 0xbd;
            len += 3;
            i++;
            continue;
        }
        memcpy(whole + len, d + i, took);
        len += took;
        i += took;
    }
    cut = len;
    if (cut > 1024) {
        /* Back to the first byte of the character that does not fit. */
        for (cut = 1024; whole[cut] >> 6 == 2;)
            cut--;
    }
    memcpy(out, whole, cut);
    return cut;
}

/* Takes the text from the front of body; false = it is not there. */
static bool take(const uint8_t *body, size_t n, size_t *at, const char *text)
{
    size_t len = strlen(text);

    if (n - *at < len || memcmp(body + *at, text, len) != 0)
        return false;
    *at += len;
    return true;
}

bool neg_oracle_error_body(const uint8_t *body, size_t n, enum neg_error_kind kind,
                           const uint8_t *detail, size_t detail_len)
{
    static const char *const names[] = {"unknown_backend", "malformed_negotiation",
                                        "allocate_failed", "forbidden"};
    static const char escaped[] = "\b\f\n\r\t\"\\";
    static const char letters[] = "bfnrt\"\\";
    size_t at = 0;

    if (!take(body, n, &at, "{\"error\":\"") || !take(body, n, &at, names[kind]) ||
        !take(body, n, &at,
              kind == NEG_UNKNOWN_BACKEND ? "\",\"backend\":\"" : "\",\"message\":\""))
        return false;
    for (size_t i = 0; i < detail_len; i++) {
        const char *known = detail[i] != 0 ? strchr(escaped, detail[i]) : NULL;
        char want[8] = {(char)detail[i]};

        if (known != NULL) {
            want[0] = '\\';
            want[1] = letters[known - escaped];
        } else if (detail[i] < 0x20) {
            memcpy(want, "\\u0000", 7);
            want[4] = detail[i] < 0x10 ? '0' : '1';
            want[5] = "0123456789abcdef"[detail[i] % 16];
        }
        if (!take(body, n, &at, want))
            return false;
    }
    return take(body, n, &at, "\"}") && at == n;
}

static bool str_is(const struct neg_str *s, const char *text)
{
    return s->n == strlen(text) && memcmp(s->p, text, s->n) == 0;
}

static bool str_has_nul(const struct neg_str *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->p[i] == '\0')
            return true;
    }
    return false;
}

enum neg_verdict neg_oracle_verdict(const struct neg_request *rq)
{
    bool bad = !str_is(&rq->carriage, "raw") || rq->cmd_count < 1 || rq->cmd[0].n < 1;

    for (size_t i = 0; i < rq->cmd_count; i++)
        bad = bad || str_has_nul(&rq->cmd[i]);
    for (size_t i = 0; i < rq->env_count; i++)
        bad = bad || str_has_nul(&rq->env[i].key) || str_has_nul(&rq->env[i].value);
    if (bad || (rq->has_cwd && str_has_nul(&rq->cwd)))
        return NEG_REFUSED_MALFORMED;
    return str_is(&rq->backend, "local") || str_is(&rq->backend, "ssh") ? NEG_ACCEPTED
                                                                        : NEG_REFUSED_BACKEND;
}

static bool str_equal(const struct neg_str *a, const struct neg_str *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

bool neg_request_equal(const struct neg_request *a, const struct neg_request *b)
{
    if (!str_equal(&a->carriage, &b->carriage) || !str_equal(&a->backend, &b->backend) ||
        a->has_cwd != b->has_cwd || !str_equal(&a->cwd, &b->cwd) || a->has_tty != b->has_tty ||
        memcmp(&a->tty, &b->tty, sizeof(a->tty)) != 0 || a->cmd_count != b->cmd_count ||
        a->env_count != b->env_count)
        return false;
    for (size_t i = 0; i < a->cmd_count; i++) {
        if (!str_equal(&a->cmd[i], &b->cmd[i]))
            return false;
    }
    for (size_t i = 0; i < a->env_count; i++) {
        if (!str_equal(&a->env[i].key, &b->env[i].key) ||
            !str_equal(&a->env[i].value, &b->env[i].value))
            return false;
    }
    return true;
}
