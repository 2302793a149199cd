/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_TELEMETRY_H
#define FARM_TELEMETRY_H

#include <stdint.h>

#include "base/err.h"

struct farm;
struct instance;
struct telemetry;

/*
 * The UDP socket on loopback to which every afl-fuzz sends its figures once a second. The port is kept in state.db and asked for again after a
 * restart, as running instances go on sending there; when it is taken another is used, and those fall back to files.
 * Datagrams from elsewhere than 127.0.0.1 and of unknown names are dropped.
 */
int telemetry_new(struct farm *farm, struct telemetry **ret, struct err *err);
void telemetry_free(struct telemetry *t);
/* in goes away: nothing that comes from its port is its any more. t may be NULL when in was never told by its port. */
void telemetry_forget(struct telemetry *t, struct instance *in);
uint16_t telemetry_port(const struct telemetry *t);

#endif
