/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real runs of small programs: this test's own binary, called with a word that
 * says how to end, stands for a program under test.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "triage/classify.h"
#include "triage/job.h"
#include "triage/json_util.h"
#include "triage/replay.h"
#include "triage/seedlist.h"
#include "triage/seedrun.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static char *self, *input, *dir;

static __attribute__((noinline)) void write_to(volatile int *p)
{
    *p = 1;
}

/* What the program under test does; argv[1] is "act:WORD". */
static int act(const char *word, const char *file)
{
    char buf[64] = "";

    if (strcmp(word, "stdin") == 0)
        return read(0, buf, sizeof(buf) - 1) == 5 && strcmp(buf, "seed\n") == 0 ? 0 : 3;
    if (strcmp(word, "file") == 0) {
        int fd = open(file, O_RDONLY);

        return fd >= 0 && read(fd, buf, sizeof(buf) - 1) == 5 ? 0 : 3;
    }
    if (strcmp(word, "segv") == 0) {
        static volatile int *volatile nowhere;

        write_to(nowhere);
    }
    if (strcmp(word, "abort") == 0)
        abort();
    if (strcmp(word, "kill") == 0)
        (void)raise(SIGKILL);
    if (strcmp(word, "spin") == 0) {
        for (volatile unsigned i = 0;; i++)
            ;
    }
    if (strcmp(word, "sleep") == 0)
        (void)sleep(60);
    if (strcmp(word, "nap") == 0) {
        const struct timespec ts = {.tv_nsec = 500 * 1000 * 1000};

        (void)nanosleep(&ts, NULL);
    }
    if (strcmp(word, "talk") == 0) {
        for (int i = 0; i < 200000; i++)
            fprintf(stderr, "line %d%c\n", i, i == 1 ? '\0' : '.');
        abort();
    }
    if (strcmp(word, "malloc") == 0) {
        /* The limit of address space makes it fail. */
        void *volatile p = malloc((size_t)3 << 30);

        return p == NULL ? 7 : 0;
    }
    if (strcmp(word, "spoil") == 0) {
        int fd = open(file, O_WRONLY | O_TRUNC);

        return fd >= 0 ? 0 : 3;
    }
    if (strcmp(word, "env") == 0) {
        /* Ours must not get through, the target's must. */
        return getenv("FZ_TEST_OURS") == NULL && getenv("FZ_TEST_TARGET") != NULL &&
                       getcwd(buf, sizeof(buf)) != NULL && strcmp(getenv("TMPDIR"), buf) == 0
                   ? 0
                   : 3;
    }
    if (strcmp(word, "exit") == 0)
        return 7;
    if (strcmp(word, "flaky") == 0) {
        /* Fails every other time, told by a file beside the binary's folder. */
        const char *flag = getenv("FZ_TEST_FLAG");

        if (unlink(flag) != 0) {
            int fd = open(flag, O_WRONLY | O_CREAT, 0600);

            if (fd >= 0)
                (void)close(fd);
            abort();
        }
        return 0;
    }
    return 0;
}

static struct replay_run run_env(const char *word, const char *more, const struct strv *env,
                                 int64_t timeout_ms)
{
    struct strv args = {0};
    struct replay_program prog = {.asan = SANITIZED,
                                  .path = self,
                                  .args = &args,
                                  .env = env,
                                  .timeout_ms = timeout_ms,
                                  .memory_bytes = 1 << 30};
    struct replay_run run;
    struct err err = {0};

    strv_addf(&args, "act:%s", word);
    if (more != NULL)
        strv_add(&args, more);
    if (replay_once(&prog, input, &run, &err) != 0)
        fail_msg("%s", err.msg);
    strv_clear(&args);
    return run;
}

static struct replay_run run_word(const char *word, const char *more)
{
    return run_env(word, more, NULL, 5000);
}

static void an_input_comes_by_stdin_or_in_place_of_the_mark(void **state)
{
    struct replay_run run = run_word("stdin", NULL);

    (void)state;
    assert_int_equal(run.end, REPLAY_EXIT);
    assert_int_equal(run.code, 0);
    replay_run_clear(&run);
    run = run_word("file", "@@");
    assert_int_equal(run.code, 0);
    replay_run_clear(&run);
}

