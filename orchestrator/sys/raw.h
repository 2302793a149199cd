/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_RAW_H
#define SYS_RAW_H

#include <stdint.h>

#include "base/alloc.h"

/* Small steps for the keeper, which may not allocate: single system calls on files of the kernel's and on our children. */

/* Writes text to an existing file in one write. 0 or -errno. */
int raw_put(const char *path, const char *text);
/* Sum over files of the number after "key " at a line's start; a file without one, or of over 4 KiB before it, counts 0. */
int64_t raw_sum(const struct strv *files, const char *key);
/* CPU time and largest resident size of all children reaped so far. */
void raw_children_usage(int64_t *ret_user_ms, int64_t *ret_system_ms, int64_t *ret_max_rss_bytes);
/*
 * SIGKILL to our children. A process whose parent is the reaper of all below it kills its whole tree by repeating this: who
 * loses its parent becomes our child. No pid is hit that is somebody else's by now, as a child keeps its pid until we reap it.
 * Source: proc(5), /proc/PID/task/TID/children.
 */
void raw_kill_children(void);

#endif
