/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as JSON. One table per struct names every member once, for both ways, so that they cannot drift apart; the way back is in
 * plan_read.c.
 */
#include "plan/plan_members.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"

#define M(s, field, kind)                                                                          \
    {                                                                                              \
#field, kind, offsetof(struct s, field)                                                    \
    }

const struct plan_member plan_members_of_limits[] = {
    M(spec_limits, memory_bytes, K_I64),     M(spec_limits, pids, K_I64),
    M(spec_limits, cpu_pct, K_I64),          M(spec_limits, timeout_ms, K_I64),
    M(spec_limits, hang_timeout_ms, K_I64),  M(spec_limits, disk_bytes, K_I64),
    M(spec_limits, disk_floor_bytes, K_I64), M(spec_limits, pressure_pct, K_I64),
    M(spec_limits, log_max_bytes, K_I64),    {0},
};
const struct plan_member plan_members_of_program[] = {
    M(plan_program, path, K_PATH_N),
    M(plan_program, sha256, K_TEXT_N),
    M(plan_program, build_id, K_TEXT_N),
    M(plan_program, kit, K_BOOL),
    M(plan_program, asan, K_BOOL),
    M(plan_program, instrumented, K_BOOL),
    {0},
};
const struct plan_member plan_members_of_instance[] = {
    M(plan_instance, name, K_NAME),
    M(plan_instance, full_id, K_TEXT),
    M(plan_instance, role, K_ROLE),
    M(plan_instance, is_main, K_BOOL),
    M(plan_instance, cpu, K_INT),
    M(plan_instance, argv, K_LIST),
    M(plan_instance, env, K_LIST),
    M(plan_instance, binary, K_PATH),
    M(plan_instance, out_dir, K_BELOW),
    M(plan_instance, scratch_dir, K_BELOW),
    M(plan_instance, log_path, K_BELOW),
    M(plan_instance, run_path, K_BELOW),
    M(plan_instance, exit_path, K_BELOW),
    M(plan_instance, timeout_ms, K_I64),
    M(plan_instance, left_out, K_LIST),
    M(plan_instance, persistent, K_FLAG_O),
    {0},
};
const struct plan_member plan_members_of_target[] = {
    M(plan_target, name, K_NAME),
    M(plan_target, sync_dir, K_BELOW),
    M(plan_target, seeds, K_PATH),
    M(plan_target, dictionary, K_PATH_N),
    M(plan_target, seeds_sha256, K_TEXT),
    M(plan_target, n_seeds, K_LONG),
    M(plan_target, after, K_LIST_O),
    M(plan_target, args, K_LIST),
    M(plan_target, env, K_LIST),
    M(plan_target, harness, K_PROGRAM),
    M(plan_target, cmplog, K_PROGRAM),
    M(plan_target, sanitizer, K_PROGRAM),
    M(plan_target, no_sweep, K_FLAG_O),
    M(plan_target, replay, K_PROGRAM),
    M(plan_target, laf, K_PROGRAM),
    M(plan_target, reach_required, K_LIST),
    M(plan_target, max_len, K_I64),
    M(plan_target, timeout_ms, K_I64),
    M(plan_target, hang_timeout_ms, K_I64),
    M(plan_target, init_timeout_ms, K_I64),
    M(plan_target, limits, K_LIMITS),
    {0},
};
const struct plan_member plan_members_of_plan[] = {
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
    M(plan, drop_corpus, K_FLAG_O),
    M(plan, user, K_NAME_O),
    M(plan, cores, K_INT),
    M(plan, priority, K_I64_O),
    M(plan, share_cores, K_FLAG_O),
    M(plan, oversubscribe, K_FLAG_O),
    M(plan, limits, K_LIMITS),
    M(plan, afl_path, K_PATH),
    M(plan, afl_version, K_TEXT),
    M(plan, afl_sha256, K_TEXT),
    M(plan, git_commit, K_TEXT_N),
    M(plan, git_dirty, K_BOOL),
    M(plan, warnings, K_LIST),
    {0},
};

static const char *const stop_on_names[] = {
    [SPEC_STOP_NEVER] = "never", [SPEC_STOP_FIRST] = "first"};

/* Text that is not UTF-8 (a path may hold any byte) goes out with \xNN. */
static json_t *text_out(const char *s)
{
    json_t *j = json_string(s);
    char buf[PLAN_TEXT_MAX];

    return j != NULL ? j : json_string(text_printable(buf, sizeof(buf), s));
}

static json_t *members_out(const struct plan_member *m, const void *base);

static json_t *member_out(const struct plan_member *m, const void *at)
{
    const char *s;
    json_t *a;

    switch (m->kind) {
    case K_TEXT:
    case K_TEXT_N:
    case K_NAME:
    case K_NAME_O:
    case K_PATH:
    case K_PATH_N:
    case K_BELOW:
        s = *(char *const *)at;
        return s != NULL ? text_out(s) : json_null();
    case K_BOOL:
    case K_FLAG_O:
        return json_boolean(*(const bool *)at);
    case K_INT:
        return json_integer(*(const int *)at);
    case K_I64:
    case K_I64_O:
        return json_integer(*(const int64_t *)at);
    case K_LONG:
        return json_integer(*(const long *)at);
    case K_U64:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case K_LIST:
    case K_LIST_O:
        a = json_array();
        for (size_t i = 0; i < ((const struct strv *)at)->n; i++)
            (void)json_array_append_new(a, text_out(((const struct strv *)at)->v[i]));
        return a;
    case K_LIMITS:
        return members_out(plan_members_of_limits, at);
    case K_PROGRAM:
        return ((const struct plan_program *)at)->path != NULL
                   ? members_out(plan_members_of_program, at)
                   : json_null();
    case K_ROLE:
        return json_string(plan_role_name(*(const enum plan_role *)at));
    case K_STOP_ON:
        return json_string(stop_on_names[*(const enum spec_stop_on *)at]);
    }
    return json_null();
}

static json_t *members_out(const struct plan_member *m, const void *base)
{
    json_t *j = json_object();

    for (; m->name != NULL; m++) {
        const void *at = (const char *)base + m->offset;

        if ((m->kind != K_LIST_O || ((const struct strv *)at)->n > 0) &&
            (m->kind != K_FLAG_O || *(const bool *)at) &&
            (m->kind != K_I64_O || *(const int64_t *)at != 0) &&
            (m->kind != K_NAME_O || *(char *const *)at != NULL))
            (void)json_object_set_new(j, m->name, member_out(m, at));
    }
    return j;
}

json_t *plan_to_json(const struct plan *plan)
{
    json_t *j = members_out(plan_members_of_plan, plan), *targets = json_array(),
           *cpus = json_array();

    (void)json_object_set_new(j, "version", json_integer(PLAN_VERSION));
    for (int i = 0; i < plan->n_cpus; i++)
        (void)json_array_append_new(cpus, json_integer(plan->cpus[i]));
    (void)json_object_set_new(j, "cpus", cpus);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct plan_target *t = &plan->targets[i];
        json_t *jt = members_out(plan_members_of_target, t), *instances = json_array();

        for (size_t k = 0; k < t->n_instances; k++)
            (void)json_array_append_new(instances,
                                        members_out(plan_members_of_instance, &t->instances[k]));
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
