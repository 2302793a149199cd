/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer for the health of the host.
 *
 * A look costs two small reads and a bounded slice of counting; nothing here waits. The end of a shortage of space is proved by a
 * write, not by a figure: a campaign goes on once its rows could be stored.
 */
#include "farm/hostguard.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <systemd/sd-event.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "farm/campaign.h"
#include "farm/collect.h"

#define LOOK_MS       1000
#define SLICE_MS      4     /* of counting, for all campaigns of one look together */
#define PASS_MS       5000  /* between two counts of a run's folder */
#define DROP_MS       60000 /* between two times that room is made in a run's folder */
#define SETTLE_MS     15000 /* until what was made room for is counted anew */
#define SPACE_MS      2000  /* frozen for want of space at least this long */
#define INODES_MIN    64
#define PSI_MAX_BYTES 4096
#define PSI_FILE      "/proc/pressure/memory"

struct hostguard {
    struct farm *farm;
    char *psi_file;
    sd_event_source *timer;
    bool running;
};

static int64_t free_bytes(const char *path)
{
    struct statvfs st;

    if (statvfs(path, &st) < 0)
        return -1;
    if (st.f_files > 0 && st.f_favail < INODES_MIN)
        return 0;
    return (int64_t)(st.f_bavail * st.f_frsize);
}

bool campaign_out_of_space(struct campaign *c)
{
    int64_t n = free_bytes(c->farm->state_dir);

    if (n < 0 || n >= GUARD_SPACE_MIN)
        return false;
    campaign_no_space(c);
    return true;
}

static double pressure(const struct hostguard *g)
{
    cleanup_free char *text = NULL;
    double pct = -1;

    if (file_read_proc(g->psi_file, PSI_MAX_BYTES, &text) < 0 || guard_parse_psi(text, &pct) < 0)
        return -1;
    return pct;
}

static void apply(struct campaign *c, enum guard_cause cause, enum freeze_cause as,
                  const struct guard_limits *lim, const struct guard_reading *r)
{
    char words[256];

    if (!c->guard.on[cause]) {
        campaign_thaw(c, as);
        return;
    }
    if (freeze_holds(&c->freeze, as))
        return;
    campaign_freeze(c, as, guard_words(words, sizeof(words), cause, lim, r, c->farm->state_dir));
}

/* Before the campaign stands still for its own bytes, what is of no use goes; the next count tells whether that was enough. */
static bool made_room(struct campaign *c, int64_t now_ms)
{
    int64_t bytes;

    if (c->dropped_ms != 0 && now_ms - c->dropped_ms < DROP_MS)
        return false;
    c->dropped_ms = now_ms;
    bytes = campaign_drop(c);
    if (bytes == 0)
        return false;
    log_info("campaign %s: over its disk budget, %lld bytes of logs and working folders go",
             c->plan->campaign, (long long)bytes);
    usage_restart(c->usage, now_ms + SETTLE_MS);
    c->guard.on[GUARD_DISK] = false;
    return true;
}

/* Those whose files could not be taken for want of space, living or gone. */
static void try_again(struct campaign *c)
{
    for (size_t i = 0; i < c->plan->n_targets; i++)
        for (size_t k = 0; k < c->targets[i]->spec->n_instances; k++)
            if (c->targets[i]->instances[k]->scan_failed)
                collect_push(c->targets[i]->instances[k]);
}

static void look_for_space(struct campaign *c, int64_t now_ms, int64_t n)
{
    struct err err = {0};

    if (n >= 0 && n < GUARD_SPACE_MIN)
        return;
    if (campaign_ending(c)) {
        try_again(c);
        return;
    }
    if (!freeze_holds(&c->freeze, FREEZE_SPACE) ||
        now_ms - c->freeze.of[FREEZE_SPACE].since_ms < SPACE_MS || campaign_put(c, &err) < 0)
        return;
    campaign_thaw(c, FREEZE_SPACE);
    try_again(c);
    if (c->farm->ev->space != NULL)
        c->farm->ev->space(c->farm->ctx, c);
}

static void judge(struct campaign *c, const struct guard_reading *host, int64_t now_ms)
{
    const struct spec_limits *l = &c->plan->limits;
    const struct guard_limits lim = {l->pressure_pct, l->disk_floor_bytes, l->disk_bytes};
    struct guard_reading r = *host;

    if (c->told_ended)
        return;
    look_for_space(c, now_ms, host->free_bytes);
    if (campaign_ending(c))
        return;
    r.used_bytes = usage_bytes(c->usage);
    guard_take(&c->guard, &lim, &r, now_ms);
    apply(c, GUARD_PRESSURE, FREEZE_PRESSURE, &lim, &r);
    apply(c, GUARD_FLOOR, FREEZE_FLOOR, &lim, &r);
    if (!c->guard.on[GUARD_DISK] || freeze_holds(&c->freeze, FREEZE_DISK) || !made_room(c, now_ms))
        apply(c, GUARD_DISK, FREEZE_DISK, &lim, &r);
}

static void read_host(struct hostguard *g, struct guard_reading *ret)
{
    *ret = (struct guard_reading){.pressure_pct = pressure(g),
                                  .free_bytes = free_bytes(g->farm->state_dir),
                                  .used_bytes = -1};
}

void hostguard_look(struct hostguard *g, struct campaign *c)
{
    struct guard_reading r;

    if (g == NULL)
        return;
    read_host(g, &r);
    judge(c, &r, clock_now_ms());
}

static int on_look(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct hostguard *g = userdata;
    int64_t now_ms = clock_now_ms(), n = 0;
    struct guard_reading r;
    struct campaign *c;

    (void)usec;
    g->running = !TAILQ_EMPTY(&g->farm->campaigns);
    if (!g->running)
        return 0;
    TAILQ_FOREACH (c, &g->farm->campaigns, link)
        n++;
    read_host(g, &r);
    TAILQ_FOREACH (c, &g->farm->campaigns, link) {
        usage_step(c->usage, now_ms, n < SLICE_MS ? SLICE_MS / n : 1, PASS_MS);
        judge(c, &r, now_ms);
    }
    (void)sd_event_source_set_time_relative(s, LOOK_MS * 1000ULL);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

int hostguard_new(struct farm *farm, struct hostguard **ret, struct err *err)
{
    struct hostguard *g = xcalloc(1, sizeof(*g));
    const char *file = getenv("FUZZ_PRESSURE");
    int r = sd_event_add_time_relative(farm->loop, &g->timer, CLOCK_MONOTONIC, LOOK_MS * 1000ULL,
                                       100000, on_look, g);

    if (r < 0) {
        free(g);
        return err_sys(err, r, "cannot set up the event loop");
    }
    g->farm = farm;
    g->psi_file = xstrdup(file != NULL && *file != '\0' ? file : PSI_FILE);
    g->running = true;
    *ret = g;
    return 0;
}

void hostguard_free(struct hostguard *g)
{
    if (g == NULL)
        return;
    sd_event_source_disable_unref(g->timer);
    free(g->psi_file);
    free(g);
}

void hostguard_watch(struct hostguard *g)
{
    if (g == NULL || g->running)
        return;
    g->running = true;
    (void)sd_event_source_set_time_relative(g->timer, LOOK_MS * 1000ULL);
    (void)sd_event_source_set_enabled(g->timer, SD_EVENT_ONESHOT);
}
