/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Nth write fails while a campaign starts, and while the real fuzz-keeper keeps its records: a
 * run is in the index with its whole plan or it is not, and a record is whole or does not count.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/campaign.h"
#include "fault.h"
#include "plan/plan.h"
#include "store/runs.h"
#include "sys/keeper.h"
#include "sys/proc.h"

#define PLAN_FILE "tests/fixtures/plan/4.04c-2-cores/plan.json"
#define SPEC      "[campaign]\nname = demo\n"

/* ---- The start of a campaign ---- */

static struct db *db;
static sd_event *loop;
static struct farm farm;
static struct cgroup_root *cgroups;
static const struct farm_events no_events;

/* The text with each from replaced; caller frees. */
static char *replace(const char *text, const char *from, const char *to)
{
    char *out = xstrdup("");

    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        char *more = xasprintf("%s%.*s%s", out, (int)(at - text), text, to);

        free(out);
        out = more;
    }
    char *whole = xasprintf("%s%s", out, text);
    free(out);
    return whole;
}

/* The plan of the fixtures, for a run below dir. */
static struct plan *plan_for(const char *dir)
{
    cleanup_free char *text = NULL, *ours = NULL, *top = NULL;
    struct plan *plan = NULL;
    struct err err = {0};
    char hash[65];
    size_t size;
    json_t *j;

    assert_int_equal(file_read(AT_FDCWD, PLAN_FILE, 1 << 20, &text, &size), 0);
    top = xasprintf("%s/", dir);
    ours = replace(text, "/state/", top);
    j = json_loads(ours, 0, NULL);
    assert_non_null(j);
    plan_hash_json(j, hash);
    json_object_set_new(j, "hash", json_string(hash));
    if (plan_from_json(j, &plan, &err) != 0)
        fail_msg("%s", err.msg);
    json_decref(j);
    return plan;
}

static void make_farm(const char *dir)
{
    struct err err = {0};

    if (db_open(dir, true, &db, &err) != 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = path_join(dir, i == 0 ? "campaigns" : "locks");

        assert_int_equal(path_mkdirs(path, 0700), 0);
    }
    assert_true(sd_event_new(&loop) >= 0);
    cgroups = cgroup_root_open("/sys/fs/cgroup", "fuzzd-u0", "none");
    assert_non_null(cgroups);
    farm = (struct farm){
        .loop = loop, .db = db, .state_dir = dir, .cgroups = cgroups, .ev = &no_events};
    TAILQ_INIT(&farm.campaigns);
    TAILQ_INIT(&farm.scans);
}

static int start_act(const char *dir)
{
    struct campaign *c = NULL;
    struct err err = {0};
    int r = campaign_start(&farm, plan_for(dir), SPEC, &c, &err);

    if (r == 0)
        campaign_close(c);
    else
        assert_true(err.msg[0] != '\0');
    return r;
}

static void check_start(const char *dir, bool done)
{
    cleanup_free char *path = xasprintf("%s/campaigns/demo/RUN/plan.json", dir), *text = NULL;
    cleanup_free char *spec_path = xasprintf("%s/campaigns/demo/RUN/spec.ini", dir), *spec = NULL;
    struct run_row run;
    struct err err = {0};
    struct db *look = NULL;
    struct plan *plan = NULL;
    size_t size;
    int r;

    if (db_open(dir, false, &look, &err) != 0)
        fail_msg("%s", err.msg);
    r = runs_get(look, "demo", NULL, &run, &err);
    db_close(look);
    if (done)
        assert_int_equal(r, 0);
    if (r < 0)
        return;
    run_row_clear(&run);
    /* In the index, so what it needs to be gone on with is there. */
    assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &text, &size), 0);
    json_t *j = json_loadb(text, size, 0, NULL);
    if (plan_from_json(j, &plan, &err) != 0)
        fail_msg("%s", err.msg);
    json_decref(j);
    plan_free(plan);
    assert_int_equal(file_read(AT_FDCWD, spec_path, 1000, &spec, &size), 0);
    assert_string_equal(spec, SPEC);
}

static void end_farm(void)
{
    cgroup_root_free(cgroups);
    sd_event_unref(loop);
    db_close(db);
}

static void a_campaign_starts_with_all_it_needs_or_not_at_all(void **ctx)
{
    const struct fault_case c = {"start", make_farm, start_act, check_start, end_farm};

    (void)ctx;
    assert_true(fault_sweep(&c) > 3 * 15);
}

/* ---- The keeper's records ---- */

struct kind {
    const char *error;
    bool sticky;
};

