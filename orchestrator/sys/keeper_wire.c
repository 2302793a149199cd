/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between fuzzd and fuzz-keeper as text: one table per message drives both directions,
 * so that neither can know a field the other does not. A message that is cut anywhere is refused:
 * the description ends with an item of its own, records end with a checksum.
 */
#include "sys/keeper_wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <bsd/string.h>

#include "base/hash.h"
#include "base/parse.h"

#define SUM_KEY "sum="
#define SUM_LEN (sizeof(SUM_KEY) - 1 + 64 + 1)

enum kind {
    KIND_LIST,
    KIND_TEXT,
    KIND_CHARS,
    KIND_I64, /* 0 to NUMBER_MAX */
    KIND_INT, /* 0 to the field's own most */
    KIND_CPU, /* int, -1 none */
    KIND_BOOL,
    KIND_PROC,
    KIND_END
};

struct field {
    const char *key;
    enum kind kind;
    size_t offset;
    size_t size; /* of KIND_CHARS */
    int max;     /* of KIND_INT */
};

/* Largest of KIND_I64: what can be added up and multiplied by a thousand. */
#define NUMBER_MAX (INT64_C(1) << 53)
#define CPU_MAX    65535
#define PORT_MAX   65535
#define CODE_MAX   4095 /* an exit code, a signal or an errno */

#define DESC(k, type, member)                                                                      \
    {                                                                                              \
        k, type, offsetof(struct keeper_desc, member), 0, 0                                        \
    }
#define DESC_INT(k, member, max)                                                                   \
    {                                                                                              \
        k, KIND_INT, offsetof(struct keeper_desc, member), 0, max                                  \
    }
#define RUN(k, type, member)                                                                       \
    {                                                                                              \
        k, type, offsetof(struct keeper_run, member), 0, 0                                         \
    }
#define RUN_INT(k, member, max)                                                                    \
    {                                                                                              \
        k, KIND_INT, offsetof(struct keeper_run, member), 0, max                                   \
    }
#define RUN_CHARS(k, member)                                                                       \
    {                                                                                              \
        k, KIND_CHARS, offsetof(struct keeper_run, member),                                        \
            sizeof(((struct keeper_run *)NULL)->member), 0                                         \
    }
#define EXIT(k, type, member)                                                                      \
    {                                                                                              \
        k, type, offsetof(struct keeper_exit, member), 0, 0                                        \
    }
#define EXIT_INT(k, member, max)                                                                   \
    {                                                                                              \
        k, KIND_INT, offsetof(struct keeper_exit, member), 0, max                                  \
    }
#define EXIT_CHARS(k, member)                                                                      \
    {                                                                                              \
        k, KIND_CHARS, offsetof(struct keeper_exit, member),                                       \
            sizeof(((struct keeper_exit *)NULL)->member), 0                                        \
    }
#define FIELD_END                                                                                  \
    {                                                                                              \
        NULL, KIND_INT, 0, 0, 0                                                                    \
    }

/* clang-format off */
static const struct field desc_fields[] = {
    DESC("argv", KIND_LIST, argv), DESC("env", KIND_LIST, env),
    DESC("keep", KIND_LIST, procs_keep), DESC("afl", KIND_LIST, procs_afl),
    DESC("kill", KIND_LIST, kill_files), DESC("events", KIND_LIST, events_files),
    DESC("oom", KIND_LIST, oom_files), DESC("cgroup", KIND_LIST, cgroups),
    DESC("cwd", KIND_TEXT, cwd), DESC("log", KIND_TEXT, log_path),
    DESC("run", KIND_TEXT, run_path), DESC("exit", KIND_TEXT, exit_path),
    DESC("id", KIND_TEXT, id), DESC("plan", KIND_TEXT, plan_hash),
    DESC("log_max_bytes", KIND_I64, log_max_bytes), DESC("grace_ms", KIND_I64, grace_ms),
    DESC("fsize_bytes", KIND_I64, fsize_bytes), DESC("cpu", KIND_CPU, cpu),
    DESC_INT("statsd_port", statsd_port, PORT_MAX), DESC_INT("uid", uid, INT32_MAX),
    DESC_INT("gid", gid, INT32_MAX), FIELD_END};

