/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two lines of work for fuzz-triage: what a campaign has found, which has time,
 * and the seeds of a target that is to start, which somebody waits for. They run side
 * by side, each in a group of its own, so that neither holds up the other.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "corpus/job_corpus.h"
#include "fuzzd.h"
#include "triage/job.h"

#define TRIAGE_MEMORY     (4LL << 30)
#define TRIAGE_PIDS       256
#define TRIAGE_WEIGHT_PCT 10
#define SEEDS_WEIGHT_PCT  100
#define LEFT_MS           2000

/* A target whose seeds are being run. */
struct asked {
    TAILQ_ENTRY(asked) link;
    struct run *run;
    const char *target;
};

static void asked_free(struct asked *a)
{
    TAILQ_REMOVE(&a->run->asked, a, link);
    free(a);
}

static void on_seeds_answer(void *ctx, const json_t *answer)
{
    struct asked *a = ctx;
    struct campaign *c = a->run->campaign;
    const char *target = a->target;

    asked_free(a);
    campaign_seeds_answer(c, target, answer);
}

void run_push_seeds(struct run *run, const struct plan_target *t, const char *dir)
{
    struct asked *a = xcalloc(1, sizeof(*a));
    json_t *job;

    a->run = run;
    a->target = t->name;
    TAILQ_INSERT_TAIL(&run->asked, a, link);
    job = job_replay_make(t, run->d->state_dir, dir);
    if (corpus_start_applies(t)) {
        const struct plan *plan = campaign_plan(run->campaign);
        cleanup_free char *kept = corpus_kept_path(plan, t, run->d->state_dir);

        job = corpus_start_make(job, plan, t, kept);
    }
    queue_push(run->d->seeds, job_for_user(job, campaign_plan(run->campaign)), run, false,
               on_seeds_answer, a);
}

void run_drop_seeds(struct run *run)
{
    queue_drop(run->d->seeds, run);
    while (!TAILQ_EMPTY(&run->asked))
        asked_free(TAILQ_FIRST(&run->asked));
}

static int make_queue(struct daemon *d, const char *program, const char *file, const char *group,
                      int weight_pct, struct cgroup **ret_cg, struct queue **ret, struct err *err)
{
    cleanup_free char *record = path_join(d->state_dir, file);
    const struct cgroup_limits lim = {
        .memory_bytes = TRIAGE_MEMORY, .pids = TRIAGE_PIDS, .cpu_weight_pct = weight_pct};
    struct cgroup *left = cgroup_attach(d->cgroups, group);
    struct err why = {0};

    /* The replay of a fuzzd that was killed may still be on its way out. */
    (void)cgroup_destroy(left, LEFT_MS);
    cgroup_free(left);
    if (cgroup_create(d->cgroups, group, &lim, ret_cg, &why) < 0)
        log_warn("no cgroup for fuzz-triage: %s, going on without", why.msg);
    return queue_new(d->loop, program, record, *ret_cg, ret, err);
}

int triage_init(struct daemon *d, struct err *err)
{
    cleanup_free char *program = path_find_program("fuzz-triage");
    int r;

    if (program == NULL)
        return err_set(err, -ENOENT, "fuzz-triage is neither beside fuzzd nor installed");
    r = make_queue(d, program, "triage.job", TRIAGE_CGROUP "/jobs", TRIAGE_WEIGHT_PCT,
                   &d->triage_cg, &d->queue, err);
    /* A start waits for these, and nothing of its target fuzzes yet. */
    if (r == 0)
        r = make_queue(d, program, "seeds.job", SEEDS_CGROUP "/jobs", SEEDS_WEIGHT_PCT,
                       &d->seeds_cg, &d->seeds, err);
    return r;
}

static void drop_queue(struct queue **q, struct cgroup **cg)
{
    queue_free(*q);
    *q = NULL;
    if (*cg != NULL)
        (void)cgroup_destroy(*cg, 1000);
    cgroup_free(*cg);
    *cg = NULL;
}

void triage_fini(struct daemon *d)
{
    drop_queue(&d->queue, &d->triage_cg);
    drop_queue(&d->seeds, &d->seeds_cg);
}
