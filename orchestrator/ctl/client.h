/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* fuzzctl's side of the socket. Blocking. */
struct client;

/* Connects to STATE's fuzzd. start: starts fuzzd when none answers and waits until it is ready (its words on failure). -ENOENT / -ECONNREFUSED when none and not start. */
int client_open(const char *state_dir, bool start, struct client **ret, struct err *err);
void client_close(struct client *c);
/* Sends a request (verb and members of args, borrowed, may be NULL) and waits for its answer at most timeout_ms (-1: for ever). 0 with *ret (new reference, "ok" may be false), -ETIMEDOUT, -errno. */
int client_call(struct client *c, const char *verb, const json_t *args, int64_t timeout_ms,
                json_t **ret, struct err *err);

#endif