static void the_stored_input_cannot_be_spoilt(void **state)
{
    struct replay_run run = run_word("spoil", "@@");
    char *data;
    size_t size;

    (void)state;
    assert_int_equal(run.code, 0);
    assert_int_equal(file_read(AT_FDCWD, input, 100, &data, &size), 0);
    assert_string_equal(data, "seed\n");
    free(data);
    replay_run_clear(&run);
}

static void a_run_gets_the_targets_environment_and_not_ours(void **state)
{
    struct strv env = {0};
    struct replay_run run;

    (void)state;
    (void)setenv("FZ_TEST_OURS", "1", 1);
    strv_add(&env, "FZ_TEST_TARGET=1");
    run = run_env("env", NULL, &env, 5000);
    assert_int_equal(run.code, 0);
    replay_run_clear(&run);
    strv_clear(&env);
}

static void an_exit_code_is_a_crash_where_the_target_says_so(void **state)
{
    static const struct {
        const char *env, *class_;
    } t[] = {{"AFL_CRASH_EXITCODE=7", "crash"},
             {"AFL_CRASH_EXITCODE=-249", "none"},
             {"AFL_CRASH_EXITCODE=8", "none"},
             {"AFL_CRASH_EXITCODE=", "none"},
             {"NOT_AFL_CRASH_EXITCODE=7", "none"}};

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct strv env = {0};
        struct verdict_of_run v;
        struct replay_run run;

        strv_add(&env, t[i].env);
        run = run_env("exit", NULL, &env, 5000);
        classify_run(&run, "t", "", &v);
        assert_string_equal(v.class_, t[i].class_);
        assert_string_equal(v.kind, strcmp(v.class_, "crash") == 0 ? "exit 7" : "");
        replay_run_clear(&run);
        strv_clear(&env);
    }
}

struct told {
    int passed, failed;
};

static void count_told(void *ctx, const struct seed *seed, const struct seedrun_result *r)
{
    struct told *told = ctx;

    (void)seed;
    told->passed += r->pass;
    told->failed += !r->pass;
}

static void a_seed_that_cannot_be_run_keeps_the_others_from_nothing(void **state)
{
    cleanup_free char *seeds = path_join(dir, "hard-seeds"), *huge = path_join(seeds, "1-huge"),
                      *link = path_join(seeds, "2-link"), *last = path_join(seeds, "3-last");
    struct strv args = {0};
    struct told told = {0};
    struct seedrun s = {.target = "t", .build_id = "", .fn = count_told, .ctx = &told};
    struct seedrun_sum sum;
    struct seedlist l = {0};
    struct err err = {0};

    (void)state;
    strv_add(&args, "act:exit");
    strv_add(&args, "@@");
    s.prog =
        (struct replay_program){.asan = SANITIZED, .path = self, .args = &args, .timeout_ms = 5000};
    assert_int_equal(mkdir(seeds, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, huge, "x", 1, 0600), 0);
    assert_int_equal(truncate(huge, (off_t)1 << 40), 0);
    assert_int_equal(symlink(input, link), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, last, "x", 1, 0600), 0);
    assert_int_equal(seedlist_add(&l, seeds, &err), 0);
    assert_int_equal(seedrun_all(&s, &l, &sum, &err), -EFBIG);
    assert_non_null(strstr(err.msg, "1-huge"));
    assert_int_equal(told.passed, 2);
    assert_int_equal(sum.left, 1);
    assert_int_equal(path_remove_tree(seeds), 0);
    seedlist_clear(&l);
    strv_clear(&args);
}

static void an_interrupt_leaves_no_folder(void **state)
{
    cleanup_free char *tmp = path_join(dir, "interrupted");
    const struct timespec ts = {.tv_nsec = 300 * 1000 * 1000};
    int status = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(mkdir(tmp, 0700), 0);
    pid = fork();
    if (pid == 0) {
        (void)signal(SIGINT, SIG_DFL);
        (void)setenv("TMPDIR", tmp, 1);
        struct replay_run run = run_word("sleep", NULL);
        _exit(run.code);
    }
    assert_true(pid > 0);
    (void)nanosleep(&ts, NULL);
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    assert_int_equal(rmdir(tmp), 0);
}

