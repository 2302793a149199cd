/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign as "fuzzctl status --json" shows it. Figures of executions come from AFL++ itself; what was found is counted from
 * our own index, which is never behind what this daemon has acknowledged. AFL++'s names where it has one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "farm/campaign.h"
#include "farm/cores.h"
#include "store/artifact.h"
#include "store/results.h"

struct counts {
    const char *target; /* whose they are */
    json_int_t crashes, ooms, timeouts, pending, buckets, lost;
};

struct tally {
    struct counts *counts;
    size_t n;
};

static void count_artifacts(void *ctx, const char *target, const char *kind, const char *class_,
                            int64_t n)
{
    struct tally *t = ctx;

    for (size_t i = 0; i < t->n; i++) {
        struct counts *c = &t->counts[i];

        if (target == NULL || strcmp(c->target, target) != 0)
            continue;
        if (kind != NULL && strcmp(kind, "lost") == 0) {
            c->lost += n;
            continue;
        }
        if (class_ == NULL)
            c->pending += n;
        if (class_ != NULL && strcmp(class_, "oom") == 0)
            c->ooms += n;
        else if ((kind != NULL && strcmp(kind, "hang") == 0) ||
                 (class_ != NULL && strcmp(class_, "timeout") == 0))
            c->timeouts += n;
        else
            c->crashes += n;
    }
}

/* One whose processes have ended shows that, as long as its files are not gathered: on a full disk that may take a while. */
static const char *shown_state(const struct instance *in)
{
    if (in->draining && in->state != INSTANCE_STOPPING)
        return "collecting";
    return instance_state_name(in->state);
}

static json_t *instance_json(struct instance *in, int64_t now_ms)
{
    const struct stats *st = &in->stats;
    json_t *j = json_object();
    bool lives = in->afl.pid > 0 && instance_active(in) && in->state != INSTANCE_BACKING_OFF &&
                 !in->draining;
    const char *with;
    int lends = 0;

    json_object_set_new(j, "name", json_string(in->spec->name));
    json_object_set_new(j, "role", json_string(plan_role_name(in->spec->role)));
    json_object_set_new(j, "pid", json_integer(lives ? in->afl.pid : 0));
    json_object_set_new(j, "keeper_pid", json_integer(lives ? in->keeper.pid : 0));
    json_object_set_new(j, "state", json_string(shown_state(in)));
    json_object_set_new(j, "cpu", json_integer(in->cpu));
    with = cores_shared_with(in, &lends);
    if (with != NULL)
        json_object_set_new(j, lends ? "lent_to" : "lent_by", json_string(with));
    json_object_set_new(j, "restarts", json_integer(in->restarts));
    if (in->rotation > 1) {
        json_object_set_new(j, "folder", json_string(in->name));
        json_object_set_new(j, "rotations", json_integer(in->rotation - 1));
    }
    json_object_set_new(j, "execs_done", json_integer(in->execs_total));
    json_object_set_new(j, "execs_per_sec",
                        json_real(in->state == INSTANCE_FUZZING ? st->execs_per_sec : 0));
    json_object_set_new(j, "edges_found", json_integer(in->edges_max));
    json_object_set_new(j, "corpus_count", json_integer(st->corpus_count));
    json_object_set_new(j, "pending_favs", json_integer(st->pending_favs));
    json_object_set_new(j, "cycles_done", json_integer(st->cycles_done));
    json_object_set_new(j, "stability", json_real(st->stability_pct));
    json_object_set_new(j, "oom_kills", json_integer(instance_oom_kills(in)));
    json_object_set_new(j, "fuzz_s", json_integer(instance_fuzz_ms(in, now_ms) / 1000));
    if (in->reason[0] != '\0')
        json_object_set_new(j, "reason", json_string(in->reason));
    return j;
}

int64_t campaign_oom_kills(const struct campaign *c, const char *target)
{
    int64_t sum = 0;

    for (size_t i = 0; i < c->plan->n_targets; i++) {
        const struct target *t = c->targets[i];

        for (size_t k = 0; strcmp(t->spec->name, target) == 0 && k < t->spec->n_instances; k++) {
            instance_look_oom(t->instances[k]);
            sum += instance_oom_kills(t->instances[k]);
        }
    }
    return sum;
}

