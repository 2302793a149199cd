/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Nth write of each change of the store fails, for every N: what is then read is the old or
 * the new, and the change made again succeeds. SQLite's own calls are among them.
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
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "bundle/bundle.h"
#include "fault.h"
#include "plan/aflprobe.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

#define RUN "01KABCDEFGHJKMNPQRSTVWXYZ0"

static struct db *db;

static void close_db(void)
{
    db_close(db);
    db = NULL;
}

/* ---- A file of ours ---- */

static void make_file(const char *dir)
{
    cleanup_free char *path = path_join(dir, "plan.json");

    assert_int_equal(file_write_atomic(AT_FDCWD, path, "the old text", 12, 0600), 0);
}

static int write_file(const char *dir)
{
    cleanup_free char *path = path_join(dir, "plan.json");

    return file_write_atomic(AT_FDCWD, path, "something new", 13, 0600);
}

static void check_file(const char *dir, bool done)
{
    cleanup_free char *path = path_join(dir, "plan.json"), *data = NULL;
    size_t size;

    assert_int_equal(file_read(AT_FDCWD, path, 100, &data, &size), 0);
    if (done || strcmp(data, "the old text") != 0)
        assert_string_equal(data, "something new");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* no temporary is left */
    assert_int_equal(path_mkdirs(dir, 0700), 0);
    if (!done)
        make_file(dir);
}

static void a_file_written_is_the_old_or_the_new(void **ctx)
{
    const struct fault_case c = {"file", make_file, write_file, check_file, NULL};

    (void)ctx;
    assert_true(fault_sweep(&c) >= 3 * 4);
}

/* ---- The database ---- */

static void put_run(struct db *to, const char *dir, const char *state)
{
    cleanup_free char *s = xstrdup(state), *d = xasprintf("%s/campaigns/c/R1", dir);
    struct run_row r = {.id = (char *)(uintptr_t)RUN,
                        .campaign = (char *)(uintptr_t) "c",
                        .dir = d,
                        .state = s,
                        .started_at_ms = 1000};

    assert_int_equal(runs_put(to, &r, NULL), 0);
}

static int open_db(const char *dir)
{
    struct err err = {0};

    return db_open(dir, true, &db, &err);
}

static int make_db_act(const char *dir)
{
    struct err err = {0};
    int r = open_db(dir);

    if (r == 0)
        r = db_meta_set(db, "key", "value", &err);
    close_db();
    return r;
}

/* A reader finds a whole database, or one that is not there yet. */
static void check_made(const char *dir, bool done)
{
    struct db *look = NULL;
    struct err err = {0};
    int r = db_open(dir, false, &look, &err);
    cleanup_free char *value = r == 0 ? db_meta_get(look, "key") : NULL;

    if (done)
        assert_int_equal(r, 0);
    /* Before it keeps a log of its own, only a writer can take back what another began. */
    if (r != 0 && r != -ENOENT && (r != -EROFS || strstr(err.msg, "starting fuzzd") == NULL))
        fail_msg("%s", err.msg);
    if (done || value != NULL)
        assert_string_equal(value, "value");
    db_close(look);
}

static void a_database_is_made_or_not(void **ctx)
{
    const struct fault_case c = {"new database", NULL, make_db_act, check_made, NULL};

    (void)ctx;
    assert_true(fault_sweep(&c) > 30);
}

/* A database that its writer left without closing it: the log has all of it. */
static void make_left(const char *dir)
{
    static const char *const names[] = {"state.db", "state.db-wal"};
    char *copies[2] = {NULL, NULL};
    size_t sizes[2];

    assert_int_equal(open_db(dir), 0);
    assert_int_equal(db_meta_set(db, "key", "value", NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = path_join(dir, names[i]);

        assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &copies[i], &sizes[i]), 0);
    }
    close_db();
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = path_join(dir, names[i]);

        assert_int_equal(file_write_atomic(AT_FDCWD, path, copies[i], sizes[i], 0600), 0);
        free(copies[i]);
    }
}

static int recover_act(const char *dir)
{
    int r = open_db(dir);

    close_db();
    return r;
}

static void check_recovered(const char *dir, bool done)
{
    (void)done;
    check_made(dir, true);
}

static void a_database_left_by_a_crash_is_recovered(void **ctx)
{
    const struct fault_case c = {"recovery", make_left, recover_act, check_recovered, NULL};

    (void)ctx;
    assert_true(fault_sweep(&c) > 3);
}

/* ---- Rows ---- */

