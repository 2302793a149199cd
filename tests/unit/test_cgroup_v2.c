/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The v2 back-end on a folder that looks like a cgroup v2 tree: which place it takes, and what it writes in which order.
 * The kernel makes the files of a group with it, so here they lie ready. What only a kernel can show is in test_cgroup.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <bsd/string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup.h"
#include "sys/cgroup_internal.h"

#define PREFIX "fuzzd-0badcafe"

static char dir[] = "/tmp/fz-cgroup2.XXXXXX";

static void put(const char *path, const char *text)
{
    char *full = path_join(dir, path);
    char *parent = path_dirname(full);

    assert_int_equal(path_mkdirs(parent, 0755), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, full, text, strlen(text), 0644), 0);
    free(parent);
    free(full);
}

static void assert_holds(const char *path, const char *want)
{
    char *full = path_join(dir, path), *data = NULL;

    assert_int_equal(file_read_proc(full, 4096, &data), 0);
    assert_string_equal(data, want);
    free(data);
    free(full);
}

/* A group with its files; controllers NULL: none offered. */
static void group(const char *path, const char *controllers)
{
    static const char *const files[] = {
        "cgroup.procs",    "cgroup.subtree_control", "cgroup.type", "cgroup.kill", "memory.max",
        "memory.swap.max", "memory.oom.group",       "pids.max",    "cpu.max",     "cpu.weight",
        "cgroup.freeze"};
    char *file;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        file = xasprintf("%s/%s", path, files[i]);
        put(file, "");
        free(file);
    }
    file = xasprintf("%s/cgroup.controllers", path);
    put(file, controllers != NULL ? controllers : "");
    free(file);
}

static void fresh(const char *controllers)
{
    (void)path_remove_tree(dir);
    assert_int_equal(path_mkdirs(dir, 0755), 0);
    put("cgroup.controllers", controllers);
    put("cgroup.subtree_control", "");
    put("cgroup.procs", "");
}

static void instance_groups(const char *base, const char *controllers)
{
    static const char *const below[] = {
        "", "/ctl", "/c", "/c/a.main", "/c/a.main/keep", "/c/a.main/afl", "/c/a.main/t"};

    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        char *path = xasprintf("%s%s" PREFIX "%s", base, *base != '\0' ? "/" : "", below[i]);

        group(path, controllers);
        free(path);
    }
}

static bool mark_delegated(const char *path)
{
    char *full = path_join(dir, path);
    bool ok = setxattr(full, "user.delegate", "1", 1, 0) == 0;

    free(full);
    return ok;
}

/* ---- Order of writes ---------------------------------------------------------------------- */

static char watched[64][PATH_MAX];

static int watch_groups(const char *const *paths, size_t n)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i++) {
        char *full = path_join(dir, paths[i]);
        int wd = inotify_add_watch(fd, full, IN_CLOSE_WRITE);

        assert_in_range(wd, 0, 63);
        (void)strlcpy(watched[wd], paths[i], sizeof(watched[wd]));
        free(full);
    }
    return fd;
}

static char *writes(int fd)
{
    char buf[16384] __attribute__((aligned(8)));
    ssize_t n = read(fd, buf, sizeof(buf));
    char *text = xstrdup("");

    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *ev = (const void *)(buf + at);
        char *more = xasprintf("%s%s/%s\n", text, watched[ev->wd], ev->name);

        free(text);
        text = more;
        at += (ssize_t)sizeof(*ev) + ev->len;
    }
    return text;
}

