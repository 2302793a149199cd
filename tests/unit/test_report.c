/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of runs made up in a database, in its three forms, against golden files. Paths of the state folder
 * read STATE in them and the version VERSION.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "base/version.h"
#include "report/fields.h"
#include "report/model.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

#define START_MS 1790000000000 /* 2026-09-21T14:13:20Z */
#define RUN      "01KABCDEFGHJKMNPQRSTVWXYZ0"
#define FIXTURES "tests/fixtures/report"

static char *state;
static struct db *db;

static int setup(void **ctx)
{
    char dir[] = "/tmp/fz-report.XXXXXX";
    struct err err;

    (void)ctx;
    assert_non_null(mkdtemp(dir));
    state = xstrdup(dir);
    assert_int_equal(db_open(state, true, &db, &err), 0);
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    db_close(db);
    assert_int_equal(path_remove_tree(state), 0);
    free(state);
    return 0;
}

static void put_run(const char *campaign, const char *run_state, const char *verdict,
                    const char *reasons)
{
    struct run_row r = {.id = xstrdup(RUN),
                        .campaign = xstrdup(campaign),
                        .state = xstrdup(run_state),
                        .host = xstrdup("anvil"),
                        .started_at_ms = START_MS,
                        .ended_at_ms = START_MS + 63000,
                        .budget_ms = 60000,
                        .seed = UINT64_MAX};
    const char *plan_text = "{\"git_commit\":\"0123456789abcdef0123456789abcdef01234567\","
                            "\"git_dirty\":true}";
    cleanup_free char *plan = NULL;

    r.dir = xasprintf("%s/campaigns/%s/R1", state, campaign);
    r.extra =
        xstrdup("{\"isolation\":\"hybrid\",\"isolation_why\":\"memory, pids and cpu by v1\\n"
                "no freezer\",\"afl_version\":\"4.04c\",\"stop_cause\":\"\",\"frozen\":"
                "[{\"cause\":\"user\",\"why\":\"paused by a user\",\"times\":2,\"ms\":61500}]}");
    str_set(&r.verdict, verdict);
    str_set(&r.reasons, reasons);
    assert_int_equal(runs_put(db, &r, NULL), 0);
    assert_int_equal(path_mkdirs(r.dir, 0700), 0);
    plan = path_join(r.dir, "plan.json");
    assert_int_equal(file_write_atomic(AT_FDCWD, plan, plan_text, strlen(plan_text), 0600), 0);
    run_row_clear(&r);
}

static void put_target(const char *name, const char *end, int64_t last_find_ms, const char *extra)
{
    struct target_row t = {.run = xstrdup(RUN),
                           .name = xstrdup(name),
                           .state = xstrdup(end != NULL ? "ended" : "running"),
                           .started_at_ms = START_MS + 1000,
                           .ended_at_ms = end != NULL ? START_MS + 61000 : 0,
                           .fuzz_ms = 60000,
                           .execs_done = 1234567,
                           .execs_per_sec = 20576.1,
                           .edges_found = 57,
                           .total_edges = 1024,
                           .edges_floor = 7,
                           .corpus_count = 140,
                           .corpus_seeds = 132,
                           .stability = 100,
                           .last_find_ms = last_find_ms,
                           .restarts = 1};

    str_set(&t.end_reason, end);
    str_set(&t.extra, extra);
    assert_int_equal(runs_put_target(db, &t, NULL), 0);
    target_row_clear(&t);
}