static void make_rows(const char *dir)
{
    assert_int_equal(open_db(dir), 0);
    put_run(db, dir, "running");
}

/* One transaction of three rows, as a campaign saves itself. */
static int rows_act(const char *dir)
{
    cleanup_free char *d = xasprintf("%s/campaigns/c/R1", dir);
    struct run_row r = {.id = (char *)(uintptr_t)RUN,
                        .campaign = (char *)(uintptr_t) "c",
                        .dir = d,
                        .state = (char *)(uintptr_t) "triage",
                        .started_at_ms = 1000};
    struct target_row t = {.run = (char *)(uintptr_t)RUN,
                           .name = (char *)(uintptr_t) "t",
                           .state = (char *)(uintptr_t) "ended",
                           .execs_done = 7};
    struct result_row res = {.run = (char *)(uintptr_t)RUN,
                             .target = (char *)(uintptr_t) "t",
                             .sha256 = (char *)(uintptr_t) "ab",
                             .class_ = (char *)(uintptr_t) "crash"};
    struct err err = {0};
    int rc = db_begin(db, &err);

    if (rc == 0)
        rc = runs_put(db, &r, &err);
    if (rc == 0)
        rc = runs_put_target(db, &t, &err);
    if (rc == 0)
        rc = results_put(db, &res, &err);
    if (rc == 0)
        rc = db_commit(db, &err);
    if (rc < 0)
        db_rollback(db);
    return rc;
}