static const struct field run_fields[] = {
    RUN_CHARS("id", id), RUN_CHARS("plan", plan_hash),
    RUN("keeper", KIND_PROC, keeper), RUN("afl", KIND_PROC, afl),
    RUN("cpu", KIND_CPU, cpu), RUN_INT("statsd_port", statsd_port, PORT_MAX),
    RUN("started_at_ms", KIND_I64, started_at_ms), RUN("own_ipc", KIND_BOOL, own_ipc),
    RUN("cgroup", KIND_LIST, cgroups), FIELD_END};

static const struct field exit_fields[] = {
    EXIT("end", KIND_END, end), EXIT_INT("code", code, CODE_MAX), EXIT("asked", KIND_BOOL, asked),
    EXIT("killed_after_grace", KIND_BOOL, killed_after_grace),
    EXIT("ended_at_ms", KIND_I64, ended_at_ms), EXIT("oom_kills", KIND_I64, oom_kills),
    EXIT("user_ms", KIND_I64, user_ms), EXIT("system_ms", KIND_I64, system_ms),
    EXIT("max_rss_bytes", KIND_I64, max_rss_bytes), EXIT_INT("leftover", leftover, INT32_MAX),
    EXIT_CHARS("what", what), EXIT_CHARS("started_afl", started_afl), FIELD_END};
/* clang-format on */

static const char *const end_names[] = {[KEEPER_EXITED] = "exited",
                                        [KEEPER_SIGNALLED] = "signalled",
                                        [KEEPER_EXEC_FAILED] = "exec-failed",
                                        [KEEPER_SETUP_FAILED] = "setup-failed"};
#define END_COUNT (sizeof(end_names) / sizeof(end_names[0]))

/* A text under construction; pos > size means that it did not fit. */
struct out {
    char *buf;
    size_t size, pos;
    char sep;
};

static void out_item(struct out *o, const char *key, const char *value)
{
    size_t start = o->pos;
    int n;

    if (o->pos >= o->size)
        return;
    n = snprintf(o->buf + o->pos, o->size - o->pos, "%s=%s", key, value);
    o->pos += (size_t)n + 1;
    if (o->pos >= o->size) {
        o->pos = o->size;
        return;
    }
    /* A newline in a value would begin a line of its own in a record. */
    for (; o->sep == '\n' && start < o->pos - 1; start++)
        if ((unsigned char)o->buf[start] < 0x20)
            o->buf[start] = '?';
    o->buf[o->pos - 1] = o->sep;
}

static void out_field(struct out *o, const struct field *f, const void *obj)
{
    const char *p = (const char *)obj + f->offset;
    char text[96];
    size_t i;

    switch (f->kind) {
    case KIND_LIST:
        for (i = 0; i < ((const struct strv *)(const void *)p)->n; i++)
            out_item(o, f->key, ((const struct strv *)(const void *)p)->v[i]);
        return;
    case KIND_TEXT:
        if (*(char *const *)(const void *)p != NULL)
            out_item(o, f->key, *(char *const *)(const void *)p);
        return;
    case KIND_CHARS:
        out_item(o, f->key, p);
        return;
    case KIND_I64:
        (void)snprintf(text, sizeof(text), "%" PRId64, *(const int64_t *)(const void *)p);
        break;
    case KIND_INT:
    case KIND_CPU:
        (void)snprintf(text, sizeof(text), "%d", *(const int *)(const void *)p);
        break;
    case KIND_BOOL:
        (void)snprintf(text, sizeof(text), "%d", *(const bool *)(const void *)p ? 1 : 0);
        break;
    case KIND_END:
        (void)strlcpy(text, end_names[*(const enum keeper_end *)(const void *)p], sizeof(text));
        break;
    case KIND_PROC: {
        const struct proc_id *id = (const void *)p;

        (void)snprintf(text, sizeof(text), "%d %" PRIu64 " %s", (int)id->pid, id->start_ticks,
                       id->boot_id);
        break;
    }
    }
    out_item(o, f->key, text);
}

