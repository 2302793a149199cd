/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs that only read: what they print, and above all their exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "ctl/cmd.h"
#include "report/fields.h"
#include "store/artifact.h"
#include "store/runs.h"

#define RUN "01KABCDEFGHJKMNPQRSTVWXYZ0"

static struct cmd_env env;
static char *out;           /* what the last verb printed */
static char *outputs_freed; /* the same, for teardown */

static int setup(void **ctx)
{
    char dir[] = "/tmp/fz-cmd.XXXXXX";

    (void)ctx;
    assert_non_null(mkdtemp(dir));
    env = (struct cmd_env){.state_dir = xstrdup(dir)};
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    assert_int_equal(path_remove_tree(env.state_dir), 0);
    free(env.state_dir);
    free(outputs_freed);
    out = outputs_freed = NULL;
    return 0;
}

/* Runs a verb with its standard output kept in out; what it says to standard error is dropped. */
static int call(const struct cmd_entry *e, const char *a, const char *b, const char *c)
{
    const char *const args[] = {e->name, a, b, c};
    char *argv[5] = {0};
    int argc = 0, fd = memfd_create("out", MFD_CLOEXEC);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO), code;
    off_t size;

    for (size_t i = 0; i < 4 && args[i] != NULL; i++)
        argv[argc++] = xstrdup(args[i]);
    optind = 0; /* a process has one command line: what getopt keeps of the last one goes */
    (void)getopt(1, argv, "");
    (void)fflush(NULL);
    assert_true(dup2(fd, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0);
    code = e->exec(&env, argc, argv);
    (void)fflush(NULL);
    assert_true(dup2(saved_out, STDOUT_FILENO) >= 0 && dup2(saved_err, STDERR_FILENO) >= 0);
    size = lseek(fd, 0, SEEK_END);
    free(outputs_freed);
    out = outputs_freed = xcalloc(1, (size_t)size + 1);
    assert_int_equal(pread(fd, out, (size_t)size, 0), size);
    close(fd);
    close(null);
    close(saved_out);
    close(saved_err);
    while (argc > 0)
        free(argv[--argc]);
    return code;
}

static json_t *parsed(void)
{
    json_t *j = json_loads(out, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(j);
    assert_int_equal(fields_int(j, "version"), 1);
    return j;
}

/* One ended run with a crash file of that name. */
static void put_run(const char *verdict, const char *file)
{
    cleanup_free char *dir = path_join(env.state_dir, "campaigns/c/R1");
    cleanup_free char *instance = path_join(dir, "out/t/main");
    cleanup_free char *crashes = path_join(instance, "crashes");
    struct run_row r = {.id = xstrdup(RUN),
                        .campaign = xstrdup("c"),
                        .dir = xstrdup(dir),
                        .state = xstrdup("ended"),
                        .verdict = xstrdup(verdict),
                        .started_at_ms = 1000,
                        .ended_at_ms = 61000};
    struct artifact_source src = {
        .run = RUN, .target = "t", .instance = "main", .out_dir = instance};
    struct db *db = NULL;

    assert_int_equal(db_open(env.state_dir, true, &db, NULL), 0);
    assert_int_equal(runs_put(db, &r, NULL), 0);
    assert_int_equal(path_mkdirs(crashes, 0700), 0);
    if (file != NULL) {
        cleanup_free char *path = path_join(crashes, file);

        assert_int_equal(file_write_atomic(AT_FDCWD, path, "x", 1, 0600), 0);
        assert_int_equal(artifact_scan(db, env.state_dir, &src, NULL, NULL, NULL, NULL, NULL), 1);
    }
    db_close(db);
    run_row_clear(&r);
}

static void nothing_has_run_yet(void **ctx)
{
    json_t *j;

    (void)ctx;
    assert_int_equal(call(&cmd_report, NULL, NULL, NULL), 6);
    assert_int_equal(call(&cmd_verify, NULL, NULL, NULL), 6);
    assert_int_equal(call(&cmd_artifacts, NULL, NULL, NULL), 6);
    assert_int_equal(call(&cmd_list, NULL, NULL, NULL), 0);
    assert_memory_equal(out, "nothing has run yet in /", 24);
    env.json = true;
    assert_int_equal(call(&cmd_list, NULL, NULL, NULL), 0);
    j = parsed();
    assert_int_equal(json_array_size(json_object_get(j, "runs")), 0);
    json_decref(j);
}

static void the_exit_code_of_report_is_that_of_the_verdict(void **ctx)
{
    static const struct {
        const char *verdict;
        int code;
    } want[] = {{"clean", 0},     {"findings", 10},   {"vacuous", 11}, {"failed-to-start", 12},
                {"degraded", 13}, {"interrupted", 13}};

    (void)ctx;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        put_run(want[i].verdict, NULL);
        assert_int_equal(call(&cmd_report, "c", NULL, NULL), want[i].code);
        assert_true(strncmp(out, "c: ", 3) == 0);
        assert_true(strncmp(out + 3, want[i].verdict, strlen(want[i].verdict)) == 0);
    }
    assert_int_equal(call(&cmd_report, "c", "--md", NULL), 13);
    assert_true(strncmp(out, "# c: ", 5) == 0);
    assert_int_equal(call(&cmd_report, "--run", "VWXYZ0", NULL), 13);
    assert_int_equal(call(&cmd_report, "--run", "XXXXXX", NULL), 6);
    assert_int_equal(call(&cmd_report, "other", NULL, NULL), 6);
    assert_int_equal(call(&cmd_report, "c", "d", NULL), 2);
    assert_int_equal(call(&cmd_report, "--frob", NULL, NULL), 2);
}

