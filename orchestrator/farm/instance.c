/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instance: events in, actions out.
 *
 * instance_table.c decides; here each action is carried out and each piece of news becomes an event. The keeper is
 * watched and signalled by pidfd only, and its end becomes an event only after its files were gathered.
 */
#include "farm/instance.h"

#include <bsd/string.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/campaign.h"
#include "farm/collect.h"
#include "farm/cores.h"
#include "farm/telemetry.h"
#include "store/rotation.h"
#include "sys/cpu.h"

#define LOOK_MS       200   /* at a starting instance */
#define LOOK_SLOW_MS  1000  /* at one that calibrates for long */
#define LOOK_FAST_MS  10000 /* how long the quick look lasts */
#define SPACE_WAIT_MS 1000  /* before a start after an end for want of space, once there is some */
#define CORE_WAIT_MS  1000  /* between looks for a core */

struct instance *instance_new(struct farm *farm, const struct plan *plan,
                              const struct plan_target *target, const struct plan_instance *spec,
                              const struct instance_ops *ops, void *owner)
{
    struct instance *in = xcalloc(1, sizeof(*in));

    in->farm = farm;
    in->plan = plan;
    in->target = target;
    in->spec = spec;
    in->ops = ops;
    in->owner = owner;
    in->cpu = in->cpu_fd = in->pidfd = -1;
    in->oom_from = -1;
    instance_set_rotation(in, rotation_last(spec->out_dir));
    in->scan_old = in->rotation - 1; /* a fuzzd that was killed may have left some of it */
    ids_add(&farm->ids, in);
    in->cgroup_name = xasprintf("%s/%s.%s", plan->campaign, target->name, spec->name);
    in->cpus = xcalloc((size_t)plan->n_cpus + 1, sizeof(int));
    if (spec->cpu >= 0)
        in->cpus[in->n_cpus++] = spec->cpu;
    for (int i = 0; i < plan->n_cpus; i++)
        if (plan->cpus[i] != spec->cpu)
            in->cpus[in->n_cpus++] = plan->cpus[i];
    return in;
}

void instance_free(struct instance *in)
{
    if (in == NULL)
        return;
    ids_remove(&in->farm->ids, in);
    telemetry_forget(in->farm->telemetry, in);
    collect_drop(in);
    instance_unwatch_files(in);
    sd_event_source_disable_unref(in->gone);
    sd_event_source_disable_unref(in->timer);
    if (in->pidfd >= 0)
        (void)close(in->pidfd);
    cores_give_up(in);
    cgroup_free(in->cg);
    free(in->name);
    free(in->out_dir);
    free(in->cgroup_name);
    free(in->cpus);
    free(in);
}

bool instance_active(const struct instance *in)
{
    return in->state != INSTANCE_PLANNED && in->state != INSTANCE_FAILED &&
           in->state != INSTANCE_ENDED;
}

int64_t instance_fuzz_ms(const struct instance *in, int64_t now_ms)
{
    return in->fuzzed_ms + (in->up_ms > 0 ? now_ms - in->up_ms : 0);
}

void instance_look_oom(struct instance *in)
{
    int64_t n = in->oom_from >= 0 && in->cg != NULL ? cgroup_oom_kills(in->cg) - in->oom_from : 0;

    if (n > in->oom_live)
        in->oom_live = n;
}

int64_t instance_oom_kills(const struct instance *in)
{
    return in->oom_kills + in->oom_live;
}

int instance_take_one_of(struct instance *in, const int *cpus, int n)
{
    int fd =
        in->plan->share_cores ? cpu_take_shared(cpus, n, &in->cpu) : cpu_take(cpus, n, &in->cpu);

    if (fd < 0)
        return fd;
    in->cpu_fd = fd;
    return 0;
}

int instance_take_cpu(struct instance *in)
{
    if (in->cpu_fd >= 0)
        return 0;
    if (in->plan->oversubscribe) {
        in->cpu = in->cpus[0];
        return 0;
    }
    return instance_take_one_of(in, in->cpus, in->n_cpus);
}

void instance_release_cpu(struct instance *in)
{
    if (in->cpu_fd >= 0)
        (void)close(in->cpu_fd);
    in->cpu_fd = -1;
}

/* ---- Actions ------------------------------------------------------------------------- */

/* An end, or a start that failed, that nobody asked for. */
enum cause {
    CAUSE_OWN,
    CAUSE_OUTSIDE, /* as breaker.h has it */
    CAUSE_LASTING, /* somebody has to put it right: no use in trying again */
    CAUSE_CORE,    /* others have them all: it waits in line */
};

