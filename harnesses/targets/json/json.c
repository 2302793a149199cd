/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON reader. Every byte is looked at once, left to right, and only if it is
 * inside the text; nesting is a counter and one bit a level. Each PLANT_BUG_...
 * block is a bug that a test build can switch on.
 */
#include "json.h"

void json_reader_init(struct json_reader *r, const uint8_t *d, size_t n)
{
    r->err = JSON_OK;
    r->err_at = 0;
    r->d = d;
    r->n = n;
    r->pos = 0;
    r->depth = 0;
    r->fresh = false;
}

bool json_fail(struct json_reader *r, enum json_err err, size_t at)
{
    if (r->err == JSON_OK) {
        r->err = err;
        r->err_at = at < r->n ? at : r->n;
    }
    return false;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Goes to the next byte that is not whitespace; false = failed, or no such byte. */
static bool token_find(struct json_reader *r)
{
    if (r->err != JSON_OK)
        return false;
    while (r->pos < r->n && is_space(r->d[r->pos]))
        r->pos++;
    return r->pos < r->n || json_fail(r, JSON_E_END, r->n);
}

/* Takes the punctuation c, or fails. */
static bool token_take(struct json_reader *r, uint8_t c)
{
    if (!token_find(r))
        return false;
    if (r->d[r->pos] != c)
        return json_fail(r, JSON_E_SYNTAX, r->pos);
    r->pos++;
    return true;
}

enum json_type json_peek(struct json_reader *r)
{
    uint8_t c;

    if (!token_find(r))
        return JSON_NONE;
    c = r->d[r->pos];
    if (c == '-' || (c >= '0' && c <= '9'))
        return JSON_NUMBER;
    switch (c) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    default:
        json_fail(r, JSON_E_SYNTAX, r->pos);
        return JSON_NONE;
    }
}

/* Whether the value to come has the type; fails with TYPE where it is another. */
static bool type_wanted(struct json_reader *r, enum json_type type)
{
    enum json_type have = json_peek(r);

    if (have != type && have != JSON_NONE)
        json_fail(r, JSON_E_TYPE, r->pos);
    return have == type;
}

/* ---- Containers ------------------------------------------------------------------------ */

static bool container_open(struct json_reader *r, enum json_type type)
{
    unsigned level = r->depth;
    uint8_t bit = (uint8_t)(1u << level % 8);

    if (!type_wanted(r, type))
        return false;
    if (level == JSON_DEPTH_MAX)
        return json_fail(r, JSON_E_DEPTH, r->pos);
    if (type == JSON_OBJECT)
        r->in_object[level / 8] |= bit;
    else
        r->in_object[level / 8] &= (uint8_t)~bit;
    r->depth++;
    r->fresh = true;
    r->pos++;
    return true;
}

/* Takes the comma before an item, if it needs one; false = closed or failed. */
static bool container_next(struct json_reader *r, uint8_t close)
{
    if (!token_find(r))
        return false;
    if (r->d[r->pos] == close) {
        r->pos++;
        r->depth--;
        r->fresh = false;
        return false;
    }
    if (!r->fresh)
        return token_take(r, ',');
    r->fresh = false;
    return true;
}

bool json_object_open(struct json_reader *r)
{
    return container_open(r, JSON_OBJECT);
}

bool json_array_open(struct json_reader *r)
{
    return container_open(r, JSON_ARRAY);
}

bool json_array_next(struct json_reader *r)
{
    return container_next(r, ']');
}

bool json_object_next(struct json_reader *r, struct json_span *key)
{
    if (!container_next(r, '}') || !token_find(r))
        return false;
    if (r->d[r->pos] != '"')
        return json_fail(r, JSON_E_SYNTAX, r->pos);
    return json_string(r, key) && token_take(r, ':');
}

/* ---- Numbers, literals, and any value -------------------------------------------------- */

static size_t digits_len(const struct json_reader *r, size_t at)
{
    size_t end = at;

    while (end < r->n && r->d[end] >= '0' && r->d[end] <= '9')
        end++;
    return end - at;
}

/*
 * Takes a number token; the reader stands on its first byte. Tells where its
 * digits begin and end, and whether it is an integer.
 */
static bool number_take(struct json_reader *r, size_t *start, size_t *end, bool *integral)
{
    size_t at = r->pos;
    size_t n;

    if (r->d[at] == '-')
        at++;
    *start = at;
    n = digits_len(r, at);
    if (n == 0 || (n > 1 && r->d[at] == '0'))
        return json_fail(r, JSON_E_NUMBER, at);
    at += n;
    *end = at;
    *integral = true;
    if (at < r->n && r->d[at] == '.') {
        *integral = false;
        n = digits_len(r, at + 1);
        if (n == 0)
            return json_fail(r, JSON_E_NUMBER, at + 1);
        at += 1 + n;
    }
    if (at < r->n && (r->d[at] | 0x20) == 'e') {
        *integral = false;
        at++;
        if (at < r->n && (r->d[at] == '+' || r->d[at] == '-'))
            at++;
        n = digits_len(r, at);
        if (n == 0)
            return json_fail(r, JSON_E_NUMBER, at);
        at += n;
    }
    r->pos = at;
    return true;
}

