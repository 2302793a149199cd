/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_INSTANCE_H
#define FARM_INSTANCE_H

#include <stdint.h>

#include "farm/stats.h"
#include "plan/plan.h"
#include "sys/cgroup.h"
#include "sys/keeper.h"

/*
 * One afl-fuzz under its keeper. A visible table state x event decides everything (instance_table.c); the rest of the
 * file only turns kernel news (pidfd readable, timer, file closed, datagram) into events.
 */
enum instance_state {
    INSTANCE_PLANNED,
    INSTANCE_STARTING,
    INSTANCE_CALIBRATING,
    INSTANCE_FUZZING,
    INSTANCE_STALLED,
    INSTANCE_FROZEN,
    INSTANCE_STOPPING,
    INSTANCE_BACKING_OFF,
    INSTANCE_FAILED,
    INSTANCE_ENDED,
};
const char *instance_state_name(enum instance_state s);

#endif
