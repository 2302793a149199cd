/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real fuzz-preload.so in a shell: how it comes into its group, what it does to the environment,
 * and the ladder of oom_score_adj over a fork.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
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
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup.h"
#include "sys/gate.h"
#include "sys/proc.h"

/* bash forks for a subshell with fork(3), which dash may do without. */
#define ADJ "read x </proc/self/oom_score_adj; echo $x; "

static char dir[] = "/tmp/fz-preload.XXXXXX";
static char *library;

/* Answers one knock after another, as the keeper does, until it is killed; those who knock are our children. */
static pid_t gate_start(const char *ways, char *name, size_t size)
{
    int fd = gate_open(name, size);
    pid_t parent = getpid(), pid = fork();

    assert_true(fd >= 0 && pid >= 0);
    while (pid == 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (getppid() != parent)
            _exit(1);
        if (poll(&p, 1, 100) == 1)
            (void)gate_answer(fd, ways, parent);
    }
    (void)close(fd);
    return pid;
}

static void gate_end(pid_t pid)
{
    assert_true(pid > 1);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static char *run_bash(const char *script, const char *gate)
{
    struct strv argv = {0}, env = {0};
    struct proc_spec ps = {.argv = &argv, .env = &env, .timeout_ms = 5000, .max_out = 4096};
    struct proc_result r = {0};
    struct err err = {0};
    char *out;

    strv_add(&argv, "/bin/bash");
    strv_add(&argv, "-c");
    strv_add(&argv, script);
    strv_addf(&env, "LD_PRELOAD=%s", library);
    if (gate != NULL)
        strv_addf(&env, GATE_ENV "=%s", gate);
    assert_int_equal(proc_run(&ps, &r, &err), 0);
    assert_string_equal(r.err, "");
    out = xstrdup(r.out);
    proc_result_clear(&r);
    strv_clear(&argv);
    strv_clear(&env);
    return out;
}

static void it_is_moved_before_main_and_keeps_nothing_of_the_way(void **state)
{
    char *a = path_join(dir, "a"), *data = NULL, *out, *want;
    size_t size = 0;
    char name[64];
    pid_t gate;

    (void)state;
    assert_int_equal(file_write_atomic(AT_FDCWD, a, "", 0, 0600), 0);
    gate = gate_start(a, name, sizeof(name));
    out = run_bash("printf %s $$ ; echo \"[$" GATE_ENV "]\" /proc/$$/fd/*", name);
    gate_end(gate);
    assert_int_equal(file_read(AT_FDCWD, a, 100, &data, &size), 0);
    want = xasprintf("%s[] /proc/%s/fd/0 /proc/%s/fd/1 /proc/%s/fd/2", data, data, data, data);
    assert_int_equal(strncmp(out, want, strlen(want)), 0);
    free(want);
    free(data);
    free(out);
    free(a);
}

static void gate_that_is_not_there_is_left_out(void **state)
{
    char *much = xasprintf("%0200d", 0);
    char *out = run_bash("echo ran", "no such gate");

    (void)state;
    assert_string_equal(out, "ran\n");
    free(out);
    out = run_bash("echo ran", much);
    assert_string_equal(out, "ran\n");
    free(out);
    free(much);
}

static void ladder_rises_with_a_fork(void **state)
{
    char *out = run_bash(ADJ "( " ADJ ")", "");

    (void)state;
    assert_string_equal(out, "500\n1000\n");
    free(out);
}

static void without_the_variable_nothing_happens(void **state)
{
    char *out, *data = NULL, *want;

    (void)state;
    out = run_bash(ADJ "( " ADJ ")", NULL);
    assert_int_equal(file_read_proc("/proc/self/oom_score_adj", 100, &data), 0);
    want = xasprintf("%s%s", data, data);
    assert_string_equal(out, want);
    free(want);
    free(data);
    free(out);
}

static void target_enters_its_cgroup_before_main(void **state)
{
    const struct cgroup_limits lim = {.pids = 50};
    char prefix[32], name[64], *out, *procs, *want;
    pid_t gate;
    struct cgroup_root *root;
    struct cgroup *cg = NULL;
    struct strv paths = {0};
    struct err err = {0};

    (void)state;
    (void)snprintf(prefix, sizeof(prefix), "fuzzd-p%07x", (unsigned)getpid() & 0xfffffff);
    root = cgroup_root_open("/sys/fs/cgroup", prefix, NULL);
    if (strcmp(cgroup_root_name(root), "none") == 0) {
        print_message("SKIPPING: %s\n", cgroup_root_why(root));
        cgroup_root_free(root);
        skip();
    }
    assert_int_equal(cgroup_create(root, "c/a.main", &lim, &cg, &err), 0);
    cgroup_procs_paths(cg, CGROUP_T, &paths);
    procs = xstrdup("");
    for (size_t i = 0; i < paths.n; i++) {
        char *more = xasprintf("%s%s%s", procs, i > 0 ? ":" : "", paths.v[i]);

        free(procs);
        procs = more;
    }
    /* Each hierarchy we use names the leaf, or the instance where it has no leaves. */
    gate = gate_start(procs, name, sizeof(name));
    out = run_bash("while read l; do [[ $l == */fuzzd-p* ]] && echo \"${l##*:}\"; done "
                   "</proc/self/cgroup | sort -u",
                   name);
    gate_end(gate);
    want = xasprintf("/%s/c/a.main/t\n", prefix);
    assert_non_null(strstr(out, want));
    free(want);
    free(out);
    free(procs);
    strv_clear(&paths);
    assert_int_equal(cgroup_destroy(cg, 2000), 0);
    cgroup_free(cg);
    cgroup_prune(root);
    cgroup_root_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_moved_before_main_and_keeps_nothing_of_the_way),
        cmocka_unit_test(gate_that_is_not_there_is_left_out),
        cmocka_unit_test(ladder_rises_with_a_fork),
        cmocka_unit_test(without_the_variable_nothing_happens),
        cmocka_unit_test(target_enters_its_cgroup_before_main),
    };
    char *self = path_self_dir();
    int failed;

    library = path_join(self, "../../fuzz-preload.so");
    free(self);
    if (access(library, R_OK) < 0 || mkdtemp(dir) == NULL) {
        (void)fprintf(stderr, "no fuzz-preload.so to test\n");
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)path_remove_tree(dir);
    free(library);
    return failed;
}
