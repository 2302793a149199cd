/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NegotiateRequest out of JSON. The body is read twice: first all of it is
 * validated and measured, without heap, then one block is allocated and filled.
 * So a body that is refused for its shape costs no memory, and a request is freed
 * by one call. Each PLANT_BUG_... block is a bug that a test build can switch on.
 */
#include <string.h>

#include "negotiation_frame.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { KEY_CARRIAGE, KEY_BACKEND, KEY_TTY, KEY_CMD, KEY_ENV, KEY_CWD, KEY_COUNT };
static const char *const keys[KEY_COUNT] = {"carriage", "backend", "tty", "cmd", "env", "cwd"};
#define KEYS_REQUIRED (1u << KEY_CARRIAGE | 1u << KEY_BACKEND | 1u << KEY_CMD)

static const char *const tty_keys[] = {"cols", "rows", "pixel_width", "pixel_height"};
#define TTY_KEYS_REQUIRED 3u /* cols, rows */

/* What the first reading finds. */
struct shape {
    struct json_span carriage;
    struct json_span backend;
    struct json_span cwd;
    struct json_place cmd;
    struct json_place env;
    struct neg_tty tty;
    bool has_cwd;
    bool has_tty;
    size_t cmd_count;
    size_t env_count;
    size_t text_len; /* of all strings, unescaped */
};

/*
 * The next member's key as an index into names, or count for one that is not
 * there. Fails on a known key that was seen; false = no member.
 */
static bool member_next(struct json_reader *r, const char *const *names, size_t count,
                        unsigned *seen, size_t *ret_key)
{
    struct json_span key;
    size_t k = 0;

    if (!json_object_next(r, &key))
        return false;
    while (k < count && !json_span_equals(&key, names[k]))
        k++;
#ifndef PLANT_BUG_NEG_DUP_LAST
    if (k < count && *seen >> k & 1)
        return json_fail(r, JSON_E_DUPLICATE, (size_t)(key.raw - r->d));
#endif
    if (k < count)
        *seen |= 1u << k;
    *ret_key = k;
    return true;
}

static void tty_read(struct json_reader *r, struct shape *s)
{
    uint16_t v[COUNT(tty_keys)] = {0};
    unsigned seen = 0;
    size_t k;

    if (json_peek(r) == JSON_NULL) {
        json_null(r);
        return;
    }
    if (!json_object_open(r))
        return;
    while (member_next(r, tty_keys, COUNT(tty_keys), &seen, &k)) {
        if (k == COUNT(tty_keys))
            json_skip(r);
        else
            json_u16(r, &v[k]);
    }
    if ((seen & TTY_KEYS_REQUIRED) != TTY_KEYS_REQUIRED)
        json_fail(r, JSON_E_MISSING, r->pos);
    s->tty = (struct neg_tty){v[0], v[1], v[2], v[3]};
    s->has_tty = true;
}

static void string_measure(struct json_reader *r, struct json_span *out, size_t *text_len)
{
    if (json_string(r, out))
        *text_len += out->len;
}

static void cmd_measure(struct json_reader *r, struct shape *s)
{
    struct json_span item;

    s->cmd = json_mark(r);
    if (!json_array_open(r))
        return;
    while (json_array_next(r)) {
        string_measure(r, &item, &s->text_len);
        s->cmd_count++;
    }
}

static void env_measure(struct json_reader *r, struct shape *s)
{
    struct json_span key;
    struct json_span value;

    s->env = json_mark(r);
    if (!json_object_open(r))
        return;
    while (json_object_next(r, &key)) {
        s->text_len += key.len;
        string_measure(r, &value, &s->text_len);
        s->env_count++;
    }
}

static void cwd_measure(struct json_reader *r, struct shape *s)
{
    if (json_peek(r) == JSON_NULL) {
        json_null(r);
        return;
    }
    string_measure(r, &s->cwd, &s->text_len);
    s->has_cwd = true;
}

/* The first reading; the verdict is in r. */
static void shape_read(struct json_reader *r, struct shape *s)
{
    unsigned seen = 0;
    size_t k;

    if (!json_object_open(r))
        return;
    while (member_next(r, keys, KEY_COUNT, &seen, &k)) {
        switch (k) {
        case KEY_CARRIAGE:
            string_measure(r, &s->carriage, &s->text_len);
            break;
        case KEY_BACKEND:
            string_measure(r, &s->backend, &s->text_len);
            break;
        case KEY_TTY:
            tty_read(r, s);
            break;
        case KEY_CMD:
            cmd_measure(r, s);
            break;
        case KEY_ENV:
            env_measure(r, s);
            break;
        case KEY_CWD:
            cwd_measure(r, s);
            break;
        default:
            json_skip(r);
            break;
        }
    }
    if ((seen & KEYS_REQUIRED) != KEYS_REQUIRED)
        json_fail(r, JSON_E_MISSING, r->pos);
    json_end(r);
}

static struct neg_str string_store(const struct json_span *span, char **text)
{
    struct neg_str s = {.p = *text, .n = span->len};

    json_span_unescape(span, *text);
    *text += span->len;
    return s;
}

static int str_compare(const struct neg_str *a, const struct neg_str *b)
{
    int order = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);

    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

static void env_sift(struct neg_env *env, size_t root, size_t n)
{
    struct neg_env moved = env[root];
    size_t child;

    while ((child = 2 * root + 1) < n) {
        if (child + 1 < n && str_compare(&env[child].key, &env[child + 1].key) < 0)
            child++;
        if (str_compare(&moved.key, &env[child].key) >= 0)
            break;
        env[root] = env[child];
        root = child;
    }
    env[root] = moved;
}

