/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as JSON and back. One table per struct names every member once, for both ways, so that they cannot drift apart. Reading
 * distrusts: every member must be there with its type and bounds, names must be names, and what is written to must lie below run_dir.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/path.h"
#include "plan/plan.h"

#define TEXT_MAX   8192
#define LIST_MAX   1024
/* Larger than any key of a spec takes, small enough to be added up and multiplied by a thousand. */
#define NUMBER_MAX ((json_int_t)1 << 53)

enum kind {
    K_TEXT,   /* char *, any text */
    K_TEXT_N, /* char *, may be null */
    K_NAME,   /* char *, path_name_ok */
    K_PATH,   /* char *, absolute, no ".." */
    K_PATH_N,
    K_BELOW, /* K_PATH below run_dir */
    K_BOOL,
    K_INT, /* int, >= 0 */
    K_I64, /* int64_t, 0 to NUMBER_MAX */
    K_U64, /* uint64_t, the same */
    K_LONG,
    K_LIST, /* struct strv */
    K_LIMITS,
    K_PROGRAM,
    K_ROLE,
    K_STOP_ON,
};
struct member {
    const char *name;
    enum kind kind;
    size_t offset;
};
#define M(s, field, kind)                                                                          \
    {                                                                                              \
#field, kind, offsetof(struct s, field)                                                    \
    }

static const struct member limits_members[] = {
    M(spec_limits, memory_bytes, K_I64),     M(spec_limits, pids, K_I64),
    M(spec_limits, cpu_pct, K_I64),          M(spec_limits, timeout_ms, K_I64),
    M(spec_limits, hang_timeout_ms, K_I64),  M(spec_limits, disk_bytes, K_I64),
    M(spec_limits, disk_floor_bytes, K_I64), M(spec_limits, pressure_pct, K_I64),
    M(spec_limits, log_max_bytes, K_I64),    {0},
};
static const struct member program_members[] = {
    M(plan_program, path, K_PATH_N),
    M(plan_program, sha256, K_TEXT_N),
    M(plan_program, build_id, K_TEXT_N),
    M(plan_program, kit, K_BOOL),
    M(plan_program, asan, K_BOOL),
    M(plan_program, instrumented, K_BOOL),
    {0},
};
static const struct member instance_members[] = {
    M(plan_instance, name, K_NAME),       M(plan_instance, full_id, K_TEXT),
    M(plan_instance, role, K_ROLE),       M(plan_instance, is_main, K_BOOL),
    M(plan_instance, cpu, K_INT),         M(plan_instance, argv, K_LIST),
    M(plan_instance, env, K_LIST),        M(plan_instance, binary, K_PATH),
    M(plan_instance, out_dir, K_BELOW),   M(plan_instance, scratch_dir, K_BELOW),
    M(plan_instance, log_path, K_BELOW),  M(plan_instance, run_path, K_BELOW),
    M(plan_instance, exit_path, K_BELOW), M(plan_instance, timeout_ms, K_I64),
    M(plan_instance, left_out, K_LIST),   {0},
};
static const struct member target_members[] = {
    M(plan_target, name, K_NAME),           M(plan_target, sync_dir, K_BELOW),
    M(plan_target, seeds, K_PATH),          M(plan_target, dictionary, K_PATH_N),
    M(plan_target, seeds_sha256, K_TEXT),   M(plan_target, n_seeds, K_LONG),
    M(plan_target, args, K_LIST),           M(plan_target, env, K_LIST),
    M(plan_target, harness, K_PROGRAM),     M(plan_target, cmplog, K_PROGRAM),
    M(plan_target, sanitizer, K_PROGRAM),   M(plan_target, replay, K_PROGRAM),
    M(plan_target, laf, K_PROGRAM),         M(plan_target, reach_required, K_LIST),
    M(plan_target, max_len, K_I64),         M(plan_target, timeout_ms, K_I64),
    M(plan_target, hang_timeout_ms, K_I64), M(plan_target, init_timeout_ms, K_I64),
    M(plan_target, limits, K_LIMITS),       {0},
};
static const struct member plan_members[] = {
    M(plan, run_dir, K_PATH), /* first: K_BELOW is judged by it */
    M(plan, campaign, K_NAME),
    M(plan, run_id, K_NAME),
    M(plan, root, K_PATH),
    M(plan, spec_path, K_PATH),
    M(plan, budget_ms, K_I64),
    M(plan, execs, K_I64),
    M(plan, plateau_ms, K_I64),
    M(plan, seed, K_U64),
    M(plan, stop_on, K_STOP_ON),
    M(plan, cores, K_INT),
    M(plan, limits, K_LIMITS),
    M(plan, afl_path, K_PATH),
    M(plan, afl_version, K_TEXT),
    M(plan, afl_sha256, K_TEXT),
    M(plan, afl_showmap, K_PATH_N),
    M(plan, git_commit, K_TEXT_N),
    M(plan, git_dirty, K_BOOL),
    M(plan, warnings, K_LIST),
    {0},
};