static void verify_proves_it_or_tells_the_difference(void **ctx)
{
    cleanup_free char *gone = path_join(env.state_dir, "campaigns/c/R1/out/t/main/crashes/a");
    json_t *j;

    (void)ctx;
    put_run("findings", "a");
    assert_int_equal(call(&cmd_verify, NULL, NULL, NULL), 0);
    assert_string_equal(out, "1 file, 1 occurrence, 1 blob: all accounted for\n");
    assert_int_equal(call(&cmd_verify, "c", NULL, NULL), 0);
    assert_int_equal(call(&cmd_verify, "other", NULL, NULL), 6);
    assert_int_equal(call(&cmd_verify, "c", "d", NULL), 2);
    assert_int_equal(unlink(gone), 0);
    assert_int_equal(call(&cmd_verify, NULL, NULL, NULL), 7);
    assert_non_null(strstr(out, "crashes/a is recorded and not on disk"));
    assert_non_null(strstr(out, "0 files, 1 occurrence, 1 blob: 1 difference\n"));
    env.json = true;
    assert_int_equal(call(&cmd_verify, "c", NULL, NULL), 7);
    j = parsed();
    assert_int_equal(json_array_size(json_object_get(j, "differences")), 1);
    json_decref(j);
}

static void artifacts_lists_odd_names_without_letting_them_act(void **ctx)
{
    const json_t *a;
    json_t *j;

    (void)ctx;
    put_run("findings", "\033[31m\n\xff\"");
    assert_int_equal(call(&cmd_artifacts, "c", NULL, NULL), 0);
    assert_non_null(strstr(out, "untriaged     -            t                     1     1  "
                                "main/crashes/\\x1b[31m\\x0a\\xff\"\n"));
    assert_null(strchr(out, '\033'));
    env.json = true;
    assert_int_equal(call(&cmd_artifacts, NULL, NULL, NULL), 0);
    j = parsed();
    a = json_array_get(json_object_get(j, "artifacts"), 0);
    assert_string_equal(fields_text(a, "target"), "t");
    assert_int_equal(fields_int(a, "size"), 1);
    assert_int_equal(access(fields_text(a, "input"), R_OK), 0);
    json_decref(j);
    assert_int_equal(call(&cmd_artifacts, "other", NULL, NULL), 6);
}

static void list_names_each_run(void **ctx)
{
    json_t *j;

    (void)ctx;
    put_run("vacuous", NULL);
    assert_int_equal(call(&cmd_list, NULL, NULL, NULL), 0);
    assert_non_null(strstr(out, "c                    vacuous          1970-01-01T00:00:01Z   1m"));
    assert_int_equal(call(&cmd_list, "c", NULL, NULL), 2);
    env.json = true;
    assert_int_equal(call(&cmd_list, NULL, NULL, NULL), 0);
    j = parsed();
    assert_string_equal(fields_text(json_array_get(json_object_get(j, "runs"), 0), "verdict"),
                        "vacuous");
    json_decref(j);
}

