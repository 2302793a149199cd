/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector: one deferred event source that scans one due instance a turn.
 *
 * An instance whose keeper has gone is told when nothing is left to take, and only then does its end become an
 * event: whoever sees an instance end has seen its artifacts before. Files that cannot be taken (a full disk) are
 * tried again for as long as it takes: an instance that ended without them would let its target pass for clean.
 */
#include "farm/collect.h"

#include <bsd/string.h>
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "farm/campaign.h"

#define RETRY_MS 2000

struct found {
    struct instance *in;
    bool unsaved;
};

static void on_artifact(void *ctx, const struct artifact_source *src,
                        const struct artifact_seen *seen)
{
    struct found *f = ctx;
    struct farm *farm = f->in->farm;
    struct campaign *c = campaign_of(f->in);

    (void)src;
    if (seen->unsaved) {
        f->unsaved = true;
        return;
    }
    campaign_count_artifact(c, f->in, seen);
    if (farm->ev->artifact != NULL)
        farm->ev->artifact(farm->ctx, c, f->in->target, seen);
}

static int on_retry(sd_event_source *s, uint64_t usec, void *userdata)
{
    (void)s;
    (void)usec;
    collect_push(userdata);
    return 0;
}

/* 0, or -errno when there will be no second try. */
static int retry_later(struct instance *in)
{
    int r;

    if (in->scan_retry == NULL)
        return sd_event_add_time_relative(in->farm->loop, &in->scan_retry, CLOCK_MONOTONIC,
                                          RETRY_MS * 1000ULL, 0, on_retry, in);
    r = sd_event_source_set_time_relative(in->scan_retry, RETRY_MS * 1000ULL);
    return r < 0 ? r : sd_event_source_set_enabled(in->scan_retry, SD_EVENT_ONESHOT);
}

static void scan_failed(struct instance *in, const char *why)
{
    if (in->scan_failed_ms == 0) {
        log_warn("%s: cannot take artifacts: %s, trying again", in->spec->full_id, why);
        in->scan_failed_ms = clock_now_ms();
    }
    in->scan_failed = true;
    (void)strlcpy(in->scan_trouble, why, sizeof(in->scan_trouble));
}

static int on_turn(sd_event_source *s, void *userdata)
{
    struct farm *farm = userdata;
    struct instance *in = TAILQ_FIRST(&farm->scans);
    struct found found = {.in = in};
    struct artifact_source src;
    struct err err = {0};
    bool more = false;
    int r;

    (void)s;
    if (in == NULL)
        return 0;
    TAILQ_REMOVE(&farm->scans, in, scan_link);
    in->scan_due = false;
    src = (struct artifact_source){.run = in->plan->run_id,
                                   .target = in->target->name,
                                   .instance = in->spec->name,
                                   .out_dir = in->spec->out_dir};
    r = artifact_scan(farm->db, farm->state_dir, &src, on_artifact, &found, &more, &err);
    if (r < 0 && r != -ENOENT) {
        scan_failed(in, err.msg);
        more = false;
        if (r == -ENOSPC)
            campaign_no_space(campaign_of(in));
    } else {
        in->scan_failed = found.unsaved;
        in->scan_failed_ms = 0;
    }
    if (more)
        collect_push(in);
    else if (in->draining && (in->scan_failed_ms == 0 || retry_later(in) < 0))
        instance_drained(in);
    if (!TAILQ_EMPTY(&farm->scans))
        (void)sd_event_source_set_enabled(farm->collector, SD_EVENT_ONESHOT);
    return 0;
}

int collect_init(struct farm *farm)
{
    int r;

    TAILQ_INIT(&farm->scans);
    r = sd_event_add_defer(farm->loop, &farm->collector, on_turn, farm);
    if (r < 0)
        return r;
    return sd_event_source_set_enabled(farm->collector, SD_EVENT_OFF);
}

void collect_fini(struct farm *farm)
{
    farm->collector = sd_event_source_disable_unref(farm->collector);
}

void collect_push(struct instance *in)
{
    if (in->scan_due)
        return;
    in->scan_due = true;
    TAILQ_INSERT_TAIL(&in->farm->scans, in, scan_link);
    (void)sd_event_source_set_enabled(in->farm->collector, SD_EVENT_ONESHOT);
}

void collect_drop(struct instance *in)
{
    in->scan_retry = sd_event_source_disable_unref(in->scan_retry);
    if (!in->scan_due)
        return;
    in->scan_due = false;
    TAILQ_REMOVE(&in->farm->scans, in, scan_link);
}
