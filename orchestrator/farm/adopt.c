/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with a run that another fuzzd began.
 *
 * Instances live under their keepers, so a daemon that died or was replaced has cost them nothing: each is found by its record
 * (pid, start time, boot id) and taken over as it is; one that ended meanwhile has its files gathered and is restarted by the same rules
 * as ever. After a reboot nothing lives, and the run ends as interrupted with its artifacts collected.
 */
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/path.h"
#include "farm/campaign.h"
#include "farm/collect.h"
#include "farm/cores.h"

#define UNRECORDED_MS   1000
#define PROCS_MAX_BYTES (64 << 10)

/*
 * Pid, start time and boot id name a process; that it is a keeper of ours is told by where it sits. The records of a state directory that
 * was copied while its campaign ran name the keepers of the original.
 */
static bool keeper_is_ours(const struct cgroup *cg, pid_t pid)
{
    struct strv files = {0};
    bool found = false;

    cgroup_procs_paths(cg, CGROUP_KEEP, &files);
    found = files.n == 0; /* no cgroups here: nothing to tell it by */
    for (size_t i = 0; i < files.n && !found; i++) {
        cleanup_free char *text = NULL;
        char *rest, *line;
        uint64_t n;

        if (file_read_proc(files.v[i], PROCS_MAX_BYTES, &text) < 0)
            continue;
        for (rest = text; (line = strsep(&rest, "\n")) != NULL && !found;)
            found = parse_u64(line, INT32_MAX, &n) == 0 && (pid_t)n == pid;
    }
    strv_clear(&files);
    return found;
}

/* True while it lives under its keeper, or has left a record of when it ended. */
static bool adopt_instance(struct instance *in, int64_t *ret_ended_at_ms, bool *frozen)
{
    struct keeper_run run = {0};
    struct keeper_exit ex;
    int pidfd;

    if (in->state == INSTANCE_FAILED || keeper_run_load(in->spec->run_path, &run) < 0)
        return false;
    in->cg = cgroup_attach_recorded(in->farm->cgroups, in->cgroup_name, &run.cgroups);
    in->cpu = run.cpu;
    in->keeper = run.keeper;
    in->afl = run.afl;
    in->spawned_ms = in->news_ms = clock_now_ms();
    in->spawned_wall_ms = run.started_at_ms;
    in->execs_seen = true;
    in->state = INSTANCE_CALIBRATING;
    *frozen |= instance_is_frozen(in);
    pidfd = proc_pidfd(&run.keeper);
    keeper_run_clear(&run);
    if (pidfd >= 0 && !keeper_is_ours(in->cg, in->keeper.pid)) {
        log_warn("%s: process %d is not its keeper, leaving it alone", in->spec->full_id,
                 (int)in->keeper.pid);
        (void)close(pidfd);
        pidfd = -1;
    }
    if (pidfd >= 0 && instance_watch_keeper(in, pidfd) == 0) {
        cores_adopt(in);
        log_info("%s: taken over, pid %d", in->spec->full_id, (int)in->afl.pid);
        instance_watch_files(in);
        collect_push(in);
        if (in->held) {
            instance_event(in, INSTANCE_EV_FREEZE);
        } else {
            /* Frozen by one that could not store it: nothing holds it now. */
            (void)instance_freeze(in, false);
            instance_look_soon(in);
        }
        return true;
    }
    if (keeper_exit_load(in->spec->exit_path, &ex) == 0)
        *ret_ended_at_ms = ex.ended_at_ms;
    instance_keeper_gone(in);
    return false;
}

/* A keeper that had been started and had not written its record yet: it would run beside the next one. */
static void clear_unrecorded(struct instance *in)
{
    struct cgroup *cg = cgroup_attach(in->farm->cgroups, in->cgroup_name);

    (void)cgroup_destroy(cg, UNRECORDED_MS);
    cgroup_free(cg);
}

static bool campaign_held(const struct target *t)
{
    const struct campaign *c = t->owner;

    return c->freeze.causes != 0;
}

/*
 * Since the row was written, until now while one of them lives, else until the last one ended. The host's clock may have been
 * set meanwhile and its boot is the same: more than has passed on the monotonic clock was no fuzzing.
 */
static int64_t uncounted_ms(const struct target *t, bool lives, int64_t ended_at_ms)
{
    int64_t passed_ms = t->saved_ms > 0 ? clock_now_ms() - t->saved_ms : 0;

    if (!lives && passed_ms > ended_at_ms - t->saved_at_ms)
        passed_ms = ended_at_ms - t->saved_at_ms;
    return passed_ms > 0 ? passed_ms : 0;
}

