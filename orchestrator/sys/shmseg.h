/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_SHMSEG_H
#define SYS_SHMSEG_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Removes the SysV segments that process creator made between from_s and to_s (Unix seconds); what is still attached goes
 * with its last user. Creator pid and time together, as a pid alone may have been somebody else's before. Does not allocate.
 * Returns how many. Source: shmctl(2), SHM_INFO and SHM_STAT.
 */
int shmseg_remove(pid_t creator, int64_t from_s, int64_t to_s);

#endif
