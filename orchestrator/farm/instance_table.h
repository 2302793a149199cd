/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_INSTANCE_TABLE_H
#define FARM_INSTANCE_TABLE_H

/*
 * The life of an instance as one table state x event -> (next state, action). Pure: kernel news become events in
 * instance.c, and the actions are carried out there. Every pair is decided.
 */
enum instance_state {
    INSTANCE_PLANNED,
    INSTANCE_STARTING,    /* the keeper was started, afl-fuzz has not shown itself */
    INSTANCE_CALIBRATING, /* afl-fuzz shows itself, the seeds' dry run is not over */
    INSTANCE_FUZZING,
    INSTANCE_STALLED, /* alive without executions */
    INSTANCE_FROZEN,
    INSTANCE_ROTATING, /* it ends, to go on in another folder */
    INSTANCE_STOPPING,
    INSTANCE_BACKING_OFF,
    INSTANCE_FAILED, /* given up by the circuit breaker */
    INSTANCE_ENDED,
    INSTANCE_STATES
};

enum instance_event {
    INSTANCE_EV_START, /* its target runs now, and its core is held */
    INSTANCE_EV_ALIVE, /* first sign of afl-fuzz itself */
    INSTANCE_EV_UP, /* the dry run is over: fuzzer_stats of this process, or executions by StatsD */
    INSTANCE_EV_PROGRESS, /* executions advanced */
    INSTANCE_EV_QUIET,    /* none for longer than health.c allows */
    INSTANCE_EV_FULL,     /* its folder holds nearly all that afl-fuzz saves in one */
    INSTANCE_EV_FREEZE,   /* pause, pressure or disk */
    INSTANCE_EV_THAW,
    INSTANCE_EV_STOP,       /* its target ends, or a user asks */
    INSTANCE_EV_GRACE_OVER, /* the keeper is still there after the stop and its grace */
    INSTANCE_EV_BACKOFF_OVER,
    INSTANCE_EV_GONE, /* the keeper ended, files are gathered; the breaker allows a restart */
    INSTANCE_EV_GONE_FOR_GOOD, /* the keeper ended, or could not start; the breaker does not allow one */
    INSTANCE_EVENTS
};

enum instance_action {
    INSTANCE_DO_NOTHING,
    INSTANCE_DO_SPAWN,
    INSTANCE_DO_UP,     /* tell that it fuzzes, watch its folders, begin the stall clock */
    INSTANCE_DO_STALL,  /* tell it, and restart it: SIGTERM, whose end comes back as GONE */
    INSTANCE_DO_ROTATE, /* tell it, and end it: SIGTERM, whose end comes back as GONE */
    INSTANCE_DO_FREEZE,
    INSTANCE_DO_THAW,
    INSTANCE_DO_TERM,     /* SIGTERM to the keeper, begin the grace clock */
    INSTANCE_DO_KILL,     /* the whole subtree, keeper too */
    INSTANCE_DO_BACK_OFF, /* begin the back-off clock */
    INSTANCE_DO_GIVE_UP,  /* tell the failure and clean up */
    INSTANCE_DO_FINISH,   /* clean up, tell that it ended */
    INSTANCE_ACTIONS
};

struct instance_step {
    enum instance_state next;
    enum instance_action action;
};

/* The decision for an event in a state. Values out of range are a bug of the caller and abort. */
struct instance_step instance_table_step(enum instance_state state, enum instance_event event);

/* "fuzzing", "backing-off"; static storage. */
const char *instance_state_name(enum instance_state s);
const char *instance_event_name(enum instance_event e);

#endif
