/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_CPU_H
#define SYS_CPU_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define CPU_MAX 1024

/* CPUs this process may run on, ascending; returns the count (>= 1), at most max. */
int cpu_allowed(int *ret_cpus, int max);

/*
 * Takes the first free of cpus[0..n) for one instance, over all daemons of this host: flock on /run/lock/fuzzd-cpuN
 * (else $XDG_RUNTIME_DIR, else /tmp/fuzzd-UID). The lock lives as long as any copy of the returned fd; the keeper inherits it.
 * Returns the fd and *ret_cpu, or -EBUSY (all taken), -errno.
 */
int cpu_take(const int *cpus, int n, int *ret_cpu);
/*
 * The same for an instance that shares its core with others that do, and with no other: an unused one if there is one, else the first
 * of cpus that is shared.
 */
int cpu_take_shared(const int *cpus, int n, int *ret_cpu);
/*
 * A copy of the lock that another process holds by its descriptor number (a keeper that was taken over: KEEPER_LOCK_FD), pidfd being that
 * process. fd, -ESTALE when that is not the lock of this core, or -errno (-EPERM where the kernel does not let us).
 */
int cpu_take_over(int pidfd, int number, int cpu);
/* The folder of the locks: fd or -errno. */
int cpu_lock_dir_open(void);
/* Whether that is the one of all users, and not a folder that only our own fuzzd look into. */
bool cpu_locks_are_shared(void);

/*
 * Whether a core is owned, without taking it even for an instant: 1, 0, or -errno. *ret_pid is a process that has the lock's
 * file open (a keeper before others), 0 when none that we may look at has.
 */
int cpu_owner(int cpu, pid_t *ret_pid);

#endif