static void check_rows(const char *dir, bool done)
{
    struct target_row *targets = NULL;
    struct result_row res;
    struct run_row run;
    struct db *look = NULL;
    struct err err = {0};
    size_t n = 0;
    bool changed;

    if (db_open(dir, false, &look, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(runs_get(look, "c", NULL, &run, &err), 0);
    changed = strcmp(run.state, "triage") == 0;
    if (done)
        assert_true(changed);
    assert_int_equal(runs_targets(look, RUN, &targets, &n, &err), 0);
    assert_int_equal(n, changed ? 1 : 0);
    assert_int_equal(results_get(look, RUN, "t", "ab", &res, &err), changed ? 0 : -ENOENT);
    if (changed) {
        assert_int_equal(targets[0].execs_done, 7);
        result_row_clear(&res);
        target_row_clear(&targets[0]);
    }
    free(targets);
    run_row_clear(&run);
    db_close(look);
}

static void rows_of_a_transaction_come_together(void **ctx)
{
    const struct fault_case c = {"rows", make_rows, rows_act, check_rows, close_db};

    (void)ctx;
    assert_true(fault_sweep(&c) > 3);
}

/* ---- Taking in crash files ---- */

static int told;

static void on_seen(void *ctx, const struct artifact_source *src, const struct artifact_seen *seen)
{
    (void)ctx;
    (void)src;
    assert_false(seen->unsaved);
    told++;
}

static void put_crash(const char *dir, const char *name, const char *text)
{
    cleanup_free char *folder = xasprintf("%s/campaigns/c/R1/out/t/main/crashes", dir);
    cleanup_free char *path = path_join(folder, name);

    assert_int_equal(path_mkdirs(folder, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600), 0);
}

static void make_crashes(const char *dir)
{
    make_rows(dir);
    put_crash(dir, "id:000000,sig:06", "one");
    put_crash(dir, "id:000001,sig:06", "two");
    put_crash(dir, "id:000002,sig:11", "one");
    told = 0;
}

static int scan_act(const char *dir)
{
    cleanup_free char *out = xasprintf("%s/campaigns/c/R1/out/t/main", dir);
    struct artifact_source src = {.run = RUN, .target = "t", .instance = "main", .out_dir = out};
    struct err err = {0};
    int before = told;
    int r = artifact_scan(db, dir, &src, NULL, on_seen, NULL, NULL, &err);

    if (r < 0)
        assert_int_equal(told, before); /* nothing was acknowledged */
    return r < 0 ? r : 0;
}

static void on_diff(void *ctx, enum artifact_word word, const char *line)
{
    bool done = *(bool *)ctx;

    if (word == ARTIFACT_DIFFERS && (done || strstr(line, "is on disk and not recorded") == NULL))
        fail_msg("%s", line);
}

static void check_scan(const char *dir, bool done)
{
    struct artifact_totals totals = {0};
    struct db *look = NULL;
    struct err err = {0};
    int64_t n;

    if (db_open(dir, false, &look, &err) != 0)
        fail_msg("%s", err.msg);
    n = artifact_verify(look, dir, NULL, on_diff, &done, &totals, &err);
    assert_int_equal(totals.files, 3);
    assert_true(totals.occurrences == 0 || totals.occurrences == 3);
    assert_int_equal(totals.blobs, totals.occurrences == 0 ? 0 : 2);
    assert_int_equal(n, totals.files - totals.occurrences);
    if (done) {
        assert_int_equal(n, 0);
        assert_int_equal(told, 3);
    }
    db_close(look);
}

static void an_input_is_taken_in_whole_or_later(void **ctx)
{
    const struct fault_case c = {"scan", make_crashes, scan_act, check_scan, close_db};

    (void)ctx;
    assert_true(fault_sweep(&c) > 3 * 8);
}

/* ---- Bundles ---- */

static void make_bucket(const char *dir)
{
    static const char *const names[] = {"spec.ini", "plan.json"};
    char detail[] = "{\"replay\":{\"path\":\"/bin/x\"},\"expect\":{},\"programs\":[]}";
    struct artifact_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    make_crashes(dir);
    assert_int_equal(scan_act(dir), 0);
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = xasprintf("%s/campaigns/c/R1/%s", dir, names[i]);

        assert_int_equal(file_write_atomic(AT_FDCWD, path, "{}", 2, 0600), 0);
    }
    assert_int_equal(artifact_list(db, RUN, &rows, &n, &err), 0);
    for (size_t i = 0; i < n; i++) {
        struct result_row r = {.run = (char *)(uintptr_t)RUN,
                               .target = (char *)(uintptr_t) "t",
                               .sha256 = rows[i].sha256,
                               .class_ = (char *)(uintptr_t) "crash",
                               .bucket = (char *)(uintptr_t) "0123456789ab",
                               .reproduced = 3,
                               .runs = 3,
                               .detail = detail};

        assert_int_equal(results_put(db, &r, &err), 0);
    }
    artifact_rows_free(rows, n);
    close_db();
}

static int bundle_act(const char *dir)
{
    cleanup_free char *path = NULL;
    struct err err = {0};

    return bundle_make(dir, RUN, "0123456789ab", &path, &err);
}

static void check_bundle(const char *dir, bool done)
{
    cleanup_free char *path = path_join(dir, "bundles/0123456789ab.tar.zst");
    struct err err = {0};

    if ((done || access(path, F_OK) == 0) && bundle_verify(path, &err) != 0)
        fail_msg("%s", err.msg);
}

static void a_bundle_of_its_name_is_whole(void **ctx)
{
    const struct fault_case c = {"bundle", make_bucket, bundle_act, check_bundle, NULL};

    (void)ctx;
    assert_true(fault_sweep(&c) > 3 * 4);
}

/* ---- What afl-fuzz answered ---- */

static const char fake_afl[] =
    "#!/bin/sh\n"
    "printf 'afl-fuzz++4.21c based on afl\\n  -i dir   - input\\n  -o dir   - output\\n'\n";

static void make_afl(const char *dir)
{
    cleanup_free char *path = path_join(dir, "afl-fuzz");

    assert_int_equal(file_write_atomic(AT_FDCWD, path, fake_afl, strlen(fake_afl), 0700), 0);
}

static int probe_act(const char *dir)
{
    cleanup_free char *path = path_join(dir, "afl-fuzz"), *cache = path_join(dir, "cache");
    struct aflprobe *p = NULL;
    struct err err = {0};
    int r = aflprobe_run(path, cache, &p, &err);

    if (r == 0) {
        assert_string_equal(p->version, "4.21c");
        assert_true(aflprobe_has_flag(p, 'o'));
    }
    aflprobe_free(p);
    return r;
}

static void check_probe(const char *dir, bool done)
{
    assert_true(done); /* the cache is a convenience */
    assert_int_equal(probe_act(dir), 0);
}

static void a_probe_does_not_need_its_cache(void **ctx)
{
    const struct fault_case c = {"probe", make_afl, probe_act, check_probe, NULL};

    (void)ctx;
    assert_true(fault_sweep(&c) > 3 * 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_written_is_the_old_or_the_new),
        cmocka_unit_test(a_database_is_made_or_not),
        cmocka_unit_test(a_database_left_by_a_crash_is_recovered),
        cmocka_unit_test(rows_of_a_transaction_come_together),
        cmocka_unit_test(an_input_is_taken_in_whole_or_later),
        cmocka_unit_test(a_bundle_of_its_name_is_whole),
        cmocka_unit_test(a_probe_does_not_need_its_cache),
    };

    (void)argc;
    fault_reexec(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
