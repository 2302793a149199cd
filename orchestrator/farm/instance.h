/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_INSTANCE_H
#define FARM_INSTANCE_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "farm/breaker.h"
#include "farm/farm.h"
#include "farm/instance_table.h"
#include "farm/stats.h"
#include "plan/plan.h"
#include "sys/cgroup.h"
#include "sys/keeper.h"
#include "sys/proc.h"

/*
 * One afl-fuzz under its keeper. A visible table state x event decides everything (instance_table.c); the rest only turns kernel news
 * (pidfd readable, timer, file closed, datagram) into events. The fields are for farm/ to read.
 */
#define INSTANCE_GRACE_MS     5000 /* SIGTERM to cgroup.kill, done by the keeper */
#define INSTANCE_OVERGRACE_MS 5000 /* more, until fuzzd kills the keeper too */
#define INSTANCE_DESTROY_MS                                                                        \
    500 /* wait for an emptied cgroup; afl and t are empty by then, as a rule */
#define INSTANCE_EXTRA_BYTES (512LL << 20) /* memory of the instance over its target's */
#define INSTANCE_FSIZE_BYTES (4LL << 30)

struct instance;
struct instance_ops {                    /* told to the owner; none may free the instance */
    void (*up)(struct instance *in);     /* it fuzzes, for the first time or again */
    void (*failed)(struct instance *in); /* given up, reason says why */
    void (*ended)(struct instance *in);  /* stopped, and everything is gathered */
};

struct instance {
    struct farm *farm;
    const struct plan *plan;
    const struct plan_target *target;
    const struct plan_instance *spec;
    const struct instance_ops *ops;
    void *owner;

    enum instance_state state;
    int rotation;         /* number of its folder, see store/rotation.h */
    char *name, *out_dir; /* of that folder; spec has those of the first */
    char *cgroup_name;
    struct cgroup *cg;
    int cpu, cpu_fd;               /* -1 none */
    int *cpus, n_cpus;             /* to choose from, the wanted one first */
    struct proc_id keeper, afl;    /* pid 0: not known */
    int pidfd;                     /* of the keeper, -1 none */
    sd_event_source *gone, *timer; /* keeper's end; the clock of the state */
    sd_event_source *crashes, *hangs;
    uint64_t crashes_ino, hangs_ino; /* what the watches look at */
    bool unwatched;                  /* no watch was to be had */

    struct stats stats;
    int64_t stats_mtime_ms;  /* of the fuzzer_stats read last, Unix ms */
    int64_t stats_looked_ms; /* monotonic */
    int64_t execs_base, execs_saved,
        execs_total;   /* executions of sessions before; at the start; in all */
    bool execs_seen;   /* this session has reported */
    int64_t edges_max; /* of all sessions */
    int64_t spawned_ms, up_ms,
        news_ms; /* monotonic, 0 not yet: start, first fuzzing, last progress */
    int64_t spawned_wall_ms;
    uint64_t life;     /* of its tree, see proc_tree_life, while it has run nothing */
    int64_t life_ms;   /* monotonic, when that was another last; 0: not looked at yet */
    int64_t log_from;  /* size of the log at the start */
    int64_t fuzzed_ms; /* of sessions before this one */

    struct breaker breaker;
    int restarts;
    int64_t oom_kills; /* of sessions before; instance_oom_kills adds this one's */
    int64_t oom_from,
        oom_live;     /* the cgroup's count at the start of this one, -1 none runs; seen since */
    char reason[256]; /* why it is backing off or failed */

    bool held;            /* its campaign is frozen: it stands still, and is not started */
    char restart_why[64]; /* an end that we asked for, for that reason; "" none */
    bool moves;           /* its next start is in another folder, and no restart */
    bool lacks_core;      /* somebody else has the one it had: it waits for one, in line */
    bool folder_refused;  /* afl-fuzz ended over a file in its folder */
    bool draining;        /* the keeper is gone, files are being gathered */
    int scan_old; /* folders before its own that are still to be looked into, from this number down */
    bool scan_due, scan_failed;
    int64_t scan_failed_ms; /* monotonic, since when files cannot be taken; 0: they can */
    char scan_trouble[256]; /* why */
    sd_event_source *scan_retry;
    struct folder_walk *walk; /* the walk over its files that is on, or NULL */
    bool walk_again;          /* files may have come behind it */
    bool walk_unsaved;        /* it met files whose bytes cannot be kept */
    int64_t walk_ms;          /* its time so far */
    int64_t rest_until_ms;    /* monotonic: no walk begins before */
    TAILQ_ENTRY(instance) scan_link;
    struct instance *id_next; /* of ids.h */
    uint16_t statsd_port;     /* of telemetry.c: where it sends from, 0 not known */
    pid_t statsd_pid;         /* who sent from there */
};

