/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_COLLECT_H
#define FARM_COLLECT_H

#include "farm/instance.h"

/*
 * Brings artifacts in: at most one bounded scan a turn of the loop over all instances, so that a flood of crashes never holds up the rest.
 */
int collect_init(struct farm *farm);
void collect_fini(struct farm *farm);
/* Has an instance's folders reconciled soon. Cheap; calls before the scan fold into one. */
void collect_push(struct instance *in);
/* Forgets it. */
void collect_drop(struct instance *in);

#endif
