/* SPDX-License-Identifier: Apache-2.0 */
/* The database: its schema and versions, rows of runs, targets and results, buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "store/db.h"
#include "store/results.h"
#include "store/runs.h"

static char *state;

static int setup(void **ctx)
{
    char dir[] = "/tmp/fz-store.XXXXXX";

    (void)ctx;
    assert_non_null(mkdtemp(dir));
    state = xstrdup(dir);
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    assert_int_equal(path_remove_tree(state), 0);
    free(state);
    return 0;
}

static struct db *open_db(bool writable)
{
    struct db *db = NULL;
    struct err err;

    if (db_open(state, writable, &db, &err) < 0)
        fail_msg("%s", err.msg);
    return db;
}

static void put_run(struct db *db, const char *id, const char *campaign, int64_t started_ms,
                    const char *run_state)
{
    cleanup_free char *i = xstrdup(id), *c = xstrdup(campaign), *s = xstrdup(run_state);
    cleanup_free char *d = xasprintf("%s/campaigns/%s/%s", state, campaign, id);
    struct run_row r = {.id = i, .campaign = c, .dir = d, .state = s, .started_at_ms = started_ms};
    struct err err;

    r.seed = UINT64_MAX - 1;
    if (runs_put(db, &r, &err) < 0)
        fail_msg("%s", err.msg);
}

static void a_reader_finds_no_database(void **ctx)
{
    struct db *db = NULL;
    struct err err;

    (void)ctx;
    assert_int_equal(db_open(state, false, &db, &err), -ENOENT);
    assert_null(db);
}

static void a_database_is_private_and_survives_reopening(void **ctx)
{
    struct db *db = open_db(true);
    cleanup_free char *path = path_join(state, "state.db");
    cleanup_free char *value = NULL;
    struct stat sb;

    (void)ctx;
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_mode & 07777, 0600);
    assert_int_equal(db_meta_set(db, "statsd_port", "1", NULL), 0);
    assert_int_equal(db_meta_set(db, "statsd_port", "8125", NULL), 0);
    db_close(db);
    db = open_db(false);
    value = db_meta_get(db, "statsd_port");
    assert_string_equal(value, "8125");
    assert_null(db_meta_get(db, "none"));
    assert_int_equal(db_meta_set(db, "statsd_port", "1", NULL), -EROFS);
    db_close(db);
}

static void commits_are_synced_and_keys_enforced(void **ctx)
{
    struct db *db = open_db(true);
    const char *const want[][2] = {{"PRAGMA journal_mode", "wal"},
                                   {"PRAGMA synchronous", "2"},
                                   {"PRAGMA foreign_keys", "1"},
                                   {"PRAGMA user_version", "3"}};
    struct target_row t = {.run = xstrdup("none"), .name = xstrdup("t"), .state = xstrdup("ended")};
    struct err err;

    (void)ctx;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        sqlite3_stmt *st = NULL;

        assert_int_equal(sqlite3_prepare_v2(db_handle(db), want[i][0], -1, &st, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(st), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(st, 0), want[i][1]);
        sqlite3_finalize(st);
    }
    assert_true(runs_put_target(db, &t, &err) < 0); /* of a run that is not there */
    target_row_clear(&t);
    db_close(db);
}

