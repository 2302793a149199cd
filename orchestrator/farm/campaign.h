/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_CAMPAIGN_H
#define FARM_CAMPAIGN_H

#include <bsd/sys/queue.h>
#include <jansson.h>
#include <stdbool.h>

#include "farm/farm.h"
#include "farm/freeze.h"
#include "farm/guard.h"
#include "farm/target.h"
#include "farm/usage.h"
#include "store/runs.h"

/*
 * One run of a plan: locks, folders, rows, the order of its targets, its end. Its targets start in file order as its cores free
 * up. The fields are for farm/ to read; fuzzd uses the functions.
 */
struct campaign {
    TAILQ_ENTRY(campaign) link;
    struct farm *farm;
    struct plan *plan; /* owned */
    int lock_fd;
    struct target **targets;
    sd_event_source *tick, *pump;
    int64_t started_at_ms; /* Unix */
    int64_t saved_ms;      /* monotonic, of the rows written last */
    bool told_started, told_ended;
    bool interrupted;
    int64_t queued_at_ms; /* its place in the line for cores, Unix ms */
    bool waits;           /* in that line */
    char waits_why[320];  /* who or what it waits for */
    char why[256];        /* of the interruption */
    char unstored[256];   /* why the rows are not what it is now; "" they are, up to figures */
    struct freeze freeze;
    struct guard guard;
    struct usage *usage; /* of the run's folder */
    int64_t dropped_ms;  /* monotonic, of the last time that room was made, 0 never */
    void *owner;         /* fuzzd's */
};

/*
 * Takes the locks, makes the run's folder with spec.ini and plan.json, puts the rows and starts what has a core. Takes ownership of plan, even on error.
 * 0; -EBUSY with err "already running: run X, pid N, since T" before anything is made; -EINVAL when the plan's folder is not of this state directory; -errno.
 */
int campaign_start(struct farm *farm, struct plan *plan, const char *spec_text,
                   struct campaign **ret, struct err *err);
/*
 * Goes on with an unfinished run of state.db by its plan.json and the records of its keepers, budgets included. 0; -EBUSY as above; -errno when its plan
 * cannot be read any more.
 */
int campaign_adopt(struct farm *farm, const struct run_row *row, struct campaign **ret,
                   struct err *err);
/* Ends all targets, as "stopped" and the run as interrupted. No-op once it has ended. */
void campaign_stop(struct campaign *c, const char *why);
/*
 * Opens a run of the index that was interrupted and goes on with it: same run, same folder, queues and counts as they are, what was left of each
 * budget. Targets that ended otherwise than by the stop or by failing stay ended. 0; -EBUSY as above; -ENODATA when nothing is left to do,
 * -ENOENT when its folder or a harness is gone, -errno, each with words.
 */
int campaign_resume(struct farm *farm, const struct run_row *row, struct campaign **ret,
                    struct err *err);
/* Freezes it for that cause; no-op once it is ending. why is told in status, report and log. */
void campaign_freeze(struct campaign *c, enum freeze_cause cause, const char *why);
/* That cause is gone; it goes on unless another holds. */
void campaign_thaw(struct campaign *c, enum freeze_cause cause);
/* It ends, or has ended: it takes no freeze any more. */
bool campaign_ending(const struct campaign *c);
/* A write in the state directory found no space: frozen until one succeeds. */
void campaign_no_space(struct campaign *c);
/* What the run of a target's seeds came to, by the name of the target; see farm_events.seeds and job_replay_make. */
void campaign_seeds_answer(struct campaign *c, const char *target, const json_t *answer);
/* campaign_sweep.c: the sweep of target i of the plan. What one job of it came to; last: nothing of it fuzzes any more. See farm/sweep.h. */
void campaign_sweep_answer(struct campaign *c, size_t i, const json_t *answer, bool last);
/* Takes in what an earlier fuzzd may have left; farm_events.swept follows. */
void campaign_sweep_collect(struct campaign *c, size_t i);
bool campaign_sweep_storing(const struct campaign *c, size_t i);
bool campaign_sweep_may_run(const struct campaign *c,
                            size_t i); /* it fuzzes, and nothing holds it */
bool campaign_sweep_complete(const struct campaign *c, size_t i);
int64_t campaign_sweep_left(const struct campaign *c, size_t i); /* as of the last answer */
int64_t campaign_sweep_entries(const struct campaign *c,
                               size_t i); /* of its queues, by AFL++'s figures */
