/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_NATIVE_H
#define ENGINE_NATIVE_H

#include "engine/forkserver.h"

/*
 * A process for each input, for programs without a fork server: how it ends and when, not what it covers. The input is on standard input, or
 * is the file of "@@". Limits, environment and ends are those of engine/forkserver.h;
 * FORKSERVER_LOST is a program that killed or stopped its parent, which is not we.
 */

struct native;

/* 0 or -errno. Nothing is started yet. */
int native_open(const struct forkserver_opts *opts, struct native **ret, struct err *err);
/* 0; -EFBIG; -ECANCELED; or -errno when the program cannot be started. Blocks for run_ms, DEADLINE_PATIENCE times
 * as long where it is kept from running, and two seconds more to end it. */
int native_run(struct native *n, const void *data, size_t size, struct forkserver_run *ret,
               struct err *err);
/* As forkserver_text. */
const char *native_text(struct native *n, size_t *ret_size);
void native_close(struct native *n);

#endif
