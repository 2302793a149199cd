/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan from JSON, which comes from a client or from our own disk. Reading distrusts: every member must be there with its type and
 * bounds and no other may be, names must be names, and what is written to must lie below run_dir.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "plan/plan_members.h"

#define LIST_MAX   1024
/* Larger than any key of a spec takes, small enough to be added up and multiplied by a thousand. */
#define NUMBER_MAX ((json_int_t)1 << 53)

static const char *const target_also[] = {"instances", NULL};
static const char *const plan_also[] = {"version", "cpus", "targets", "hash", NULL};

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

static bool printable(const char *s)
{
    while (*s >= 0x20 && *s <= 0x7e)
        s++;
    return *s == '\0';
}

static int text_in(const struct reader *r, const struct plan_member *m, const json_t *j, char **at)
{
    const char *s = json_string_value(j);
    size_t n;

    if (json_is_null(j) && (m->kind == K_TEXT_N || m->kind == K_PATH_N))
        return 0;
    if (s == NULL)
        return bad(r, m->name, "is not text");
    if (strlen(s) != json_string_length(j) || strlen(s) >= PLAN_TEXT_MAX)
        return bad(r, m->name, "is too long or has a NUL byte");
    if ((m->kind == K_TEXT || m->kind == K_TEXT_N) && !printable(s))
        return bad(r, m->name, "is not printable text");
    if ((m->kind == K_NAME || m->kind == K_NAME_O) && !path_name_ok(s, PLAN_NAME_MAX))
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

static int members_in(const struct reader *r, const struct plan_member *m, const char *const *also,
                      const json_t *j, void *base);

static int member_in(const struct reader *r, const struct plan_member *m, const json_t *j, void *at)
{
    json_int_t n = json_integer_value(j);
    const char *s = json_string_value(j);
    int v;

    switch (m->kind) {
    case K_TEXT:
    case K_TEXT_N:
    case K_NAME:
    case K_NAME_O:
    case K_PATH:
    case K_PATH_N:
    case K_BELOW:
        return text_in(r, m, j, at);
    case K_BOOL:
        if (!json_is_boolean(j))
            return bad(r, m->name, "is not true or false");
        *(bool *)at = json_is_true(j);
        return 0;
    case K_FLAG_O:
        if (!json_is_true(j))
            return bad(r, m->name, "is not true, and would be left out otherwise");
        *(bool *)at = true;
        return 0;
    case K_I64_O:
        if (!json_is_integer(j) || n < 1 || n > NUMBER_MAX)
            return bad(r, m->name, "is not a number in range, and 0 would be left out");
        *(int64_t *)at = n;
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
    case K_LIST_O:
        /* It would be left out when the plan is kept. */
        if (json_array_size(j) == 0)
            return bad(r, m->name, "is not a list, or an empty one");
        return list_in(r, m->name, j, at);
    case K_LIST:
        return list_in(r, m->name, j, at);
    case K_LIMITS:
        return members_in(r, plan_members_of_limits, NULL, j, at);
    case K_PROGRAM:
        if (json_is_null(j))
            return 0;
        if (json_is_null(json_object_get(j, "path")))
            return bad(r, m->name, "has no path");
        return members_in(r, plan_members_of_program, NULL, j, at);
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
static bool member_known(const struct plan_member *m, const char *const *also, const char *name)
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
static int members_in(const struct reader *r, const struct plan_member *m, const char *const *also,
                      const json_t *j, void *base)
{
    const struct plan_member *table = m;
    const char *name;
    json_t *v;

    if (!json_is_object(j))
        return bad(r, m->name, "has no object around it");
    for (; m->name != NULL; m++) {
        int rc;

        v = json_object_get(j, m->name);
        if (v == NULL && (m->kind == K_LIST_O || m->kind == K_FLAG_O || m->kind == K_I64_O ||
                          m->kind == K_NAME_O))
            continue;
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

/* "campaign/target/instance": datagrams and records are told apart by it. */
static bool full_id_ok(const struct plan *p, const struct plan_target *t,
                       const struct plan_instance *inst)
{
    char want[3 * PLAN_NAME_MAX + 3];

    (void)snprintf(want, sizeof(want), "%s/%s/%s", p->campaign, t->name, inst->name);
    return strcmp(inst->full_id, want) == 0;
}

static int target_in(const struct reader *r, const json_t *j, const struct plan *p,
                     struct plan_target *t)
{
    const json_t *list = json_object_get(j, "instances");
    size_t n = json_array_size(list);
    int rc = members_in(r, plan_members_of_target, target_also, j, t);

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

        rc = members_in(r, plan_members_of_instance, NULL, json_array_get(list, i), inst);
        if (rc < 0)
            return rc;
        if (inst->argv.n < 4 || strcmp(inst->argv.v[0], p->afl_path) != 0)
            return bad(r, "argv", "does not begin with afl_path");
        if (!full_id_ok(p, t, inst))
            return bad(r, "full_id", "is not campaign/target/name");
        for (size_t k = 0; k < i; k++)
            if (strcmp(t->instances[k].name, inst->name) == 0)
                return bad(r, inst->name, "stands there twice");
    }
    return 0;
}

/* One that waits for what never comes would keep the run open for ever. */
static int after_ok(const struct reader *r, const struct plan *p)
{
    int waves[PLAN_MAX_TARGETS];

    for (size_t i = 0; i < p->n_targets; i++)
        for (size_t k = 0; k < p->targets[i].after.n; k++)
            if (plan_target_find(p, p->targets[i].after.v[k]) == NULL)
                return bad(r, "after", "names no target of the plan");
    return plan_waves(p, waves) < 0 ? bad(r, "after", "goes round in a circle") : 0;
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
    rc = members_in(&r, plan_members_of_plan, plan_also, j, p);
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
    rc = after_ok(&r, p);
    if (rc < 0)
        return rc;
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