static void controllers_are_handed_on_from_the_top_and_limits_set_last(void **state)
{
    static const char *const paths[] = {".",
                                        PREFIX,
                                        PREFIX "/c",
                                        PREFIX "/c/a.main",
                                        PREFIX "/c/a.main/t",
                                        PREFIX "/c/a.main/afl",
                                        PREFIX "/c/a.main/keep"};
    const struct cgroup_limits lim = {
        .memory_bytes = 96 << 20, .target_memory_bytes = 64 << 20, .pids = 20, .cpu_pct = 150};
    struct cgroup_root *root;
    struct cgroup *cg = NULL;
    struct err err = {0};
    char *got;
    int fd;

    (void)state;
    fresh("cpuset cpu io memory pids\n");
    instance_groups("", "cpu memory pids\n");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    assert_string_equal(cgroup_root_name(root), "v2");
    assert_string_equal(cgroup_root_why(root), "");
    assert_int_equal(cgroup_root_holds(root), CGROUP_HOLDS_MEMORY | CGROUP_HOLDS_PIDS |
                                                  CGROUP_HOLDS_CPU | CGROUP_HOLDS_TREE);
    fd = watch_groups(paths, sizeof(paths) / sizeof(paths[0]));
    assert_int_equal(cgroup_create(root, "c/a.main", &lim, &cg, &err), 0);
    got = writes(fd);
    assert_string_equal(
        got, "./cgroup.subtree_control\n" PREFIX "/cgroup.subtree_control\n" PREFIX
             "/c/cgroup.subtree_control\n" PREFIX "/c/a.main/cgroup.subtree_control\n" PREFIX
             "/c/a.main/memory.max\n" PREFIX "/c/a.main/pids.max\n" PREFIX
             "/c/a.main/cpu.max\n" PREFIX "/c/a.main/cpu.weight\n" PREFIX
             "/c/a.main/t/memory.max\n" PREFIX "/c/a.main/t/memory.swap.max\n" PREFIX
             "/c/a.main/t/memory.oom.group\n" PREFIX "/c/a.main/t/pids.max\n");
    free(got);
    (void)close(fd);
    assert_holds("cgroup.subtree_control", "+memory +pids +cpu");
    assert_holds(PREFIX "/c/cgroup.subtree_control", "+memory +pids +cpu");
    /* No cpu groups below the instance. */
    assert_holds(PREFIX "/c/a.main/cgroup.subtree_control", "+memory +pids");
    assert_holds(PREFIX "/c/a.main/memory.max", "100663296");
    assert_holds(PREFIX "/c/a.main/pids.max", "36");
    assert_holds(PREFIX "/c/a.main/cpu.max", "150000 100000");
    assert_holds(PREFIX "/c/a.main/cpu.weight", "100");
    assert_holds(PREFIX "/c/a.main/t/memory.max", "67108864");
    assert_holds(PREFIX "/c/a.main/t/memory.swap.max", "0");
    assert_holds(PREFIX "/c/a.main/t/memory.oom.group", "0");
    assert_holds(PREFIX "/c/a.main/t/pids.max", "20");
    cgroup_free(cg);
    cgroup_root_free(root);
}

static void ctl_is_entered_before_anything_is_handed_on(void **state)
{
    static const char *const paths[] = {".", PREFIX, PREFIX "/ctl"};
    struct cgroup_root *root;
    char *got;
    int fd;

    (void)state;
    fresh("cpu memory pids\n");
    instance_groups("", "cpu memory pids\n");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    fd = watch_groups(paths, 3);
    assert_int_equal(cgroup_enter_ctl(root), 0);
    got = writes(fd);
    assert_string_equal(got, PREFIX "/ctl/cgroup.procs\n./cgroup.subtree_control\n");
    free(got);
    (void)close(fd);
    /* And what was handed on is taken back, one by one, before we go. */
    cgroup_root_free(root);
    assert_holds("cgroup.subtree_control", "-cpu");
    assert_holds("cgroup.procs", "0");
}

static void a_low_weight_holds_against_the_neighbours_too(void **state)
{
    const struct cgroup_limits lim = {.cpu_weight_pct = 7};
    struct cgroup_root *root;
    struct cgroup *cg = NULL;
    struct err err = {0};

    (void)state;
    fresh("cpu memory pids\n");
    instance_groups("", "cpu memory pids\n");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    assert_int_equal(cgroup_create(root, "c/a.main", &lim, &cg, &err), 0);
    assert_holds(PREFIX "/cpu.weight", "");
    assert_holds(PREFIX "/c/cpu.weight", "7");
    assert_holds(PREFIX "/c/a.main/cpu.weight", "7");
    assert_holds(PREFIX "/c/a.main/cpu.max", "max 100000");
    assert_holds(PREFIX "/c/a.main/memory.max", "max");
    assert_holds(PREFIX "/c/a.main/t/memory.swap.max", "max");
    cgroup_free(cg);
    cgroup_root_free(root);
}

