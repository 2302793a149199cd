/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_SHMSEG_H
#define SYS_SHMSEG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Removes the SysV segments that process creator made between from_s and to_s (Unix seconds); what is still attached goes
 * with its last user. Creator pid and time together, as a pid alone may have been somebody else's before. Does not allocate.
 * Returns how many. Source: shmctl(2), SHM_INFO and SHM_STAT.
 */
int shmseg_remove(pid_t creator, int64_t from_s, int64_t to_s);

/*
 * Gives the calling process and those it starts a /dev/shm of their own, in a mount namespace: files there are memory, charged
 * to a cgroup for as long as they are, and these go with the last of the processes. Mounts of the host still come through.
 * False where that is not permitted. Source: mount_namespaces(7).
 */
bool shmseg_own_files(void);

#endif
