/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_SEAL_H
#define SYS_SEAL_H

/*
 * Cgroup files are writable to whoever owns them, so a program under test that runs as the user who owns its group could
 * raise its own limits, freeze itself or leave. Sealed, a process and all it starts see the cgroup trees read-only, in a mount
 * namespace of their own, and have lost for good what would undo that: CAP_SYS_ADMIN; CAP_SYS_PTRACE, which opens other
 * processes' view of the files (/proc/1/root); and user namespaces, in which they would have both again
 * (sys/seal_filter.h). Needs CAP_SYS_ADMIN, so it does not hold for ordinary users: what they start may write to their
 * groups as they may, and a filter alone would only take their target's user namespaces and its setuid programs.
 * Source: mount_namespaces(7), capabilities(7), user_namespaces(7).
 */

/*
 * Seals the calling process, between fork and exec. 0 or -errno; -EPERM: not permitted, and nothing has changed; after any
 * other failure what could be done is done.
 */
int seal_self(void);

enum seal {
    SEAL_NONE,            /* the trees stay writable */
    SEAL_NAMESPACES_OPEN, /* read-only, but a user namespace undoes it */
    SEAL_WHOLE
};
/* How well a process started by this one can be sealed; tried with a child. */
enum seal seal_try(void);
/* What does not hold then, in words for a person; NULL when all does. */
const char *seal_lacks(enum seal seal);

#endif
