/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZD_H
#define FUZZD_H

#include <bsd/sys/queue.h>
#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "base/log.h"
#include "ctl/server.h"
#include "farm/campaign.h"
#include "farm/farm.h"
#include "oracle/verdict.h"
#include "report/finish.h"
#include "report/gate.h"
#include "store/db.h"
#include "sys/cgroup.h"
#include "triage/queue.h"

#define TRIAGE_CGROUP "ctl-triage"
#define SEEDS_CGROUP  "ctl-seeds"

struct asked;
struct sweeper;

/*
 * The daemon's own parts, shared by fuzzd.c and the fuzzd_*.c beside it: the one place where farm, triage, report and ctl
 * meet.
 */
struct daemon {
    sd_event *loop;
    char *state_dir;
    int lock_fd;
    struct db *db;
    struct cgroup_root *cgroups;
    struct cgroup *triage_cg; /* NULL: none */
    struct farm *farm;
    struct queue *queue;
    struct cgroup *seeds_cg; /* NULL: none */
    struct queue *seeds;     /* runs of seeds before a target is fuzzed: they wait for no triage */
    struct server *server;
    sd_event_source *idle, *reaper;
    TAILQ_HEAD(runs, run) runs;
    TAILQ_HEAD(waiters, waiter) waiters;
    int64_t started_at_ms;
    bool foreground, terminating;
};

/* A campaign and what follows it. */
struct run {
    TAILQ_ENTRY(run) link;
    struct daemon *d;
    struct campaign *campaign;
    struct finish *finish;
    TAILQ_HEAD(inputs, input) inputs; /* jobs handed to the queue */
    TAILQ_HEAD(asks, asked) asked;    /* seeds that are being run */
    struct sweeper *sweeper;
    struct gate **gates;            /* of the plan's targets that are being judged, else NULL */
    uint64_t start_ticket;          /* 0: answered */
    struct log_limit found, judged; /* lines of inputs found, and of their results */
    bool over;                      /* the verdict is drawn */
    bool stuck;                     /* something of it cannot be stored, and that is logged */
    enum verdict verdict;
};

/* fuzzd_detach.c: leaves the starter's process group, session, terminal and cgroup. */
struct detach {
    int status_fd; /* to the launching process; -1 in the foreground */
    int ready_fd;  /* of the client; -1 none */
};
/*
 * Forks the daemon off. Returns in the daemon only; the launching process waits for detach_ready (exits 0) or the daemon's end (exits with its code).
 * 0 or -errno, in which case nothing was forked.
 */
int detach_daemon(struct detach *dt);
/* Tells that the socket answers, and lets go of the starter's streams. */
void detach_ready(struct detach *dt);

/* fuzzd_triage.c: from artifact to verdict. */
extern const struct farm_events triage_events;
struct run *run_new(struct daemon *d, struct campaign *c);
void run_free(struct run *run);
/* Ends its fuzzing, and bounds what is left to do behind it; also when that has begun already. */
void run_stop(struct run *run, const char *why);
/* Pushes what was found before and has no result yet (a run that was taken over). */
void run_push_untriaged(struct run *run);
/* Has targets judged that others wait for; also called for a run that was taken over. */
void run_judge_waited(struct run *run);
/* Ends runs whose verdict is drawn; asked for by daemon_reap. */
void daemon_reap(struct daemon *d);
/* Tells those who wait for a stop when files or a verdict cannot be stored; a daemon that is to end leaves that to the next. */
void daemon_look_at_ends(struct daemon *d);
/* fuzzd_seeds.c: the seeds of a target before it is fuzzed, with what comes of it in dir; and forgetting what a run has asked for so far. */
void run_push_seeds(struct run *run, const struct plan_target *t, const char *dir);
void run_drop_seeds(struct run *run);
/* fuzzd_sweep.c: the queues of a run's targets through their sanitizer builds. */
void run_sweep_start(struct run *run);
void run_sweep_stop(struct run *run);
void run_sweep_stored(struct run *run, const struct plan_target *t);
void run_sweep_look(struct run *run); /* something has ended, or triage has less to do */
/* All was run that there is, or it cannot be: true for a target that is not swept. */
bool run_target_swept(const struct run *run, size_t i);
bool run_swept(const struct run *run);
int triage_init(struct daemon *d, struct err *err);
void triage_fini(struct daemon *d);

/* fuzzd_adopt.c: goes on with what the fuzzd before left unfinished. */
void daemon_adopt(struct daemon *d);

/* fuzzd_serve.c: requests of clients. */
int serve_init(struct daemon *d, struct err *err);
void serve_fini(struct daemon *d);
void serve_started(struct run *run);                /* answers the start */
void serve_over(struct run *run);                   /* answers stops and waits */
void serve_stuck(struct run *run, const char *why); /* refuses stops: stopped, without a verdict */

/* fuzzd_add.c: answers or refuses "add" for a run that is not ending. */
void serve_add(struct run *run, uint64_t ticket, const json_t *request);

#endif