static const char *const target_also[] = {"instances", NULL};
static const char *const plan_also[] = {"version", "cpus", "targets", "hash", NULL};

static const char *const stop_on_names[] = {
    [SPEC_STOP_NEVER] = "never", [SPEC_STOP_FIRST] = "first"};

/* ---- out ---- */

/* Text that is not UTF-8 (a path may hold any byte) goes out with \xNN. */
static json_t *text_out(const char *s)
{
    json_t *j = json_string(s);
    char buf[TEXT_MAX];

    return j != NULL ? j : json_string(text_printable(buf, sizeof(buf), s));
}

static json_t *members_out(const struct member *m, const void *base);

static json_t *member_out(const struct member *m, const void *at)
{
    const char *s;
    json_t *a;

    switch (m->kind) {
    case K_TEXT:
    case K_TEXT_N:
    case K_NAME:
    case K_PATH:
    case K_PATH_N:
    case K_BELOW:
        s = *(char *const *)at;
        return s != NULL ? text_out(s) : json_null();
    case K_BOOL:
        return json_boolean(*(const bool *)at);
    case K_INT:
        return json_integer(*(const int *)at);
    case K_I64:
        return json_integer(*(const int64_t *)at);
    case K_LONG:
        return json_integer(*(const long *)at);
    case K_U64:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case K_LIST:
        a = json_array();
        for (size_t i = 0; i < ((const struct strv *)at)->n; i++)
            (void)json_array_append_new(a, text_out(((const struct strv *)at)->v[i]));
        return a;
    case K_LIMITS:
        return members_out(limits_members, at);
    case K_PROGRAM:
        return ((const struct plan_program *)at)->path != NULL ? members_out(program_members, at)
                                                               : json_null();
    case K_ROLE:
        return json_string(plan_role_name(*(const enum plan_role *)at));
    case K_STOP_ON:
        return json_string(stop_on_names[*(const enum spec_stop_on *)at]);
    }
    return json_null();
}

static json_t *members_out(const struct member *m, const void *base)
{
    json_t *j = json_object();

    for (; m->name != NULL; m++)
        (void)json_object_set_new(j, m->name, member_out(m, (const char *)base + m->offset));
    return j;
}

json_t *plan_to_json(const struct plan *plan)
{
    json_t *j = members_out(plan_members, plan), *targets = json_array(), *cpus = json_array();

    (void)json_object_set_new(j, "version", json_integer(PLAN_VERSION));
    for (int i = 0; i < plan->n_cpus; i++)
        (void)json_array_append_new(cpus, json_integer(plan->cpus[i]));
    (void)json_object_set_new(j, "cpus", cpus);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct plan_target *t = &plan->targets[i];
        json_t *jt = members_out(target_members, t), *instances = json_array();

        for (size_t k = 0; k < t->n_instances; k++)
            (void)json_array_append_new(instances, members_out(instance_members, &t->instances[k]));
        (void)json_object_set_new(jt, "instances", instances);
        (void)json_array_append_new(targets, jt);
    }
    (void)json_object_set_new(j, "targets", targets);
    if (plan->hash[0] != '\0')
        (void)json_object_set_new(j, "hash", json_string(plan->hash));
    return j;
}

void plan_hash_json(const json_t *j, char ret_hex[65])
{
    json_t *copy = json_copy((json_t *)(uintptr_t)j);
    char *text;

    (void)json_object_del(copy, "hash");
    text = json_dumps(copy, JSON_SORT_KEYS | JSON_COMPACT);
    hash_sha256_hex(text != NULL ? text : "", text != NULL ? strlen(text) : 0, ret_hex);
    free(text);
    json_decref(copy);
}

/* ---- in ---- */

struct reader {
    const char *run_dir;
    struct err *err;
};

static int bad(const struct reader *r, const char *name, const char *why)
{
    return err_set(r->err, -EINVAL, "plan: %s %s", name, why);
}

/* Absolute, without "..", "." or control bytes. */
static bool path_ok(const char *s)
{
    if (s[0] != '/' || strlen(s) > 4095)
        return false;
    for (const char *p = s; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
        if (*p == '/' && p[1] == '.' &&
            (p[2] == '\0' || p[2] == '/' || (p[2] == '.' && (p[3] == '\0' || p[3] == '/'))))
            return false;
    }
    return true;
}

