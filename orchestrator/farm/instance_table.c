/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to an instance, and when.
 *
 * A row a state, a column an event, as s6-supervise has it. Pairs that cannot come about are decided too, as STAY: an
 * event that is late by one turn of the loop must never move an instance.
 */
#include "farm/instance_table.h"

#include <stdlib.h>

/* clang-format off */
#define TO(state, action) {INSTANCE_##state, INSTANCE_DO_##action}

#define PL TO(PLANNED, NOTHING)
#define ST TO(STARTING, NOTHING)
#define CA TO(CALIBRATING, NOTHING)
#define FU TO(FUZZING, NOTHING)
#define SL TO(STALLED, NOTHING)
#define FZ TO(FROZEN, NOTHING)
#define RO TO(ROTATING, NOTHING)
#define SP TO(STOPPING, NOTHING)
#define BO TO(BACKING_OFF, NOTHING)
#define FA TO(FAILED, NOTHING)
#define EN TO(ENDED, NOTHING)

#define SPAWN   TO(STARTING, SPAWN)
#define UP      TO(FUZZING, UP)
#define STALL   TO(STALLED, STALL)
#define ROTATE  TO(ROTATING, ROTATE)
#define FREEZE  TO(FROZEN, FREEZE)
#define THAW    TO(CALIBRATING, THAW)      /* the next sign of executions makes it FUZZING */
#define TERM    TO(STOPPING, TERM)
#define KILL_SP TO(STOPPING, KILL)
#define KILL_SL TO(STALLED, KILL)
#define KILL_RO TO(ROTATING, KILL)
#define BACKOFF TO(BACKING_OFF, BACK_OFF)
#define GIVE_UP TO(FAILED, GIVE_UP)
#define FINISH  TO(ENDED, FINISH)

static const struct instance_step table[INSTANCE_STATES][INSTANCE_EVENTS] = {
/*                  START  ALIVE UP  PROGRESS QUIET  FULL    FREEZE  THAW  STOP    GRACE    BACKOFF GONE     GONE_FOR */
/*                                                                                 _OVER    _OVER            _GOOD    */
[INSTANCE_PLANNED]     = {SPAWN, PL, PL, PL, PL,    PL,     PL,     PL,   FINISH, PL,      PL,     PL,      GIVE_UP},
[INSTANCE_STARTING]    = {ST,    CA, UP, ST, STALL, ST,     FREEZE, ST,   TERM,   ST,      ST,     BACKOFF, GIVE_UP},
[INSTANCE_CALIBRATING] = {CA,    CA, UP, CA, STALL, CA,     FREEZE, CA,   TERM,   CA,      CA,     BACKOFF, GIVE_UP},
[INSTANCE_FUZZING]     = {FU,    FU, FU, FU, STALL, ROTATE, FREEZE, FU,   TERM,   FU,      FU,     BACKOFF, GIVE_UP},
[INSTANCE_STALLED]     = {SL,    SL, SL, SL, SL,    SL,     SL,     SL,   TERM,   KILL_SL, SL,     BACKOFF, GIVE_UP},
[INSTANCE_FROZEN]      = {FZ,    FZ, FZ, FZ, FZ,    FZ,     FZ,     THAW, TERM,   FZ,      FZ,     BACKOFF, GIVE_UP},
[INSTANCE_ROTATING]    = {RO,    RO, RO, RO, RO,    RO,     RO,     RO,   TERM,   KILL_RO, RO,     BACKOFF, GIVE_UP},
[INSTANCE_STOPPING]    = {SP,    SP, SP, SP, SP,    SP,     SP,     SP,   SP,     KILL_SP, SP,     FINISH,  FINISH},
[INSTANCE_BACKING_OFF] = {BO,    BO, BO, BO, BO,    BO,     BO,     BO,   FINISH, BO,      SPAWN,  BO,      GIVE_UP},
[INSTANCE_FAILED]      = {FA,    FA, FA, FA, FA,    FA,     FA,     FA,   FA,     FA,      FA,     FA,      FA},
[INSTANCE_ENDED]       = {EN,    EN, EN, EN, EN,    EN,     EN,     EN,   EN,     EN,      EN,     EN,      EN},
};
/* clang-format on */

struct instance_step instance_table_step(enum instance_state state, enum instance_event event)
{
    if ((unsigned)state >= INSTANCE_STATES || (unsigned)event >= INSTANCE_EVENTS)
        abort();
    return table[state][event];
}

const char *instance_state_name(enum instance_state s)
{
    static const char *const names[INSTANCE_STATES] = {
        [INSTANCE_PLANNED] = "planned",
        [INSTANCE_STARTING] = "starting",
        [INSTANCE_CALIBRATING] = "calibrating",
        [INSTANCE_FUZZING] = "fuzzing",
        [INSTANCE_STALLED] = "stalled",
        [INSTANCE_FROZEN] = "frozen",
        [INSTANCE_ROTATING] = "rotating",
        [INSTANCE_STOPPING] = "stopping",
        [INSTANCE_BACKING_OFF] = "backing-off",
        [INSTANCE_FAILED] = "failed",
        [INSTANCE_ENDED] = "ended",
    };

    return (unsigned)s < INSTANCE_STATES ? names[s] : "?";
}

const char *instance_event_name(enum instance_event e)
{
    static const char *const names[INSTANCE_EVENTS] = {
        [INSTANCE_EV_START] = "start",
        [INSTANCE_EV_ALIVE] = "alive",
        [INSTANCE_EV_UP] = "up",
        [INSTANCE_EV_PROGRESS] = "progress",
        [INSTANCE_EV_QUIET] = "quiet",
        [INSTANCE_EV_FULL] = "full",
        [INSTANCE_EV_FREEZE] = "freeze",
        [INSTANCE_EV_THAW] = "thaw",
        [INSTANCE_EV_STOP] = "stop",
        [INSTANCE_EV_GRACE_OVER] = "grace-over",
        [INSTANCE_EV_BACKOFF_OVER] = "backoff-over",
        [INSTANCE_EV_GONE] = "gone",
        [INSTANCE_EV_GONE_FOR_GOOD] = "gone-for-good",
    };

    return (unsigned)e < INSTANCE_EVENTS ? names[e] : "?";
}
