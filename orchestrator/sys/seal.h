/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_SEAL_H
#define SYS_SEAL_H

#include <stdbool.h>

/*
 * Cgroup files are writable to whoever owns them, so a program under test that runs as the user who owns its group could
 * raise its own limits, freeze itself or leave. Sealed, a process and all it starts see the cgroup trees read-only, in a mount
 * namespace of their own, and have lost for good what would undo that: CAP_SYS_ADMIN, and CAP_SYS_PTRACE, which opens
 * other processes' view of the files (/proc/1/root). Needs CAP_SYS_ADMIN, so it does not hold for ordinary users.
 * Source: mount_namespaces(7), capabilities(7).
 */

/* Seals the calling process, between fork and exec. 0 or -errno; -EPERM: not permitted, and nothing has changed. */
int seal_self(void);

/* Whether a process started by this one can be sealed; tried with a child. */
bool seal_works(void);

#endif
