/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_SERVER_H
#define CTL_SERVER_H

#include <jansson.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/err.h"

/*
 * fuzzd's side. Each request goes to fn with a ticket; the answer may be given at once or later with server_answer. A ticket of a client that has gone is
 * harmless. A peer of another uid (root aside), with a bad line or an answer backlog over a bound is dropped.
 */
struct server;
typedef void server_fn(void *ctx, uint64_t ticket, const char *verb, const json_t *request);

int server_new(sd_event *loop, const char *state_dir, server_fn *fn, void *ctx, struct server **ret,
               struct err *err);
void server_free(struct server *s); /* removes the socket file */
/* Takes the reference to answer (members beside version, id, ok). */
void server_answer(struct server *s, uint64_t ticket, json_t *answer);
void server_refuse(struct server *s, uint64_t ticket, int exit_code, const char *text);
/* Clients connected now, and monotonic ms of the last call. */
int server_clients(const struct server *s);
int64_t server_last_call_ms(const struct server *s);

#endif
