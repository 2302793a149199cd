/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_GUARD_H
#define SYS_GUARD_H

#include <sys/types.h>

/*
 * A process that takes away what ours leaves when it is killed. The parent-death signal ends a
 * program that we started, but not the children of that program: one that is stopped, as the child
 * of a persistent fork server is between two inputs, would stay for ever.
 */
struct guard;

/*
 * Forks the guard, which waits in a session of its own. When this process has ended without
 * guard_close, it kills every session that was told, calls clean(ctx) (may be NULL) and ends. To be
 * called early: what the process holds in memory now is held by the guard as well. NULL when there
 * can be none; the other functions take NULL and do nothing.
 */
struct guard *guard_open(void (*clean)(void *ctx), void *ctx);
/* A session, by the pid that leads it, that dies with us; and that it is over. From any thread. */
void guard_add(struct guard *g, pid_t session);
void guard_drop(struct guard *g, pid_t session);
/* Ends the guard, which cleans nothing. */
void guard_close(struct guard *g);

/* SIGKILL to pid if it is of that session; looked at while its pidfd is held, so that nobody else is meant. 0, or -ESRCH. */
int session_kill_member(pid_t session, pid_t pid);
/* SIGKILL to all of a session, no matter whose children they are now. How many there were. */
int session_kill(pid_t session);

#endif
