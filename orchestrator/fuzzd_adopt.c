/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that a fuzzd before this one left unfinished.
 *
 * Each is gone on with; one whose plan cannot be read any more ends as interrupted, with the reason in its row, as
 * it would block its campaign's status for ever.
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "fuzzd.h"
#include "store/leftover.h"
#include "store/runs.h"
#include "sys/keeper.h"
#include "sys/proc.h"

#define SWEEP_MS 2000 /* for one instance to die, at start only */

/* Without cgroups a record is all there is to go by: it has to name a program of ours at least. */
static bool is_keeper(pid_t pid)
{
    char link[64], exe[PATH_MAX];

    (void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, exe, sizeof(exe) - 1);
    if (n <= 0)
        return false;
    exe[n] = '\0';
    const char *name = strrchr(exe, '/');
    return name != NULL && strncmp(name + 1, "fuzz-keeper", strlen("fuzz-keeper")) == 0;
}

/*
 * Ends what runs on of a run whose plan is lost. A record is only a file, and that of a copied state directory names what
 * belongs to the original: what dies is what sits in cgroups of our own prefix, and no process is killed because a record has
 * its number. A run folder that is not below our state directory is not looked into.
 */
static void end_recorded(struct daemon *d, const struct run_row *row)
{
    cleanup_free char *folder = path_join(row->dir, "exit");
    int fd = path_open_below(d->state_dir, folder, 0);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *de;

    if (dir == NULL && fd >= 0)
        (void)close(fd);

    while (dir != NULL && (de = readdir(dir)) != NULL) {
        cleanup_free char *path = path_join(folder, de->d_name);
        size_t n = strlen(de->d_name);
        struct keeper_run run = {0};

        if (n <= 4 || strcmp(de->d_name + n - 4, ".run") != 0 || keeper_run_load(path, &run) < 0)
            continue;
        cleanup_free char *name = xasprintf("%s/%.*s", row->campaign, (int)(n - 4), de->d_name);
        struct cgroup *cg = cgroup_attach_recorded(d->cgroups, name, &run.cgroups);

        (void)cgroup_destroy(cg, SWEEP_MS);
        if (run.cgroups.n == 0 && is_keeper(run.keeper.pid))
            (void)proc_signal(&run.keeper, SIGTERM); /* it ends afl-fuzz and what that left */
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
        if (run == NULL && strcmp(names.v[i], TRIAGE_CGROUP) != 0 &&
            strcmp(names.v[i], SEEDS_CGROUP) != 0)
            cgroup_sweep(d->cgroups, names.v[i], SWEEP_MS);
    }
    strv_clear(&names);
}

static void give_up(struct daemon *d, struct run_row *row, const char *why)
{
    json_t *reasons = json_pack("[s]", why);
    struct err err = {0};

    log_error("campaign %s: run %s cannot be gone on with: %s", row->campaign, row->id, why);
    if (!row->moved) /* its records name what another state directory runs */
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

static void run_take_over(struct run *run)
{
    run_push_untriaged(run);
    run_judge_waited(run);
}

void daemon_adopt(struct daemon *d)
{
    struct run_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    leftover_sweep_state(d->state_dir);
    if (runs_list(d->db, true, &rows, &n, &err) < 0) {
        log_error("cannot list unfinished runs: %s", err.msg);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct campaign *c = NULL;
        struct err why = {0};

        leftover_sweep_run(d->state_dir, rows[i].dir);
        if (campaign_adopt(d->farm, &rows[i], &c, &why) < 0)
            give_up(d, &rows[i], why.msg);
        else
            run_take_over(run_new(d, c));
        run_row_clear(&rows[i]);
    }
    free(rows);
    sweep_strays(d);
}