static void a_signal_is_told_with_its_place(void **state)
{
    struct strv args = {0};
    struct replay_program prog = {
        .asan = SANITIZED, .path = self, .args = &args, .timeout_ms = 5000};
    struct replay_run run = run_word("segv", NULL);
    uint64_t first;

    (void)state;
    assert_int_equal(run.end, REPLAY_SIGNAL);
#if !SANITIZED
    assert_int_equal(run.code, SIGSEGV);
    strv_add(&args, "act:segv");
    replay_pc(&prog, input, &run);
    if (run.pc_module[0] != '\0') { /* where ptrace is allowed */
        assert_string_equal(run.pc_module, "test_triage_replay");
        first = run.pc_offset;
        run.pc_module[0] = '\0';
        replay_pc(&prog, input, &run);
        assert_true(first != 0 && first == run.pc_offset);
    }
    replay_run_clear(&run);
    strv_clear(&args);
    /* An abort is told by its caller in the program, not by libc. */
    run = run_word("abort", NULL);
    strv_add(&args, "act:abort");
    replay_pc(&prog, input, &run);
    if (run.pc_module[0] != '\0')
        assert_string_equal(run.pc_module, "test_triage_replay");
#else
    (void)first;
    (void)prog;
#endif
    replay_run_clear(&run);
    strv_clear(&args);
}

static void a_sigkill_that_is_not_ours_is_the_memory_limit(void **state)
{
    struct replay_run run = run_word("kill", NULL);

    (void)state;
    assert_int_equal(run.end, REPLAY_OOM);
    replay_run_clear(&run);
}

static void a_program_that_spins_is_a_timeout(void **state)
{
    struct replay_run run = run_env("spin", NULL, NULL, 200);

    (void)state;
    assert_int_equal(run.end, REPLAY_TIMEOUT);
    replay_run_clear(&run);
}

static void a_program_that_sleeps_is_given_more_wall_time(void **state)
{
    struct replay_run run = run_env("nap", NULL, NULL, 300);

    (void)state;
    assert_int_equal(run.end, REPLAY_EXIT);
    assert_true(run.starved);
    replay_run_clear(&run);
    run = run_env("sleep", NULL, NULL, 100);
    assert_int_equal(run.end, REPLAY_TIMEOUT);
    assert_true(run.starved);
    assert_true(run.wall_ms >= 400);
    replay_run_clear(&run);
}

static void long_output_keeps_head_and_tail(void **state)
{
    struct replay_run run = run_word("talk", NULL);

    (void)state;
    assert_true(strlen(run.err_text) <= REPLAY_ERR_BYTES);
    assert_non_null(strstr(run.err_text, "line 0."));
    assert_non_null(strstr(run.err_text, "line 1?"));
    assert_non_null(strstr(run.err_text, "line 199999."));
    assert_non_null(strstr(run.err_text, "bytes left out"));
    replay_run_clear(&run);
}

static void memory_is_limited(void **state)
{
    (void)state;
#if !SANITIZED
    struct replay_run run = run_word("malloc", NULL);

    assert_int_equal(run.code, 7);
    replay_run_clear(&run);
#endif
}

static void sanitizer_options_are_merged(void **state)
{
    struct strv env = {0}, argv = {0}, got = {0};
    struct replay_program prog = {.path = "/p",
                                  .env = &env,
                                  .kit = true,
                                  .asan = true,
                                  .twice = true,
                                  .memory_bytes = 64 << 20};
    const char *o;

    (void)state;
    strv_add(&env, "ASAN_OPTIONS=detect_leaks=1:symbolize=1");
    replay_command(&prog, "/in", &argv, &got);
    o = strv_env(&got, "ASAN_OPTIONS");
    assert_non_null(o);
    assert_true(strstr(o, "detect_leaks=0") < strstr(o, "detect_leaks=1"));
    assert_non_null(strstr(strstr(o, "symbolize=1"), "symbolize=0"));
    assert_non_null(strstr(o, "max_allocation_size_mb=64"));
    assert_string_equal(strv_env(&got, "FZ_TWICE"), "1");
    assert_int_equal(argv.n, 3);
    assert_string_equal(argv.v[1], "--one");
    strv_clear(&env);
    strv_clear(&argv);
    strv_clear(&got);
}

