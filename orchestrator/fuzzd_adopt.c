/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that a fuzzd before this one left unfinished.
 *
 * Each is gone on with; one whose plan cannot be read any more ends as interrupted, with the reason in its row, as
 * it would block its campaign's status for ever.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "fuzzd.h"
#include "store/runs.h"
#include "sys/keeper.h"
#include "sys/proc.h"

#define SWEEP_MS 2000 /* for one instance to die, at start only */

/* Ends what the records of a run name, also where no cgroup holds it together. */
static void end_recorded(struct daemon *d, const struct run_row *row)
{
    cleanup_free char *folder = path_join(row->dir, "exit");
    cleanup_dir DIR *dir = opendir(folder);
    struct dirent *de;

    while (dir != NULL && (de = readdir(dir)) != NULL) {
        cleanup_free char *path = path_join(folder, de->d_name);
        size_t n = strlen(de->d_name);
        struct keeper_run run = {0};

        if (n <= 4 || strcmp(de->d_name + n - 4, ".run") != 0 || keeper_run_load(path, &run) < 0)
            continue;
        cleanup_free char *name = xasprintf("%s/%.*s", row->campaign, (int)(n - 4), de->d_name);
        struct cgroup *cg = cgroup_attach_recorded(d->cgroups, name, &run.cgroups);

        (void)cgroup_destroy(cg, SWEEP_MS);
        (void)proc_signal(&run.afl, SIGKILL);
        (void)proc_signal(&run.keeper, SIGKILL);
        cgroup_free(cg);
        keeper_run_clear(&run);
    }
}

/*
 * The prefix is this state directory's, whose lock we hold: a campaign with a cgroup and without a run is one whose records were
 * lost, and nobody else will ever end it.
 */
static void sweep_strays(struct daemon *d)
{
    struct strv names = {0};

    cgroup_campaigns(d->cgroups, &names);
    for (size_t i = 0; i < names.n; i++) {
        const struct run *run;

        TAILQ_FOREACH (run, &d->runs, link)
            if (strcmp(campaign_plan(run->campaign)->campaign, names.v[i]) == 0)
                break;
        if (run == NULL && strcmp(names.v[i], TRIAGE_CGROUP) != 0)
            cgroup_sweep(d->cgroups, names.v[i], SWEEP_MS);
    }
    strv_clear(&names);
}

static void give_up(struct daemon *d, struct run_row *row, const char *why)
{
    json_t *reasons = json_pack("[s]", why);
    struct err err = {0};

    log_error("campaign %s: run %s cannot be gone on with: %s", row->campaign, row->id, why);
    end_recorded(d, row);
    free(row->reasons);
    row->reasons = reasons != NULL ? json_dumps(reasons, JSON_COMPACT) : xstrdup("[]");
    json_decref(reasons);
    str_set(&row->state, "ended");
    str_set(&row->verdict, verdict_name(VERDICT_INTERRUPTED));
    row->ended_at_ms = clock_wall_ms();
    if (runs_put(d->db, row, &err) < 0)
        log_error("%s", err.msg);
}

void daemon_adopt(struct daemon *d)
{
    struct run_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (runs_list(d->db, true, &rows, &n, &err) < 0) {
        log_error("cannot list unfinished runs: %s", err.msg);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct campaign *c = NULL;
        struct err why = {0};

        if (campaign_adopt(d->farm, &rows[i], &c, &why) < 0)
            give_up(d, &rows[i], why.msg);
        else
            run_push_untriaged(run_new(d, c));
        run_row_clear(&rows[i]);
    }
    free(rows);
    sweep_strays(d);
}
