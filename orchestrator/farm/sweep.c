/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the answer of a sweep to artifacts. The job has put copies of what failed beside the instances' folders; they
 * are taken into the store like the files of one, in slices, and again later where the disk is full: the copies
 * stay until then.
 */
#include "farm/sweep.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/campaign.h"

#define RETRY_MS 2000

static int64_t count(const json_t *j, const char *key)
{
    int64_t n = json_integer_value(json_object_get(j, key));

    return n > 0 ? n : 0;
}

static void text(char *buf, size_t size, const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    (void)strlcpy(buf, s != NULL ? s : "", size);
}

static void tell(struct target *t)
{
    if (t->farm->ev->swept != NULL)
        t->farm->ev->swept(t->farm->ctx, t->owner, t->spec);
}

/* One batch a turn; on a full disk again later, for as long as it takes. */
static int on_turn(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct target *t = userdata;
    struct sweep *s = &t->sweep;
    cleanup_free char *dir = path_join(t->spec->sync_dir, SWEEP_INSTANCE);
    const struct artifact_source src = {.run = t->plan->run_id,
                                        .target = t->spec->name,
                                        .instance = SWEEP_INSTANCE,
                                        .out_dir = dir,
                                        .empty_is_input = true};
    struct err err = {0};
    bool more = false;
    int r = artifact_scan(t->farm->db, t->farm->state_dir, &src, &s->walk, target_on_artifact, t,
                          &more, &err);

    (void)usec;
    if (r < 0 && s->trouble[0] == '\0')
        log_warn("%s/%s: cannot take what the sweep found: %s, trying again", t->plan->campaign,
                 t->spec->name, err.msg);
    (void)strlcpy(s->trouble, r < 0 ? err.msg : "", sizeof(s->trouble));
    if (r == -ENOSPC)
        campaign_no_space(t->owner);
    if (r >= 0 && !more) {
        s->storing = false;
        s->turn = sd_event_source_disable_unref(s->turn);
        tell(t);
        return 0;
    }
    (void)sd_event_source_set_time_relative(source, r < 0 ? RETRY_MS * 1000ULL : 0);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

void sweep_collect(struct target *t)
{
    struct sweep *s = &t->sweep;
    int r;

    if (s->storing)
        return;
    r = sd_event_add_time_relative(t->farm->loop, &s->turn, CLOCK_MONOTONIC, 0, 0, on_turn, t);
    if (r >= 0)
        r = sd_event_source_set_priority(s->turn, SD_EVENT_PRIORITY_IDLE);
    s->storing = r >= 0;
    if (r < 0)
        (void)snprintf(s->why, sizeof(s->why), "what failed cannot be stored: %s", strerror(-r));
}

void sweep_answer(struct target *t, const json_t *answer, bool last)
{
    struct sweep *s = &t->sweep;
    bool had_words = s->why[0] != '\0';

    if (!json_is_true(json_object_get(answer, "ok"))) {
        text(s->why, sizeof(s->why), answer, "error");
        if (s->why[0] == '\0')
            (void)strlcpy(s->why, "it could not be run", sizeof(s->why));
    } else {
        s->asked = true;
        s->swept = count(answer, "swept");
        s->left = count(answer, "left");
        s->failed = count(answer, "failed");
        s->alike = count(answer, "alike");
        s->too_large = count(answer, "too_large");
        text(s->why, sizeof(s->why), answer, "why");
    }
    s->no_space = json_is_true(json_object_get(answer, "no_space"));
    s->complete = last && s->left == 0 && s->why[0] == '\0';
    if (s->no_space)
        campaign_no_space(t->owner);
    if (s->why[0] != '\0' && !had_words)
        log_warn("%s/%s: sanitizer sweep: %s", t->plan->campaign, t->spec->name, s->why);
    if (count(answer, "stored") > 0)
        sweep_collect(t);
    if (!s->storing)
        tell(t);
}

json_t *sweep_to_json(const struct target *t)
{
    const struct sweep *s = &t->sweep;

    if (!s->asked && s->why[0] == '\0' && !s->complete)
        return NULL;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:s?}", "swept", (json_int_t)s->swept, "left",
                     (json_int_t)s->left, "failed", (json_int_t)s->failed, "alike",
                     (json_int_t)s->alike, "too_large", (json_int_t)s->too_large, "complete",
                     (int)s->complete, "why", s->why[0] != '\0' ? s->why : NULL);
}

void sweep_from_json(struct target *t, const json_t *j)
{
    struct sweep *s = &t->sweep;

    if (!json_is_object(j))
        return;
    s->asked = true;
    s->swept = count(j, "swept");
    s->left = count(j, "left");
    s->failed = count(j, "failed");
    s->alike = count(j, "alike");
    s->too_large = count(j, "too_large");
    text(s->why, sizeof(s->why), j, "why");
}

void sweep_clear(struct target *t)
{
    t->sweep.turn = sd_event_source_disable_unref(t->sweep.turn);
    artifact_walk_free(t->sweep.walk);
    t->sweep.walk = NULL;
}