static void a_driver_gets_the_file_behind_its_arguments(void **state)
{
    struct strv args = {0}, env = {0}, argv = {0};
    struct replay_program prog = {.path = "/p", .args = &args, .env = &env, .takes_file = true};

    (void)state;
    strv_add(&args, "-rss_limit_mb=0");
    assert_false(replay_uses_stdin(&prog));
    replay_command(&prog, "/in", &argv, &env);
    assert_int_equal(argv.n, 3);
    assert_string_equal(argv.v[2], "/in");
    strv_clear(&argv);
    strv_add(&args, "@@");
    replay_command(&prog, "/in", &argv, &env);
    assert_int_equal(argv.n, 3);
    assert_string_equal(argv.v[2], "/in");
    strv_clear(&argv);
    strv_clear(&args);
    strv_clear(&env);
}

/* A job as fuzzd would make it, for this binary. */
static json_t *job_for(const char *word, const char *kind, const char *flag)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:[s], s:[s], s:[{s:s, s:s}]}",
                     "job", "input", "target", "t", "blob", input, "artifact_kind", kind, "file",
                     "id:000000,sig:11,src:000000", "runs", 4, "timeout_ms", 300, "memory_bytes",
                     1 << 30, "args", word, "env", flag, "programs", "role", "replay", "path",
                     self);
}

static void check_job(const char *word, const char *kind, const char *class_, int reproduced,
                      const char *signature)
{
    char *flag = xasprintf("FZ_TEST_FLAG=%s/flag", dir);
    json_t *job = job_for(word, kind, flag), *answer;
    struct result_row row;
    struct err err = {0};

    assert_non_null(job);
    assert_true(job_deadline_ms(job) > 1000);
    answer = job_run(job);
    if (job_result_parse(answer, "R", "t", "00", &row, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(row.class_, class_);
    if (strcmp(class_, "flaky") == 0)
        assert_in_range(row.reproduced, 1, 3); /* the look for its place is a run too */
    else
        assert_int_equal(row.reproduced, reproduced);
    assert_int_equal(row.runs, 4);
    assert_int_equal(strncmp(row.signature, signature, strlen(signature)), 0);
    assert_non_null(strstr(row.detail, "\"command\":\"env "));
    result_row_clear(&row);
    json_decref(answer);
    json_decref(job);
    free(flag);
}

static void an_artifact_is_replayed_and_named(void **state)
{
    (void)state;
#if !SANITIZED
    check_job("act:segv", "crash", "crash", 4, "signal SIGSEGV ");
#endif
    check_job("act:spin", "hang", "timeout", 4, "timeout t");
    check_job("act:abort", "hang", "crash", 4, "signal SIGABRT ");
    check_job("act:flaky", "crash", "flaky", 2, "signal SIGABRT ");
    check_job("act:none", "crash", "unreproduced", 0, "unreproduced t SIGSEGV");
    check_job("act:none", "hang", "unreproduced", 0, "");
}

static void a_bad_job_is_an_answer(void **state)
{
    static const char *const jobs[] = {
        "{}",
        "{\"job\":1}",
        "{\"job\":\"input\"}",
        "{\"job\":\"input\",\"blob\":\"/x\",\"runs\":99999}",
        "{\"job\":\"input\",\"blob\":\"/nowhere\",\"programs\":[{\"path\":\"/bin/true\"}]}",
        "{\"job\":\"reach\"}",
        "{\"job\":\"floor\"}",
        "{\"job\":\"seeds\",\"path\":\"x\"}",
        "{\"job\":\"bundle\",\"state\":\"/x\",\"run\":\"../y\",\"bucket\":\"z\"}",
        "[]"};

    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        json_t *job = json_loads(jobs[i], 0, NULL), *answer = job_run(job);

        assert_true(json_is_false(json_object_get(answer, "ok")));
        assert_true(json_str(answer, "error", "")[0] != '\0');
        json_decref(answer);
        json_decref(job);
    }
}

static void a_bad_answer_is_refused(void **state)
{
    static const char *const answers[] = {
        "{}",
        "{\"ok\":false,\"error\":\"no\"}",
        "{\"ok\":true}",
        "{\"ok\":true,\"class\":\"crash\",\"severity\":9,\"runs\":3,\"reproduced\":3,\"detail\":{}"
        "}",
        "{\"ok\":true,\"class\":\"crash\",\"severity\":3,\"runs\":3,\"reproduced\":4,\"detail\":{}"
        "}",
        "{\"ok\":true,\"class\":\"odd\",\"severity\":3,\"runs\":3,\"reproduced\":3,\"detail\":{}}",
        "{\"ok\":true,\"class\":\"crash\",\"severity\":3,\"runs\":3,\"reproduced\":3,\"detail\":[]"
        "}",
        "{\"ok\":true,\"class\":\"crash\",\"severity\":3,\"runs\":3,\"reproduced\":3,\"detail\":{},"
        "\"bucket\":\"../../etc/pa\"}",
    };
    struct result_row row = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        json_t *answer = json_loads(answers[i], 0, NULL);
        struct err err = {0};

        assert_non_null(answer);
        assert_int_equal(job_result_parse(answer, "R", "t", "00", &row, &err), -EBADMSG);
        assert_true(err.msg[0] != '\0');
        json_decref(answer);
    }
}

