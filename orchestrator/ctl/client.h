/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* fuzzctl's side of the socket. Blocking. */
struct client;

/*
 * Connects to STATE's fuzzd. start: starts fuzzd when none answers and waits until it is ready (its words on failure).
 * -ENOENT or -ECONNREFUSED when there is none and start is false.
 */
int client_open(const char *state_dir, bool start, struct client **ret, struct err *err);
void client_close(struct client *c);

/*
 * Sends a request (verb, and the members of args; borrowed, may be NULL) and waits for its answer at most timeout_ms
 * (-1: for ever). 0 with *ret (new reference, its "ok" may be false), -ETIMEDOUT, -EINTR (a signal came; err untouched),
 * -errno.
 */
int client_call(struct client *c, const char *verb, const json_t *args, int64_t timeout_ms,
                json_t **ret, struct err *err);
/* Goes on waiting for the answer of the last client_call, which gave -EINTR or -ETIMEDOUT. */
int client_call_again(struct client *c, int64_t timeout_ms, json_t **ret, struct err *err);

#endif
