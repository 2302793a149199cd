/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real fuzz-preload.so in a shell: which files it writes to, what it does to the environment,
 * and the ladder of oom_score_adj over a fork.
 */
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
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

/* bash forks for a subshell with fork(3), which dash may do without. */
#define ADJ "read x </proc/self/oom_score_adj; echo $x; "

static char dir[] = "/tmp/fz-preload.XXXXXX";
static char *library;

static char *run_bash(const char *script, const char *procs)
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
    if (procs != NULL)
        strv_addf(&env, "FUZZ_TARGET_PROCS=%s", procs);
    assert_int_equal(proc_run(&ps, &r, &err), 0);
    assert_string_equal(r.err, "");
    out = xstrdup(r.out);
    proc_result_clear(&r);
    strv_clear(&argv);
    strv_clear(&env);
    return out;
}

static void every_listed_file_is_written_once(void **state)
{
    char *a = path_join(dir, "a"), *b = path_join(dir, "b");
    char *procs = xasprintf("%s::/nonexistent/cgroup.procs:%s:", a, b);
    char *out, *data = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(file_write_atomic(AT_FDCWD, a, "", 0, 0600), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, b, "", 0, 0600), 0);
    out = run_bash("echo \"[$FUZZ_TARGET_PROCS]\"", procs);
    assert_string_equal(out, "[]\n");
    free(out);
    assert_int_equal(file_read(AT_FDCWD, a, 100, &data, &size), 0);
    assert_string_equal(data, "0");
    free(data);
    assert_int_equal(file_read(AT_FDCWD, b, 100, &data, &size), 0);
    assert_string_equal(data, "0");
    free(data);
    free(procs);
    free(a);
    free(b);
}

static void numbers_are_descriptors_written_to_and_closed(void **state)
{
    char *a = path_join(dir, "fd"), *data = NULL, *out, *script;
    size_t size = 0;

    (void)state;
    assert_int_equal(file_write_atomic(AT_FDCWD, a, "", 0, 0600), 0);
    /* The shell opens it, and what it starts is what loads the library with the number. */
    script =
        xasprintf("exec 180>%s; FUZZ_TARGET_PROCS=180:181:x bash -c 'ls /proc/$$/fd | grep 180; "
                  "echo \"[$FUZZ_TARGET_PROCS]\"'",
                  a);
    out = run_bash(script, NULL);
    assert_string_equal(out, "[]\n");
    assert_int_equal(file_read(AT_FDCWD, a, 100, &data, &size), 0);
    assert_string_equal(data, "0");
    free(data);
    free(out);
    free(script);
    free(a);
}

static void over_long_path_is_left_out(void **state)
{
    char *a = path_join(dir, "c");
    char *procs = xasprintf("/%02000d:%s", 0, a);
    char *out, *data = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(file_write_atomic(AT_FDCWD, a, "", 0, 0600), 0);
    out = run_bash("echo ran", procs);
    assert_string_equal(out, "ran\n");
    assert_int_equal(file_read(AT_FDCWD, a, 100, &data, &size), 0);
    assert_string_equal(data, "0");
    free(data);
    free(out);
    free(procs);
    free(a);
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
    char prefix[32], *out, *procs, *want;
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
    out = run_bash("while read l; do [[ $l == */fuzzd-p* ]] && echo \"${l##*:}\"; done "
                   "</proc/self/cgroup | sort -u",
                   procs);
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
        cmocka_unit_test(every_listed_file_is_written_once),
        cmocka_unit_test(numbers_are_descriptors_written_to_and_closed),
        cmocka_unit_test(over_long_path_is_left_out),
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
