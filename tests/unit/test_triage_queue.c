/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue with a fake fuzz-triage: a shell script that answers by the job's
 * name, and does what a real one must be forgiven for.
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
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/proc.h"
#include "triage/json_util.h"
#include "triage/queue.h"

static char *dir, *program;

static const char script[] =
    "#!/bin/sh\n"
    "job=$(cat)\n"
    "echo run >>\"$(dirname \"$0\")/runs\"\n"
    "case $job in\n"
    "*good*) printf '{\"ok\":true,\"n\":1}' ;;\n"
    "*dies*) kill -SEGV $$ ;;\n"
    "*nonsense*) printf 'no json' ;;\n"
    "*empty*) : ;;\n"
    "*second*) d=$(dirname \"$0\"); if [ -f \"$d/once\" ]; then printf "
    "'{\"ok\":true}'; else touch \"$d/once\"; exit 1; fi ;;\n"
    "*flood*) head -c 5000000 /dev/zero | tr '\\0' x 2>/dev/null ;;\n"
    "*slow*) touch \"$TMPDIR/left\"; echo \"$TMPDIR\" >\"$(dirname \"$0\")/tmpdir\"; sleep 30 & "
    "echo $! >\"$(dirname \"$0\")/pid\"; wait ;;\n"
    "esac\n";

struct got {
    sd_event *loop;
    struct queue *q;
    int n, ok, stop_at;
    char order[64], error[128];
    bool free_in_callback, push_in_callback;
};

static json_t *job_named(const char *name)
{
    return json_pack("{s:s, s:s}", "job", "test", "name", name);
}

static void on_answer(void *ctx, const json_t *answer)
{
    struct got *g = ctx;

    g->n++;
    if (json_is_true(json_object_get(answer, "ok")))
        g->ok++;
    (void)snprintf(g->error, sizeof(g->error), "%s", json_str(answer, "error", ""));
    if (g->push_in_callback) {
        g->push_in_callback = false;
        queue_push(g->q, job_named("good"), g, false, on_answer, g);
    }
    if (g->free_in_callback) {
        queue_free(g->q);
        g->q = NULL;
    }
    if (g->n >= g->stop_at)
        (void)sd_event_exit(g->loop, 0);
}

static int on_late(sd_event_source *s, uint64_t usec, void *ctx)
{
    (void)s, (void)usec;
    return sd_event_exit(ctx, 1);
}

/* Runs the loop until all answers are there, or for_ms. True when they are. */
static bool turn(struct got *g, uint64_t for_ms)
{
    sd_event_source *late = NULL;
    int r;

    assert_true(sd_event_add_time_relative(g->loop, &late, CLOCK_MONOTONIC, for_ms * 1000, 1000,
                                           on_late, g->loop) >= 0);
    r = sd_event_loop(g->loop);
    sd_event_source_disable_unref(late);
    return r == 0;
}

static void begin(struct got *g, int stop_at)
{
    struct err err = {0};
    char *once = path_join(dir, "once");

    (void)unlink(once);
    free(once);
    memset(g, 0, sizeof(*g));
    g->stop_at = stop_at;
    assert_true(sd_event_new(&g->loop) >= 0);
    assert_int_equal(queue_new(g->loop, program, NULL, NULL, &g->q, &err), 0);
}

static void end(struct got *g)
{
    queue_free(g->q);
    sd_event_unref(g->loop);
}

static void jobs_are_answered_in_order_one_at_a_time(void **state)
{
    struct got g;

    (void)state;
    begin(&g, 4);
    for (int i = 0; i < 4; i++)
        queue_push(g.q, job_named("good"), &g, false, on_answer, &g);
    assert_int_equal(queue_pending(g.q, &g), 4);
    assert_int_equal(queue_pending(g.q, NULL), 4);
    assert_int_equal(g.n, 0); /* nothing from within push */
    assert_true(turn(&g, 10000));
    assert_int_equal(g.ok, 4);
    assert_int_equal(queue_pending(g.q, NULL), 0);
    end(&g);
}

static void a_process_that_dies_costs_its_job_only(void **state)
{
    static const char *const names[] = {"dies", "nonsense", "empty", "flood", "good"};
    struct got g;

    (void)state;
    begin(&g, 5);
    for (size_t i = 0; i < 5; i++)
        queue_push(g.q, job_named(names[i]), &g, false, on_answer, &g);
    assert_true(turn(&g, 20000));
    assert_int_equal(g.ok, 1);
    end(&g);
}

static void a_job_is_tried_once_more(void **state)
{
    struct got g;

    (void)state;
    begin(&g, 1);
    queue_push(g.q, job_named("second"), &g, false, on_answer, &g);
    assert_true(turn(&g, 10000));
    assert_int_equal(g.ok, 1);
    end(&g);
}

