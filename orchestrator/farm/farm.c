/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the campaigns of one daemon share. The list and the table here are the only ones: a name
 * from outside becomes a campaign or an instance through them or not at all.
 */
#include "farm/farm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/path.h"
#include "farm/campaign.h"
#include "farm/collect.h"
#include "farm/hostguard.h"
#include "farm/telemetry.h"
#include "sys/cpu.h"
#include "sys/cpuline.h"

static int read_stall_window(struct farm *farm, struct err *err)
{
    const char *text = getenv("FUZZ_STALL_WINDOW");

    if (text == NULL || *text == '\0')
        return 0;
    if (parse_duration_ms(text, &farm->stall_ms) < 0)
        return err_set(err, -EINVAL, "FUZZ_STALL_WINDOW: \"%.40s\" is not a duration", text);
    return 0;
}

/* "CRASHES,HANGS" of a test. */
static int read_rotation(struct farm *farm, struct err *err)
{
    const char *text = getenv("FUZZ_ROTATE_AT");
    char crashes[24];
    const char *comma;
    uint64_t a, b;

    farm->rotate_crashes = FARM_ROTATE_CRASHES;
    farm->rotate_hangs = FARM_ROTATE_HANGS;
    if (text == NULL || *text == '\0')
        return 0;
    comma = strchr(text, ',');
    if (comma == NULL || (size_t)(comma - text) >= sizeof(crashes))
        return err_set(err, -EINVAL, "FUZZ_ROTATE_AT: \"%.40s\" is not CRASHES,HANGS", text);
    (void)snprintf(crashes, sizeof(crashes), "%.*s", (int)(comma - text), text);
    if (parse_u64(crashes, FARM_ROTATE_CRASHES, &a) < 0 || a == 0 ||
        parse_u64(comma + 1, FARM_ROTATE_HANGS, &b) < 0 || b == 0)
        return err_set(err, -EINVAL, "FUZZ_ROTATE_AT: \"%.40s\" is not 1 to %d, 1 to %d", text,
                       FARM_ROTATE_CRASHES, FARM_ROTATE_HANGS);
    farm->rotate_crashes = (int64_t)a;
    farm->rotate_hangs = (int64_t)b;
    return 0;
}

int farm_new(sd_event *loop, struct db *db, const char *state_dir, struct cgroup_root *cgroups,
             const struct farm_events *ev, void *ctx, struct farm **ret, struct err *err)
{
    struct farm *farm = xcalloc(1, sizeof(*farm));
    int r;

    farm->loop = loop;
    farm->db = db;
    farm->state_dir = state_dir;
    farm->cgroups = cgroups;
    farm->ev = ev;
    farm->ctx = ctx;
    TAILQ_INIT(&farm->campaigns);
    r = collect_init(farm);
    if (r < 0) {
        r = err_sys(err, r, "cannot set up the event loop");
        goto fail;
    }
    farm->keeper = path_find_program("fuzz-keeper");
    if (farm->keeper == NULL) {
        r = err_set(err, -ENOENT, "fuzz-keeper is neither beside fuzzd nor installed");
        goto fail;
    }
    r = read_stall_window(farm, err);
    if (r == 0)
        r = read_rotation(farm, err);
    if (r == 0)
        r = telemetry_new(farm, &farm->telemetry, err);
    if (r == 0)
        r = hostguard_new(farm, &farm->guard, err);
    if (r < 0)
        goto fail;
    *ret = farm;
    return 0;

fail:
    farm_free(farm);
    return r;
}

void farm_free(struct farm *farm)
{
    if (farm == NULL)
        return;
    telemetry_free(farm->telemetry);
    hostguard_free(farm->guard);
    collect_fini(farm);
    cpu_place_leave(&farm->place);
    free(farm->keeper);
    free(farm);
}

struct instance *farm_find_instance(struct farm *farm, const char *full_id)
{
    return ids_find(&farm->ids, full_id);
}

struct campaign *farm_find_campaign(struct farm *farm, const char *name)
{
    struct campaign *c;

    TAILQ_FOREACH (c, &farm->campaigns, link)
        if (strcmp(c->plan->campaign, name) == 0)
            return c;
    return NULL;
}

bool farm_has_free_core(const struct farm *farm)
{
    int cpus[CPU_MAX], n = cpu_allowed(cpus, CPU_MAX), used = 0;
    bool taken[CPU_MAX] = {false}; /* one that is lent has two */
    struct campaign *c;

    TAILQ_FOREACH (c, &farm->campaigns, link)
        for (size_t i = 0; i < c->plan->n_targets; i++)
            for (size_t k = 0; k < c->targets[i]->spec->n_instances; k++) {
                const struct instance *in = c->targets[i]->instances[k];

                if (in->cpu < 0 || in->cpu >= CPU_MAX || taken[in->cpu] ||
                    (in->cpu_fd < 0 && !instance_active(in)))
                    continue;
                taken[in->cpu] = true;
                used++;
            }
    return used < n;
}
