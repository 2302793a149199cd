/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_ADDITIONS_H
#define FARM_ADDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "plan/plan.h"

/*
 * Inputs given to a target while it is fuzzed: files in a folder of the run that the main instance reads as a foreign queue (-F). It reads
 * what is newer than the newest it has read, and all of it again after a restart; what covers nothing new it forgets.
 * Source: AFL++ src/afl-fuzz-init.c, read_foreign_testcases.
 */
#define ADDITIONS_FILE_BYTES (1U << 20) /* AFL++ passes over larger files */
#define ADDITIONS_MAX        4096       /* files of a target */

/* Whether the plan's main instance of t reads it. */
bool additions_read(const struct plan *plan, const struct plan_target *t);
/* The first folder of the instance that reads it (store/rotation.h), or NULL. Of t. */
const char *additions_out(const struct plan_target *t);
/* Makes the folder. 0 with its path (caller frees), or -errno. */
int additions_open(const struct plan *plan, const struct plan_target *t, char **ret_dir,
                   struct err *err);
/*
 * Puts one input into it, whole or not at all, under the SHA-256 of its content. *ret_present: it was there already. 0, -EINVAL (empty),
 * -EFBIG, -ENOSPC (ADDITIONS_MAX), -errno.
 */
int additions_put(const struct plan *plan, const struct plan_target *t, const void *data,
                  size_t size, char ret_sha256[65], bool *ret_present, struct err *err);

#endif
