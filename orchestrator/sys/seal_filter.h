/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_SEAL_FILTER_H
#define SYS_SEAL_FILTER_H

/*
 * Keeps the calling thread, and all it starts, from having capabilities in a user namespace: a new one by unshare or clone and
 * any existing one by setns is EPERM, and clone3, whose flags a filter cannot see, is ENOSYS, so that a C library takes clone
 * instead. For good. Needs CAP_SYS_ADMIN or no_new_privs. 0 or -errno; -ENOSYS: no filter for this machine.
 * Source: seccomp(2), user_namespaces(7), the kernel's syscall tables.
 */
int seal_filter_install(void);

#endif
