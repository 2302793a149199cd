/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_REPLAY_SCOPE_H
#define CTL_REPLAY_SCOPE_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "engine/forkserver.h"
#include "plan/elfprobe.h"

/*
 * What programs that fuzzctl runs by itself live in: a cgroup with a limit of memory, where there are cgroups, and a folder. Both go
 * with replay_scope_close; a guard takes them away when fuzzctl is killed, and the next one's replay_scope_open when the guard was, too.
 */
#define REPLAY_SCOPE_MEMORY_MIN (INT64_C(16) << 20)

struct replay_scope;

/* ret_procs: the files to enter the cgroup by, empty where there is none. 0 or -errno. */
int replay_scope_open(int64_t memory_bytes, struct strv *ret_procs, struct replay_scope **ret,
                      struct err *err);
const char *replay_scope_folder(const struct replay_scope *s);
/*
 * How a program with a fork server is run in it. procs: of replay_scope_open; preload: path of fuzz-preload.so, may be NULL. What is passed
 * is borrowed by the result.
 */
struct forkserver_opts replay_scope_program(const struct replay_scope *s,
                                            const struct elfprobe *elf, const char *path,
                                            const struct strv *args, const struct strv *procs,
                                            const char *preload, int64_t timeout_ms,
                                            int64_t memory_bytes);
void replay_scope_close(struct replay_scope *s);

#endif
