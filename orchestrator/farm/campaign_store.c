/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run leaves on disk: its locks, its folder, its rows.
 *
 * The locks come first: a campaign or a target that runs already is refused before anything is made. A row that
 * cannot be written (a full disk) is written again 5 s later.
 */
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/campaign.h"
#include "store/runs.h"
#include "sys/lock.h"
#include "sys/nofile.h"

#define FILES_BASE         128
#define FILES_PER_INSTANCE 2 /* its keeper, the lock of its core */

int campaign_check_files(const struct campaign *c, struct err *err)
{
    const struct campaign *o;
    int64_t n = 0, need, limit = nofile_limit();

    TAILQ_FOREACH (o, &c->farm->campaigns, link)
        for (size_t i = 0; i < o->plan->n_targets; i++)
            n += (int64_t)o->plan->targets[i].n_instances;
    need = FILES_BASE + FILES_PER_INSTANCE * n;
    if (need <= limit)
        return 0;
    return err_set(
        err, -EMFILE,
        "%lld instances need %lld open files, but this fuzzd may have %lld: raise the hard "
        "limit where it is started (ulimit -Hn, LimitNOFILE= of its unit)",
        (long long)n, (long long)need, (long long)limit);
}

/* The plan comes from a client: its folder must be STATE/campaigns/NAME/ONE, by inode, as a path may have two spellings. */
static int check_run_dir(const struct campaign *c, struct err *err)
{
    const struct plan *plan = c->plan;
    cleanup_free char *ours = path_join(c->farm->state_dir, "campaigns");
    cleanup_free char *campaign_dir = path_dirname(plan->run_dir);
    cleanup_free char *theirs = path_dirname(campaign_dir);
    const char *last = strrchr(plan->run_dir, '/'), *name = strrchr(campaign_dir, '/');
    struct stat a, b;

    if (!path_name_ok(plan->campaign, 50) || last == NULL || name == NULL ||
        !path_component_ok(last + 1) || strcmp(name + 1, plan->campaign) != 0 ||
        stat(ours, &a) != 0 || stat(theirs, &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return err_set(err, -EINVAL, "the plan's folder %s is not below %s", plan->run_dir, ours);
    return 0;
}

static int take(const char *path, const char *line, const char *what, int *ret_fd, struct err *err)
{
    char holder[256] = "";
    int fd = lock_take(path, line, holder, sizeof(holder));

    if (fd == -EWOULDBLOCK)
        return err_set(err, -EBUSY, "%s: already running: %s", what,
                       holder[0] != '\0' ? holder : "holder unknown");
    if (fd < 0)
        return err_sys(err, fd, "%s", path);
    *ret_fd = fd;
    return 0;
}

int campaign_take_locks(struct campaign *c, struct err *err)
{
    const struct plan *plan = c->plan;
    cleanup_free char *all = path_join(c->farm->state_dir, "campaigns");
    cleanup_free char *locks = path_join(c->farm->state_dir, "locks");
    cleanup_free char *dir = path_join(all, plan->campaign);
    cleanup_free char *path = path_join(dir, "lock");
    cleanup_free char *what = xasprintf("campaign %s", plan->campaign);
    cleanup_free char *line = NULL;
    char at[24];
    int r;

    if (!path_name_ok(plan->campaign, 50))
        return err_set(err, -EINVAL, "the plan's campaign has no valid name");
    r = path_mkdirs_below(c->farm->state_dir, dir, 0700);
    if (r == 0)
        r = path_mkdirs_below(c->farm->state_dir, locks, 0700);
    if (r < 0)
        return err_sys(err, r, "%s", dir);
    r = check_run_dir(c, err);
    if (r < 0)
        return r;
    line = xasprintf("run %s, pid %d, since %s", plan->run_id, (int)getpid(),
                     clock_iso8601(at, sizeof(at), c->started_at_ms));
    r = take(path, line, what, &c->lock_fd, err);
    for (size_t i = 0; i < plan->n_targets && r == 0; i++) {
        cleanup_free char *name = xasprintf("target-%s", plan->targets[i].name);
        cleanup_free char *target_path = path_join(locks, name);
        cleanup_free char *target_what = xasprintf("target %s", plan->targets[i].name);
        cleanup_free char *target_line = xasprintf("%s, %s", what, line);

        r = take(target_path, target_line, target_what, &c->targets[i]->lock_fd, err);
    }
    return r;
}

static int write_in(const char *dir, const char *name, const char *text, struct err *err)
{
    cleanup_free char *path = path_join(dir, name);
    int r = file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600);

    return r < 0 ? err_sys(err, r, "%s", path) : 0;
}

int campaign_make_run_dir(struct campaign *c, const char *spec_text, struct err *err)
{
    static const char *const folders[] = {"out", "log", "exit", "scratch", "report"};
    const char *dir = c->plan->run_dir;
    cleanup_free char *text = NULL;
    json_t *plan;
    int r = 0;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && r == 0; i++) {
        cleanup_free char *path = path_join(dir, folders[i]);

        r = path_mkdirs_below(c->farm->state_dir, path, 0700);
        if (r < 0)
            return err_sys(err, r, "%s", path);
    }
    plan = plan_to_json(c->plan);
    text = json_dumps(plan, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(plan);
    if (text == NULL)
        return err_set(err, -EINVAL, "the plan cannot be written as JSON");
    r = write_in(dir, "plan.json", text, err);
    if (r == 0)
        r = write_in(dir, "spec.ini", spec_text, err);
    return r;
}

static char *run_extra(const struct campaign *c)
{
    cleanup_free char *why = campaign_isolation_why(c);
    json_t *extra = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:I}", "isolation", cgroup_root_name(c->farm->cgroups),
        "isolation_from", cgroup_root_source(c->farm->cgroups), "isolation_why", why, "afl_version",
        c->plan->afl_version != NULL ? c->plan->afl_version : "", "stop_cause", c->why, "frozen",
        freeze_to_json(&c->freeze, clock_now_ms()), "priority", (json_int_t)c->plan->priority,
        "queued_at_ms", (json_int_t)c->queued_at_ms);
    char *text = extra != NULL ? json_dumps(extra, JSON_COMPACT) : NULL;

    json_decref(extra);
    return text;
}