/* One keeper whose at-th write fails (0: none) over a script; its wait status. */
static int keeper_round(const char *dir, const struct kind *kind, long at)
{
    cleanup_free char *unit = path_self_dir(), *keeper = path_join(unit, "../../fuzz-keeper");
    struct strv argv = {0}, env = {0};
    struct keeper_desc d = {.cpu = -1, .grace_ms = 1000, .log_max_bytes = 65536};
    int keep[2] = {-1, -1}, status = 0, pidfd = -1;
    struct proc_spawn sp = {.argv = &argv, .env = &env, .stdin_fd = -1, .stdout_fd = -1};
    pid_t pid;

    assert_int_equal(access(keeper, X_OK), 0);
    strv_add(&d.argv, "/bin/sh");
    strv_add(&d.argv, "-c");
    /* What runs must be on record. */
    strv_add(&d.argv, "echo started; grep -q '^sum=' \"$1/a.run\" && : >\"$1/../ran\"; exit 3");
    strv_add(&d.argv, "sh");
    strv_add(&d.argv, dir);
    strv_add(&d.env, "PATH=/usr/bin:/bin");
    d.cwd = xstrdup(dir);
    d.log_path = path_join(dir, "log");
    d.run_path = path_join(dir, "a.run");
    d.exit_path = path_join(dir, "a.exit");
    d.id = xstrdup("c/t/main");
    strv_add(&argv, keeper);
    strv_addf(&env, "LD_PRELOAD=%s", fault_shim());
    strv_add(&env, "ASAN_OPTIONS=verify_asan_link_order=0");
    strv_addf(&env, "FZ_FAULT_DIR=%s", dir);
    strv_addf(&env, "FZ_FAULT_MARK=%s/../hit", dir);
    strv_addf(&env, "FZ_FAULT_AT=%ld", at);
    strv_addf(&env, "FZ_FAULT_ERRNO=%s", kind->error);
    strv_add(&env, "FZ_FAULT_PROGRAM=fuzz-keeper");
    if (kind->sticky)
        strv_add(&env, "FZ_FAULT_STICKY=1");
    keep[0] = keeper_desc_pack(&d);
    assert_true(keep[0] >= 0);
    sp.stderr_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sp.new_session = true;
    sp.keep_fd[0] = keep[0];
    sp.keep_fd[1] = sp.keep_fd[2] = -1;
    assert_int_equal(proc_start(&sp, &pid, &pidfd), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(sp.stderr_fd);
    (void)close(pidfd);
    (void)close(keep[0]);
    strv_clear(&argv);
    strv_clear(&env);
    keeper_desc_clear(&d);
    return status;
}

/* True once for each file of that name. */
static bool taken(const char *dir, const char *name)
{
    cleanup_free char *path = path_join(dir, name);

    return unlink(path) == 0;
}

/* Whole, or not there, or plainly not a record. */
static void check_records(const char *dir, bool ran, int status)
{
    cleanup_free char *run_path = path_join(dir, "a.run"), *exit_path = path_join(dir, "a.exit");
    struct keeper_run run = {0};
    struct keeper_exit e = {0};
    int r = keeper_run_load(run_path, &run);

    if (ran)
        assert_int_equal(r, 0);
    if (r == 0) {
        assert_string_equal(run.id, "c/t/main");
        assert_true(run.afl.pid > 1);
    } else {
        assert_true(r == -ENOENT || r == -EBADMSG);
    }
    keeper_run_clear(&run);
    r = keeper_exit_load(exit_path, &e);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0)
        assert_int_equal(r, 0);
    if (r == 0 && ran) {
        assert_int_equal(e.end, KEEPER_EXITED);
        assert_int_equal(e.code, 3);
    } else if (r == 0) {
        assert_int_equal(e.end, KEEPER_SETUP_FAILED);
        assert_true(e.what[0] != '\0');
    } else {
        assert_true(r == -ENOENT || r == -EBADMSG);
        assert_int_equal(WEXITSTATUS(status), 1);
    }
}

static void a_record_of_the_keeper_is_whole_or_does_not_count(void **ctx)
{
    static const struct kind kinds[] = {{"ENOSPC", false}, {"ENOSPC", true}, {"EIO", false}};
    cleanup_free char *top = fault_folder(), *dir = path_join(top, "exit");
    long rounds = 0;

    (void)ctx;
    assert_int_equal(path_mkdirs(dir, 0700), 0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        bool hit = true;

        for (long at = 1; hit; at++, rounds++) {
            int status = keeper_round(dir, &kinds[i], at);
            bool ran = taken(top, "ran");

            hit = taken(top, "hit");
            check_records(dir, ran, status);
            if (!hit)
                assert_true(ran);
            /* The next start goes over whatever is left. */
            status = keeper_round(dir, &kinds[i], 0);
            assert_true(taken(top, "ran"));
            assert_false(taken(top, "hit"));
            check_records(dir, true, status);
            assert_int_equal(WEXITSTATUS(status), 0);
            (void)path_remove_tree(dir);
            assert_int_equal(path_mkdirs(dir, 0700), 0);
        }
    }
    print_message("# keeper: %ld faults\n", rounds - 3);
    assert_true(rounds > 3 * 8);
    assert_int_equal(path_remove_tree(top), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_campaign_starts_with_all_it_needs_or_not_at_all),
        cmocka_unit_test(a_record_of_the_keeper_is_whole_or_does_not_count),
    };

    (void)argc;
    fault_reexec(argv);
    log_init("test", LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