static void ended_badly(struct instance *in, const char *words, enum cause cause)
{
    /* One that came up fuzzed, however short: its harness is not the kind that never starts. */
    int64_t now_ms = clock_now_ms(), session_ms = in->up_ms > 0 ? now_ms - in->up_ms + 1 : 0;
    /* afl-fuzz cannot live on a full disk, and is not to blame for it. */
    bool full = in->state != INSTANCE_STOPPING && campaign_out_of_space(campaign_of(in));
    bool again = cause == CAUSE_CORE && strcmp(in->reason, words) == 0;
    int64_t wait_ms;

    if (cause == CAUSE_LASTING)
        wait_ms = -1;
    else if (cause == CAUSE_CORE)
        wait_ms = CORE_WAIT_MS;
    else if (full)
        wait_ms = SPACE_WAIT_MS;
    else
        wait_ms = breaker_ended(&in->breaker, words, session_ms, cause == CAUSE_OUTSIDE);

    in->fuzzed_ms += session_ms;
    in->up_ms = 0;
    in->execs_base = in->execs_total;
    if (!again) /* the next session counts from nothing, on what the row has */
        campaign_of(in)->saved_ms = 0;
    campaign_ask_pump(campaign_of(in));
    in->stats.execs_per_sec = 0;
    (void)strlcpy(in->reason, words, sizeof(in->reason));
    if (wait_ms < 0) {
        if (cause == CAUSE_LASTING)
            log_warn("%s: %s, giving up", in->spec->full_id, words);
        else
            log_warn("%s: %s, giving up after %d ends", in->spec->full_id, words,
                     in->breaker.failures);
        instance_event(in, INSTANCE_EV_GONE_FOR_GOOD);
        return;
    }
    if (cause == CAUSE_CORE && !again)
        log_info("%s: %s", in->spec->full_id, words);
    else if (cause != CAUSE_CORE && in->state != INSTANCE_STOPPING)
        log_info("%s: %s, starting again in %lld s", in->spec->full_id, words,
                 (long long)(wait_ms / 1000));
    instance_event(in, INSTANCE_EV_GONE);
    if (in->state == INSTANCE_BACKING_OFF)
        instance_arm(in, wait_ms);
}

void instance_ended_badly(struct instance *in, const char *words, bool outside)
{
    ended_badly(in, words, outside ? CAUSE_OUTSIDE : CAUSE_OWN);
}

static enum cause cause_of_failed_start(int r)
{
    switch (r) {
    case -ENOSPC:
    case -EDQUOT:
    case -EBUSY:
        return CAUSE_OUTSIDE;
    case -ELOOP: /* a link, or a file, in the place of a folder of ours */
    case -ENOTDIR:
    case -EXDEV:
        return CAUSE_LASTING;
    default:
        return CAUSE_OWN;
    }
}

static void do_spawn(struct instance *in)
{
    int r = cores_take_one(in);

    if (r == -EBUSY) {
        ended_badly(in, "waits for a core, others have the one it had", CAUSE_CORE);
        return;
    }
    if (r < 0) {
        (void)snprintf(in->reason, sizeof(in->reason), "no free core: %s", strerror(-r));
    } else {
        if (in->spawned_ms > 0 && !in->moves)
            in->restarts++;
        in->moves = false;
        r = instance_spawn(in);
    }
    if (r < 0) {
        char words[sizeof(in->reason)];

        (void)strlcpy(words, in->reason, sizeof(words));
        ended_badly(in, words, cause_of_failed_start(r));
        return;
    }
    in->reason[0] = '\0';
    instance_arm(in, LOOK_MS);
}

static void do_up(struct instance *in)
{
    int64_t now_ms = clock_now_ms();

    in->timer = sd_event_source_disable_unref(in->timer);
    in->up_ms = in->news_ms = now_ms;
    instance_watch_files(in);
    in->ops->up(in);
}

static void do_term(struct instance *in, bool thaw)
{
    int r = 0;

    if (thaw)
        (void)instance_freeze(in, false);
    if (in->pidfd >= 0)
        r = pidfd_send_signal(in->pidfd, SIGTERM, NULL, 0);
    if (r < 0 && errno != ESRCH)
        log_warn("%s: cannot signal the keeper: %s", in->spec->full_id, strerror(errno));
    instance_arm(in, INSTANCE_GRACE_MS + INSTANCE_OVERGRACE_MS);
}

/* Everything of the subtree, and the subtree itself. */
static void do_kill(struct instance *in)
{
    log_warn("%s: the keeper did not end in time, killing all of its processes", in->spec->full_id);
    instance_look_oom(in); /* the count goes with the cgroup */
    if (in->cg != NULL)
        (void)cgroup_destroy(in->cg, INSTANCE_DESTROY_MS);
    if (in->pidfd >= 0)
        (void)pidfd_send_signal(in->pidfd, SIGKILL, NULL, 0);
    instance_arm(in, INSTANCE_OVERGRACE_MS);
}

/* Nothing runs any more, for good. */
static void clean_up(struct instance *in)
{
    in->timer = sd_event_source_disable_unref(in->timer);
    instance_unwatch_files(in);
    if (in->cg != NULL) {
        int r = cgroup_destroy(in->cg, INSTANCE_DESTROY_MS);

        if (r < 0)
            log_warn("%s: cannot remove its cgroup: %s, ignoring", in->spec->full_id, strerror(-r));
    }
    (void)path_remove_tree_below(in->farm->state_dir, in->spec->scratch_dir);
    cores_give_up(in);
}