static int put_run(struct campaign *c, struct err *err)
{
    char host[256] = "", boot[33];
    struct run_row row = {
        .id = xstrdup(c->plan->run_id),
        .campaign = xstrdup(c->plan->campaign),
        .dir = xstrdup(c->plan->run_dir),
        .state = xstrdup(campaign_fuzzing_ended(c) ? "triage" : "running"),
        .started_at_ms = c->started_at_ms,
        .budget_ms = c->plan->budget_ms,
        .seed = c->plan->seed,
        .boot_id = xstrdup(clock_boot_id(boot, sizeof(boot))),
        .extra = run_extra(c),
    };
    int r;

    (void)gethostname(host, sizeof(host) - 1);
    row.host = xstrdup(host);
    r = runs_put(c->farm->db, &row, err);
    run_row_clear(&row);
    return r;
}

static int put_all(struct campaign *c, struct err *err)
{
    int64_t now_ms = clock_now_ms();
    int r = db_begin(c->farm->db, err);

    if (r < 0)
        return r;
    r = put_run(c, err);
    for (size_t i = 0; i < c->plan->n_targets && r == 0; i++) {
        struct target_row row = {0};

        target_fill_row(c->targets[i], now_ms, &row);
        r = runs_put_target(c->farm->db, &row, err);
        target_row_clear(&row);
    }
    if (r == 0)
        r = db_commit(c->farm->db, err);
    if (r < 0)
        db_rollback(c->farm->db);
    return r;
}

int campaign_put(struct campaign *c, struct err *err)
{
    struct err why = {0};
    int r = put_all(c, &why);

    (void)strlcpy(c->unstored, r < 0 ? why.msg : "", sizeof(c->unstored));
    return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}

void campaign_save(struct campaign *c)
{
    struct err err = {0};
    int r;

    c->saved_ms = clock_now_ms();
    r = campaign_put(c, &err);
    if (r == -ENOSPC)
        campaign_no_space(c);
    else if (r < 0)
        log_warn("campaign %s: cannot save its figures: %s, trying again", c->plan->campaign,
                 err.msg);
}