static void seeds_are_hashed(void **state)
{
    json_t *job = json_pack("{s:s, s:s}", "job", "seeds", "path", dir), *answer = job_run(job);

    (void)state;
    assert_true(json_is_true(json_object_get(answer, "ok")));
    assert_int_equal(strlen(json_str(answer, "sha256", "")), 64);
    json_decref(answer);
    json_decref(job);
}

static int setup(void **state)
{
    const struct rlimit none = {0, 0};
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)setrlimit(RLIMIT_CORE, &none);
    dir = xasprintf("%s/fz-test.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL)
        return -1;
    input = path_join(dir, "input");
    self = realpath("/proc/self/exe", NULL);
    return file_write_atomic(AT_FDCWD, input, "seed\n", 5, 0644);
}

static int teardown(void **state)
{
    int r = path_remove_tree(dir);

    (void)state;
    free(dir);
    free(input);
    free(self);
    return r;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_comes_by_stdin_or_in_place_of_the_mark),
        cmocka_unit_test(the_stored_input_cannot_be_spoilt),
        cmocka_unit_test(a_run_gets_the_targets_environment_and_not_ours),
        cmocka_unit_test(an_exit_code_is_a_crash_where_the_target_says_so),
        cmocka_unit_test(a_seed_that_cannot_be_run_keeps_the_others_from_nothing),
        cmocka_unit_test(an_interrupt_leaves_no_folder),
        cmocka_unit_test(a_signal_is_told_with_its_place),
        cmocka_unit_test(a_sigkill_that_is_not_ours_is_the_memory_limit),
        cmocka_unit_test(a_program_that_spins_is_a_timeout),
        cmocka_unit_test(a_program_that_sleeps_is_given_more_wall_time),
        cmocka_unit_test(long_output_keeps_head_and_tail),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(sanitizer_options_are_merged),
        cmocka_unit_test(a_driver_gets_the_file_behind_its_arguments),
        cmocka_unit_test(an_artifact_is_replayed_and_named),
        cmocka_unit_test(a_bad_job_is_an_answer),
        cmocka_unit_test(a_bad_answer_is_refused),
        cmocka_unit_test(seeds_are_hashed),
    };

    if (argc > 1 && strncmp(argv[1], "act:", 4) == 0)
        return act(argv[1] + 4, argc > 2 ? argv[2] : "");
    return cmocka_run_group_tests(tests, setup, teardown);
}
