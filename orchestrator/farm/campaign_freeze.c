/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign that stands still, and room in its folder.
 *
 * Its clocks stand with it, nothing of it is started, and what it found goes on being gathered. A freeze is stored at
 * once, so that whoever takes the campaign over knows of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/campaign.h"

#define SCRATCH_MAX_FILES 4000 /* looked at in one working folder */
#define SCRATCH_PARTS     4    /* one over this part of the disk budget is emptied */

bool campaign_ending(const struct campaign *c)
{
    return c->interrupted || c->told_ended || campaign_fuzzing_ended(c);
}

void campaign_freeze(struct campaign *c, enum freeze_cause cause, const char *why)
{
    bool held = freeze_holds(&c->freeze, cause);

    if (campaign_ending(c))
        return;
    if (freeze_add(&c->freeze, cause, why, clock_now_ms(), clock_wall_ms())) {
        for (size_t i = 0; i < c->plan->n_targets; i++)
            target_hold(c->targets[i], true);
    }
    if (held)
        return;
    log_warn("campaign %s: frozen: %s", c->plan->campaign, why);
    campaign_save(c);
    campaign_ask_pump(c);
}

void campaign_thaw(struct campaign *c, enum freeze_cause cause)
{
    bool held = freeze_holds(&c->freeze, cause);

    if (freeze_remove(&c->freeze, cause, clock_now_ms())) {
        log_info("campaign %s: goes on (%s no more)", c->plan->campaign, freeze_cause_name(cause));
        for (size_t i = 0; i < c->plan->n_targets; i++)
            target_hold(c->targets[i], false);
    } else if (held) {
        log_info("campaign %s: %s no more, still frozen: %s", c->plan->campaign,
                 freeze_cause_name(cause), freeze_why(&c->freeze));
    }
    if (!held)
        return;
    campaign_save(c);
    campaign_ask_pump(c);
}

void campaign_forget_freeze(struct campaign *c)
{
    for (int i = 0; i < FREEZE_CAUSES; i++)
        (void)freeze_remove(&c->freeze, i, clock_now_ms());
}

void campaign_no_space(struct campaign *c)
{
    cleanup_free char *why = xasprintf("no space left in %.200s", c->farm->state_dir);

    campaign_freeze(c, FREEZE_SPACE, why);
}

static int64_t drop_old_log(const struct instance *in)
{
    cleanup_free char *old = xasprintf("%s.1", in->spec->log_path);
    struct stat st;

    if (lstat(old, &st) < 0 || unlink(old) < 0)
        return 0;
    return (int64_t)st.st_blocks * 512;
}

int64_t campaign_drop(struct campaign *c)
{
    int64_t sum = 0;

    for (size_t i = 0; i < c->plan->n_targets; i++) {
        const struct target *t = c->targets[i];

        for (size_t k = 0; k < t->spec->n_instances; k++) {
            struct instance *in = t->instances[k];
            int64_t scratch = path_tree_bytes(in->spec->scratch_dir, SCRATCH_MAX_FILES);

            sum += drop_old_log(in);
            if (t->state != TARGET_RUNNING || in->state != INSTANCE_FUZZING ||
                scratch < c->plan->limits.disk_bytes / SCRATCH_PARTS)
                continue;
            instance_restart(in, "its working folder is over the disk budget");
            sum += scratch;
        }
    }
    return sum;
}