static int text_in(const struct reader *r, const struct member *m, const json_t *j, char **at)
{
    const char *s = json_string_value(j);
    size_t n;

    if (json_is_null(j) && (m->kind == K_TEXT_N || m->kind == K_PATH_N))
        return 0;
    if (s == NULL)
        return bad(r, m->name, "is not text");
    if (strlen(s) != json_string_length(j) || strlen(s) >= TEXT_MAX)
        return bad(r, m->name, "is too long or has a NUL byte");
    if (m->kind == K_NAME && !path_name_ok(s, PLAN_NAME_MAX))
        return bad(r, m->name, "is not a name");
    if ((m->kind == K_PATH || m->kind == K_PATH_N || m->kind == K_BELOW) && !path_ok(s))
        return bad(r, m->name, "is not an absolute path without \"..\"");
    n = r->run_dir != NULL ? strlen(r->run_dir) : 0;
    if (m->kind == K_BELOW &&
        (n == 0 || strncmp(s, r->run_dir, n) != 0 || s[n] != '/' || s[n + 1] == '\0'))
        return bad(r, m->name, "does not lie below run_dir");
    *at = xstrdup(s);
    return 0;
}

static int list_in(const struct reader *r, const char *name, const json_t *j, struct strv *at)
{
    if (!json_is_array(j) || json_array_size(j) > LIST_MAX)
        return bad(r, name, "is not a list, or too long a one");
    for (size_t i = 0; i < json_array_size(j); i++) {
        const json_t *e = json_array_get(j, i);
        const char *s = json_string_value(e);

        if (s == NULL || strlen(s) != json_string_length(e) || strlen(s) >= 65536)
            return bad(r, name, "holds something that is not text");
        strv_add(at, s);
    }
    return 0;
}

static int members_in(const struct reader *r, const struct member *m, const char *const *also,
                      const json_t *j, void *base);

static int member_in(const struct reader *r, const struct member *m, const json_t *j, void *at)
{
    json_int_t n = json_integer_value(j);
    const char *s = json_string_value(j);
    int v;

    switch (m->kind) {
    case K_TEXT:
    case K_TEXT_N:
    case K_NAME:
    case K_PATH:
    case K_PATH_N:
    case K_BELOW:
        return text_in(r, m, j, at);
    case K_BOOL:
        if (!json_is_boolean(j))
            return bad(r, m->name, "is not true or false");
        *(bool *)at = json_is_true(j);
        return 0;
    case K_INT:
    case K_I64:
    case K_LONG:
        if (!json_is_integer(j) || n < 0 || n > (m->kind == K_INT ? INT32_MAX : NUMBER_MAX))
            return bad(r, m->name, "is not a number in range");
        if (m->kind == K_INT)
            *(int *)at = (int)n;
        else if (m->kind == K_LONG)
            *(long *)at = (long)n;
        else
            *(int64_t *)at = n;
        return 0;
    case K_U64:
        if (!json_is_integer(j) || n < 0 || n > NUMBER_MAX)
            return bad(r, m->name, "is not a number in range");
        *(uint64_t *)at = (uint64_t)n;
        return 0;
    case K_LIST:
        return list_in(r, m->name, j, at);
    case K_LIMITS:
        return members_in(r, limits_members, NULL, j, at);
    case K_PROGRAM:
        if (json_is_null(j))
            return 0;
        if (json_is_null(json_object_get(j, "path")))
            return bad(r, m->name, "has no path");
        return members_in(r, program_members, NULL, j, at);
    case K_ROLE:
        v = s != NULL ? plan_role_from_name(s) : -EINVAL;
        if (v < 0)
            return bad(r, m->name, "is not a role");
        *(enum plan_role *)at = (enum plan_role)v;
        return 0;
    case K_STOP_ON:
        if (s == NULL || (strcmp(s, "never") != 0 && strcmp(s, "first") != 0))
            return bad(r, m->name, "is not never or first");
        *(enum spec_stop_on *)at = s[0] == 'f' ? SPEC_STOP_FIRST : SPEC_STOP_NEVER;
        return 0;
    }
    return bad(r, m->name, "is unknown");
}

/* Whether a member is read by the table or by its own code (also, NULL ends). */
static bool member_known(const struct member *m, const char *const *also, const char *name)
{
    for (; m->name != NULL; m++) {
        if (strcmp(m->name, name) == 0)
            return true;
    }
    for (; also != NULL && *also != NULL; also++) {
        if (strcmp(*also, name) == 0)
            return true;
    }
    return false;
}

