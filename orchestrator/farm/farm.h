/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_FARM_H
#define FARM_FARM_H

#include <bsd/sys/queue.h>
#include <systemd/sd-event.h>

#include "base/err.h"
#include "farm/ids.h"
#include "plan/plan.h"
#include "store/artifact.h"
#include "store/db.h"
#include "sys/cgroup.h"

/*
 * What all campaigns of one fuzzd share, and the way their news go out: by callbacks that fuzzd.c fills in, as the modules that
 * act on them rank higher.
 */
/*
 * afl-fuzz saves no more than KEEP_UNIQUE_CRASH (10000) crashes and KEEP_UNIQUE_HANG (500) hangs in one folder, and only counts
 * further ones. A fifth of that is left for what comes while no figures do, a minute where there is no StatsD.
 * Source: AFL++ include/config.h; src/afl-fuzz-bitmap.c (save_if_interesting).
 */
#define FARM_ROTATE_CRASHES 8000
#define FARM_ROTATE_HANGS   400

struct campaign;
struct instance;
struct telemetry;
struct cpu_place;
struct hostguard;

struct farm_events {
    /* A new occurrence is safe in the store. */
    void (*artifact)(void *ctx, struct campaign *c, const struct plan_target *t,
                     const struct artifact_seen *seen);
    /*
     * The seeds of t are to be run before it is fuzzed, with what comes of it in dir (a new folder, borrowed): campaign_seeds_answer is due.
     * NULL: they are not run.
     */
    void (*seeds)(void *ctx, struct campaign *c, const struct plan_target *t, const char *dir);
    /* An answer of the sweep of t was taken, and what failed is in the store. */
    void (*swept)(void *ctx, struct campaign *c, const struct plan_target *t);
    /* The first instance fuzzes, or none will: a start may be answered. */
    void (*started)(void *ctx, struct campaign *c);
    /* A target fuzzes no more (its reason is in its row); confirmations that waited for a core may run. */
    void (*target_ended)(void *ctx, struct campaign *c, const struct plan_target *t);
    /* There is space again after a write had found none: what could not be stored may be tried anew. */
    void (*space)(void *ctx, struct campaign *c);
    /* All targets have ended and everything is gathered. campaign_close is due once the verdict is drawn. */
    void (*fuzzing_ended)(void *ctx, struct campaign *c);
};

struct farm {
    sd_event *loop;              /* borrowed */
    struct db *db;               /* borrowed */
    const char *state_dir;       /* borrowed */
    struct cgroup_root *cgroups; /* borrowed */
    char *keeper;                /* path of fuzz-keeper */
    struct telemetry *telemetry;
    struct hostguard *guard;
    int64_t stall_ms; /* FUZZ_STALL_WINDOW: the stall window of a test, 0 as health.c has it */
    struct cpu_place *place; /* in the line for cores, NULL: nobody waits; see cores.h */
    bool place_told;         /* that none can be taken */
    size_t n_lacking;        /* instances that have lost their core */
    bool unwatched_told;     /* that there are no watches left */
    int64_t rotate_crashes, rotate_hangs; /* saved in one folder when its instance leaves it */
    const struct farm_events *ev;         /* borrowed */
    void *ctx;
    TAILQ_HEAD(campaigns, campaign) campaigns;
    struct ids ids; /* of their instances */
    TAILQ_HEAD(scans, instance) scans;
    sd_event_source *collector;
};

/* 0, or -ENOENT when fuzz-keeper is nowhere, -errno. */
int farm_new(sd_event *loop, struct db *db, const char *state_dir, struct cgroup_root *cgroups,
             const struct farm_events *ev, void *ctx, struct farm **ret, struct err *err);
/* Campaigns must be closed before. */
void farm_free(struct farm *farm);
/* By full id "campaign/target/instance"; NULL when it is not one of ours. */
struct instance *farm_find_instance(struct farm *farm, const char *full_id);
struct campaign *farm_find_campaign(struct farm *farm, const char *name);
/* True when some allowed CPU has no instance of ours on it. */
bool farm_has_free_core(const struct farm *farm);

#endif