bool json_integer(struct json_reader *r, int64_t min, int64_t max, int64_t *out)
{
    uint64_t magnitude = 0;
    uint64_t limit;
    size_t token;
    size_t start;
    size_t end;
    bool integral;
    bool negative;

    if (!type_wanted(r, JSON_NUMBER))
        return false;
    token = r->pos;
    if (!number_take(r, &start, &end, &integral))
        return false;
    negative = start > token;
    if (!integral || (negative && r->d[start] == '0'))
        return json_fail(r, JSON_E_RANGE, token);
    limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    for (size_t at = start; at < end; at++) {
        uint64_t digit = r->d[at] - (uint64_t)'0';

        if (magnitude > (limit - digit) / 10)
            return json_fail(r, JSON_E_RANGE, token);
        magnitude = magnitude * 10 + digit;
    }
    /* Two's complement, so that the least value needs no case of its own. */
    int64_t v = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (v < min || v > max)
        return json_fail(r, JSON_E_RANGE, token);
    *out = v;
    return true;
}

bool json_u16(struct json_reader *r, uint16_t *out)
{
    int64_t v;

#ifdef PLANT_BUG_CTL_U16_WRAP
    if (!json_integer(r, INT64_MIN, INT64_MAX, &v))
        return false;
#else
    if (!json_integer(r, 0, UINT16_MAX, &v))
        return false;
#endif
    *out = (uint16_t)v;
    return true;
}

bool json_i32(struct json_reader *r, int32_t *out)
{
    int64_t v;

    if (!json_integer(r, INT32_MIN, INT32_MAX, &v))
        return false;
    *out = (int32_t)v;
    return true;
}

static bool literal_take(struct json_reader *r, const char *word)
{
    for (size_t i = 0; word[i] != '\0'; i++, r->pos++) {
        if (r->pos == r->n)
            return json_fail(r, JSON_E_END, r->n);
        if (r->d[r->pos] != (uint8_t)word[i])
            return json_fail(r, JSON_E_SYNTAX, r->pos);
    }
    return true;
}

bool json_bool(struct json_reader *r, bool *out)
{
    bool value;

    if (!type_wanted(r, JSON_BOOL))
        return false;
    value = r->d[r->pos] == 't';
    if (!literal_take(r, value ? "true" : "false"))
        return false;
    *out = value;
    return true;
}

bool json_null(struct json_reader *r)
{
    return type_wanted(r, JSON_NULL) && literal_take(r, "null");
}

/* Takes a scalar, or enters a container. */
static bool value_begin(struct json_reader *r)
{
    struct json_span span;
    size_t start;
    size_t end;
    bool flag;

    switch (json_peek(r)) {
    case JSON_OBJECT:
        return json_object_open(r);
    case JSON_ARRAY:
        return json_array_open(r);
    case JSON_STRING:
        return json_string(r, &span);
    case JSON_NUMBER:
        return number_take(r, &start, &end, &flag);
    case JSON_BOOL:
        return json_bool(r, &flag);
    case JSON_NULL:
        return json_null(r);
    default:
        return false;
    }
}

bool json_skip(struct json_reader *r)
{
    unsigned outside = r->depth;
    bool more = true;

    while (more) {
        if (!value_begin(r))
            return false;
        more = false;
        while (!more && r->depth > outside) {
            unsigned level = r->depth - 1;
            struct json_span key;

            if (r->in_object[level / 8] >> level % 8 & 1)
                more = json_object_next(r, &key);
            else
                more = json_array_next(r);
            if (r->err != JSON_OK)
                return false;
        }
    }
    return true;
}

bool json_end(struct json_reader *r)
{
#ifdef PLANT_BUG_NEG_TRAILING_OK
    size_t end = r->pos;

#endif
    if (r->err != JSON_OK)
        return false;
    while (r->pos < r->n && is_space(r->d[r->pos])) {
        r->pos++;
#ifdef PLANT_BUG_CTL_OOB_END
        while (is_space(r->d[r->pos]))
            r->pos++;
#endif
    }
#ifdef PLANT_BUG_NEG_TRAILING_OK
    if (r->pos > end)
        return true;
#endif
    return r->pos == r->n || json_fail(r, JSON_E_TRAILING, r->pos);
}

struct json_place json_mark(struct json_reader *r)
{
    return (struct json_place){r->pos, r->depth};
}

void json_return(struct json_reader *r, struct json_place place)
{
    r->pos = place.pos;
    r->depth = place.depth;
}