static int number_parse(const char *s, int64_t min, int64_t max, int64_t *ret)
{
    bool minus = *s == '-';
    uint64_t n;
    int64_t v;

    if (parse_u64(s + minus, INT64_MAX, &n) < 0)
        return -EBADMSG;
    v = minus ? -(int64_t)n : (int64_t)n;
    if (v < min || v > max)
        return -EBADMSG;
    *ret = v;
    return 0;
}

/* "4711 123456 0123456789abcdef..." */
static int proc_parse(char *value, struct proc_id *ret)
{
    char *pid = strsep(&value, " ");
    char *start = strsep(&value, " ");
    uint64_t n, ticks;

    if (value == NULL || parse_u64(pid, INT32_MAX, &n) < 0 ||
        parse_u64(start, UINT64_MAX, &ticks) < 0 || strlen(value) >= sizeof(ret->boot_id))
        return -EBADMSG;
    ret->pid = (pid_t)n;
    ret->start_ticks = ticks;
    (void)strlcpy(ret->boot_id, value, sizeof(ret->boot_id));
    return 0;
}

/* slots NULL: lists are copied; else they are made of pointers in *slots, all items of one list being adjacent. */
static int in_list(struct strv *list, char *value, char ***slots, char **slots_end)
{
    if (slots == NULL) {
        if (list->n >= KEEPER_ITEMS_MAX)
            return -E2BIG;
        strv_add(list, value);
        return 0;
    }
    if (*slots + 2 > slots_end)
        return -E2BIG;
    if (list->n == 0)
        list->v = *slots;
    else if (list->v + list->n + 1 != *slots)
        return -EBADMSG;
    else
        (*slots)--;
    *(*slots)++ = value;
    *(*slots)++ = NULL;
    list->n++;
    return 0;
}

static int in_item(const struct field *fields, char *item, void *obj, char ***slots,
                   char **slots_end)
{
    char *value = strchr(item, '=');
    const struct field *f = fields;
    int64_t n = 0;
    char *p;
    size_t i;

    if (value == NULL)
        return -EBADMSG;
    *value++ = '\0';
    while (f->key != NULL && strcmp(f->key, item) != 0)
        f++;
    if (f->key == NULL)
        return -EBADMSG;
    p = (char *)obj + f->offset;
    switch (f->kind) {
    case KIND_LIST:
        return in_list((void *)p, value, slots, slots_end);
    case KIND_TEXT:
        *(char **)(void *)p = value;
        return 0;
    case KIND_CHARS:
        return strlcpy(p, value, f->size) < f->size ? 0 : -EBADMSG;
    case KIND_I64:
        return number_parse(value, 0, NUMBER_MAX, (int64_t *)(void *)p);
    case KIND_INT:
    case KIND_CPU:
        if (number_parse(value, f->kind == KIND_CPU ? -1 : 0,
                         f->kind == KIND_CPU ? CPU_MAX : f->max, &n) < 0)
            return -EBADMSG;
        *(int *)(void *)p = (int)n;
        return 0;
    case KIND_BOOL:
        if (number_parse(value, 0, 1, &n) < 0)
            return -EBADMSG;
        *(bool *)(void *)p = n != 0;
        return 0;
    case KIND_END:
        for (i = 0; i < END_COUNT; i++) {
            if (strcmp(value, end_names[i]) == 0) {
                *(enum keeper_end *)(void *)p = (enum keeper_end)i;
                return 0;
            }
        }
        return -EBADMSG;
    case KIND_PROC:
        return proc_parse(value, (void *)p);
    }
    return -EBADMSG;
}