void instance_event(struct instance *in, enum instance_event ev)
{
    struct instance_step step = instance_table_step(in->state, ev);
    enum instance_state before = in->state;

    if (step.next != before)
        log_debug("%s: %s, %s -> %s", in->spec->full_id, instance_event_name(ev),
                  instance_state_name(before), instance_state_name(step.next));
    in->state = step.next;
    switch (step.action) {
    case INSTANCE_DO_NOTHING:
        break;
    case INSTANCE_DO_SPAWN:
        do_spawn(in);
        break;
    case INSTANCE_DO_UP:
        do_up(in);
        break;
    case INSTANCE_DO_STALL:
        if (in->restart_why[0] != '\0')
            log_warn("%s: %s, starting it again", in->spec->full_id, in->restart_why);
        else
            log_warn("%s: no execution for %lld s, starting it again", in->spec->full_id,
                     (long long)((clock_now_ms() - in->news_ms) / 1000));
        do_term(in, false);
        break;
    case INSTANCE_DO_ROTATE:
        log_info("%s: %lld crashes and %lld hangs saved, AFL++ saves little more in one folder: "
                 "going on in another",
                 in->spec->full_id, (long long)in->stats.saved_crashes,
                 (long long)in->stats.saved_hangs);
        do_term(in, false);
        break;
    case INSTANCE_DO_FREEZE:
        instance_do_freeze(in);
        break;
    case INSTANCE_DO_THAW:
        instance_do_thaw(in);
        break;
    case INSTANCE_DO_TERM:
        do_term(in, before == INSTANCE_FROZEN);
        break;
    case INSTANCE_DO_KILL:
        do_kill(in);
        break;
    case INSTANCE_DO_BACK_OFF:
        in->timer = sd_event_source_disable_unref(in->timer);
        break;
    case INSTANCE_DO_GIVE_UP:
        clean_up(in);
        in->ops->failed(in);
        break;
    case INSTANCE_DO_FINISH:
        clean_up(in);
        in->reason[0] = '\0';
        in->ops->ended(in);
        break;
    case INSTANCE_ACTIONS:
        break;
    }
}

/* ---- News: the clock of the state ---------------------------------------------------- */

/* Who runs, from the keeper's record. */
void instance_note_pids(struct instance *in)
{
    struct keeper_run run = {0};

    if (in->afl.pid != 0 || keeper_run_load(in->spec->run_path, &run) < 0)
        return;
    in->keeper = run.keeper;
    in->afl = run.afl;
    keeper_run_clear(&run);
}

/* A starting afl-fuzz shows itself first by its setup file, then, the dry run being over, by its figures. */
static void look(struct instance *in)
{
    int64_t now_ms = clock_now_ms();

    instance_note_pids(in);
    if (in->state == INSTANCE_STARTING && in->afl.pid != 0) {
        cleanup_free char *setup = path_join(in->out_dir, "fuzzer_setup");
        struct stat st;

        if (stat(setup, &st) == 0 && st.st_mtime * 1000LL + 1000 >= in->spawned_wall_ms) {
            in->news_ms = now_ms;
            instance_event(in, INSTANCE_EV_ALIVE);
        }
    }
    instance_tick(in, now_ms);
    if (in->held && in->afl.pid != 0 && in->state != INSTANCE_FROZEN)
        instance_event(in, INSTANCE_EV_FREEZE);
    if (in->state == INSTANCE_STARTING || in->state == INSTANCE_CALIBRATING)
        instance_arm(in, now_ms - in->spawned_ms < LOOK_FAST_MS ? LOOK_MS : LOOK_SLOW_MS);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct instance *in = userdata;

    (void)s;
    (void)usec;
    switch (in->state) {
    case INSTANCE_STARTING:
    case INSTANCE_CALIBRATING:
        look(in);
        break;
    case INSTANCE_STALLED:
    case INSTANCE_ROTATING:
    case INSTANCE_STOPPING:
        instance_event(in, INSTANCE_EV_GRACE_OVER);
        break;
    case INSTANCE_BACKING_OFF:
        if (in->held)
            in->timer = sd_event_source_disable_unref(in->timer);
        else
            instance_event(in, INSTANCE_EV_BACKOFF_OVER);
        break;
    default:
        break;
    }
    return 0;
}

void instance_arm(struct instance *in, int64_t after_ms)
{
    uint64_t after_us = (uint64_t)after_ms * 1000, accuracy_us = after_us / 10;
    int r;

    in->timer = sd_event_source_disable_unref(in->timer);
    r = sd_event_add_time_relative(in->farm->loop, &in->timer, CLOCK_MONOTONIC, after_us,
                                   accuracy_us, on_timer, in);
    if (r < 0)
        log_error("%s: cannot set a timer: %s", in->spec->full_id, strerror(-r));
}

void instance_restart(struct instance *in, const char *why)
{
    (void)strlcpy(in->restart_why, why, sizeof(in->restart_why));
    instance_event(in, INSTANCE_EV_QUIET);
    if (in->state != INSTANCE_STALLED)
        in->restart_why[0] = '\0';
}

void instance_look_soon(struct instance *in)
{
    instance_arm(in, LOOK_MS);
}
