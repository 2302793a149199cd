/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instance that is held: frozen where it stands, and not started while the hold lasts.
 *
 * Frozen are the leaves afl and t, never the keeper: it must be able to end them at any time. afl-fuzz stops first and goes on last, so that
 * it never waits on a target that stands still, and the target's answer lies in the pipe when it looks. Without cgroups afl-fuzz alone is
 * stopped: its target ends the one execution it is in, and then waits to be asked. A persistent child that stopped itself
 * between two executions must not be continued by anybody but its fork server.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "farm/instance.h"

#define EVENTS_MAX_BYTES 4096

int instance_freeze(struct instance *in, bool freeze)
{
    enum cgroup_leaf first = freeze ? CGROUP_AFL : CGROUP_T,
                     second = freeze ? CGROUP_T : CGROUP_AFL;
    int r, r2;

    if (in->cg == NULL)
        return 0;
    r = cgroup_freeze(in->cg, first, freeze);
    r2 = cgroup_freeze(in->cg, second, freeze);
    if (r == -EOPNOTSUPP)
        return in->afl.pid != 0 ? proc_signal(&in->afl, freeze ? SIGSTOP : SIGCONT) : 0;
    return r < 0 ? r : r2;
}

/* A field of the v2 tree's cgroup.events: "frozen 1". */
bool instance_is_frozen(const struct instance *in)
{
    struct strv events = {0};
    bool frozen = false;

    if (in->cg != NULL)
        cgroup_watch_paths(in->cg, NULL, &events, NULL);
    for (size_t i = 0; i < events.n; i++) {
        cleanup_free char *text = NULL;

        if (file_read_proc(events.v[i], EVENTS_MAX_BYTES, &text) == 0)
            frozen |= strstr(text, "frozen 1") != NULL;
    }
    strv_clear(&events);
    return frozen;
}

void instance_do_freeze(struct instance *in)
{
    int64_t now_ms = clock_now_ms(), session_ms = in->up_ms > 0 ? now_ms - in->up_ms : 0;
    int r = instance_freeze(in, true);

    if (r < 0)
        log_warn("%s: cannot freeze it: %s", in->spec->full_id, strerror(-r));
    in->timer = sd_event_source_disable_unref(in->timer);
    in->fuzzed_ms += session_ms;
    in->up_ms = 0;
    in->news_ms = now_ms;
    in->stats.execs_per_sec = 0;
    /* What it did so far counts, whatever becomes of it while it stands still. */
    if (session_ms > 0)
        in->breaker.ever_fuzzed = true;
    if (session_ms >= BREAKER_HEALTHY_MS)
        in->breaker.failures = 0;
}

void instance_do_thaw(struct instance *in)
{
    int r = instance_freeze(in, false);

    if (r < 0)
        log_warn("%s: cannot thaw it: %s", in->spec->full_id, strerror(-r));
    in->news_ms = in->spawned_ms = clock_now_ms();
    in->life_ms = 0;
    in->stats_mtime_ms = 0; /* the next look finds it up again */
    instance_look_soon(in);
}

void instance_hold(struct instance *in, bool hold)
{
    in->held = hold;
    if (hold) {
        /* Without a keeper there is nothing to freeze; what has not shown itself yet is frozen when it does. */
        if (in->pidfd >= 0 && (in->afl.pid != 0 || instance_can_freeze(in)))
            instance_event(in, INSTANCE_EV_FREEZE);
        return;
    }
    if (in->state == INSTANCE_BACKING_OFF && in->timer == NULL)
        instance_event(in, INSTANCE_EV_BACKOFF_OVER);
    else
        instance_event(in, INSTANCE_EV_THAW);
}

bool instance_can_freeze(const struct instance *in)
{
    return strcmp(cgroup_root_name(in->farm->cgroups), "none") != 0;
}
