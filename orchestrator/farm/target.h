/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_TARGET_H
#define FARM_TARGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "farm/budget.h"
#include "farm/instance.h"
#include "farm/seeds.h"
#include "farm/sweep.h"
#include "store/artifact.h"
#include "store/runs.h"

/*
 * One target of a run: its instances, its clock, its end. Ends as planned (budget, execs, plateau, finding), stopped, or failed when
 * every instance was given up. The fields are for farm/ to read.
 */
enum target_state {
    TARGET_PLANNED, /* waits for cores, or for its turn */
    TARGET_RUNNING,
    TARGET_ENDING, /* its instances are being stopped */
    TARGET_ENDED,
    TARGET_FAILED
};

/* What was said of a target that others wait for. */
enum target_gate { TARGET_UNJUDGED, TARGET_CLEAN, TARGET_NOT_CLEAN };

struct target;
struct target_ops {
    void (*starting)(struct target *t); /* its cores are taken, nothing of it runs yet */
    void (*up)(struct target *t);       /* its first instance fuzzes */
    void (*ended)(struct target *t);    /* ENDED or FAILED, everything gathered */
};

struct target {
    struct farm *farm;
    const struct plan *plan;
    const struct plan_target *spec;
    const struct target_ops *ops;
    void *owner;
    int lock_fd; /* of locks/target-NAME */

    enum target_state state;
    const char *end_reason; /* static text, NULL while it runs */
    enum target_gate gate;
    char gate_why[256]; /* of NOT_CLEAN: the word, and the first reason */
    char skipped[320];  /* why it was never started, "" none */
    struct seeds seeds;
    struct sweep sweep;
    char failure[640]; /* why it was not started, "" none: its self-test fails, no seed is left */
    struct instance **instances;
    struct budget budget;
    bool ever_up, up; /* some instance fuzzed: ever in this run, and since this daemon has it */
    bool held;        /* frozen: its clock stands */
    int64_t started_at_ms, ended_at_ms;  /* Unix ms */
    int64_t edges_seen, last_edge_at_ms; /* sum of its instances' best; Unix ms of the last rise */
    int64_t crashes, hangs;              /* distinct contents by folder, before triage */
    bool half_quiet_at_end;
    size_t ticks;
    size_t to_start; /* instances, the last of the list, that are still to be started */
    sd_event_source *starter;
    int64_t saved_at_ms; /* Unix ms of the row it was restored from, 0 none */
    int64_t saved_ms;    /* the same, monotonic, of the boot in the run's row */
    bool saved_held;     /* it was frozen then */
};

/* plan parts are borrowed. */
struct target *target_new(struct farm *farm, const struct plan *plan,
                          const struct plan_target *spec, const struct target_ops *ops,
                          void *owner);
void target_free(struct target *t);

/* Takes the cores of all instances and starts them. 0, or -EBUSY with none taken (see cores.h). */
int target_start(struct target *t);
/* Starts those that are planned, in several turns of the loop when it takes long; the target runs. */
void target_start_instances(struct target *t);
/* Ends it for that reason (static text). A target that never started ends at once. No-op when it ends already. */
void target_end(struct target *t, const char *reason);
/* Ends one that was not started, as failed, with these words. */
void target_fail(struct target *t, const char *words);
/* Freezes its instances and its clock, or lets both go on. */
void target_hold(struct target *t, bool hold);
/* Once a second: figures, health, budget. */
void target_tick(struct target *t, int64_t now_ms);

bool target_active(const struct target *t); /* RUNNING or ENDING */
int target_cores(const struct target *t);   /* held now, by us or by a keeper */
int target_given_up(const struct target *t);
/* No favoured entry is pending and no edge came in the last half of its time. */
bool target_saturated(const struct target *t);
/* Why its first instance never fuzzed, or NULL. Borrowed. */
const char *target_start_failure(const struct target *t);
int64_t target_execs(const struct target *t);
double target_execs_per_sec(const struct target *t); /* now; as it ends, of its whole time */
int64_t target_edges(const struct target *t);
const char *target_state_name(const struct target *t); /* of the row and of status */

/* The callback of artifact_scan for what a job found of target ctx: counted, and told like the files of an instance. */
void target_on_artifact(void *ctx, const struct artifact_source *src,
                        const struct artifact_seen *seen);

/* Its row as of now. Clear with target_row_clear. */
void target_fill_row(const struct target *t, int64_t now_ms, struct target_row *ret);

#endif
