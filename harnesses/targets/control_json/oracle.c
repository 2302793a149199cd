/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle's grammar: recursive descent, one function a rule. Strings are
 * decoded by arithmetic, numbers by their states.
 */
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define NESTED_MAX 128

struct cursor {
    struct text *t;
    size_t at;
};

static int byte_at(const struct cursor *c)
{
    return c->at < c->t->n ? c->t->d[c->at] : -1;
}

static void blanks(struct cursor *c)
{
    int b = byte_at(c);

    while (b == 0x20 || b == 0x09 || b == 0x0a || b == 0x0d) {
        c->at++;
        b = byte_at(c);
    }
}

static struct token token_add(struct cursor *c, size_t start)
{
    struct token token = {(uint32_t)start, (uint32_t)c->at};

    if (c->t->token_count < FZ_INPUT_MAX)
        c->t->tokens[c->t->token_count++] = token;
    return token;
}

/* Takes the punctuation if it is next. */
static bool mark(struct cursor *c, int b)
{
    blanks(c);
    if (byte_at(c) != b)
        return false;
    c->at++;
    token_add(c, c->at - 1);
    return true;
}

/* Decodes the UTF-8 sequence at d by arithmetic; the bytes it takes, 0 = ill-formed. */
static size_t utf8_take(const uint8_t *d, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = d[0] < 0x80         ? 1
                 : d[0] >> 5 == 0x06 ? 2
                 : d[0] >> 4 == 0x0e ? 3
                 : d[0] >> 3 == 0x1e ? 4
                                     : 0;
    uint32_t code = len < 2 ? d[0] : d[0] & (0x7fu >> len);

    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (d[i] >> 6 != 2)
            return 0;
        code = code * 64 + (d[i] & 63);
    }
    if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return len;
}

bool oracle_utf8(const uint8_t *d, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_take(d + i, n - i);
        if (len == 0 || d[i] == 0)
            return false;
    }
    return true;
}

/* The unit of a \uXXXX at d, or -1. */
static long unit_at(const uint8_t *d, size_t n)
{
    char digits[5] = "";

    if (n < 6 || d[0] != '\\' || d[1] != 'u')
        return -1;
    memcpy(digits, d + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

static size_t utf8_give(unsigned long code, uint8_t *out)
{
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = len; i-- > 1; code >>= 6)
        out[i] = (uint8_t)(0x80 | (code & 63));
    out[0] = (uint8_t)(len == 1 ? code : (0xf00u >> len & 0xff) | code);
    return len;
}

/*
 * One character of a string at d: the bytes it takes, 0 = not one. Its UTF-8
 * goes to out (room for 4), its length to *out_len.
 */
static size_t character(const uint8_t *d, size_t n, uint8_t *out, size_t *out_len)
{
    static const char plain[][2] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'b', 8},
                                    {'f', 0x0c}, {'n', 0x0a},  {'r', 0x0d}, {'t', 9}};
    long unit;
    long low;

    *out_len = 0;
    if (n == 0 || d[0] < 0x20 || d[0] == '"')
        return 0;
    if (d[0] != '\\') {
        *out_len = utf8_take(d, n);
        memcpy(out, d, *out_len);
        return *out_len;
    }
    for (size_t i = 0; n > 1 && i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (d[1] == (uint8_t)plain[i][0]) {
            out[0] = (uint8_t)plain[i][1];
            *out_len = 1;
            return 2;
        }
    }
    unit = unit_at(d, n);
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
        return 0;
    if (unit < 0xd800 || unit > 0xdbff) {
        *out_len = utf8_give((unsigned long)unit, out);
        return 6;
    }
    low = unit_at(d + 6, n - 6);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *out_len = utf8_give(
        ((unsigned long)unit - 0xd800) * 1024 + (unsigned long)low - 0xdc00 + 0x10000, out);
    return 12;
}

