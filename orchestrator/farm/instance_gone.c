/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of an instance's keeper: reaped, its leavings removed, its files gathered, and only then an event.
 *
 * What the end means is told by the keeper's record and by the state the instance was in: one that was asked to stop has ended, one that
 * rotates goes on in its next folder, any other end is one that nobody asked for.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "farm/campaign.h"
#include "farm/collect.h"
#include "farm/cores.h"
#include "farm/ending.h"
#include "farm/instance.h"
#include "farm/lastwords.h"
#include "store/rotation.h"
#include "sys/shmseg.h"

void instance_set_rotation(struct instance *in, int n)
{
    in->rotation = n;
    free(in->name);
    free(in->out_dir);
    in->name = rotation_of(in->spec->name, n);
    in->out_dir = rotation_of(in->spec->out_dir, n);
}

/* ---- News: the keeper's end ---------------------------------------------------------- */

void instance_keeper_gone(struct instance *in)
{
    in->gone = sd_event_source_disable_unref(in->gone);
    /* Reaps it if it is our child; one that was taken over is not. */
    if (in->pidfd >= 0) {
        siginfo_t si;

        (void)waitid(P_PIDFD, (id_t)in->pidfd, &si, WEXITED | WNOHANG);
        (void)close(in->pidfd);
        in->pidfd = -1;
    }
    in->timer = sd_event_source_disable_unref(in->timer);
    if (in->state != INSTANCE_STOPPING)
        cores_keep(in);
    /* Whoever froze it: the next one starts in the same cgroup, and what is stopped cannot follow a SIGTERM. */
    (void)instance_freeze(in, false);
    /* A record of its end says that the keeper cleaned up, the cgroup whether it could: what still sits there dies now. */
    if (in->cg != NULL) {
        (void)cgroup_kill(in->cg, CGROUP_AFL);
        (void)cgroup_kill(in->cg, CGROUP_T);
        (void)cgroup_kill(in->cg, CGROUP_KEEP);
    }
    instance_unwatch_files(in);
    in->draining = true;
    in->stats.execs_per_sec = 0;
    collect_push(in);
}

/* What a keeper that was killed could not remove: without an IPC namespace segments outlive who made them. */
static void remove_segments(const struct instance *in)
{
    struct keeper_run run;

    if (keeper_run_load(in->spec->run_path, &run) < 0)
        return;
    if (!run.own_ipc && run.afl.pid > 0)
        (void)shmseg_remove(run.afl.pid, run.started_at_ms / 1000, clock_wall_ms() / 1000);
    keeper_run_clear(&run);
}

/* All of its folder is taken in: it goes on in the next one, at once or when nothing holds it. */
static void rotated(struct instance *in)
{
    int64_t now_ms = clock_now_ms(), session_ms = in->up_ms > 0 ? now_ms - in->up_ms : 0;
    int next = rotation_free(in->spec->out_dir, in->rotation + 1);

    in->fuzzed_ms += session_ms;
    in->up_ms = 0;
    in->execs_base = in->execs_total;
    in->breaker.ever_fuzzed = true;
    if (session_ms >= BREAKER_HEALTHY_MS)
        in->breaker.failures = 0;
    if (next > 0)
        instance_set_rotation(in, next);
    in->moves = true;
    instance_event(in, INSTANCE_EV_GONE);
    /* Before the next one counts from nothing: whoever takes it over adds its figures to those of the row. */
    campaign_save(campaign_of(in));
    instance_arm(in, 0);
}

void instance_drained(struct instance *in)
{
    char words[sizeof(in->reason)], last[200] = "";
    struct keeper_exit ex = {0};
    enum ending ending;
    int loaded = keeper_exit_load(in->spec->exit_path, &ex);

    in->draining = false;
    if (loaded != 0)
        remove_segments(in);
    instance_note_pids(in); /* it may have ended before the first look */
    in->stats_looked_ms = 0;
    instance_tick(in, clock_now_ms()); /* figures written at the end */
    instance_look_oom(in);
    in->oom_kills += loaded == 0 && ex.oom_kills > in->oom_live ? ex.oom_kills : in->oom_live;
    in->oom_live = 0;
    in->oom_from = -1;
    if (loaded == 0 && ex.end == KEEPER_EXITED && ex.code != 0)
        (void)lastwords_read(in->spec->log_path, in->log_from, last, sizeof(last));
    ending = ending_judge(in->spec->argv.v[0], loaded, &ex, last, words, sizeof(words));
    if (in->state == INSTANCE_STALLED) {
        ending = ENDING_OTHER;
        (void)snprintf(words, sizeof(words), "%s",
                       in->restart_why[0] != '\0' ? in->restart_why : "no execution for too long");
    }
    in->folder_refused = ending == ENDING_FOLDER;
    in->restart_why[0] = '\0';
    in->afl.pid = 0;
    in->keeper.pid = 0;
    if (loaded < 0 && in->cg != NULL)
        (void)cgroup_destroy(in->cg, INSTANCE_DESTROY_MS);
    if (in->state == INSTANCE_STOPPING) {
        in->fuzzed_ms = instance_fuzz_ms(in, clock_now_ms());
        in->up_ms = 0;
        instance_event(in, INSTANCE_EV_GONE);
        return;
    }
    if (in->state == INSTANCE_ROTATING) {
        rotated(in);
        return;
    }
    instance_ended_badly(in, words, ending_outside(ending));
}
