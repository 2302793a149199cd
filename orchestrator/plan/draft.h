/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_DRAFT_H
#define PLAN_DRAFT_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/err.h"
#include "plan/elfprobe.h"

/*
 * A campaign spec for one program, from what the program and the builds beside it are. A build is told by
 * what elfprobe sees, its name only says that it belongs to the same target: parser-afl, parser-cmplog,
 * parser-asan, parser-cov, parser; or afl, cmplog, asan, cov, replay in a folder named like the target.
 */
enum draft_role {
    DRAFT_HARNESS,
    DRAFT_CMPLOG,
    DRAFT_SANITIZER,
    DRAFT_REPLAY,
    DRAFT_LAF,
    DRAFT_COVERAGE,
    DRAFT_ROLES
};
struct draft_build {
    char *path; /* absolute, NULL: none */
    struct elfprobe elf;
};
enum draft_input { DRAFT_SHM, DRAFT_STDIN, DRAFT_FILE, DRAFT_KIT, DRAFT_GIVEN };
struct draft {
    char *name; /* of campaign and target */
    struct draft_build builds[DRAFT_ROLES];
    enum draft_input input;
    struct strv args;    /* as given */
    char *seeds, *dict;  /* absolute; dict NULL: none */
    bool seeds_there;    /* and not empty */
    struct strv beside;  /* builds beside it that were passed over, and why */
    struct strv missing; /* what a person has to do, or could; told on stderr and in the spec */
};

/*
 * Looks at program and its neighbours. args: of the program, may be empty. seeds, dict: as given, or NULL to look in the
 * usual places below dir, the spec's folder (absolute). Where only running it can tell whether a file is read, the
 * program runs once for at most 2 s on an empty file.
 * 0 with *ret for draft_clear, or -ENOENT, -EACCES, -EINVAL (nothing afl-fuzz can run, with what to do), -errno.
 */
int draft_gather(const char *program, const struct strv *args, const char *seeds, const char *dict,
                 const char *dir, struct draft *ret, struct err *err);
void draft_clear(struct draft *d);

/* The spec as text; paths below dir are relative to it. Caller frees. */
char *draft_text(const struct draft *d, const char *dir);

#endif
