/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector: one deferred event source that scans one due instance a turn.
 *
 * An instance whose keeper has gone is told when nothing is left to take, and only then does its end become an
 * event: whoever sees an instance end has seen its artifacts before. Files that cannot be taken (a full disk) are
 * tried again for as long as it takes: an instance that ended without them would let its target pass for clean.
 *
 * What is asked for while a walk is on may lie behind the place where it stands: a walk of its own follows.
 */
#include "farm/collect.h"

#include <bsd/string.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "farm/campaign.h"
#include "store/rotation.h"

#define RETRY_MS    2000
/* A walk over many files rests before the next for so many times the time it took: news keep coming while files do. */
#define REST_FACTOR 4
#define REST_MIN_MS 20 /* shorter walks do not rest */
#define REST_MAX_MS 2000

struct found {
    struct instance *in;
    bool unsaved;
    int lost; /* empty files */
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
    if (seen->lost) {
        char name[512];

        if (f->lost++ == 0) /* a full disk makes many of them */
            log_warn("%s: the input of %s %s is lost, its file is empty: %s", f->in->spec->full_id,
                     seen->kind == ARTIFACT_HANG ? "hang" : "crash",
                     text_printable(name, sizeof(name), seen->name), ARTIFACT_LOST_WORDS);
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
static int push_later(struct instance *in, int64_t after_ms)
{
    uint64_t after_us = (uint64_t)after_ms * 1000;
    int r;

    if (in->scan_retry == NULL)
        return sd_event_add_time_relative(in->farm->loop, &in->scan_retry, CLOCK_MONOTONIC,
                                          after_us, 0, on_retry, in);
    r = sd_event_source_set_time_relative(in->scan_retry, after_us);
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

static void put(struct instance *in)
{
    in->scan_due = true;
    TAILQ_INSERT_TAIL(&in->farm->scans, in, scan_link);
    (void)sd_event_source_set_enabled(in->farm->collector, SD_EVENT_ONESHOT);
}

/* A walk has come to its end, with what it could not take in scan_failed. */
static void walked(struct instance *in)
{
    int64_t rest_ms = in->walk_ms > REST_MIN_MS ? in->walk_ms * REST_FACTOR : 0;

    if (rest_ms > REST_MAX_MS)
        rest_ms = REST_MAX_MS;
    in->rest_until_ms = clock_now_ms() + rest_ms;
    if (in->walk_again)
        collect_push(in);
    else if (in->draining && (in->scan_failed_ms == 0 || push_later(in, RETRY_MS) < 0))
        instance_drained(in);
}

static int on_turn(sd_event_source *s, void *userdata)
{
    struct farm *farm = userdata;
    struct instance *in = TAILQ_FIRST(&farm->scans);
    int64_t from_ms = clock_now_ms();
    struct found found = {.in = in};
    cleanup_free char *name = NULL, *dir = NULL;
    struct artifact_source src;
    struct err err = {0};
    bool more = false;
    int r;

    (void)s;
    if (in == NULL)
        return 0;
    TAILQ_REMOVE(&farm->scans, in, scan_link);
    in->scan_due = false;
    name = rotation_of(in->spec->name, in->scan_old > 0 ? in->scan_old : in->rotation);
    dir = rotation_of(in->spec->out_dir, in->scan_old > 0 ? in->scan_old : in->rotation);
    src = (struct artifact_source){
        .run = in->plan->run_id, .target = in->target->name, .instance = name, .out_dir = dir};
    if (in->walk == NULL) {
        in->walk_again = in->walk_unsaved = false;
        in->walk_ms = 0;
    }
    r = !rotation_is_folder(in->spec->out_dir, in->scan_old)
            ? -ENOENT
            : artifact_scan(farm->db, farm->state_dir, &src, &in->walk, on_artifact, &found, &more,
                            &err);
    in->walk_ms += clock_now_ms() - from_ms;
    in->walk_unsaved |= found.unsaved;
    if (r < 0 && r != -ENOENT) {
        scan_failed(in, err.msg);
        if (r == -ENOSPC)
            campaign_no_space(campaign_of(in));
        in->walk_again = false; /* it is tried again as a whole */
    } else {
        in->scan_failed = in->walk_unsaved;
        in->scan_failed_ms = 0;
    }
    if (found.lost > 1)
        log_warn("%s: and of %d more file%s", in->spec->full_id, found.lost - 1,
                 text_plural(found.lost - 1));
    if (r >= 0 && more) {
        put(in);
    } else if ((r >= 0 || r == -ENOENT) && in->scan_old > 0) {
        in->scan_old--; /* then the next older one, and its own at last */
        put(in);
    } else {
        walked(in);
    }
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
    /* A source that is always due would else come before what just happened: a slice is for when nothing has. */
    r = sd_event_source_set_priority(farm->collector, SD_EVENT_PRIORITY_IDLE);
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
    int64_t rest_ms = in->rest_until_ms - clock_now_ms();

    if (in->walk != NULL)
        in->walk_again = true;
    if (in->scan_due || in->walk != NULL)
        return;
    /* Its end waits for nothing. */
    if (rest_ms > 0 && !in->draining && push_later(in, rest_ms) == 0)
        return;
    put(in);
}

void collect_drop(struct instance *in)
{
    in->scan_retry = sd_event_source_disable_unref(in->scan_retry);
    artifact_walk_free(in->walk);
    in->walk = NULL;
    if (!in->scan_due)
        return;
    in->scan_due = false;
    TAILQ_REMOVE(&in->farm->scans, in, scan_link);
}
