/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_REPLAY_SCOPE_H
#define CTL_REPLAY_SCOPE_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * What programs that fuzzctl runs by itself live in: a cgroup with a limit of memory, where there are cgroups, and a folder. Both go
 * with replay_scope_close; of a fuzzctl that was killed, with the next one's replay_scope_open.
 */
struct replay_scope;

/* ret_procs: the files to enter the cgroup by, empty where there is none. 0 or -errno. */
int replay_scope_open(int64_t memory_bytes, struct strv *ret_procs, struct replay_scope **ret,
                      struct err *err);
const char *replay_scope_folder(const struct replay_scope *s);
void replay_scope_close(struct replay_scope *s);

#endif
