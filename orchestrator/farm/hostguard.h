/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_HOSTGUARD_H
#define FARM_HOSTGUARD_H

#include "base/err.h"
#include "farm/farm.h"

/*
 * Looks at the host once a second while there are campaigns: memory pressure, free space, the bytes of each run. guard.h decides, and a
 * campaign is frozen or thawed by it. All campaigns of this daemon are judged alike, each by the limits of its own plan.
 *
 * Memory pressure is read from $FUZZ_PRESSURE, by default /proc/pressure/memory; a host without it has no such limit.
 */
struct campaign;
struct hostguard;

/* NULL is allowed in the other calls: a farm without one is not judged. */
int hostguard_new(struct farm *farm, struct hostguard **ret, struct err *err);
void hostguard_free(struct hostguard *g);
/* There is a campaign: looks from now on. No-op while it does. */
void hostguard_watch(struct hostguard *g);
/* Judges one campaign now. */
void hostguard_look(struct hostguard *g, struct campaign *c);

#endif