int keeper_desc_format(char *buf, size_t size, const struct keeper_desc *d)
{
    struct out o = {.buf = buf, .size = size, .sep = '\0'};
    const struct field *f;
    size_t items = 0;

    out_item(&o, "fuzz-keeper", "1");
    for (f = desc_fields; f->key != NULL; f++) {
        if (f->kind == KIND_LIST)
            items += ((const struct strv *)(const void *)((const char *)d + f->offset))->n;
        out_field(&o, f, d);
    }
    out_item(&o, "end", "1");
    return o.pos >= o.size || items > KEEPER_ITEMS_MAX ? -E2BIG : (int)o.pos;
}

int keeper_desc_parse(char *data, size_t size, char **slots, struct keeper_desc *ret)
{
    char **next = slots;
    char *p = data, *end = data + size;
    bool first = true;

    memset(ret, 0, sizeof(*ret));
    ret->cpu = -1;
    if (size == 0 || end[-1] != '\0')
        return -EBADMSG;
    while (p < end) {
        size_t len = strlen(p);
        int rc;

        if (first && strcmp(p, "fuzz-keeper=1") != 0)
            return -EBADMSG;
        if (!first && strcmp(p, "end=1") == 0)
            return p + len + 1 == end && ret->argv.n > 0 && ret->exit_path != NULL &&
                           ret->run_path != NULL
                       ? 0
                       : -EBADMSG;
        rc = first ? 0 : in_item(desc_fields, p, ret, &next, slots + KEEPER_SLOTS_MAX);
        if (rc < 0)
            return rc;
        first = false;
        p += len + 1;
    }
    return -EBADMSG;
}

static int record_format(char *buf, size_t size, const struct field *fields, const char *head,
                         const void *obj)
{
    struct out o = {.buf = buf, .size = size, .sep = '\n'};
    char sum[65];

    out_item(&o, head, "1");
    for (; fields->key != NULL; fields++)
        out_field(&o, fields, obj);
    if (o.pos + SUM_LEN >= size)
        return -E2BIG;
    hash_sha256_hex(buf, o.pos, sum);
    out_item(&o, "sum", sum);
    buf[o.pos] = '\0';
    return (int)o.pos;
}

int keeper_run_format(char *buf, size_t size, const struct keeper_run *r)
{
    return record_format(buf, size, run_fields, "fuzz-keeper-run", r);
}

int keeper_exit_format(char *buf, size_t size, const struct keeper_exit *e)
{
    return record_format(buf, size, exit_fields, "fuzz-keeper-exit", e);
}

/* data: size bytes and a NUL behind them. Lists are copied. */
static int record_parse(char *data, size_t size, const struct field *fields, const char *head,
                        void *obj)
{
    char *rest, *line;
    char sum[65];
    int rc = 0;

    while (size > 0 && data[size - 1] == '\0')
        size--;
    if (size == 0)
        return -ENOENT;
    if (size <= SUM_LEN || strlen(data) != size || data[size - 1] != '\n')
        return -EBADMSG;
    rest = data + size - SUM_LEN;
    hash_sha256_hex(data, size - SUM_LEN, sum);
    if (rest[-1] != '\n' || strncmp(rest, SUM_KEY, strlen(SUM_KEY)) != 0 ||
        strncmp(rest + strlen(SUM_KEY), sum, 64) != 0)
        return -EBADMSG;
    rest[-1] = '\0';
    rest = data;
    line = strsep(&rest, "\n");
    if (strncmp(line, head, strlen(head)) != 0 || strcmp(line + strlen(head), "=1") != 0)
        return -EBADMSG;
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL)
        rc = in_item(fields, line, obj, NULL, NULL);
    return rc;
}

int keeper_run_parse(char *data, size_t size, struct keeper_run *ret)
{
    struct keeper_run r = {.cpu = -1};
    int rc = record_parse(data, size, run_fields, "fuzz-keeper-run", &r);

    if (rc < 0) {
        strv_clear(&r.cgroups);
        return rc;
    }
    *ret = r;
    return 0;
}

int keeper_exit_parse(char *data, size_t size, struct keeper_exit *ret)
{
    struct keeper_exit e = {0};
    int rc = record_parse(data, size, exit_fields, "fuzz-keeper-exit", &e);

    if (rc == 0)
        *ret = e;
    return rc;
}
