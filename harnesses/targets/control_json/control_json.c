/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control messages. The whole text is validated before any member is
 * believed: the first pass remembers where the known members are, the second
 * reads those of the kind that `type` names. Each PLANT_BUG_... block is a bug
 * that a test build can switch on.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "control_json.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define KIND(k)  (1u << (k))

enum field {
    FIELD_TYPE,
    FIELD_COLS,
    FIELD_ROWS,
    FIELD_WIDTH,
    FIELD_HEIGHT,
    FIELD_NAME,
    FIELD_CODE
};

static const struct {
    const char *key;
    unsigned kinds; /* of messages that have it */
    bool required;
} fields[] = {
    [FIELD_TYPE] = {"type", KIND(CTL_RESIZE) | KIND(CTL_SIGNAL) | KIND(CTL_EOF) | KIND(CTL_EXIT),
                    true},
    [FIELD_COLS] = {"cols", KIND(CTL_RESIZE), true},
    [FIELD_ROWS] = {"rows", KIND(CTL_RESIZE), true},
    [FIELD_WIDTH] = {"pixel_width", KIND(CTL_RESIZE), false},
    [FIELD_HEIGHT] = {"pixel_height", KIND(CTL_RESIZE), false},
    [FIELD_NAME] = {"name", KIND(CTL_SIGNAL), true},
    [FIELD_CODE] = {"code", KIND(CTL_EXIT), true},
};

static const char *const kinds[] = {
    [CTL_RESIZE] = "resize", [CTL_SIGNAL] = "signal", [CTL_EOF] = "eof", [CTL_EXIT] = "exit"};

struct parse {
    struct json_reader r;
#ifdef PLANT_BUG_CTL_NULL_NAME
    size_t members;
#endif
    struct {
        unsigned count;
        size_t twice_at; /* of the second, when there are two */
        struct json_place place;
    } seen[COUNT(fields)];
};

static size_t field_find(const struct json_span *key)
{
    size_t i = 0;

    while (i < COUNT(fields) && !json_span_equals(key, fields[i].key))
        i++;
    return i;
}

/* The first pass. */
static bool members_scan(struct parse *p)
{
    struct json_span key;

    if (!json_object_open(&p->r))
        return false;
    while (json_object_next(&p->r, &key)) {
        size_t i = field_find(&key);

#ifdef PLANT_BUG_CTL_NULL_NAME
        p->members++;
#endif
        if (i < COUNT(fields)) {
            struct json_place place = json_mark(&p->r);

            if (p->seen[i].count == 0)
                p->seen[i].place = place;
            else if (p->seen[i].count == 1)
                p->seen[i].twice_at = place.pos;
            p->seen[i].count++;
        }
        if (!json_skip(&p->r))
            return false;
    }
    return json_end(&p->r);
}

/* Goes to the value of a member; fails when it is there twice. */
static bool member_find(struct parse *p, enum field field)
{
    if (p->seen[field].count > 1)
        return json_fail(&p->r, JSON_E_DUPLICATE, p->seen[field].twice_at);
    if (p->seen[field].count == 0)
        return json_fail(&p->r, JSON_E_MISSING, p->r.n);
    json_return(&p->r, p->seen[field].place);
    return true;
}

static bool kind_read(struct parse *p, struct ctl_message *m)
{
    struct json_span type;

    if (!member_find(p, FIELD_TYPE) || !json_string(&p->r, &type))
        return false;
    for (size_t k = CTL_RESIZE; k < COUNT(kinds); k++) {
        if (json_span_equals(&type, kinds[k])) {
            m->kind = (enum ctl_kind)k;
            return true;
        }
    }
    return json_fail(&p->r, JSON_E_UNKNOWN, p->seen[FIELD_TYPE].place.pos);
}

static bool name_read(struct parse *p, struct json_str *name, const fz_allocator *mem)
{
    struct json_span span;

    if (!json_string(&p->r, &span))
        return false;
    return json_span_copy(&span, mem, name) || json_fail(&p->r, JSON_E_NOMEM, p->r.pos);
}

static bool code_read(struct parse *p, int32_t *code)
{
#ifdef PLANT_BUG_CTL_EXIT_TRUNC
    int64_t wide;

    if (!json_integer(&p->r, INT64_MIN, INT64_MAX, &wide))
        return false;
    *code = (int32_t)wide;
    return true;
#else
    return json_i32(&p->r, code);
#endif
}

static bool field_read(struct parse *p, enum field field, struct ctl_message *m,
                       const fz_allocator *mem)
{
    switch (field) {
    case FIELD_COLS:
        return json_u16(&p->r, &m->cols);
    case FIELD_ROWS:
        return json_u16(&p->r, &m->rows);
    case FIELD_WIDTH:
        return json_u16(&p->r, &m->pixel_width);
    case FIELD_HEIGHT:
        return json_u16(&p->r, &m->pixel_height);
    case FIELD_NAME:
        return name_read(p, &m->name, mem);
    case FIELD_CODE:
        return code_read(p, &m->code);
    default:
        return true;
    }
}

/* The second pass. */
static bool message_read(struct parse *p, struct ctl_message *m, const fz_allocator *mem)
{
    if (!kind_read(p, m))
        return false;
    for (size_t i = FIELD_COLS; i < COUNT(fields); i++) {
        if ((fields[i].kinds & KIND(m->kind)) == 0)
            continue;
        if (p->seen[i].count == 0 && !fields[i].required)
            continue;
#ifdef PLANT_BUG_CTL_NULL_NAME
        /* Counts the members instead of looking for the one it wants. */
        if (i == FIELD_NAME && p->seen[i].count == 0 && p->members > 1) {
            const char *volatile name = m->name.s;

            m->name.len = strlen(name);
            continue;
        }
#endif
        if (!member_find(p, (enum field)i) || !field_read(p, (enum field)i, m, mem))
            return false;
    }
    return true;
}