static void set_version(const char *sql)
{
    cleanup_free char *path = path_join(state, "state.db");
    sqlite3 *sq = NULL;

    assert_int_equal(sqlite3_open(path, &sq), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sq, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(sq);
}

static void a_newer_schema_is_refused_and_left_alone(void **ctx)
{
    struct db *db = open_db(true);
    struct err err;

    (void)ctx;
    db_close(db);
    set_version("PRAGMA user_version = 4");
    db = NULL;
    assert_int_equal(db_open(state, true, &db, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "schema version 4"));
    assert_int_equal(db_open(state, false, &db, &err), -EPROTO);
    assert_null(db);
    set_version("PRAGMA user_version = 3");
    db_close(open_db(true));
}

/* The ids of all runs, newest first, a blank behind each. Caller frees. */
static char *order_of_runs(struct db *db)
{
    struct run_row *rows = NULL;
    struct err err;
    size_t n = 0;
    char *out = xstrdup("");

    assert_int_equal(runs_list(db, false, &rows, &n, &err), 0);
    for (size_t i = 0; i < n; i++) {
        char *more = xasprintf("%s%s ", out, rows[i].id);

        free(out);
        out = more;
        run_row_clear(&rows[i]);
    }
    free(rows);
    return out;
}

static void a_run_of_a_clock_ahead_hides_none_that_came_later(void **ctx)
{
    struct db *db = open_db(true);
    cleanup_free char *order = NULL;
    struct run_row r;
    struct err err;

    (void)ctx;
    put_run(db, "R1", "c", 1000, "ended");
    put_run(db, "R2", "c", 90000, "ended");
    put_run(db, "R3", "c", 2000, "running");
    put_run(db, "R1", "c", 1000, "ended"); /* written again, it began no later */
    assert_int_equal(runs_get(db, "c", NULL, &r, &err), 0);
    assert_string_equal(r.id, "R3");
    run_row_clear(&r);
    order = order_of_runs(db);
    assert_string_equal(order, "R3 R2 R1 ");
    db_close(db);
}

/*
 * Version 1 knew a file by its mtime, so that a copied state directory had each twice; version 2 told the order of runs by the
 * clock.
 */
static void an_older_database_is_brought_up_to_date(void **ctx)
{
    struct db *db = open_db(true);
    cleanup_free char *order = NULL;
    sqlite3_stmt *st = NULL;

    (void)ctx;
    put_run(db, "R1", "c", 2, "ended");
    put_run(db, "R3", "c", 1, "ended");
    put_run(db, "R2", "c", 1, "ended");
    db_close(db);
    set_version("DROP INDEX runs_campaign; DROP INDEX runs_nth; ALTER TABLE runs DROP COLUMN nth;"
                "CREATE INDEX runs_campaign ON runs (campaign, started_at_ms);"
                "DROP INDEX occurrences_identity;"
                "CREATE UNIQUE INDEX occurrences_identity ON occurrences"
                " (run, target, instance, kind, name, mtime_ns, ifnull(sha256, ''));"
                "INSERT INTO blobs VALUES ('aa', 1, 1), ('bb', 1, 1);"
                "INSERT INTO occurrences (run, target, instance, kind, name, folder, sha256, code,"
                " size_bytes, mtime_ns, ino, seen_at_ms) VALUES"
                " ('R1', 't', 'main', 'crash', 'a', 'crashes', 'aa', 0, 1, 15, 1, 1),"
                " ('R1', 't', 'main', 'crash', 'a', 'crashes', 'aa', 0, 1, 10, 2, 2),"
                " ('R1', 't', 'main', 'crash', 'a', 'crashes.x', 'aa', 0, 1, 11, 3, 3),"
                " ('R1', 't', 'main', 'crash', 'a', 'crashes', 'bb', 0, 1, 12, 4, 4);"
                "PRAGMA user_version = 1");
    db = open_db(true);
    assert_int_equal(sqlite3_prepare_v2(db_handle(db), "SELECT count(*), sum(ino) FROM occurrences",
                                        -1, &st, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(st, 0), 3);
    assert_int_equal(sqlite3_column_int(st, 1), 1 + 3 + 4);
    sqlite3_finalize(st);
    order = order_of_runs(db);
    assert_string_equal(order, "R1 R3 R2 ");
    db_close(db);
}

static void a_database_of_another_program_is_refused(void **ctx)
{
    struct db *db = NULL;
    struct err err;

    (void)ctx;
    set_version("CREATE TABLE bookmarks (url TEXT)");
    assert_int_equal(db_open(state, true, &db, &err), -EIO);
    assert_int_equal(db_open(state, false, &db, &err), -EIO);
}

static void a_damaged_file_and_a_link_are_refused(void **ctx)
{
    cleanup_free char *path = path_join(state, "state.db");
    struct db *db = NULL;
    struct err err;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    (void)ctx;
    for (int i = 0; i < 400; i++)
        assert_int_equal(write(fd, "not a database..", 16), 16);
    close(fd);
    assert_int_equal(db_open(state, true, &db, &err), -EIO);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(db_open(state, true, &db, &err), -ELOOP);
}

static void a_rollback_takes_all_back(void **ctx)
{
    struct db *db = open_db(true);

    (void)ctx;
    assert_int_equal(db_begin(db, NULL), 0);
    assert_int_equal(db_meta_set(db, "k", "v", NULL), 0);
    db_rollback(db);
    assert_null(db_meta_get(db, "k"));
    db_rollback(db); /* none open: harmless */
    db_close(db);
}

static void runs_are_found_by_name_id_and_tail(void **ctx)
{
    struct db *db = open_db(true);
    struct run_row r, *rows;
    struct err err;
    size_t n;

    (void)ctx;
    assert_int_equal(runs_get(db, NULL, NULL, &r, &err), -ENOENT);
    put_run(db, "01AAAAAAAAAAAAAAAAAAAAAAA1", "png", 1000, "ended");
    put_run(db, "01BBBBBBBBBBBBBBBBBBBBBBB2", "png", 2000, "running");
    put_run(db, "01CCCCCCCCCCCCCCCCCCCCCCC3", "it's \"odd\"", 3000, "ended");
    assert_int_equal(runs_get(db, "png", NULL, &r, &err), 0);
    assert_string_equal(r.id, "01BBBBBBBBBBBBBBBBBBBBBBB2");
    assert_true(r.seed == UINT64_MAX - 1);
    assert_null(r.verdict);
    run_row_clear(&r);
    assert_int_equal(runs_get(db, "png", "aaaaa1", &r, &err), 0);
    assert_string_equal(r.id, "01AAAAAAAAAAAAAAAAAAAAAAA1");
    run_row_clear(&r);
    assert_int_equal(runs_get(db, NULL, NULL, &r, &err), 0);
    assert_string_equal(r.campaign, "it's \"odd\"");
    run_row_clear(&r);
    assert_int_equal(runs_get(db, "png", "A1", &r, &err), -ENOENT); /* too short to mean one */
    assert_int_equal(runs_get(db, "png", "%", &r, &err), -ENOENT);
    assert_int_equal(runs_get(db, "gif", NULL, &r, &err), -ENOENT);
    assert_string_equal(err.msg, "no campaign \"gif\"");
    assert_int_equal(runs_list(db, true, &rows, &n, &err), 0);
    assert_int_equal(n, 1);
    run_row_clear(&rows[0]);
    free(rows);
    db_close(db);
}

static void rewriting_a_run_keeps_its_targets_in_order(void **ctx)
{
    struct db *db = open_db(true);
    const char *const names[] = {"zeta", "alpha", "mid"};
    struct target_row *rows;
    struct err err;
    size_t n;

    (void)ctx;
    put_run(db, "R1", "c", 1, "running");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            struct target_row t = {.run = xstrdup("R1"),
                                   .name = xstrdup(names[i]),
                                   .state = xstrdup(round ? "ended" : "running"),
                                   .execs_done = 100 * round + i,
                                   .stability = 99.5,
                                   .edges_floor = -1};

            assert_int_equal(runs_put_target(db, &t, &err), 0);
            target_row_clear(&t);
        }
        put_run(db, "R1", "c", 1, round ? "ended" : "triage");
    }
    assert_int_equal(runs_targets(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(rows[i].name, names[i]);
        assert_string_equal(rows[i].state, "ended");
        assert_int_equal(rows[i].execs_done, 100 + i);
        assert_int_equal(rows[i].edges_floor, -1);
        assert_true(rows[i].stability > 99.4 && rows[i].stability < 99.6);
        target_row_clear(&rows[i]);
    }
    free(rows);
    db_close(db);
}

static void put_result(struct db *db, const char *run, const char *sha, const char *bucket,
                       int severity, int reproduced)
{
    cleanup_free char *r = xstrdup(run), *s = xstrdup(sha), *t = xstrdup("t");
    cleanup_free char *b = bucket != NULL ? xstrdup(bucket) : NULL;
    cleanup_free char *c = xstrdup(reproduced ? "crash" : "unreproduced");
    struct result_row row = {.run = r,
                             .target = t,
                             .sha256 = s,
                             .class_ = c,
                             .bucket = b,
                             .severity = severity,
                             .reproduced = reproduced,
                             .runs = 3};
    struct err err;

    if (results_put(db, &row, &err) < 0)
        fail_msg("%s", err.msg);
}

static void buckets_gather_results_and_name_the_best_input(void **ctx)
{
    struct db *db = open_db(true);
    struct bucket_row *rows, b;
    struct result_row *in, one;
    struct err err;
    char *run = NULL;
    size_t n;

    (void)ctx;
    put_run(db, "R1", "c", 1, "ended");
    put_run(db, "R2", "c", 2, "ended");
    put_result(db, "R1", "s1", "aaaa11112222", 3, 2);
    put_result(db, "R1", "s2", "aaaa11112222", 5, 3);
    put_result(db, "R1", "s3", "bbbb11112222", 4, 3);
    put_result(db, "R1", "s4", NULL, 1, 0);
    put_result(db, "R2", "s3", "bbbb11112222", 4, 3);
    put_result(db, "R2", "s5", "bbbc11112222", 4, 3);
    put_result(db, "R2", "s5", "bbbc11112222", 2, 1); /* told anew */

    assert_int_equal(results_buckets(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].id, "aaaa11112222");
    assert_int_equal(rows[0].severity, 5);
    assert_int_equal(rows[0].inputs, 2);
    assert_string_equal(rows[0].best_sha256, "s2");
    assert_int_equal(rows[0].reproduced, 3);
    assert_string_equal(rows[1].id, "bbbb11112222");
    bucket_rows_free(rows, n);

    assert_int_equal(results_inputs(db, "R1", "aaaa11112222", &in, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(in[0].sha256, "s2");
    result_row_clear(&in[0]);
    result_row_clear(&in[1]);
    free(in);
    assert_int_equal(results_inputs(db, "R1", NULL, &in, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_string_equal(in[0].class_, "unreproduced");
    result_row_clear(&in[0]);
    free(in);

    assert_int_equal(results_bucket_find(db, "bbbb", &b, &run, &err), 0);
    assert_string_equal(run, "R2"); /* the newest that has it */
    free(run);
    free(b.id), free(b.target), free(b.class_), free(b.best_sha256);
    assert_int_equal(results_bucket_find(db, "bbb", &b, &run, &err), -ENOENT);
    assert_int_equal(results_bucket_find(db, "bbbc1", &b, &run, &err), 0);
    free(run);
    free(b.id), free(b.target), free(b.class_), free(b.best_sha256);
    put_result(db, "R2", "s6", "bbbcffff2222", 4, 3);
    assert_int_equal(results_bucket_find(db, "bbbc", &b, &run, &err), -ENOTUNIQ);
    assert_int_equal(results_bucket_find(db, "____", &b, &run, &err), -ENOENT);

    assert_int_equal(results_get(db, "R2", "t", "s5", &one, &err), 0);
    assert_int_equal(one.reproduced, 1);
    result_row_clear(&one);
    assert_int_equal(results_get(db, "R2", "t", "s9", &one, &err), -ENOENT);
    db_close(db);
}

static void a_path_longer_than_sqlite_takes_is_told_as_that(void **ctx)
{
    cleanup_free char *name = xasprintf("%0250d", 1);
    cleanup_free char *sub = path_join(state, name);
    cleanup_free char *deep = path_join(sub, name);
    struct db *db = NULL;
    struct err err;

    (void)ctx;
    assert_int_equal(path_mkdirs(deep, 0700), 0);
    assert_int_equal(db_open(deep, true, &db, &err), -ENAMETOOLONG);
    assert_non_null(strstr(err.msg, "the longest path SQLite takes"));
    assert_int_equal(db_open(sub, true, &db, &err), 0);
    db_close(db);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_reader_finds_no_database),
        T(a_database_is_private_and_survives_reopening),
        T(commits_are_synced_and_keys_enforced),
        T(a_newer_schema_is_refused_and_left_alone),
        T(a_run_of_a_clock_ahead_hides_none_that_came_later),
        T(an_older_database_is_brought_up_to_date),
        T(a_database_of_another_program_is_refused),
        T(a_damaged_file_and_a_link_are_refused),
        T(a_path_longer_than_sqlite_takes_is_told_as_that),
        T(a_rollback_takes_all_back),
        T(runs_are_found_by_name_id_and_tail),
        T(rewriting_a_run_keeps_its_targets_in_order),
        T(buckets_gather_results_and_name_the_best_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