/* Puts a file where afl-fuzz would, takes it in and gives back its hash. */
static void put_artifact(const char *campaign, const char *target, const char *file,
                         const char *text, int64_t at_ms, char ret_sha[65])
{
    cleanup_free char *out = xasprintf("%s/campaigns/%s/R1/out/%s/main", state, campaign, target);
    cleanup_free char *path = path_join(out, file);
    cleanup_free char *dir = path_dirname(path);
    struct timespec times[2] = {{.tv_sec = at_ms / 1000}, {.tv_sec = at_ms / 1000}};
    struct artifact_source src = {.run = RUN, .target = target, .instance = "main", .out_dir = out};
    struct err err;

    assert_int_equal(path_mkdirs(dir, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(artifact_scan(db, state, &src, NULL, NULL, NULL, NULL, &err), 1);
    assert_int_equal(file_sha256(AT_FDCWD, path, 10000, ret_sha, NULL), 0);
}

static void put_result(const char *target, const char *sha, const char *class_, const char *kind,
                       const char *signature, const char *bucket, int reproduced, const char *shows)
{
    struct result_row r = {.run = xstrdup(RUN),
                           .target = xstrdup(target),
                           .sha256 = xstrdup(sha),
                           .class_ = xstrdup(class_),
                           .kind = xstrdup(kind),
                           .signature = xstrdup(signature),
                           .signature_why = xstrdup("the harness kit's failure line"),
                           .severity = reproduced > 0 ? 4 : 1,
                           .reproduced = reproduced,
                           .runs = 3};

    str_set(&r.bucket, bucket);
    r.detail = xasprintf("{\"class\":\"%s\",\"replay\":{\"command\":\"env /t/asan --one %s\"}}",
                         shows, "/s/in");
    assert_int_equal(results_put(db, &r, NULL), 0);
    result_row_clear(&r);
}

/* text with every from replaced; takes text. */
static char *replaced(char *text, const char *from, const char *to)
{
    char *out = NULL, *p = text, *hit;
    size_t size;
    FILE *f = open_memstream(&out, &size);

    for (; (hit = strstr(p, from)) != NULL; p = hit + strlen(from)) {
        fwrite(p, 1, (size_t)(hit - p), f);
        fputs(to, f);
    }
    fputs(p, f);
    fclose(f);
    free(text);
    return out;
}

static void check_golden(const char *name, const char *form, char *text)
{
    cleanup_free char *path = xasprintf(FIXTURES "/%s/report.%s", name, form);
    cleanup_free char *want = NULL;
    cleanup_free char *version = xasprintf("fuzzctl %s", version_string());
    cleanup_free char *got = NULL;
    size_t size;

    text = replaced(text, state, "STATE");
    text = replaced(text, version, "fuzzctl VERSION");
    free(version);
    version = xasprintf("\"fuzzctl\": \"%s\"", version_string());
    text = replaced(text, version, "\"fuzzctl\": \"VERSION\"");
    free(version);
    version = xasprintf("fuzzctl | %s", version_string());
    got = replaced(text, version, "fuzzctl | VERSION");
    for (const char *p = got; *p != '\0'; p++)
        assert_true(*p == '\n' || ((unsigned char)*p >= 0x20 && *p != 0x7f));
    if (getenv("GOLDEN_UPDATE") != NULL) {
        cleanup_free char *dir = path_dirname(path);

        assert_int_equal(path_mkdirs(dir, 0755), 0);
        assert_int_equal(file_write_atomic(AT_FDCWD, path, got, strlen(got), 0644), 0);
        return;
    }
    if (file_read(AT_FDCWD, path, 1 << 20, &want, &size) < 0)
        fail_msg("%s cannot be read", path);
    if (strcmp(got, want) != 0)
        fail_msg("%s differs; now:\n%s", path, got);
}

static void check_forms(const char *name)
{
    json_t *m = NULL;
    struct err err;
    char *text = NULL;
    size_t size;
    FILE *f;

    if (report_model(db, state, NULL, NULL, &m, &err) < 0)
        fail_msg("%s", err.msg);
    text = json_dumps(m, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    assert_non_null(text);
    text = replaced(text, "]\n}", "]\n}\n");
    check_golden(name, "json", text);
    f = open_memstream(&text, &size);
    report_text(m, false, f);
    fclose(f);
    for (const char *p = text, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        if (end - p > 80 && strncmp(p, "  replay", 8) != 0 && strncmp(p, "  bundle", 8) != 0)
            fail_msg("wider than 80 columns: %.*s", (int)(end - p), p);
    }
    check_golden(name, "txt", text);
    f = open_memstream(&text, &size);
    report_md(m, f);
    fclose(f);
    check_golden(name, "md", text);
    json_decref(m);
}

static void findings_beside_a_clean_target(void **ctx)
{
    cleanup_free char *bundle = path_join(state, "bundles/aaaa11112222.tar.zst");
    cleanup_free char *bundles = path_join(state, "bundles");
    char sha[65];

    (void)ctx;
    put_run("demo", "ended", "findings",
            "[\"planted: 3 inputs with a finding, 1 of them not every time\","
            "\"planted: 1 timeout input did not reproduce at hang_timeout; kept and listed\"]");
    put_target("clean_build", "plateau", START_MS + 20000,
               "{\"verdict\":\"clean\",\"saturated\":true,\"reach\":{\"e_ok\":5,\"e_io\":2},"
               "\"reach_required\":[\"e_io\"],\"reach_missing\":[]}");
    put_target("planted", "budget", START_MS + 60000,
               "{\"verdict\":\"findings\",\"reach\":{\"e_ok\":5},\"reach_required\":[\"e_io\"],"
               "\"reach_missing\":[\"e_io\"]}");
    put_artifact("demo", "planted", "crashes/id:000000,sig:06", "one", START_MS + 9000, sha);
    put_result("planted", sha, "invariant", "C3", "invariant chunk_frame C3", "aaaa11112222", 3,
               "invariant");
    put_artifact("demo", "planted", "crashes/id:000001,sig:06", "three", START_MS + 8000, sha);
    put_result("planted", sha, "invariant", "C3", "invariant chunk_frame C3", "aaaa11112222", 3,
               "invariant");
    put_artifact("demo", "planted", "crashes/id:000002,sig:09", "oom", START_MS + 11000, sha);
    put_result("planted", sha, "flaky", "SIGKILL", "oom chunk_frame", "bbbb11112222", 1, "oom");
    put_artifact("demo", "planted", "hangs/id:000000", "slow", START_MS + 12000, sha);
    put_result("planted", sha, "unreproduced", "timeout", "", NULL, 0, "none");
    assert_int_equal(path_mkdirs(bundles, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, bundle, "x", 1, 0600), 0);
    check_forms("findings");
}

static void a_run_without_a_verdict_yet(void **ctx)
{
    (void)ctx;
    put_run("early", "triage", NULL, NULL);
    put_target("t", NULL, 0, NULL);
    check_forms("triage");
}

static void inputs_lost_to_a_full_disk_are_named(void **ctx)
{
    static char page[4097];
    char sha[65];

    (void)ctx;
    memset(page, 'p', 4096);
    put_run("full", "ended", "degraded",
            "[\"t: 2 crash or hang files are empty, what was found is lost (a full disk, or "
            "afl-fuzz killed as it saved)\"]");
    put_target("t", "budget", START_MS + 2000, "{\"verdict\":\"degraded\"}");
    put_artifact("full", "t", "crashes/whole", "1", START_MS + 9000, sha);
    put_artifact("full", "t", "crashes/page", page, START_MS + 9500, sha);
    put_artifact("full", "t", "crashes/lost|\033[31m", "", START_MS + 10000, sha);
    put_artifact("full", "t", "hangs/lost", "", START_MS + 11000, sha);
    check_forms("lost");
}

static void hostile_names_stay_text(void **ctx)
{
    char sha[65];

    (void)ctx;
    put_run("odd", "ended", "degraded", "[\"t|x: \\u001b]0;title\\u0007 `rm` <b> *c*\"]");
    put_target("t|x", "budget", START_MS + 2000, "{\"verdict\":\"\\u009b31m\"}");
    put_artifact("odd", "t|x", "hangs/\033[31m\n\xff|`", "1", START_MS + 9000, sha);
    put_result("t|x", sha, "unreproduced", "time\x1bout", "", NULL, 0, "none");
    put_artifact("odd", "t|x", "crashes/x", "2", START_MS + 9000, sha);
    put_result("t|x", sha, "crash", "\xfe\x1b", "sig\x07\r\n# title", "cccc11112222", 3, "crash");
    put_artifact("odd", "t|x", "crashes/y", "3", START_MS + 9000, sha);
    check_forms("hostile");
}

static void the_newest_run_or_a_named_one_is_reported(void **ctx)
{
    json_t *m = NULL;
    struct err err;

    (void)ctx;
    assert_int_equal(report_model(db, state, NULL, NULL, &m, &err), -ENOENT);
    put_run("demo", "ended", "clean", "[]");
    assert_int_equal(report_model(db, state, "other", NULL, &m, &err), -ENOENT);
    assert_int_equal(report_model(db, state, "demo", "VWXYZ0", &m, &err), 0);
    assert_string_equal(fields_text(m, "run"), RUN);
    json_decref(m);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(findings_beside_a_clean_target),
        T(a_run_without_a_verdict_yet),
        T(inputs_lost_to_a_full_disk_are_named),
        T(hostile_names_stay_text),
        T(the_newest_run_or_a_named_one_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