static void controllers_that_are_missing_are_left_out_and_named(void **state)
{
    const struct cgroup_limits lim = {.memory_bytes = 1 << 20, .pids = 20, .cpu_pct = 100};
    struct cgroup_root *root;
    struct cgroup *cg = NULL;
    struct err err = {0};

    (void)state;
    fresh("pids hugetlb memory_recursiveprot\n");
    instance_groups("", "pids\n");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    assert_int_equal(cgroup_root_holds(root), CGROUP_HOLDS_PIDS | CGROUP_HOLDS_TREE);
    assert_non_null(strstr(cgroup_root_why(root), "has no controller memory: targets have no"));
    assert_non_null(strstr(cgroup_root_why(root), "has no controller cpu: cpu limits"));
    assert_null(strstr(cgroup_root_why(root), "pids"));
    assert_int_equal(cgroup_create(root, "c/a.main", &lim, &cg, &err), 0);
    assert_holds(PREFIX "/c/a.main/pids.max", "36");
    assert_holds(PREFIX "/c/a.main/memory.max", "");
    assert_holds(PREFIX "/c/a.main/cpu.max", "");
    assert_holds(PREFIX "/c/a.main/cgroup.subtree_control", "+pids");
    cgroup_free(cg);
    cgroup_root_free(root);
}

/* ---- The place ---------------------------------------------------------------------------- */

static void assert_place(const char *self, const char *want)
{
    struct cgroup_root *root = cgroup_root_open_from(dir, PREFIX, NULL, self);
    char *full = *want != '\0' ? path_join(dir, want) : xstrdup(dir);

    assert_string_equal(cgroup_root_name(root), "v2");
    assert_string_equal(cgroup_root_place(root), full);
    free(full);
    cgroup_root_free(root);
}

static void root_outside_a_delegated_group_uses_the_top(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    fresh("cpu memory pids\n");
    group("user.slice/session-1.scope", "memory pids\n");
    assert_place("/", "");
    assert_place("/user.slice/session-1.scope", "");
    assert_place("/not/there", "");
}

static void a_delegated_group_is_the_place(void **state)
{
    (void)state;
    fresh("cpu memory pids\n");
    group("system.slice/run-1.scope", "cpu memory pids\n");
    group("system.slice/run-1.scope/inner", "cpu memory pids\n");
    if (!mark_delegated("system.slice/run-1.scope"))
        skip();
    assert_place("/system.slice/run-1.scope", "system.slice/run-1.scope");
    assert_place("/system.slice/run-1.scope/inner", "system.slice/run-1.scope");
    /* A daemon started by one that left us in its ctl. */
    assert_place("/system.slice/run-1.scope/fuzzd-12345678/ctl", "system.slice/run-1.scope");
}

static struct cgroup_root as_user(const char *self, uid_t user, bool want)
{
    struct cgroup_root root = {.why = xstrdup(""), .prefix = (char[]){PREFIX}};

    assert_int_equal(cgroup_v2_open(&root, dir, self, user), want);
    return root;
}

static void clear(struct cgroup_root *root)
{
    free(root->dir[CGROUP_H_UNIFIED]);
    free(root->why);
}

static void a_scope_a_user_may_write_to_is_his_with_all_in_it(void **state)
{
    struct cgroup_root root;

    (void)state;
    fresh("cpu memory pids\n");
    group("app.slice/x.scope", "memory pids\n");
    put("app.slice/x.scope/cgroup.procs", "1\n2\n");
    root = as_user("/app.slice/x.scope", 1000, true);
    assert_non_null(strstr(root.dir[CGROUP_H_UNIFIED], "/app.slice/x.scope"));
    assert_int_equal(root.controllers, CGROUP_HOLDS_MEMORY | CGROUP_HOLDS_PIDS);
    assert_true(root.delegated);
    clear(&root);
}