static void reach_error(const struct parse *p, const struct ctl_message *m)
{
    switch (p->r.err) {
    case JSON_E_UTF8:
        FZ_REACH(e_utf8);
        break;
    case JSON_E_ESCAPE:
        FZ_REACH(e_escape);
        break;
    case JSON_E_NUMBER:
        FZ_REACH(e_number);
        break;
    case JSON_E_DEPTH:
        FZ_REACH(e_depth);
        break;
    case JSON_E_TRAILING:
        FZ_REACH(e_trailing);
        break;
    case JSON_E_RANGE:
        FZ_REACH(e_range);
        break;
    case JSON_E_TYPE:
    case JSON_E_UNKNOWN:
        FZ_REACH(e_type);
        break;
    case JSON_E_DUPLICATE:
        FZ_REACH(e_duplicate);
        break;
    case JSON_E_MISSING:
        if (m->kind == CTL_NONE)
            FZ_REACH(e_no_type);
        else
            FZ_REACH(e_missing);
        break;
    default:
        break;
    }
}

static bool name_known(const struct json_str *name)
{
    const char *s = name->s;
    int signo;

#ifdef PLANT_BUG_CTL_NAME_OVERFLOW
    static char copy[16];

    s = memcpy(copy, s, name->len + 1);
#endif
#ifdef PLANT_BUG_CTL_NEEDLE
    if (name->len == 5 && memcmp(s, "XYZZY", 5) == 0)
        abort();
#endif
    return ctl_signal_from_name(s, name->len, &signo);
}

/* The edges of a range are places of their own: afl-fuzz stays near them. */
static void reach_ok(const struct ctl_message *m)
{
    switch (m->kind) {
    case CTL_RESIZE:
        FZ_REACH(ok_resize);
        if (m->cols == UINT16_MAX || m->rows == UINT16_MAX)
            FZ_REACH(edge_u16);
        break;
    case CTL_SIGNAL:
        if (name_known(&m->name))
            FZ_REACH(ok_signal_known);
        else
            FZ_REACH(ok_signal_unknown);
        break;
    case CTL_EOF:
        FZ_REACH(ok_eof);
        break;
    case CTL_EXIT:
        if (m->code < 0)
            FZ_REACH(ok_exit_neg);
        else
            FZ_REACH(ok_exit);
        if (m->code == INT32_MAX || m->code == INT32_MIN)
            FZ_REACH(edge_i32);
        break;
    default:
        break;
    }
}

enum json_err ctl_from_slice(const uint8_t *d, size_t n, const fz_allocator *mem,
                             struct ctl_message *ret, size_t *err_at)
{
    struct parse p;
    struct ctl_message m;

    memset(&m, 0, sizeof(m));
    memset(ret, 0, sizeof(*ret));
    memset(&p, 0, sizeof(p));
    json_reader_init(&p.r, d, n);
    if (!members_scan(&p) || !message_read(&p, &m, mem)) {
        reach_error(&p, &m);
        mem->free(mem->ctx, m.name.s);
        if (err_at != NULL)
            *err_at = p.r.err_at;
        return p.r.err;
    }
    reach_ok(&m);
    *ret = m;
    return JSON_OK;
}

void ctl_clear(struct ctl_message *m, const fz_allocator *mem)
{
    mem->free(mem->ctx, m->name.s);
    memset(m, 0, sizeof(*m));
}

static void put_integer_member(struct json_writer *w, enum field field, int32_t v)
{
    json_put(w, ",\"");
    json_put(w, fields[field].key);
    json_put(w, "\":");
    json_put_integer(w, v);
}

bool ctl_to_json(const struct ctl_message *m, const fz_allocator *mem, char **ret, size_t *ret_len)
{
    struct json_writer w;

    json_writer_init(&w, mem);
    json_put(&w, "{\"type\":\"");
    json_put(&w, kinds[m->kind]);
    json_put(&w, "\"");
    switch (m->kind) {
    case CTL_RESIZE:
        put_integer_member(&w, FIELD_COLS, m->cols);
        put_integer_member(&w, FIELD_ROWS, m->rows);
        put_integer_member(&w, FIELD_WIDTH, m->pixel_width);
        put_integer_member(&w, FIELD_HEIGHT, m->pixel_height);
        break;
    case CTL_SIGNAL:
        json_put(&w, ",\"name\":");
        json_put_string(&w, m->name.s, m->name.len);
        break;
    case CTL_EXIT:
        put_integer_member(&w, FIELD_CODE, m->code);
        break;
    default:
        break;
    }
    json_put(&w, "}");
    return json_writer_take(&w, ret, ret_len);
}

bool ctl_signal_from_name(const char *name, size_t n, int *signo)
{
    static const struct {
        char name[5];
        int signo;
    } signals[] = {
        {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"FPE", SIGFPE},   {"HUP", SIGHUP},
        {"ILL", SIGILL},   {"INT", SIGINT},   {"KILL", SIGKILL}, {"PIPE", SIGPIPE},
        {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV}, {"TERM", SIGTERM}, {"USR1", SIGUSR1},
        {"USR2", SIGUSR2},
    };

    for (size_t i = 0; i < COUNT(signals); i++) {
        if (strlen(signals[i].name) == n && memcmp(name, signals[i].name, n) == 0) {
            *signo = signals[i].signo;
            return true;
        }
    }
    return false;
}
