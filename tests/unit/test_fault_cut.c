/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a state directory cut at every length, as a lost disk block or a host that went
 * down leaves them: a reader says that they are damaged, or reads something that was once
 * committed; it never takes a part for the whole.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "fault.h"
#include "plan/aflprobe.h"
#include "plan/plan.h"
#include "spec/spec.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

#define RUN     "01KABCDEFGHJKMNPQRSTVWXYZ0"
#define COMMITS 40

static char *dir;

static char *in_dir(const char *name)
{
    return path_join(dir, name);
}

static void put(const char *name, const char *data, size_t size)
{
    cleanup_free char *path = in_dir(name);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, data, size, 0600), 0);
}

static int setup(void **ctx)
{
    (void)ctx;
    dir = fault_folder();
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    assert_int_equal(path_remove_tree(dir), 0);
    free(dir);
    return 0;
}

/* A database of some pages, each commit of two rows; all of it in the file, or in the log. */
static void fill_db(bool checkpoint)
{
    static const char *const names[] = {"state.db", "state.db-wal"};
    cleanup_free char *out = in_dir("campaigns/c/R1/out/t/main/crashes");
    cleanup_free char *instance = in_dir("campaigns/c/R1/out/t/main");
    cleanup_free char *run_dir = in_dir("campaigns/c/R1");
    struct artifact_source src = {
        .run = RUN, .target = "t", .instance = "main", .out_dir = instance};
    struct run_row run = {.id = (char *)(uintptr_t)RUN,
                          .campaign = (char *)(uintptr_t) "c",
                          .dir = run_dir,
                          .state = (char *)(uintptr_t) "ended",
                          .started_at_ms = 1000};
    char *copies[2] = {NULL, NULL}, report[2000]; /* as they are while it is open */
    size_t sizes[2] = {0, 0};
    struct db *db = NULL;
    struct err err = {0};

    assert_int_equal(db_open(dir, true, &db, &err), 0);
    assert_int_equal(path_mkdirs(out, 0700), 0);
    put("campaigns/c/R1/plan.json", "{}", 2);
    for (int i = 0; i < 12; i++) {
        cleanup_free char *name = xasprintf("campaigns/c/R1/out/t/main/crashes/id:%06d,sig:06", i);

        put(name, name, strlen(name));
    }
    assert_int_equal(runs_put(db, &run, &err), 0);
    assert_int_equal(artifact_scan(db, dir, &src, NULL, NULL, NULL, NULL, &err), 12);
    memset(report, 'r', sizeof(report));
    report[sizeof(report) - 1] = '\0';
    for (int i = 0; i < COMMITS; i++) {
        cleanup_free char *n = xasprintf("%d", i), *sha256 = xasprintf("%064d", i);
        struct result_row row = {.run = (char *)(uintptr_t)RUN,
                                 .target = (char *)(uintptr_t) "t",
                                 .sha256 = sha256,
                                 .class_ = (char *)(uintptr_t) "crash",
                                 .report = report};

        assert_int_equal(db_begin(db, &err), 0);
        assert_int_equal(results_put(db, &row, &err), 0);
        assert_int_equal(db_meta_set(db, "n", n, &err), 0);
        assert_int_equal(db_commit(db, &err), 0);
    }
    if (!checkpoint) {
        for (size_t i = 0; i < 2; i++) {
            cleanup_free char *path = in_dir(names[i]);

            assert_int_equal(file_read(AT_FDCWD, path, 8 << 20, &copies[i], &sizes[i]), 0);
        }
    }
    db_close(db);
    for (size_t i = 0; i < 2 && !checkpoint; i++) {
        put(names[i], copies[i], sizes[i]);
        free(copies[i]);
    }
}

static void drop_shm(void)
{
    cleanup_free char *shm = in_dir("state.db-shm");

    (void)unlink(shm);
}

/* Everything that is in it; -errno with words when it is damaged. n: the last commit, -1 none. */
static int read_db(bool writable, long *n, struct err *err)
{
    struct run_row *runs = NULL;
    struct result_row *results = NULL;
    struct db *db = NULL;
    size_t n_runs = 0, n_results = 0;
    int r = db_open(dir, writable, &db, err);

    *n = -1;
    if (r == 0) {
        cleanup_free char *value = db_meta_get(db, "n");

        if (value != NULL)
            *n = strtol(value, NULL, 10);
        r = runs_list(db, false, &runs, &n_runs, err);
    }
    if (r == 0)
        r = results_list(db, RUN, &results, &n_results, err);
    if (r == 0) {
        /* One commit has put both. */
        assert_int_equal(n_results, *n + 1);
        assert_true(n_runs == 1 || *n == -1);
    }
    for (size_t i = 0; i < n_results; i++) {
        assert_int_equal(strlen(results[i].report), 1999);
        assert_int_equal(strspn(results[i].report, "r"), 1999);
        result_row_clear(&results[i]);
    }
    for (size_t i = 0; i < n_runs; i++)
        run_row_clear(&runs[i]);
    free(results);
    free(runs);
    db_close(db);
    return r;
}