static void an_index_that_cannot_be_read_is_an_error_of_every_verb(void **ctx)
{
    const struct cmd_entry *const verbs[] = {&cmd_status, &cmd_stop,      &cmd_wait,  &cmd_list,
                                             &cmd_report, &cmd_artifacts, &cmd_verify};
    cleanup_free char *index = path_join(env.state_dir, "state.db");

    (void)ctx;
    put_run("clean", NULL);
    assert_int_equal(file_write_atomic(AT_FDCWD, index, "no index\n", 9, 0600), 0);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        assert_int_equal(call(verbs[i], NULL, NULL, NULL), 1);
        assert_string_equal(out, "");
    }
}

static void logs_shows_so_many_lines_and_none_that_are_empty(void **ctx)
{
    static const char text[] = "first\n\n\033[0;32m\n[+] one \033[1mword\033[0m\r\n  \n\n[*] last\n"
                               "\033[0m\n\n";
    cleanup_free char *log = path_join(env.state_dir, "campaigns/c/R1/log/t.main.log");
    cleanup_free char *dir = path_dirname(log);

    (void)ctx;
    put_run("clean", NULL);
    assert_int_equal(path_mkdirs(dir, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, log, text, sizeof(text) - 1, 0600), 0);
    assert_int_equal(call(&cmd_logs, "c", "-n1", NULL), 0);
    assert_string_equal(out, "==> t.main.log <==\n[*] last\n");
    assert_int_equal(call(&cmd_logs, "c", "-n2", NULL), 0);
    assert_string_equal(out, "==> t.main.log <==\n[+] one word\n[*] last\n");
    assert_int_equal(call(&cmd_logs, "c", NULL, NULL), 0);
    assert_string_equal(out, "==> t.main.log <==\nfirst\n[+] one word\n[*] last\n");
    assert_int_equal(file_write_atomic(AT_FDCWD, log, "\n\n", 2, 0600), 0);
    assert_int_equal(call(&cmd_logs, "c", "-n1", NULL), 0);
    assert_string_equal(out, "==> t.main.log <==\n");
}

static void help_tells_of_every_verb_and_every_subcommand(void **ctx)
{
    (void)ctx;
    assert_int_equal(call(&cmd_help, NULL, NULL, NULL), 0);
    static const char *const shared[] = {"--state DIR", "--json", "-q", "--quiet", "--no-color"};
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        assert_non_null(strstr(out, shared[i]));
    for (size_t i = 0; cmd_table[i] != NULL; i++) {
        const struct cmd_entry *e = cmd_table[i];

        assert_int_equal(call(&cmd_help, e->name, NULL, NULL), 0);
        assert_non_null(strstr(out, e->help));
        for (size_t k = 0; e->subs != NULL && e->subs[k] != NULL; k++) {
            assert_int_equal(call(&cmd_help, e->name, NULL, NULL), 0);
            assert_non_null(strstr(out, e->subs[k]->help));
            assert_int_equal(call(&cmd_help, e->name, e->subs[k]->name, NULL), 0);
            assert_non_null(strstr(out, e->subs[k]->help));
            assert_ptr_equal(cmd_sub_find(e, e->subs[k]->name), e->subs[k]);
        }
        assert_int_equal(call(&cmd_help, e->name, "nosuch", NULL), 2);
    }
    assert_int_equal(call(&cmd_help, "nosuch", NULL, NULL), 2);
}

static void bundle_and_corpus_refuse_what_is_no_subcommand(void **ctx)
{
    (void)ctx;
    assert_int_equal(call(&cmd_bundle, NULL, NULL, NULL), 2);
    assert_int_equal(call(&cmd_bundle, "nosuch", NULL, NULL), 2);
    assert_int_equal(call(&cmd_bundle, "list", "-x", NULL), 2);
    assert_int_equal(call(&cmd_corpus, "nosuch", NULL, NULL), 2);
    assert_int_equal(call(&cmd_corpus, NULL, NULL, NULL), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(nothing_has_run_yet),
        T(the_exit_code_of_report_is_that_of_the_verdict),
        T(verify_proves_it_or_tells_the_difference),
        T(artifacts_lists_odd_names_without_letting_them_act),
        T(list_names_each_run),
        T(logs_shows_so_many_lines_and_none_that_are_empty),
        T(help_tells_of_every_verb_and_every_subcommand),
        T(bundle_and_corpus_refuse_what_is_no_subcommand),
        T(an_index_that_cannot_be_read_is_an_error_of_every_verb),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