static void a_service_uses_the_slice_around_it_as_it_may_be_started_again(void **state)
{
    struct cgroup_root root;

    (void)state;
    fresh("cpu memory pids\n");
    group("app.slice", "cpu memory pids\n");
    group("app.slice/fuzzd.service", "memory pids\n");
    root = as_user("/app.slice/fuzzd.service", 1000, true);
    assert_string_equal(strrchr(root.dir[CGROUP_H_UNIFIED], '/'), "/app.slice");
    assert_false(root.delegated);
    clear(&root);
    if (!mark_delegated("app.slice/fuzzd.service"))
        skip();
    root = as_user("/app.slice/fuzzd.service", 0, true);
    assert_string_equal(strrchr(root.dir[CGROUP_H_UNIFIED], '/'), "/app.slice");
    clear(&root);
    /* With DelegateSubgroup= it starts in a group of its own below. */
    group("app.slice/fuzzd.service/main", "memory pids\n");
    root = as_user("/app.slice/fuzzd.service/main", 0, true);
    assert_string_equal(strrchr(root.dir[CGROUP_H_UNIFIED], '/'), "/fuzzd.service");
    clear(&root);
}

static void a_user_without_a_group_is_told_how_to_get_one(void **state)
{
    struct cgroup_root root;

    (void)state;
    fresh("cpu memory pids\n");
    root = as_user("/not/there", 1000, false);
    assert_non_null(strstr(root.why, "systemd-run --user --scope -p Delegate=yes"));
    clear(&root);
}

static void other_processes_in_the_place_keep_controllers_from_us(void **state)
{
    struct cgroup_root root;

    (void)state;
    /* The top as a container sees it: a group like any other. */
    fresh("cpu memory pids\n");
    put("cgroup.type", "domain\n");
    put("cgroup.procs", "1\n2\n");
    put("cgroup.subtree_control", "pids\n");
    root = as_user("/", 0, true);
    assert_int_equal(root.controllers, CGROUP_HOLDS_PIDS);
    assert_non_null(strstr(root.why, "has other processes in it and cannot hand on memory"));
    clear(&root);
}

static void a_recorded_place_is_found_again_and_no_other(void **state)
{
    struct cgroup_root *root;
    struct strv paths = {0}, got = {0};
    struct cgroup *cg;
    char *want;

    (void)state;
    fresh("cpu memory pids\n");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    strv_add(&paths, "/etc/" PREFIX "/c/a.main");
    strv_addf(&paths, "%s/../" PREFIX "/c/a.main", dir);
    strv_addf(&paths, "%s/x.scope/" PREFIX "/c/a.main/t", dir);
    strv_addf(&paths, "%s/x.scope/" PREFIX "/c/a.main", dir);
    cg = cgroup_attach_recorded(root, "c/a.main", &paths);
    cgroup_paths(cg, &got);
    want = xasprintf("%s/x.scope/" PREFIX "/c/a.main", dir);
    assert_string_equal(got.v[got.n - 1], want);
    free(want);
    strv_clear(&got);
    cgroup_free(cg);
    paths.n = 2;
    cg = cgroup_attach_recorded(root, "c/a.main", &paths);
    cgroup_paths(cg, &got);
    want = xasprintf("%s/" PREFIX "/c/a.main", dir);
    assert_string_equal(got.v[got.n - 1], want);
    free(want);
    paths.n = 4;
    strv_clear(&paths);
    strv_clear(&got);
    cgroup_free(cg);
    cgroup_root_free(root);
}