/* Sets up one planned instance, state PLANNED. plan parts are borrowed. Caller frees with instance_free. */
struct instance *instance_new(struct farm *farm, const struct plan *plan,
                              const struct plan_target *target, const struct plan_instance *spec,
                              const struct instance_ops *ops, void *owner);
/* Leaves a living keeper alone. */
void instance_free(struct instance *in);

/* Feeds one event to the table and does what it says. */
void instance_event(struct instance *in, enum instance_event ev);

/* Takes over *st (a datagram, or fuzzer_stats with have_stats and its time of writing) and notes progress. */
void instance_take_stats(struct instance *in, const struct stats *st);
/* Once a second while it runs: reads fuzzer_stats when it changed, judges health. */
void instance_tick(struct instance *in, int64_t now_ms);

/* Looks at a starting one, or one that was taken over, in a moment and from then on. */
void instance_look_soon(struct instance *in);

/*
 * Freezes it, wherever it is in its life, or lets it go on. Held, it is not started either; an end of its back-off waits for the release.
 */
void instance_hold(struct instance *in, bool hold);
#define INSTANCE_STUCK "stuck before its first execution, all of it idle"
/* Ends it so that it starts again with an empty working folder; its queue and what it found stay. why: a few words. */
void instance_restart(struct instance *in, const char *why);

/* From the next start on it works in folder number n. */
void instance_set_rotation(struct instance *in, int n);
/* It has a keeper, or will have one again. */
bool instance_active(const struct instance *in);
int64_t instance_fuzz_ms(const struct instance *in, int64_t now_ms);
/* Counts the kills for want of memory in its cgroup: some files to open, so no more often than somebody may want to know. */
void instance_look_oom(struct instance *in);
/* Those kills up to the last look; most leave no file. */
int64_t instance_oom_kills(const struct instance *in);

/* Takes the lock of one of these cores, as the plan has it: alone or shared. 0, -EBUSY, -errno. */
int instance_take_one_of(struct instance *in, const int *cpus, int n);
/* Takes a free core if none is held. 0, -EBUSY, -errno. */
int instance_take_cpu(struct instance *in);
void instance_release_cpu(struct instance *in);

/* instance_start.c: makes folders and cgroup and starts the keeper. 0 with the pidfd watched, else -errno with words in reason. */
int instance_spawn(struct instance *in);
/* instance_freeze.c: the actions, and their mechanism. 0 or -errno; a subtree that is gone is -ENOENT. */
void instance_do_freeze(struct instance *in);
void instance_do_thaw(struct instance *in);
int instance_freeze(struct instance *in, bool freeze);
/* What the kernel says; false where it cannot be asked. */
bool instance_is_frozen(const struct instance *in);
/* By cgroup; else afl-fuzz is stopped by a signal, once it is known. */
bool instance_can_freeze(const struct instance *in);
/* instance_start.c: takes ownership of the pidfd of a keeper and watches it. 0 or -errno. */
int instance_watch_keeper(struct instance *in, int pidfd);
/* instance.c, for instance_gone.c: an end that nobody asked for, with words, and whether its cause lies outside (breaker.h). */
void instance_ended_badly(struct instance *in, const char *words, bool outside);
/* Sets the clock of its state. */
void instance_arm(struct instance *in, int64_t after_ms);
/* Who runs, from the keeper's record. */
void instance_note_pids(struct instance *in);
/* instance_gone.c. The keeper has ended: reaps it and has the files gathered. */
void instance_keeper_gone(struct instance *in);
/* instance_watch.c: (re)sets the watches on crashes and hangs as they stand now, and has them scanned. */
void instance_watch_files(struct instance *in);
/* Both are watched, or cannot be, and nothing waits to be tried again. */
bool instance_watches(const struct instance *in);
void instance_unwatch_files(struct instance *in);
/* collect.c tells that a draining instance has no file left to take. */
void instance_drained(struct instance *in);

#endif