json_t *campaign_sweep_json(const struct campaign *c, size_t i); /* new reference, or NULL */
/* Why what the sweep of some target found cannot be stored, or its record be written, for want of space; borrowed, or NULL. */
const char *campaign_sweep_trouble(const struct campaign *c);
bool campaign_target_ended(const struct campaign *c, size_t i);
bool campaign_target_started(const struct campaign *c, size_t i); /* it fuzzed, in some session */
/* A finding was reproduced: the end of the campaign where the spec says so. */
void campaign_finding(struct campaign *c);
/* Gives the locks back and forgets it. The last row of the run is the verdict's, written by others. */
void campaign_close(struct campaign *c);

const struct plan *campaign_plan(const struct campaign *c);
/* All targets ended, everything gathered. */
bool campaign_fuzzing_ended(const struct campaign *c);
/* Some instance fuzzes, or has since this daemon has the campaign. */
bool campaign_ever_up(const struct campaign *c);
/* "running", "frozen", "seeds" (which are being run), "waiting" (for a core), "triage", for status and the answer to a start. */
const char *campaign_state_name(const struct campaign *c);
/* Why no target ever fuzzed, or NULL. Borrowed. */
const char *campaign_start_failure(const struct campaign *c);
/* Some instance was given up. */
bool campaign_given_up(const struct campaign *c);
/* Why the run was interrupted, or NULL. Borrowed. */
const char *campaign_interrupted(const struct campaign *c);
/* Why files that afl-fuzz saved cannot be taken now, borrowed, and since when; NULL when they can. Until then the campaign does not end. */
const char *campaign_trouble(const struct campaign *c, int64_t *ret_for_ms);
/*
 * Why what was asked of it last (a pause, its end) could not be stored, borrowed; NULL when it is. Stored as soon as that can be done; the fuzzd
 * that follows one that dies before does not know of it.
 */
const char *campaign_unstored(const struct campaign *c);
/* What only the farm knows of target i of the plan, for the verdict. Text borrowed. */
void campaign_target_facts(const struct campaign *c, size_t i, bool *ret_started,
                           const char **ret_start_failure, int *ret_given_up, bool *ret_saturated);
/*
 * Target i has ended, was not judged yet, and another one that is still to come waits for it: campaign_judged is due. Nothing of that is
 * kept: whoever takes the run over judges anew.
 */
bool campaign_wants_judging(const struct campaign *c, size_t i);
/* Its verdict: those that wait for it start, or are skipped with these words. No-op where campaign_wants_judging is false. */
void campaign_judged(struct campaign *c, size_t i, bool clean, const char *words);
/* Why target i was skipped, or NULL. Borrowed. */
const char *campaign_skipped(const struct campaign *c, size_t i);
/* Kills for memory in a target's instances so far, of all sessions; looks into their cgroups. */
int64_t campaign_oom_kills(const struct campaign *c, const char *target);
/* What isolation does not hold for it, a line each: the host's mechanism, and targets that cannot use all of it. Caller frees. */
char *campaign_isolation_why(const struct campaign *c);
/* Its object of "status --json"; new reference. */
json_t *campaign_status_json(const struct campaign *c);

/* ---- Within farm/ ---- */
/* Locked and on the loop, with nothing started. Takes ownership of plan, even on error. */
int campaign_prepare(struct farm *farm, struct plan *plan, int64_t started_at_ms,
                     struct campaign **ret, struct err *err);
struct campaign *campaign_of(const struct instance *in);
/* Figures and causes as the rows have them. */
void campaign_restore(struct campaign *c, const struct run_row *row);
/* Nothing holds any more, as it ends. Its instances are not thawed. */
void campaign_forget_freeze(struct campaign *c);
/* The file system is full: freezes the campaign and is true. */
bool campaign_out_of_space(struct campaign *c);
/* Bytes that are, or will be, free by removing what is of no use or made anew: older logs, the working folders of instances (which start again). */
int64_t campaign_drop(struct campaign *c);
/* Something is to be started, ended or told, in a turn of the loop of its own. */
void campaign_ask_pump(struct campaign *c);
void campaign_count_artifact(struct campaign *c, struct instance *in,
                             const struct artifact_seen *seen);
/* campaign_after.c: whom target i waits for still, NULL: nobody. Borrowed. */
const struct target *campaign_waits_for(const struct campaign *c, const struct target *t);
/* Ends those that wait for one that did not end clean. */
void campaign_skip_targets(struct campaign *c);
/* campaign_store.c: the run's folder and rows. */
int campaign_make_run_dir(struct campaign *c, const char *spec_text, struct err *err);
int campaign_take_locks(struct campaign *c, struct err *err);
/* -EMFILE when this process may not open as many files as all instances need: some of them would fail later, one by one. */
int campaign_check_files(const struct campaign *c, struct err *err);
/* Puts all rows in one transaction, as the figures belong together and each costs an fsync. */
int campaign_put(struct campaign *c, struct err *err);
/* The same, told in the log when it fails and tried again 5 s later. */
void campaign_save(struct campaign *c);

#endif