static bool string(struct cursor *c, struct token *token)
{
    size_t start = c->at;
    uint8_t out[4];
    size_t len;
    size_t step;

    if (byte_at(c) != '"')
        return false;
    c->at++;
    while ((step = character(c->t->d + c->at, c->t->n - c->at, out, &len)) > 0)
        c->at += step;
    if (byte_at(c) != '"')
        return false;
    c->at++;
    *token = token_add(c, start);
    return true;
}

/* The states of a number, by what came last. */
static bool number(struct cursor *c)
{
    enum { START, MINUS, ZERO, DIGITS, POINT, FRACTION, EXP, SIGN, POWER } s = START;
    size_t start = c->at;

    for (;; c->at++) {
        int b = byte_at(c);
        bool digit = b >= '0' && b <= '9';

        if (s == START && b == '-')
            s = MINUS;
        else if ((s == START || s == MINUS) && digit)
            s = b == '0' ? ZERO : DIGITS;
        else if ((s == ZERO || s == DIGITS) && b == '.')
            s = POINT;
        else if ((s == POINT || s == FRACTION) && digit)
            s = FRACTION;
        else if ((s == ZERO || s == DIGITS || s == FRACTION) && (b == 'e' || b == 'E'))
            s = EXP;
        else if (s == EXP && (b == '+' || b == '-'))
            s = SIGN;
        else if ((s == EXP || s == SIGN || s == POWER) && digit)
            s = POWER;
        else if (s != DIGITS || !digit)
            break;
    }
    token_add(c, start);
    return s == ZERO || s == DIGITS || s == FRACTION || s == POWER;
}

static bool word(struct cursor *c, const char *text)
{
    size_t n = strlen(text);

    if (c->t->n - c->at < n || memcmp(c->t->d + c->at, text, n) != 0)
        return false;
    c->at += n;
    token_add(c, c->at - n);
    return true;
}

static bool value(struct cursor *c, unsigned nested);

static bool object(struct cursor *c, unsigned nested)
{
    if (nested > NESTED_MAX || !mark(c, '{'))
        return false;
    if (mark(c, '}'))
        return true;
    do {
        struct member m;

        blanks(c);
        if (!string(c, &m.key) || !mark(c, ':'))
            return false;
        blanks(c);
        m.value.start = (uint32_t)c->at;
        if (!value(c, nested + 1))
            return false;
        m.value.end = (uint32_t)c->at;
        if (nested == 1)
            c->t->members[c->t->member_count++] = m;
    } while (mark(c, ','));
    return mark(c, '}');
}

static bool array(struct cursor *c, unsigned nested)
{
    if (nested > NESTED_MAX || !mark(c, '['))
        return false;
    if (mark(c, ']'))
        return true;
    do {
        if (!value(c, nested + 1))
            return false;
    } while (mark(c, ','));
    return mark(c, ']');
}

static bool value(struct cursor *c, unsigned nested)
{
    struct token token;

    blanks(c);
    switch (byte_at(c)) {
    case '{':
        return object(c, nested);
    case '[':
        return array(c, nested);
    case '"':
        return string(c, &token);
    case 't':
        return word(c, "true");
    case 'f':
        return word(c, "false");
    case 'n':
        return word(c, "null");
    default:
        return number(c);
    }
}

void oracle_text(struct text *t, const uint8_t *d, size_t n)
{
    struct cursor c = {t, 0};

    t->d = d;
    t->n = n;
    t->token_count = 0;
    t->member_count = 0;
    t->json = value(&c, 1);
    blanks(&c);
    t->json = t->json && c.at == n;
    t->object = t->json && d[t->tokens[0].start] == '{';
}

size_t oracle_unescape(const struct text *t, struct token s, uint8_t *out)
{
    size_t at = s.start + 1u;
    size_t n = 0;
    size_t len;

    while (at < s.end - 1u) {
        at += character(t->d + at, s.end - 1u - at, out + n, &len);
        n += len;
    }
    return n;
}