/* A heap sort: qsort() may allocate, and not from our allocator. */
static void env_sort(struct neg_env *env, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        env_sift(env, i, n);
    for (size_t end = n; end-- > 1;) {
        struct neg_env last = env[end];

        env[end] = env[0];
        env[0] = last;
        env_sift(env, 0, end);
    }
}

static bool env_has_twin(const struct neg_env *env, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (str_compare(&env[i - 1].key, &env[i].key) == 0)
            return true;
    }
    return false;
}

/* The second reading, of a body that passed the first. */
static void request_fill(struct json_reader *r, const struct shape *s, struct neg_request *rq,
                         char *text)
{
    struct json_span span;
    size_t i = 0;

    rq->carriage = string_store(&s->carriage, &text);
    rq->backend = string_store(&s->backend, &text);
    rq->has_cwd = s->has_cwd;
    if (s->has_cwd)
        rq->cwd = string_store(&s->cwd, &text);
    rq->has_tty = s->has_tty;
    if (s->has_tty)
        rq->tty = s->tty;
    json_return(r, s->cmd);
    for (json_array_open(r); i < s->cmd_count && json_array_next(r); i++) {
        json_string(r, &span);
        rq->cmd[i] = string_store(&span, &text);
    }
    rq->cmd_count = i;
    if (s->env_count == 0)
        return;
    json_return(r, s->env);
    i = 0;
    for (json_object_open(r); i < s->env_count && json_object_next(r, &span); i++) {
        rq->env[i].key = string_store(&span, &text);
        json_string(r, &span);
        rq->env[i].value = string_store(&span, &text);
    }
    rq->env_count = i;
    env_sort(rq->env, rq->env_count);
}

static enum neg_err refuse(const struct json_reader *r, struct neg_fault *fault)
{
    FZ_REACH(json_err);
    if (r->err == JSON_E_DEPTH)
        FZ_REACH(depth_err);
    if (r->err == JSON_E_UTF8)
        FZ_REACH(utf8_err);
    if (fault != NULL)
        *fault = (struct neg_fault){.err = r->err, .offset = r->err_at};
    return NEG_E_JSON;
}

enum neg_err neg_request_from_slice(const fz_allocator *mem, const void *body, size_t n,
                                    struct neg_request *ret_request, struct neg_fault *fault)
{
    struct json_reader r;
    struct shape s = {0};
    size_t cmd_bytes;
    size_t env_bytes;
    char *block;

    memset(ret_request, 0, sizeof(*ret_request)); /* the padding too */
    json_reader_init(&r, body, n);
    shape_read(&r, &s);
    if (r.err != JSON_OK)
        return refuse(&r, fault);

    /* Each count is at most n / 3, so nothing overflows. */
    cmd_bytes = s.cmd_count * sizeof(*ret_request->cmd);
    env_bytes = s.env_count * sizeof(*ret_request->env);
    block = mem->alloc(mem->ctx, cmd_bytes + env_bytes + s.text_len + 1);
    if (block == NULL)
        return NEG_E_NOMEM;
    ret_request->block = block;
    ret_request->cmd = (struct neg_str *)(void *)block;
    ret_request->env = (struct neg_env *)(void *)(block + cmd_bytes);
    request_fill(&r, &s, ret_request, block + cmd_bytes + env_bytes);
    if (env_has_twin(ret_request->env, ret_request->env_count)) {
        neg_request_clear(mem, ret_request);
        json_fail(&r, JSON_E_DUPLICATE, s.env.pos);
        return refuse(&r, fault);
    }
    FZ_REACH(json_ok);
    if (ret_request->has_tty)
        FZ_REACH(json_ok_tty);
    if (ret_request->env_count > 0)
        FZ_REACH(json_ok_env);
    return NEG_OK;
}

void neg_request_clear(const fz_allocator *mem, struct neg_request *rq)
{
    mem->free(mem->ctx, rq->block);
    memset(rq, 0, sizeof(*rq));
}

static bool has_nul(const struct neg_str *s)
{
    return memchr(s->p, '\0', s->n) != NULL;
}

enum neg_verdict neg_request_validate(const struct neg_request *rq, const char *const *names,
                                      const char **ret_why)
{
    const char *why = NULL;

    if (rq->carriage.n != 3 || memcmp(rq->carriage.p, "raw", 3) != 0)
        why = "carriage is not raw";
    else if (rq->cmd_count == 0)
        why = "cmd is empty";
    else if (rq->cmd[0].n == 0)
        why = "cmd names no program";
    for (size_t i = 0; why == NULL && i < rq->cmd_count; i++) {
        if (has_nul(&rq->cmd[i]))
            why = "NUL in cmd";
    }
    for (size_t i = 0; why == NULL && i < rq->env_count; i++) {
        if (has_nul(&rq->env[i].key) || has_nul(&rq->env[i].value))
            why = "NUL in env";
    }
    if (why == NULL && rq->has_cwd && has_nul(&rq->cwd))
        why = "NUL in cwd";
    *ret_why = why;
    if (why != NULL)
        return NEG_REFUSED_MALFORMED;
    for (; *names != NULL; names++) {
        if (strlen(*names) == rq->backend.n && memcmp(*names, rq->backend.p, rq->backend.n) == 0)
            return NEG_ACCEPTED;
    }
    *ret_why = "no such backend";
    return NEG_REFUSED_BACKEND;
}