static void a_timeout_waits_for_a_core_or_its_owners_end(void **state)
{
    struct got g;
    int a, b;

    (void)state;
    begin(&g, 1);
    queue_push(g.q, job_named("good"), &a, true, on_answer, &g);
    queue_push(g.q, job_named("good"), &b, true, on_answer, &g);
    assert_false(turn(&g, 200));
    end(&g);
    begin(&g, 1);
    queue_push(g.q, job_named("good"), &a, true, on_answer, &g);
    queue_push(g.q, job_named("good"), &b, true, on_answer, &g);
    queue_release(g.q, &b);
    assert_true(turn(&g, 5000));
    assert_int_equal(queue_pending(g.q, &a), 1);
    assert_int_equal(queue_pending(g.q, &b), 0);
    end(&g);
    begin(&g, 2);
    queue_push(g.q, job_named("good"), &a, true, on_answer, &g);
    queue_push(g.q, job_named("good"), &b, true, on_answer, &g);
    queue_set_free_core(g.q, true);
    assert_true(turn(&g, 5000));
    end(&g);
}

static void a_program_that_is_not_there_is_an_answer(void **state)
{
    struct got g;
    struct err err = {0};
    struct queue *q;

    (void)state;
    begin(&g, 1);
    assert_int_equal(queue_new(g.loop, "/nowhere/fuzz-triage", NULL, NULL, &q, &err), 0);
    queue_push(q, job_named("good"), &g, false, on_answer, &g);
    assert_true(turn(&g, 5000));
    assert_int_equal(g.ok, 0);
    assert_non_null(strstr(g.error, "/nowhere"));
    queue_free(q);
    end(&g);
}

static void a_callback_may_push_and_may_free_the_queue(void **state)
{
    struct got g;

    (void)state;
    begin(&g, 2);
    g.push_in_callback = true;
    queue_push(g.q, job_named("good"), &g, false, on_answer, &g);
    assert_true(turn(&g, 5000));
    assert_int_equal(g.ok, 2);
    end(&g);
    begin(&g, 1);
    g.free_in_callback = true;
    queue_push(g.q, job_named("good"), &g, false, on_answer, &g);
    queue_push(g.q, job_named("good"), &g, false, on_answer, &g);
    assert_true(turn(&g, 5000));
    assert_int_equal(g.n, 1);
    end(&g);
}

/* The pid the slow script wrote, once it is there. */
static pid_t slow_pid(void)
{
    char *path = path_join(dir, "pid"), *text;
    size_t size;
    long pid = 0;

    if (file_read(AT_FDCWD, path, 64, &text, &size) == 0) {
        pid = strtol(text, NULL, 10);
        free(text);
    }
    free(path);
    return (pid_t)pid;
}

static void dropping_an_owner_kills_what_runs_without_a_callback(void **state)
{
    struct got g;
    struct proc_id id;
    pid_t pid;

    (void)state;
    begin(&g, 1);
    queue_push(g.q, job_named("slow"), &g, false, on_answer, &g);
    queue_push(g.q, job_named("good"), &g, false, on_answer, &g);
    assert_false(turn(&g, 500));
    pid = slow_pid();
    assert_true(pid > 0);
    queue_drop(g.q, &g);
    assert_int_equal(queue_pending(g.q, NULL), 0);
    assert_int_equal(g.n, 0);
    end(&g);
    /* Its child was in its group; a zombie that nobody takes counts as dead. */
    for (int i = 0; i < 100 && proc_identify(pid, &id) == 0; i++)
        (void)usleep(10000);
    assert_int_equal(proc_identify(pid, &id), -ESRCH);
    /* And what it left in its TMPDIR is gone. */
    {
        char *path = path_join(dir, "tmpdir"), *text;
        size_t size;

        assert_int_equal(file_read(AT_FDCWD, path, 4096, &text, &size), 0);
        *strchr(text, '\n') = '\0';
        assert_non_null(strstr(text, "fz-job."));
        assert_int_not_equal(access(text, F_OK), 0);
        free(text);
        free(path);
    }
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    dir = xasprintf("%s/fz-test.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL)
        return -1;
    program = path_join(dir, "triage.sh");
    return file_write_atomic(AT_FDCWD, program, script, sizeof(script) - 1, 0755);
}

static int teardown(void **state)
{
    int r = path_remove_tree(dir);

    (void)state;
    free(dir);
    free(program);
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_answered_in_order_one_at_a_time),
        cmocka_unit_test(a_process_that_dies_costs_its_job_only),
        cmocka_unit_test(a_job_is_tried_once_more),
        cmocka_unit_test(a_timeout_waits_for_a_core_or_its_owners_end),
        cmocka_unit_test(a_program_that_is_not_there_is_an_answer),
        cmocka_unit_test(a_callback_may_push_and_may_free_the_queue),
        cmocka_unit_test(dropping_an_owner_kills_what_runs_without_a_callback),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