/* A member that nobody reads would be lost when the plan is kept, and its hash with it: none is allowed. */
static int members_in(const struct reader *r, const struct member *m, const char *const *also,
                      const json_t *j, void *base)
{
    const struct member *table = m;
    const char *name;
    json_t *v;

    if (!json_is_object(j))
        return bad(r, m->name, "has no object around it");
    for (; m->name != NULL; m++) {
        int rc;

        v = json_object_get(j, m->name);
        if (v == NULL)
            return bad(r, m->name, "is missing");
        rc = member_in(r, m, v, (char *)base + m->offset);
        if (rc < 0)
            return rc;
    }
    json_object_foreach ((json_t *)(uintptr_t)j, name, v) {
        if (!member_known(table, also, name))
            return err_set(r->err, -EINVAL, "plan: \"%.64s\" is not a member it can have", name);
    }
    return 0;
}

static int cpus_in(const struct reader *r, const json_t *j, struct plan *p)
{
    size_t n = json_array_size(j);

    if (n < 1 || n > 4096)
        return bad(r, "cpus", "is not a list of 1 to 4096 CPUs");
    p->cpus = xcalloc(n, sizeof(*p->cpus));
    p->n_cpus = (int)n;
    for (size_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(j, i);

        if (!json_is_integer(e) || json_integer_value(e) < 0 || json_integer_value(e) > 65535)
            return bad(r, "cpus", "holds something that is no CPU");
        p->cpus[i] = (int)json_integer_value(e);
    }
    if (p->cores < 1 || p->cores > p->n_cpus)
        return bad(r, "cores", "is not 1 to the number of cpus");
    return 0;
}

static int target_in(const struct reader *r, const json_t *j, const struct plan *p,
                     struct plan_target *t)
{
    const json_t *list = json_object_get(j, "instances");
    size_t n = json_array_size(list);
    int rc = members_in(r, target_members, target_also, j, t);

    if (rc < 0)
        return rc;
    if (n < 1 || n > PLAN_MAX_INSTANCES)
        return bad(r, "instances", "is not a list of a possible length");
    if (t->harness.path == NULL)
        return bad(r, "harness", "is missing");
    t->instances = xcalloc(n, sizeof(*t->instances));
    t->n_instances = n;
    for (size_t i = 0; i < n; i++) {
        struct plan_instance *inst = &t->instances[i];

        rc = members_in(r, instance_members, NULL, json_array_get(list, i), inst);
        if (rc < 0)
            return rc;
        if (inst->argv.n < 4 || strcmp(inst->argv.v[0], p->afl_path) != 0)
            return bad(r, "argv", "does not begin with afl_path");
        for (size_t k = 0; k < i; k++)
            if (strcmp(t->instances[k].name, inst->name) == 0)
                return bad(r, inst->name, "stands there twice");
    }
    return 0;
}

static int plan_in(const struct reader *r0, const json_t *j, struct plan *p)
{
    const json_t *list = json_object_get(j, "targets"), *hash = json_object_get(j, "hash");
    size_t n = json_array_size(list);
    struct reader r = *r0;
    char hex[65];
    int rc;

    if (json_integer_value(json_object_get(j, "version")) != PLAN_VERSION)
        return bad(&r, "version", "is not one this program knows");
    rc = members_in(&r, plan_members, plan_also, j, p);
    if (rc < 0)
        return rc;
    r.run_dir = p->run_dir;
    rc = cpus_in(&r, json_object_get(j, "cpus"), p);
    if (rc < 0)
        return rc;
    if (n < 1 || n > PLAN_MAX_TARGETS)
        return bad(&r, "targets", "is not a list of a possible length");
    p->targets = xcalloc(n, sizeof(*p->targets));
    p->n_targets = n;
    for (size_t i = 0; i < n; i++) {
        rc = target_in(&r, json_array_get(list, i), p, &p->targets[i]);
        if (rc < 0)
            return rc;
        if (plan_target_find(p, p->targets[i].name) != &p->targets[i])
            return bad(&r, p->targets[i].name, "stands there twice");
    }
    plan_hash_json(j, hex);
    if (json_string_value(hash) == NULL || strcmp(json_string_value(hash), hex) != 0)
        return err_set(r.err, -EBADMSG, "plan: the hash does not match; it was changed or cut");
    memcpy(p->hash, hex, sizeof(hex));
    return 0;
}

int plan_from_json(const json_t *j, struct plan **ret, struct err *err)
{
    struct plan *p = xcalloc(1, sizeof(*p));
    struct reader r = {.err = err};
    int rc = plan_in(&r, j, p);

    if (rc < 0) {
        plan_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}
