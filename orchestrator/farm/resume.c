/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with a run that was interrupted: by a user, by the end of fuzzd, or by that of the host.
 *
 * It is the same run: afl-fuzz resumes from its own folders (AFL_AUTORESUME), executions add up, and each target has what is left of its
 * budget. Everything is looked at before anything is changed, so that a run that cannot be resumed stays as it ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "farm/campaign.h"
#include "farm/hostguard.h"

static int check_files(const struct plan *plan, const struct plan_target *t, struct err *err)
{
    const struct plan_program *programs[] = {&t->harness, &t->cmplog, &t->sanitizer, &t->laf};

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (programs[i]->path != NULL && access(programs[i]->path, X_OK) != 0)
            return err_set(err, -ENOENT, "run %s cannot be resumed: %s is gone", plan->run_id,
                           programs[i]->path);
    /* One that was never started has no folder yet, and its seeds are read then. */
    if (access(t->sync_dir, F_OK) != 0 && (t->seeds == NULL || access(t->seeds, R_OK) != 0))
        return err_set(err, -ENOENT, "run %s cannot be resumed: neither %s nor its seeds are there",
                       plan->run_id, t->sync_dir);
    return 0;
}

/* What may have been over for it, but is not: a stop, or failures whose cause a person may have mended since. */
static bool may_go_on(const struct target *t)
{
    return t->state != TARGET_ENDED || strcmp(t->end_reason, "stopped") == 0;
}

static bool is_open(const struct target *t)
{
    return may_go_on(t) && budget_over(&t->budget, clock_now_ms(), target_execs(t)) == NULL;
}

/* "a: budget, b: plateau": what each target ended by. Caller frees. */
static char *ends_text(const struct campaign *c)
{
    char *text = xstrdup("");

    for (size_t i = 0; i < c->plan->n_targets; i++) {
        const struct target *t = c->targets[i];
        const char *over =
            may_go_on(t) ? budget_over(&t->budget, clock_now_ms(), target_execs(t)) : t->end_reason;
        char *more = xasprintf("%s%s%s: %s", text, i > 0 ? ", " : "", t->spec->name,
                               over != NULL ? over : "nothing");

        free(text);
        text = more;
    }
    return text;
}

static void reopen(struct target *t)
{
    t->state = TARGET_PLANNED;
    t->end_reason = NULL;
    t->ended_at_ms = 0;
    t->failure[0] = '\0';
    if (!t->ever_up)
        seeds_reopen(t);
    t->up = t->held = t->half_quiet_at_end = false;
    for (size_t i = 0; i < t->spec->n_instances; i++) {
        struct instance *in = t->instances[i];

        in->state = INSTANCE_PLANNED;
        in->execs_base = in->execs_total;
        in->breaker = (struct breaker){.ever_fuzzed = in->fuzzed_ms > 0};
        in->reason[0] = '\0';
    }
}

static int check_run(struct campaign *c, struct err *err)
{
    const struct plan *plan = c->plan;
    size_t n_open = 0;
    int r = 0;

    for (size_t i = 0; i < plan->n_targets && r == 0; i++) {
        if (!is_open(c->targets[i]))
            continue;
        n_open++;
        r = check_files(plan, &plan->targets[i], err);
    }
    if (r == 0 && access(plan->afl_path, X_OK) != 0)
        r = err_set(err, -ENOENT, "run %s cannot be resumed: %s is gone", plan->run_id,
                    plan->afl_path);
    if (r == 0 && n_open == 0) {
        cleanup_free char *ends = ends_text(c);

        r = err_set(err, -ENODATA, "run %s has nothing left to do, its targets have ended (%s)",
                    plan->run_id, ends);
    }
    return r;
}

int campaign_resume(struct farm *farm, const struct run_row *row, struct campaign **ret,
                    struct err *err)
{
    struct plan *plan = NULL;
    struct campaign *c;
    int r = plan_load(farm->state_dir, row->dir, &plan, err);

    if (r < 0)
        return err_wrap(err, "run %s cannot be resumed", row->id), r;
    if (strcmp(plan->run_id, row->id) != 0 || strcmp(plan->campaign, row->campaign) != 0) {
        r = err_set(err, -EBADMSG, "run %s cannot be resumed: plan.json in %s is another run's",
                    row->id, row->dir);
        plan_free(plan);
        return r;
    }
    r = campaign_prepare(farm, plan, row->started_at_ms, &c, err);
    if (r < 0)
        return r;
    campaign_restore(c, row);
    campaign_forget_freeze(c);
    c->queued_at_ms = clock_wall_ms(); /* it asks anew */
    r = check_run(c, err);
    if (r < 0)
        goto fail;
    for (size_t i = 0; i < plan->n_targets; i++)
        if (is_open(c->targets[i]))
            reopen(c->targets[i]);
    r = campaign_put(c, err);
    if (r < 0)
        goto fail;
    log_info("campaign %s: run %s resumed", plan->campaign, plan->run_id);
    hostguard_look(farm->guard, c);
    campaign_ask_pump(c);
    *ret = c;
    return 0;

fail:
    campaign_close(c);
    return r;
}