/* The readers' part: words in one line. */
static void assert_words(const struct err *err)
{
    assert_true(strlen(err->msg) > 20);
    assert_null(strchr(err->msg, '\n'));
    assert_non_null(strstr(err->msg, "state.db"));
}

static void on_cut_db(void *ctx, size_t size, size_t whole)
{
    cleanup_free char *path = in_dir("state.db");
    struct stat sb;
    long n;

    (void)ctx;
    (void)whole;
    for (int writable = 0; writable < 2; writable++) {
        struct err err = {0};

        drop_shm();
        if (read_db(writable != 0, &n, &err) == 0)
            fail_msg("cut to %zu bytes, it was read as whole", size);
        assert_words(&err);
        assert_int_equal(err.code, -EIO);
        assert_non_null(strstr(err.msg, "damaged"));
    }
    /* Nobody has made a new one of it. */
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_size, size);
}

static void a_database_that_was_cut_is_refused_and_left_alone(void **ctx)
{
    cleanup_free char *path = in_dir("state.db");
    struct err err = {0};
    long n;

    (void)ctx;
    fill_db(true);
    drop_shm();
    fault_cut(path, on_cut_db, NULL);
    drop_shm();
    if (read_db(true, &n, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(n, COMMITS - 1);
}

static void a_database_that_is_gone_is_not_made_anew_over_its_runs(void **ctx)
{
    cleanup_free char *path = in_dir("state.db");
    struct err err = {0};
    long n;

    (void)ctx;
    fill_db(true);
    assert_int_equal(unlink(path), 0);
    for (int writable = 0; writable < 2; writable++) {
        assert_int_equal(read_db(writable != 0, &n, &err), -EIO);
        assert_words(&err);
    }
    assert_int_equal(access(path, F_OK), -1);
}

static void on_cut_log(void *ctx, size_t size, size_t whole)
{
    cleanup_free char *db = in_dir("state.db"), *wal = in_dir("state.db-wal"), *copy = NULL;
    long n, *seen = ctx;
    struct err err = {0};
    size_t db_size;

    (void)whole;
    /* Reading may write back what it finds. */
    assert_int_equal(file_read(AT_FDCWD, db, 8 << 20, &copy, &db_size), 0);
    drop_shm();
    if (read_db(true, &n, &err) != 0) {
        /* All there was of it stood in the log. */
        assert_words(&err);
        n = -1;
        assert_true(size < 200 * 1024);
    }
    assert_true(n >= *seen);
    *seen = n;
    (void)unlink(wal);
    put("state.db", copy, db_size);
}

static void a_log_that_was_cut_leaves_what_was_committed_before(void **ctx)
{
    cleanup_free char *path = in_dir("state.db-wal");
    long seen = -1;

    (void)ctx;
    fill_db(false);
    fault_cut(path, on_cut_log, &seen);
    assert_true(seen >= COMMITS - 2); /* the last cut takes a byte of the last commit */
    on_cut_log(&seen, SIZE_MAX, 0);
    assert_int_equal(seen, COMMITS - 1);
}

static void on_cut_index(void *ctx, size_t size, size_t whole)
{
    cleanup_free char *db = in_dir("state.db"), *wal = in_dir("state.db-wal");
    cleanup_free char *db_copy = NULL, *wal_copy = NULL;
    struct err err = {0};
    size_t db_size, wal_size;
    long n;

    (void)ctx;
    (void)size;
    (void)whole;
    /* Its last reader writes back what stands in the log. */
    assert_int_equal(file_read(AT_FDCWD, db, 8 << 20, &db_copy, &db_size), 0);
    assert_int_equal(file_read(AT_FDCWD, wal, 8 << 20, &wal_copy, &wal_size), 0);
    if (read_db(true, &n, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(n, COMMITS - 1);
    put("state.db", db_copy, db_size);
    put("state.db-wal", wal_copy, wal_size);
}

static void an_index_of_the_log_that_was_cut_is_made_anew(void **ctx)
{
    char noise[2 * 32768];
    cleanup_free char *path = in_dir("state.db-shm");

    (void)ctx;
    fill_db(false);
    memset(noise, 0x5a, sizeof(noise));
    put("state.db-shm", noise, sizeof(noise));
    fault_cut(path, on_cut_index, NULL);
}

/* ---- Plan, spec, cache, blob ---- */

static void on_cut_plan(void *ctx, size_t size, size_t whole)
{
    cleanup_free char *path = in_dir("plan.json"), *text = NULL;
    struct plan *plan = NULL;
    struct err err = {0};
    size_t got;
    json_t *j;

    (void)ctx;
    assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &text, &got), 0);
    j = json_loadb(text, got, JSON_REJECT_DUPLICATES, NULL);
    if (j != NULL && plan_from_json(j, &plan, &err) == 0 && size + 1 < whole)
        fail_msg("a plan cut to %zu of %zu bytes was taken", size, whole);
    json_decref(j);
    plan_free(plan);
}

static void a_plan_that_was_cut_is_no_plan(void **ctx)
{
    cleanup_free char *text = NULL, *path = in_dir("plan.json");
    char hash[65];
    size_t size;
    json_t *j;

    (void)ctx;
    assert_int_equal(
        file_read(AT_FDCWD, "tests/fixtures/plan/4.04c-2-cores/plan.json", 1 << 20, &text, &size),
        0);
    j = json_loadb(text, size, 0, NULL);
    plan_hash_json(j, hash);
    json_object_set_new(j, "hash", json_string(hash));
    free(text);
    text = json_dumps(j, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(j);
    put("plan.json", text, strlen(text));
    fault_cut(path, on_cut_plan, NULL);
}

static void on_cut_cache(void *ctx, size_t size, size_t whole)
{
    const char *afl = ctx;
    cleanup_free char *cache = in_dir("cache");
    struct aflprobe *p = NULL;
    struct err err = {0};

    (void)size;
    (void)whole;
    if (aflprobe_run(afl, cache, &p, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(p->version, "4.21c");
    assert_true(aflprobe_has_flag(p, 'x') && aflprobe_has_env(p, "AFL_FINAL_SYNC"));
    aflprobe_free(p);
}

static void a_cache_that_was_cut_is_asked_for_again(void **ctx)
{
    static const char script[] =
        "#!/bin/sh\n"
        "printf 'afl-fuzz++4.21c based on afl\\n  -i dir   - input\\n  -o dir   - output\\n"
        "  -x dict  - dictionary\\nEnvironment variables used:\\nAFL_FINAL_SYNC: sync\\n'\n";
    cleanup_free char *afl = in_dir("afl-fuzz"), *cache = in_dir("cache"), *file = NULL;
    char sha256[65];

    (void)ctx;
    put("afl-fuzz", script, strlen(script));
    assert_int_equal(chmod(afl, 0700), 0);
    on_cut_cache(afl, 0, 0);
    assert_int_equal(file_sha256(AT_FDCWD, afl, 1 << 20, sha256, NULL), 0);
    file = xasprintf("%s/aflprobe-%s.json", cache, sha256);
    fault_cut(file, on_cut_cache, afl);
}

static void on_cut_spec(void *ctx, size_t size, size_t whole)
{
    cleanup_free char *path = in_dir("spec.ini");
    struct spec_faults faults = {0};
    struct spec_overrides ov = {0};
    struct spec *spec = NULL;
    struct err err = {0};

    (void)ctx;
    (void)size;
    (void)whole;
    /* A text file has no end mark: that it is refused or read in one piece is all there is. */
    if (spec_load(path, &ov, &spec, &faults, &err) < 0)
        assert_true(spec_faults_errors(&faults) > 0 || err.msg[0] != '\0');
    spec_faults_clear(&faults);
    spec_free(spec);
}

static void a_spec_that_was_cut_is_refused_in_words(void **ctx)
{
    cleanup_free char *text = NULL, *path = in_dir("spec.ini");
    size_t size;

    (void)ctx;
    assert_int_equal(file_read(AT_FDCWD, "conf/campaigns/chunk_frame.ini", 1 << 20, &text, &size),
                     0);
    put("spec.ini", text, size);
    fault_cut(path, on_cut_spec, NULL);
}

struct blob_cut {
    struct db *db;
    const char *sha256;
};

static void on_blob_diff(void *ctx, enum artifact_word word, const char *line)
{
    int *n = ctx;

    assert_int_equal(word, ARTIFACT_DIFFERS);
    assert_non_null(strstr(line, "holds other bytes"));
    (*n)++;
}

static void on_cut_blob(void *ctx, size_t size, size_t whole)
{
    struct db *db = ctx;
    struct err err = {0};
    int told = 0;

    (void)size;
    (void)whole;
    assert_int_equal(artifact_verify(db, dir, NULL, on_blob_diff, &told, NULL, &err), 1);
    assert_int_equal(told, 1);
}

static void a_blob_that_was_cut_is_a_difference(void **ctx)
{
    struct artifact_row *rows = NULL;
    struct db *db = NULL;
    struct err err = {0};
    size_t n = 0;

    (void)ctx;
    fill_db(true);
    assert_int_equal(db_open(dir, false, &db, &err), 0);
    assert_int_equal(artifact_list(db, RUN, &rows, &n, &err), 0);
    assert_int_equal(n, 12);
    cleanup_free char *path = artifact_blob_path(dir, rows[3].sha256);
    fault_cut(path, on_cut_blob, db);
    assert_int_equal(artifact_verify(db, dir, NULL, on_blob_diff, NULL, NULL, &err), 0);
    artifact_rows_free(rows, n);
    db_close(db);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_database_that_was_cut_is_refused_and_left_alone),
        T(a_database_that_is_gone_is_not_made_anew_over_its_runs),
        T(a_log_that_was_cut_leaves_what_was_committed_before),
        T(an_index_of_the_log_that_was_cut_is_made_anew),
        T(a_plan_that_was_cut_is_no_plan),
        T(a_cache_that_was_cut_is_asked_for_again),
        T(a_spec_that_was_cut_is_refused_in_words),
        T(a_blob_that_was_cut_is_a_difference),
    };

    (void)argc;
    (void)argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
