/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_GATE_H
#define SYS_GATE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The way of a fork server into the target's own group. It cannot write there itself, as what it can write anything under test
 * can, which would put strangers in. So it knocks: it connects, the kernel says who that is, and the keeper moves that
 * process, provided it is where afl-fuzz is; then the connection closes. Whoever uses it can move itself, and in there only.
 * Nothing here allocates. Source: unix(7), abstract names, SO_PEERCRED.
 */
#define GATE_ENV                                                                                   \
    "FUZZ_TARGET_GATE" /* the name, read and taken out of the environment by fuzz-preload.so */

/* A listening, non-blocking socket under a name of the kernel's choice, put into name as text. fd (CLOEXEC) or -errno. */
int gate_open(char *name, size_t size);
/*
 * Answers one knock: moves its process by the cgroup.procs files of ways (paths with colons between). like: whose groups it
 * must be in. 0, -EAGAIN (nobody knocks), -EPERM (it stands elsewhere) or -errno; the caller is let go in any case.
 */
int gate_answer(int fd, const char *ways, pid_t like);

#endif
