/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From crash files to a bundle, with the real store and triage and a shell script
 * as the program under test: made twice it is the same bytes, plain tar opens it,
 * and its repro.sh reproduces.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "bundle/bundle.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"
#include "sys/proc.h"
#include "triage/job.h"
#include "triage/json_util.h"

#define RUN  "01KABCDEFGHJKMNPQRSTVWXYZ0"
#define PLAN "tests/fixtures/plan/4.04c-2-cores/"

static char *dir, *state_dir, *run_dir, *program, *bucket;

static const char script[] = "#!/bin/sh\n"
                             "case $(cat) in bad*) echo 'FZ-FAIL target=t class=invariant inv=C7 "
                             "detail=x' >&2; kill -ABRT $$ ;; esac\n";

static void put(const char *folder, const char *name, const char *text, mode_t mode)
{
    char *path = path_join(folder, name), *parent = path_dirname(path);

    assert_int_equal(path_mkdirs(parent, 0755), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), mode), 0);
    free(parent);
    free(path);
}

static void put_copy(const char *name)
{
    char *from = path_join(PLAN, name), *data;
    size_t size;

    assert_int_equal(file_read(AT_FDCWD, from, 1 << 20, &data, &size), 0);
    put(run_dir, name, data, 0644);
    free(data);
    free(from);
}

