/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_PLAN_MEMBERS_H
#define PLAN_PLAN_MEMBERS_H

#include "plan/plan.h"

/* The members of a plan's JSON, one table a struct, for the writer (plan_json.c) and the reader (plan_read.c). No other file includes this. */

#define PLAN_TEXT_MAX 8192

enum plan_kind {
    K_TEXT,   /* char *, printable ASCII */
    K_TEXT_N, /* char *, may be null */
    K_NAME,   /* char *, path_name_ok */
    K_PATH,   /* char *, absolute, no ".." */
    K_PATH_N,
    K_BELOW, /* K_PATH below run_dir */
    K_BOOL,
    K_NAME_O, /* left out when it is NULL */
    K_FLAG_O, /* bool, left out when it is false */
    K_INT,    /* int, >= 0 */
    K_I64,    /* int64_t, 0 to NUMBER_MAX */
    K_I64_O,  /* the same, left out when it is 0 */
    K_U64,    /* uint64_t, the same */
    K_LONG,
    K_LIST,   /* struct strv */
    K_LIST_O, /* the same, left out when it is empty */
    K_LIMITS,
    K_PROGRAM,
    K_ROLE,
    K_STOP_ON,
};
struct plan_member {
    const char *name;
    enum plan_kind kind;
    size_t offset;
};
extern const struct plan_member plan_members_of_limits[], plan_members_of_program[],
    plan_members_of_instance[], plan_members_of_target[], plan_members_of_plan[];

#endif