/* Time went on while nobody counted; not while it was frozen. */
static void adopt_target(struct target *t)
{
    int64_t now_ms = clock_now_ms(), until_ms = 0;
    bool lives = false, frozen = t->saved_held;

    t->held = campaign_held(t);
    for (size_t i = 0; i < t->spec->n_instances; i++) {
        int64_t ended_at_ms = 0;

        t->instances[i]->held = t->held;
        lives |= adopt_instance(t->instances[i], &ended_at_ms, &frozen);
        if (ended_at_ms > until_ms)
            until_ms = ended_at_ms;
    }
    if (t->ever_up && !frozen && t->saved_at_ms > 0)
        budget_restore(&t->budget, t->budget.counted_ms + uncounted_ms(t, lives, until_ms),
                       t->budget.last_edge_ms);
    if (t->ever_up && lives && !t->held)
        budget_run(&t->budget, now_ms);
    for (size_t i = 0; i < t->spec->n_instances; i++) {
        if (t->instances[i]->state != INSTANCE_PLANNED)
            continue;
        clear_unrecorded(t->instances[i]);
        if (t->held)
            t->instances[i]->state = INSTANCE_BACKING_OFF; /* started with the others' thaw */
    }
    target_start_instances(t);
}

/* Its row may be older than its start: the records tell. */
static void adopt_planned(struct target *t)
{
    for (size_t i = 0; i < t->spec->n_instances; i++) {
        if (access(t->spec->instances[i].run_path, F_OK) != 0)
            continue;
        t->state = TARGET_RUNNING;
        t->started_at_ms = clock_wall_ms();
        adopt_target(t);
        return;
    }
    for (size_t i = 0; i < t->spec->n_instances; i++)
        clear_unrecorded(t->instances[i]);
}

/* Nothing lives: what lies in the folders is gathered, and then it has ended. */
static void end_target(struct target *t)
{
    if (t->state == TARGET_ENDED || t->state == TARGET_FAILED)
        return;
    if (t->state == TARGET_PLANNED) {
        target_end(t, "stopped");
        return;
    }
    t->state = TARGET_ENDING;
    t->end_reason = "stopped";
    for (size_t i = 0; i < t->spec->n_instances; i++) {
        struct instance *in = t->instances[i];
        struct keeper_run run = {0};

        if (in->state == INSTANCE_FAILED)
            continue;
        if (keeper_run_load(in->spec->run_path, &run) == 0) {
            in->afl = run.afl; /* its last figures count */
            in->execs_seen = true;
            keeper_run_clear(&run);
        }
        in->cg = cgroup_attach(in->farm->cgroups, in->cgroup_name);
        in->state = INSTANCE_STOPPING;
        in->draining = true;
        collect_push(in);
    }
}

/* Why the run was being stopped when the fuzzd before went, caller frees; NULL when it was not. */
static char *stop_cause(const struct run_row *row)
{
    json_t *extra = row->extra != NULL ? json_loads(row->extra, 0, NULL) : NULL;
    const char *why = json_string_value(json_object_get(extra, "stop_cause"));
    char *copy = why != NULL && *why != '\0' ? xstrdup(why) : NULL;

    json_decref(extra);
    return copy;
}

int campaign_adopt(struct farm *farm, const struct run_row *row, struct campaign **ret,
                   struct err *err)
{
    cleanup_free char *cause = stop_cause(row);
    struct plan *plan = NULL;
    struct campaign *c;
    char boot[33];
    bool same_boot =
        row->boot_id != NULL && strcmp(row->boot_id, clock_boot_id(boot, sizeof(boot))) == 0;
    int r;

    if (row->moved)
        return err_set(err, -EXDEV,
                       "the state directory was moved or copied while it ran: what runs belongs to "
                       "the place where it was started");
    r = plan_load(farm->state_dir, row->dir, &plan, err);
    if (r < 0)
        return r;
    r = campaign_prepare(farm, plan, row->started_at_ms, &c, err);
    if (r < 0)
        return r;
    log_info("campaign %s: going on with run %s", plan->campaign, plan->run_id);
    c->told_started = true;
    campaign_restore(c, row);
    if (!same_boot) {
        c->interrupted = true;
        (void)strlcpy(c->why, "the host was restarted", sizeof(c->why));
        campaign_forget_freeze(c);
    }
    for (size_t i = 0; i < plan->n_targets; i++) {
        if (!same_boot)
            end_target(c->targets[i]);
        else if (c->targets[i]->state == TARGET_RUNNING)
            adopt_target(c->targets[i]);
        else if (c->targets[i]->state == TARGET_PLANNED)
            adopt_planned(c->targets[i]);
    }
    if (same_boot && cause != NULL)
        campaign_stop(c, cause);
    *ret = c;
    return 0;
}