static json_t *target_json(const struct target *t, const struct counts *n, int64_t now_ms)
{
    json_t *j = json_object(), *list = json_array(), *seeds = seeds_to_json(t);
    json_t *sweep = sweep_to_json(t);
    int64_t oom_kills = 0;

    for (size_t i = 0; i < t->spec->n_instances; i++)
        oom_kills += instance_oom_kills(t->instances[i]);
    json_object_set_new(j, "name", json_string(t->spec->name));
    json_object_set_new(j, "state", json_string(target_state_name(t)));
    if (t->end_reason != NULL && !target_active(t))
        json_object_set_new(j, "end_reason", json_string(t->end_reason));
    if (seeds != NULL)
        json_object_set_new(j, "seeds", seeds);
    if (sweep != NULL)
        json_object_set_new(j, "sweep", sweep);
    if (t->failure[0] != '\0')
        json_object_set_new(j, "reason", json_string(t->failure));
    if (t->skipped[0] != '\0')
        json_object_set_new(j, "skipped", json_string(t->skipped));
    if (t->state == TARGET_PLANNED && campaign_waits_for(t->owner, t) != NULL)
        json_object_set_new(j, "waits_for",
                            json_string(campaign_waits_for(t->owner, t)->spec->name));
    json_object_set_new(j, "fuzz_s", json_integer(budget_fuzz_ms(&t->budget, now_ms) / 1000));
    json_object_set_new(j, "execs_done", json_integer(target_execs(t)));
    json_object_set_new(j, "execs_per_sec", json_real(target_execs_per_sec(t)));
    json_object_set_new(j, "edges_found", json_integer(target_edges(t)));
    json_object_set_new(j, "crashes", json_integer(n->crashes));
    json_object_set_new(j, "ooms", json_integer(n->ooms));
    json_object_set_new(j, "timeouts", json_integer(n->timeouts));
    json_object_set_new(j, "oom_kills", json_integer(oom_kills));
    json_object_set_new(j, "pending", json_integer(n->pending));
    json_object_set_new(j, "buckets", json_integer(n->buckets));
    json_object_set_new(j, "lost", json_integer(n->lost));
    for (size_t i = 0; i < t->spec->n_instances; i++)
        json_array_append_new(list, instance_json(t->instances[i], now_ms));
    json_object_set_new(j, "instances", list);
    return j;
}

/* Its targets that cannot enter a cgroup of their own: where there are limits they get those of the instance. */
static void add_shared_groups(const struct campaign *c, FILE *out)
{
    for (size_t i = 0; i < c->plan->n_targets; i++) {
        const struct plan_target *t = &c->plan->targets[i];

        for (size_t k = 0; k < t->n_instances; k++) {
            const char *preload = strv_env(&t->instances[k].env, "AFL_PRELOAD");

            if (preload != NULL && strstr(preload, "fuzz-preload.so") != NULL)
                continue;
            (void)fprintf(out,
                          "%s/%s: the program shares the cgroup of its afl-fuzz: out of memory, "
                          "the kernel may end either, and only the instance's limits hold\n",
                          t->name, t->instances[k].name);
        }
    }
}

char *campaign_isolation_why(const struct campaign *c)
{
    const char *why = cgroup_root_why(c->farm->cgroups);
    char *text = NULL;
    size_t size = 0, n = strlen(why);
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return xstrdup(why);
    (void)fputs(why, out);
    if (n > 0 && why[n - 1] != '\n')
        (void)fputc('\n', out);
    if (strcmp(cgroup_root_name(c->farm->cgroups), "none") != 0)
        add_shared_groups(c, out);
    if (fclose(out) != 0)
        abort();
    return text;
}

