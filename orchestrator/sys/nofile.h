/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_NOFILE_H
#define SYS_NOFILE_H

#include <stdint.h>

/*
 * The limit of open files. A daemon of many instances holds some of each, and the soft limit of most systems is 1024; what it starts gets
 * back the one it came with, as programs that use select() break above that.
 * Source: systemd.exec(5), "LimitNOFILE"; getrlimit(2).
 */

/* Raises the soft limit to the hard one. 0 or -errno. */
int nofile_raise(void);
/* The soft limit now; INT64_MAX when there is none. */
int64_t nofile_limit(void);
/* In a child: the soft limit as it was before nofile_raise. Async-signal-safe; no-op when nothing was raised. */
void nofile_restore(void);

#endif
