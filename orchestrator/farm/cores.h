/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_CORES_H
#define FARM_CORES_H

#include <stddef.h>

#include "farm/farm.h"

struct campaign;
struct instance;
struct target;

/*
 * Who runs when, and on which cores: what turn.h rules, done to the campaigns of a farm. A core is owned by a lock
 * (sys/cpu.h); one that is lent keeps that lock, and its borrower has a copy, so that it is free for others only once both have ended.
 */

/* Freezes and thaws by priority, as things stand. To be called whenever something began, ended, or was frozen or thawed. */
void cores_settle(struct farm *farm);
/*
 * Takes a core for each instance of t: free ones when it is the campaign's turn, else such as campaigns that stand still, or will, have. 0, or
 * -EBUSY with none taken and the campaign waiting in line, why in its waits_why.
 */
int cores_take(struct target *t);
/*
 * The same for one instance that starts again and has lost its core: there is none that it may have, and it stands in line
 * as its campaign did, until it has one or cores_give_up. 0, -EBUSY, -errno.
 */
int cores_take_one(struct instance *in);
/* Of an instance that starts no more: it has no core, and waits for none. */
void cores_give_up(struct instance *in);
/* The keeper that had the lock has ended and the instance goes on: its core stays its own, if nobody was quicker. */
void cores_keep(struct instance *in);
/* It waits for none any more to begin with a target. */
void cores_leave(struct campaign *c);
/* An instance that was taken over gets hold of its core's lock again where the kernel lets us. */
void cores_adopt(struct instance *in);
/* The campaign whose instance has the same core, in words for status: borrowed name, or NULL. *ret_lends: it is this one that lends. */
const char *cores_shared_with(const struct instance *in, int *ret_lends);

#endif