/* {"cgroup":"v2","from":"scope","why":["...", ...]}: where the groups come from, and what does not hold, a line each. */
static json_t *isolation_json(const struct campaign *c)
{
    cleanup_free char *text = campaign_isolation_why(c);
    const char *p = text;
    json_t *why = json_array();

    while (*p != '\0') {
        size_t n = strcspn(p, "\n");

        if (n > 0)
            json_array_append_new(why, json_stringn(p, n));
        p += n + (p[n] == '\n');
    }
    return json_pack("{s:s, s:s, s:o}", "cgroup", cgroup_root_name(c->farm->cgroups), "from",
                     cgroup_root_source(c->farm->cgroups), "why", why);
}

const char *campaign_trouble(const struct campaign *c, int64_t *ret_for_ms)
{
    const struct instance *first = NULL;

    for (size_t i = 0; i < c->plan->n_targets; i++) {
        for (size_t k = 0; k < c->plan->targets[i].n_instances; k++) {
            const struct instance *in = c->targets[i]->instances[k];

            if (in->scan_failed_ms > 0 &&
                (first == NULL || in->scan_failed_ms < first->scan_failed_ms))
                first = in;
        }
    }
    if (first == NULL)
        return NULL;
    *ret_for_ms = clock_now_ms() - first->scan_failed_ms;
    return first->scan_trouble;
}

json_t *campaign_status_json(const struct campaign *c)
{
    const struct plan *plan = c->plan;
    int64_t now_ms = clock_now_ms();
    cleanup_free struct counts *counts = xcalloc(plan->n_targets + 1, sizeof(*counts));
    struct tally tally = {.counts = counts, .n = plan->n_targets};
    struct bucket_row *buckets = NULL;
    size_t n_buckets = 0;
    json_int_t lost = 0;
    json_t *j = json_object(), *list = json_array();
    struct err err = {0};
    int64_t trouble_ms;
    const char *trouble = campaign_trouble(c, &trouble_ms);
    char at[24];

    for (size_t i = 0; i < plan->n_targets; i++)
        counts[i].target = plan->targets[i].name;
    if (artifact_counts(c->farm->db, plan->run_id, count_artifacts, &tally, &err) < 0)
        memset(counts, 0, plan->n_targets * sizeof(*counts));
    if (results_buckets(c->farm->db, plan->run_id, &buckets, &n_buckets, &err) < 0)
        n_buckets = 0;
    for (size_t i = 0; i < plan->n_targets; i++) {
        for (size_t k = 0; k < n_buckets; k++)
            counts[i].buckets += strcmp(buckets[k].target, plan->targets[i].name) == 0;
        lost += counts[i].lost;
        json_array_append_new(list, target_json(c->targets[i], &counts[i], now_ms));
    }
    bucket_rows_free(buckets, n_buckets);

    json_object_set_new(j, "name", json_string(plan->campaign));
    json_object_set_new(j, "run", json_string(plan->run_id));
    json_object_set_new(j, "state", json_string(campaign_state_name(c)));
    json_object_set_new(j, "started", json_string(clock_iso8601(at, sizeof(at), c->started_at_ms)));
    json_object_set_new(j, "elapsed_s",
                        json_integer(clock_span_ms(c->started_at_ms, clock_wall_ms()) / 1000));
    json_object_set_new(j, "budget_s", json_integer(plan->budget_ms / 1000));
    json_object_set_new(j, "isolation", isolation_json(c));
    if (plan->priority != 0)
        json_object_set_new(j, "priority", json_integer(plan->priority));
    if (plan->share_cores)
        json_object_set_new(j, "share_cores", json_true());
    if (c->waits)
        json_object_set_new(j, "waits", json_string(c->waits_why));
    if (c->freeze.causes != 0)
        json_object_set_new(j, "frozen", freeze_to_json(&c->freeze, now_ms));
    if (c->why[0] != '\0')
        json_object_set_new(j, "why", json_string(c->why));
    if (trouble != NULL)
        json_object_set_new(j, "trouble", json_string(trouble));
    if (campaign_unstored(c) != NULL)
        json_object_set_new(j, "unstored", json_string(campaign_unstored(c)));
    json_object_set_new(j, "lost", json_integer(lost));
    json_object_set_new(j, "targets", list);
    return j;
}