/* Replays one stored input and stores the result, as fuzzd does. */
static void on_seen(void *ctx, const struct artifact_source *src, const struct artifact_seen *seen)
{
    struct db *db = ctx;
    char *blob = artifact_blob_path(state_dir, seen->sha256);
    struct result_row row;
    struct err err = {0};
    json_t *job, *answer;

    if (!seen->new_content) {
        free(blob);
        return;
    }
    job = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:[], s:[s], s:[{s:s, s:s}]}",
                    "job", "input", "target", "t", "blob", blob, "sha256", seen->sha256,
                    "artifact_kind", "crash", "file", seen->name, "runs", 2, "timeout_ms", 2000,
                    "memory_bytes", 0, "args", "env", "X=it's", "programs", "role", "replay",
                    "path", program);
    assert_non_null(job);
    answer = job_run(job);
    if (job_result_parse(answer, src->run, src->target, seen->sha256, &row, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(results_put(db, &row, &err), 0);
    assert_string_equal(row.class_, "invariant");
    free(bucket);
    bucket = xstrdup(row.bucket);
    result_row_clear(&row);
    json_decref(answer);
    json_decref(job);
    free(blob);
}

static void fill(void)
{
    struct db *db = NULL;
    struct err err = {0};
    struct run_row run = {.id = (char *)(uintptr_t)RUN,
                          .campaign = (char *)(uintptr_t) "demo",
                          .dir = run_dir,
                          .state = (char *)(uintptr_t) "ended",
                          .started_at_ms = 1000000};
    char *out = path_join(run_dir, "out/t/main");
    struct artifact_source src = {.run = RUN, .target = "t", .instance = "main", .out_dir = out};
    bool more = false;

    assert_int_equal(path_mkdirs(state_dir, 0755), 0);
    if (db_open(state_dir, true, &db, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(path_mkdirs(run_dir, 0755), 0);
    put(dir, "pro gram", script, 0755);
    put_copy("plan.json");
    put_copy("spec.ini");
    put(out, "crashes/id:000000,sig:06", "bad and long", 0644);
    put(out, "crashes/id:000001,sig:06", "bad", 0644);
    put(out, "crashes/id:000002,sig:06", "bad", 0644);
    assert_int_equal(runs_put(db, &run, &err), 0);
    if (artifact_scan(db, state_dir, &src, NULL, on_seen, db, &more, &err) < 0)
        fail_msg("%s", err.msg);
    db_close(db);
    free(out);
}

static void the_same_state_makes_the_same_bundle(void **state)
{
    char *path = NULL, *again = NULL, first[65], second[65];
    struct err err = {0};
    uint64_t size;

    (void)state;
    if (bundle_make(state_dir, RUN, bucket, &path, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(file_sha256(AT_FDCWD, path, 1 << 20, first, &size), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(bundle_make(state_dir, RUN, bucket, &again, &err), 0);
    assert_string_equal(path, again);
    assert_int_equal(file_sha256(AT_FDCWD, path, 1 << 20, second, &size), 0);
    assert_string_equal(first, second);
    if (bundle_verify(path, &err) != 0)
        fail_msg("%s", err.msg);
    free(path);
    free(again);
}

static void the_manifest_says_what_it_is(void **state)
{
    char *path = xasprintf("%s/bundles/%s.tar.zst", state_dir, bucket);
    json_t *m = NULL;
    struct err err = {0};

    (void)state;
    if (bundle_show(path, &m, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(json_str(m, "signature", ""), "invariant t C7");
    assert_string_equal(json_str(m, "class", ""), "invariant");
    assert_string_equal(json_str(json_object_get(m, "afl"), "version", ""), "4.04c");
    assert_int_equal(json_int(m, "reproduced", 0), 2);
    assert_int_equal(json_int(m, "count", 0), 3);
    assert_int_equal(json_array_size(json_object_get(m, "inputs")), 2);
    assert_int_equal(json_array_size(json_object_get(m, "members")), 7);
    assert_null(json_object_get(json_object_get(m, "replay"), "command"));
    json_decref(m);
    free(path);
}

static int run(const char *a, const char *b, const char *c, const char *d, const char *e,
               char **ret_out)
{
    const char *const words[] = {a, b, c, d, e};
    struct strv argv = {0};
    struct proc_spec ps = {
        .argv = &argv, .timeout_ms = 30000, .max_out = 65536, .cgroup_procs_fd = {-1, -1, -1, -1}};
    struct proc_result pr;
    struct err err = {0};
    int rc;

    for (size_t i = 0; i < 5 && words[i] != NULL; i++)
        strv_add(&argv, words[i]);
    if (proc_run(&ps, &pr, &err) != 0)
        fail_msg("%s", err.msg);
    rc = WIFEXITED(pr.status) ? WEXITSTATUS(pr.status) : -1;
    *ret_out = xasprintf("%s%s", pr.out, pr.err);
    proc_result_clear(&pr);
    strv_clear(&argv);
    return rc;
}

static void plain_tar_opens_it_and_it_reproduces(void **state)
{
    char *path = xasprintf("%s/bundles/%s.tar.zst", state_dir, bucket),
         *to = path_join(dir, "open");
    char *repro = path_join(to, "repro.sh"), *out, *clean = path_join(dir, "clean");
    char *to_option = xasprintf("--directory=%s", to);
    struct stat st;

    (void)state;
    assert_int_equal(mkdir(to, 0755), 0);
    if (run("tar", "--zstd", "-xf", path, to_option, &out) != 0)
        fail_msg("%s", out);
    free(out);
    assert_int_equal(stat(repro, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_int_equal(st.st_mtime, 0);
    assert_int_equal(run("sh", repro, NULL, NULL, NULL, &out), 0);
    assert_non_null(strstr(out, "inv=C7"));
    assert_null(strstr(out, "warning"));
    free(out);
    put(dir, "clean", "#!/bin/sh\nexit 0\n", 0755);
    assert_int_equal(run("sh", repro, clean, NULL, NULL, &out), 1);
    assert_non_null(strstr(out, "warning"));
    free(out);
    assert_int_equal(run("sh", repro, "/nowhere", NULL, NULL, &out), 2);
    free(out);
    free(path);
    free(to);
    free(to_option);
    free(repro);
    free(clean);
}

static void what_is_not_there_is_an_error(void **state)
{
    char *path = NULL, *blob, *found = NULL;
    struct err err = {0};

    (void)state;
    assert_true(bundle_make(state_dir, RUN, "000000000000", &path, &err) < 0);
    assert_true(bundle_make(state_dir, "01KZZZZZZZZZZZZZZZZZZZZZZZ", bucket, &path, &err) < 0);
    assert_true(bundle_make("/nowhere", RUN, bucket, &path, &err) < 0);
    /* A stored input whose bytes have changed is not passed on under its old name. */
    blob = path_join(state_dir, "store");
    assert_int_equal(run("find", blob, "-type", "f", NULL, &found), 0);
    *strchr(found, '\n') = '\0';
    assert_int_equal(chmod(found, 0644), 0);
    {
        int fd = open(found, O_WRONLY | O_APPEND | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(file_write_all(fd, "x", 1), 0);
        assert_int_equal(close(fd), 0);
    }
    assert_true(bundle_make(state_dir, RUN, bucket, &path, &err) < 0);
    assert_non_null(strstr(err.msg, found));
    assert_null(path);
    free(found);
    free(blob);
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    dir = xasprintf("%s/fz-test.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL)
        return -1;
    state_dir = path_join(dir, "state");
    run_dir = path_join(state_dir, "campaigns/demo/run");
    program = path_join(dir, "pro gram");
    if (path_mkdirs(state_dir, 0755) < 0)
        return -1;
    fill();
    return 0;
}

static int teardown(void **state)
{
    int r = path_remove_tree(dir);

    (void)state;
    free(dir);
    free(state_dir);
    free(run_dir);
    free(program);
    free(bucket);
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_state_makes_the_same_bundle),
        cmocka_unit_test(the_manifest_says_what_it_is),
        cmocka_unit_test(plain_tar_opens_it_and_it_reproduces),
        cmocka_unit_test(what_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