static void the_last_of_a_recorded_place_takes_it_along(void **state)
{
    static const char group[] = "x.scope/" PREFIX;
    struct cgroup_root *root;
    struct strv paths = {0};
    char *left, *one;

    (void)state;
    fresh("cpu memory pids\n");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    left = xasprintf("%s/%s/ctl-triage", dir, group);
    one = xasprintf("%s/%s/c/a.main", dir, group);
    strv_add(&paths, one);
    for (int lives = 1; lives >= 0; lives--) {
        char *jobs = path_join(left, "jobs/t"), *leaf = path_join(one, "t");
        struct cgroup *cg = cgroup_attach_recorded(root, "c/a.main", &paths);

        assert_int_equal(path_mkdirs(jobs, 0755), 0);
        assert_int_equal(path_mkdirs(leaf, 0755), 0);
        put("x.scope/" PREFIX "/cgroup.events", lives ? "populated 1\n" : "populated 0\n");
        assert_int_equal(cgroup_destroy(cg, 0), 0);
        assert_int_equal(access(one, F_OK), -1);
        assert_int_equal(access(left, F_OK), lives ? 0 : -1);
        cgroup_free(cg);
        free(leaf);
        free(jobs);
    }
    strv_clear(&paths);
    free(one);
    free(left);
    cgroup_root_free(root);
}

static void oom_kills_are_summed_over_the_leaves(void **state)
{
    struct strv kill_files = {0}, events = {0}, oom = {0};
    struct cgroup_root *root;
    struct cgroup *cg;

    (void)state;
    fresh("cpu memory pids\n");
    instance_groups("", "memory\n");
    put(PREFIX "/c/a.main/afl/memory.events.local", "oom 9\noom_kill 2\noom_group_kill 1\n");
    put(PREFIX "/c/a.main/t/memory.events.local", "oom 9\noom_kill 40\n");
    put(PREFIX "/c/a.main/t/memory.events", "oom_kill 1000\n");
    put(PREFIX "/c/a.main/memory.events", "oom_kill 1000\n");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    cg = cgroup_attach(root, "c/a.main");
    assert_int_equal(cgroup_oom_kills(cg), 42);
    cgroup_watch_paths(cg, &kill_files, &events, &oom);
    assert_int_equal(kill_files.n, 2);
    assert_int_equal(events.n, 2);
    assert_int_equal(oom.n, 2);
    put(PREFIX "/c/a.main/t/memory.events.local", "oom_kill -1\n");
    assert_int_equal(cgroup_oom_kills(cg), -EINVAL);
    strv_clear(&kill_files);
    strv_clear(&events);
    strv_clear(&oom);
    cgroup_free(cg);
    cgroup_root_free(root);
}

static void an_old_kernel_cannot_freeze(void **state)
{
    struct cgroup_root *root;
    struct cgroup *cg;

    (void)state;
    fresh("memory pids\n");
    put(PREFIX "/c/a.main/t/cgroup.procs", "");
    root = cgroup_root_open_from(dir, PREFIX, NULL, "/");
    cg = cgroup_attach(root, "c/a.main");
    assert_int_equal(cgroup_freeze(cg, CGROUP_T, true), -EOPNOTSUPP);
    assert_int_equal(cgroup_freeze(cg, CGROUP_AFL, true), -ENOENT);
    cgroup_free(cg);
    cgroup_root_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_are_handed_on_from_the_top_and_limits_set_last),
        cmocka_unit_test(ctl_is_entered_before_anything_is_handed_on),
        cmocka_unit_test(a_low_weight_holds_against_the_neighbours_too),
        cmocka_unit_test(controllers_that_are_missing_are_left_out_and_named),
        cmocka_unit_test(root_outside_a_delegated_group_uses_the_top),
        cmocka_unit_test(a_delegated_group_is_the_place),
        cmocka_unit_test(a_scope_a_user_may_write_to_is_his_with_all_in_it),
        cmocka_unit_test(a_service_uses_the_slice_around_it_as_it_may_be_started_again),
        cmocka_unit_test(a_user_without_a_group_is_told_how_to_get_one),
        cmocka_unit_test(other_processes_in_the_place_keep_controllers_from_us),
        cmocka_unit_test(a_recorded_place_is_found_again_and_no_other),
        cmocka_unit_test(the_last_of_a_recorded_place_takes_it_along),
        cmocka_unit_test(oom_kills_are_summed_over_the_leaves),
        cmocka_unit_test(an_old_kernel_cannot_freeze),
    };
    int failed;

    if (mkdtemp(dir) == NULL)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)path_remove_tree(dir);
    return failed;
}
