/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings of the JSON reader: validated where they stand, unescaped only when
 * somebody copies or compares them. Each PLANT_BUG_... block is a bug that a test
 * build can switch on.
 */
#include <string.h>

#include "json.h"

/* Source: Unicode 15.0, table 3-7, well-formed UTF-8 byte sequences. */
size_t json_utf8_len(const uint8_t *p, size_t n)
{
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    size_t len;

    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
#ifdef PLANT_BUG_NEG_UTF8_OOB
    (void)n;
#else
    if (n < len)
        return 0;
#endif
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    return len;
}

/* The four hex digits at p; -1 if they are not. */
static int32_t hex4(const uint8_t *p)
{
    int32_t v = 0;

    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i];

        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = v * 16 + ((c | 0x20) - 'a' + 10);
        else
            return -1;
    }
    return v;
}

/*
 * The code point of the escape at p (a backslash), of which n bytes may be read.
 * Returns the bytes it takes, 0 when there is no such escape.
 */
static size_t escape_decode(const uint8_t *p, size_t n, uint32_t *code)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    const char *name;
    int32_t unit;
    int32_t second;

    if (n < 2 || p[1] == '\0')
        return 0;
    if (p[1] != 'u') {
        name = strchr(names, p[1]);
        if (name == NULL)
            return 0;
        *code = (uint8_t)values[name - names];
        return 2;
    }
    unit = n < 6 ? -1 : hex4(p + 2);
    if (unit < 0 || (unit & 0xfc00) == 0xdc00)
        return 0;
    *code = (uint32_t)unit;
    if ((unit & 0xfc00) != 0xd800)
        return 6;
    second = n < 12 || p[6] != '\\' || p[7] != 'u' ? -1 : hex4(p + 8);
#ifdef PLANT_BUG_CTL_ESC_SPIN
    if (second < 0) {
        for (;;)
            ;
    }
#endif
    if (second < 0 || (second & 0xfc00) != 0xdc00)
        return 0;
    *code = 0x10000u + ((uint32_t)(unit & 0x3ff) << 10 | (uint32_t)(second & 0x3ff));
    return 12;
}

static size_t utf8_encode(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xc0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xe0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (code & 0x3f));
    return 4;
}

bool json_string(struct json_reader *r, struct json_span *out)
{
    enum json_type type = json_peek(r);
    size_t start = r->pos + 1;
    size_t at = start;
    size_t len = 0;

    if (type == JSON_NONE)
        return false;
    if (type != JSON_STRING)
        return json_fail(r, JSON_E_TYPE, r->pos);
    while (at < r->n && r->d[at] != '"') {
        uint8_t bytes[4];
        uint32_t code;
        size_t step;

        if (r->d[at] < 0x20)
            return json_fail(r, JSON_E_CONTROL, at);
        if (r->d[at] == '\\') {
            step = escape_decode(r->d + at, r->n - at, &code);
            if (step == 0)
                return json_fail(r, JSON_E_ESCAPE, at);
            len += utf8_encode(code, bytes);
        } else {
            step = json_utf8_len(r->d + at, r->n - at);
            if (step == 0)
                return json_fail(r, JSON_E_UTF8, at);
            len += step;
        }
        at += step;
    }
    if (at >= r->n)
        return json_fail(r, JSON_E_END, r->n);
    *out = (struct json_span){r->d + start, at - start, len};
    r->pos = at + 1;
    return true;
}

bool json_span_equals_bytes(const struct json_span *s, const void *p, size_t n)
{
    const uint8_t *want = p;
    size_t at = 0;
    size_t got = 0;

    if (s->len != n)
        return false;
    if (s->len == s->raw_len)
        return n == 0 || memcmp(s->raw, want, n) == 0;
    while (at < s->raw_len) {
        uint8_t bytes[4] = {s->raw[at]};
        size_t len = 1;
        uint32_t code;

        if (s->raw[at] == '\\') {
            at += escape_decode(s->raw + at, s->raw_len - at, &code);
            len = utf8_encode(code, bytes);
        } else {
            at++;
        }
        if (memcmp(want + got, bytes, len) != 0)
            return false;
        got += len;
    }
    return true;
}

bool json_span_equals(const struct json_span *s, const char *text)
{
    return json_span_equals_bytes(s, text, strlen(text));
}

void json_span_unescape(const struct json_span *s, char *out)
{
    size_t at = 0;
    size_t got = 0;

    if (s->len == s->raw_len) {
        memcpy(out, s->raw, s->len);
        return;
    }
    while (at < s->raw_len) {
        uint32_t code;

        if (s->raw[at] == '\\') {
            uint8_t bytes[4];
            size_t len;

            at += escape_decode(s->raw + at, s->raw_len - at, &code);
            len = utf8_encode(code, bytes);
            memcpy(out + got, bytes, len);
            got += len;
        } else {
            out[got++] = (char)s->raw[at++];
        }
    }
}

bool json_span_copy(const struct json_span *s, const fz_allocator *mem, struct json_str *ret)
{
    char *out = mem->alloc(mem->ctx, s->len + 1);

    if (out == NULL)
        return false;
    json_span_unescape(s, out);
    out[s->len] = '\0';
    ret->s = out;
    ret->len = s->len;
    return true;
}
