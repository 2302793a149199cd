/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups against the real kernel where this user may make some (on a hybrid host twice, the second time with the v2
 * back-end on the tree beside), and parsing against a folder that only looks like a cgroup file system. Every group is below a prefix of this process alone, and
 * the last test proves that none is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

#define FS "/sys/fs/cgroup"

static const char *fs; /* the tree of the round */

static char prefix[32];
static char dir[] = "/tmp/fz-cgroup.XXXXXX";
static struct cgroup_root *root; /* NULL: no real cgroups here */

static void need_real(void)
{
    if (root == NULL)
        skip();
}

static struct cgroup *make(const char *name, const struct cgroup_limits *lim)
{
    struct cgroup *cg = NULL;
    struct err err = {0};
    int rc = cgroup_create(root, name, lim, &cg, &err);

    if (rc < 0)
        print_message("%s\n", err.msg);
    assert_int_equal(rc, 0);
    return cg;
}

static void enter(const struct strv *paths)
{
    for (size_t i = 0; i < paths->n; i++) {
        int fd = open(paths->v[i], O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, "0", 1) != 1)
            _exit(99);
        (void)close(fd);
    }
}

static void escape(void)
{
    (void)setsid();
    if (fork() > 0)
        _exit(0);
    (void)setsid();
    if (fork() > 0)
        _exit(0);
    (void)signal(SIGTERM, SIG_IGN);
    for (;;)
        (void)pause();
}

/* Starts a child in a leaf that goes on with fn. */
static pid_t start_in(struct cgroup *cg, enum cgroup_leaf leaf, void (*fn)(void))
{
    struct strv paths = {0};
    int ready[2];
    pid_t pid;
    char c;

    cgroup_procs_paths(cg, leaf, &paths);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        enter(&paths);
        (void)!write(ready[1], "x", 1);
        fn();
        _exit(0);
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    (void)close(ready[0]);
    strv_clear(&paths);
    return pid;
}

static void sleep_forever(void)
{
    for (;;)
        (void)pause();
}

static int wait_populated(struct cgroup *cg, enum cgroup_leaf leaf, int want)
{
    int got = -1;

    for (int i = 0; i < 600; i++) {
        got = cgroup_populated(cg, leaf);
        if (got == want)
            break;
        (void)usleep(5000);
    }
    return got;
}

static void assert_file(const char *path, const char *want)
{
    char *data = NULL;

    assert_int_equal(file_read_proc(path, 4096, &data), 0);
    assert_string_equal(data, want);
    free(data);
}

static bool is_v1(void)
{
    return root == NULL || strcmp(cgroup_root_name(root), "v1") == 0;
}

static void assert_v1(const char *h, const char *name, const char *file, const char *want)
{
    char *path = xasprintf("%s/%s/%s/%s/%s", FS, h, prefix, name, file);
    char *mount = xasprintf("%s/%s/cgroup.procs", FS, h);

    if (access(mount, W_OK) == 0)
        assert_file(path, want);
    else
        print_message("no %s hierarchy, %s not looked at\n", h, file);
    free(mount);
    free(path);
}

static void limits_are_really_set(void **state)
{
    const struct cgroup_limits lim = {.memory_bytes = 96 << 20,
                                      .target_memory_bytes = 64 << 20,
                                      .pids = 20,
                                      .cpu_pct = 50,
                                      .cpu_weight_pct = 10};
    const struct cgroup_limits none = {0};
    struct cgroup *cg;
    char *path = xasprintf("%s/cpu/%s/c/a.main/t", FS, prefix);

    (void)state;
    need_real();
    cg = make("c/a.main", &lim);
    assert_v1("memory", "c/a.main", "memory.limit_in_bytes", "100663296\n");
    assert_v1("memory", "c/a.main/t", "memory.limit_in_bytes", "67108864\n");
    assert_v1("memory", "c/a.main/t", "memory.swappiness", "0\n");
    assert_v1("pids", "c/a.main/t", "pids.max", "20\n");
    assert_v1("pids", "c/a.main", "pids.max", "36\n");
    assert_v1("cpu", "c/a.main", "cpu.cfs_quota_us", "50000\n");
    assert_v1("cpu", "c/a.main", "cpu.shares", "102\n");
    assert_v1("cpu", "c", "cpu.shares", "102\n"); /* or "c" would weigh as much as its neighbours */
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    cgroup_free(cg);
    /* An empty one is taken over, and loses limits it should no longer have. */
    cg = make("c/a.main", &none);
    assert_v1("pids", "c/a.main/t", "pids.max", "max\n");
    assert_v1("cpu", "c/a.main", "cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cgroup_destroy(cg, 1000), 0);
    cgroup_free(cg);
}

static void assert_v2(const char *name, const char *file, const char *want)
{
    char *path = xasprintf("%s/%s/%s/%s", cgroup_root_place(root), prefix, name, file);

    assert_file(path, want);
    free(path);
}

static void limits_are_really_set_on_v2(void **state)
{
    const struct cgroup_limits lim = {.memory_bytes = 96 << 20,
                                      .target_memory_bytes = 64 << 20,
                                      .pids = 20,
                                      .cpu_pct = 50,
                                      .cpu_weight_pct = 10};
    const struct cgroup_limits none = {0};
    struct cgroup *cg;

    (void)state;
    need_real();
    cg = make("c/a.main", &lim);
    assert_v2("c/a.main", "memory.max", "100663296\n");
    assert_v2("c/a.main/t", "memory.max", "67108864\n");
    assert_v2("c/a.main/t", "memory.oom.group", "0\n");
    assert_v2("c/a.main/t", "pids.max", "20\n");
    assert_v2("c/a.main", "pids.max", "36\n");
    assert_v2("c/a.main", "cpu.max", "50000 100000\n");
    assert_v2("c/a.main", "cpu.weight", "10\n");
    assert_v2("c", "cpu.weight", "10\n");
    assert_v2("c/a.main", "cgroup.subtree_control", "memory pids\n");
    cgroup_free(cg);
    cg = make("c/a.main", &none);
    assert_v2("c/a.main/t", "memory.max", "max\n");
    assert_v2("c/a.main/t", "pids.max", "max\n");
    assert_v2("c/a.main", "cpu.max", "max 100000\n");
    assert_int_equal(cgroup_destroy(cg, 1000), 0);
    cgroup_free(cg);
}

static void kill_reaches_an_escapee_and_spares_the_keeper(void **state)
{
    const struct cgroup_limits lim = {.pids = 20};
    struct cgroup *cg;
    pid_t keeper, child;
    int status = 0;

    (void)state;
    need_real();
    cg = make("c/kill.main", &lim);
    assert_int_equal(cgroup_populated(cg, CGROUP_T), 0);
    keeper = start_in(cg, CGROUP_KEEP, sleep_forever);
    child = start_in(cg, CGROUP_T, escape);
    /* The child itself ends at once; who it started has no tie to it but the group. */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(wait_populated(cg, CGROUP_T, 1), 1);
    assert_int_equal(cgroup_kill(cg, CGROUP_T), 0);
    assert_int_equal(wait_populated(cg, CGROUP_T, 0), 0);
    assert_int_equal(waitpid(keeper, &status, WNOHANG), 0);
    assert_int_equal(cgroup_populated(cg, CGROUP_KEEP), 1);
    assert_int_equal(cgroup_destroy(cg, 2000), 0);
    assert_int_equal(waitpid(keeper, &status, 0), keeper);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(cgroup_populated(cg, CGROUP_KEEP), 0);
    cgroup_free(cg);
}

static void create_refuses_a_group_with_processes(void **state)
{
    const struct cgroup_limits lim = {0};
    struct cgroup *cg, *again = NULL;
    struct err err = {0};
    pid_t pid;

    (void)state;
    need_real();
    cg = make("c/busy.main", &lim);
    pid = start_in(cg, CGROUP_AFL, sleep_forever);
    assert_int_equal(cgroup_create(root, "c/busy.main", &lim, &again, &err), -EBUSY);
    assert_null(again);
    assert_non_null(strstr(err.msg, "c/busy.main/afl still has processes"));
    assert_int_equal(cgroup_destroy(cg, 2000), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cgroup_free(cg);
}

static void spin(void)
{
    for (;;)
        ;
}

static int64_t cpu_ticks(pid_t pid)
{
    char path[64], *data = NULL;
    long long u = -1, s = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    assert_int_equal(file_read_proc(path, 4096, &data), 0);
    assert_int_equal(sscanf(strrchr(data, ')'),
                            ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &u, &s),
                     2);
    free(data);
    return u + s;
}

static void freeze_stops_the_target_and_thaw_lets_it_go_on(void **state)
{
    const struct cgroup_limits lim = {0};
    struct cgroup *cg;
    int64_t before, after;
    pid_t pid;

    (void)state;
    need_real();
    cg = make("c/freeze.main", &lim);
    pid = start_in(cg, CGROUP_T, spin);
    if (cgroup_freeze(cg, CGROUP_T, true) == -EOPNOTSUPP) {
        assert_int_equal(cgroup_destroy(cg, 2000), 0);
        (void)waitpid(pid, NULL, 0);
        cgroup_free(cg);
        skip();
    }
    (void)usleep(50 * 1000);
    before = cpu_ticks(pid);
    (void)usleep(150 * 1000);
    assert_int_equal(cpu_ticks(pid), before);
    assert_int_equal(cgroup_freeze(cg, CGROUP_T, false), 0);
    after = before;
    for (int i = 0; i < 600 && after == before; i++) {
        (void)usleep(5000);
        after = cpu_ticks(pid);
    }
    assert_true(after > before);
    /* A frozen one must still die. */
    assert_int_equal(cgroup_freeze(cg, CGROUP_T, true), 0);
    assert_int_equal(cgroup_kill(cg, CGROUP_T), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(cgroup_destroy(cg, 2000), 0);
    cgroup_free(cg);
}

static void eat(void)
{
    for (int i = 0; i < 64; i++) {
        char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p != MAP_FAILED)
            memset(p, 1, 1 << 20);
    }
}

static void memory_limit_kills_the_target_and_is_counted(void **state)
{
    const struct cgroup_limits lim = {.memory_bytes = 256 << 20, .target_memory_bytes = 16 << 20};
    struct cgroup *cg;
    int status = 0;
    pid_t pid;

    (void)state;
    need_real();
    if ((cgroup_root_holds(root) & CGROUP_HOLDS_MEMORY) == 0)
        skip();
    cg = make("c/oom.main", &lim);
    assert_int_equal(cgroup_oom_kills(cg), 0);
    pid = start_in(cg, CGROUP_T, eat);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(cgroup_oom_kills(cg), 1);
    assert_int_equal(cgroup_destroy(cg, 2000), 0);
    cgroup_free(cg);
}

static void fork_bomb(void)
{
    int made = 0;

    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();

        if (pid == 0)
            sleep_forever();
        if (pid > 0)
            made++;
    }
    _exit(made);
}

static void pids_limit_contains_a_fork_bomb(void **state)
{
    const struct cgroup_limits lim = {.pids = 10};
    struct cgroup *cg;
    int status = 0;
    pid_t pid;

    (void)state;
    need_real();
    if ((cgroup_root_holds(root) & CGROUP_HOLDS_PIDS) == 0)
        skip();
    cg = make("c/bomb.main", &lim);
    pid = start_in(cg, CGROUP_T, fork_bomb);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 9);
    assert_int_equal(cgroup_destroy(cg, 3000), 0);
    cgroup_free(cg);
}

static void destroy_of_a_missing_group_succeeds(void **state)
{
    struct cgroup *cg;

    (void)state;
    need_real();
    cg = cgroup_attach(root, "never/was.there");
    assert_int_equal(cgroup_populated(cg, CGROUP_AFL), 0);
    assert_int_equal(cgroup_kill(cg, CGROUP_AFL), 0);
    assert_int_equal(cgroup_oom_kills(cg), 0);
    assert_int_equal(cgroup_destroy(cg, 0), 0);
    cgroup_free(cg);
}

static void names_that_leave_the_prefix_are_refused(void **state)
{
    static const char *const bad[] = {"",     "..",   "../x", "a/../b", "/a",
                                      "a/",   "a//b", "a b",  "-a",     ".a",
                                      "a/.b", "a\nb", "ctl",  "ctl/x",  "a/b/c/d/e"};
    const struct cgroup_limits lim = {0};

    (void)state;
    need_real();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct cgroup *cg = NULL;
        struct strv paths = {0};
        struct err err = {0};

        assert_int_equal(cgroup_create(root, bad[i], &lim, &cg, &err), -EINVAL);
        assert_null(cg);
        /* Nor does a handle of such a name reach anything. */
        cg = cgroup_attach(root, bad[i]);
        cgroup_paths(cg, &paths);
        assert_int_equal(paths.n, 0);
        assert_int_equal(cgroup_kill(cg, CGROUP_T), -EOPNOTSUPP);
        assert_int_equal(cgroup_destroy(cg, 0), 0);
        cgroup_free(cg);
    }
}

static void daemon_group_is_entered_and_left(void **state)
{
    (void)state;
    need_real();
    /* In a child, as it moves the process that calls it. */
    pid_t pid = fork();
    if (pid == 0) {
        struct cgroup_root *mine = cgroup_root_open(fs, prefix, NULL);
        char *before = NULL, *inside = NULL, *after = NULL;

        if (file_read_proc("/proc/self/cgroup", 65536, &before) < 0 || cgroup_enter_ctl(mine) < 0 ||
            cgroup_enter_ctl(mine) < 0 || file_read_proc("/proc/self/cgroup", 65536, &inside) < 0)
            _exit(1);
        char *want = xasprintf("/%s/ctl\n", prefix);
        if (strstr(inside, want) == NULL)
            _exit(2);
        cgroup_root_free(mine);
        if (file_read_proc("/proc/self/cgroup", 65536, &after) < 0 || strcmp(before, after) != 0)
            _exit(3);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void fake_file(const char *path, const char *text)
{
    char *full = path_join(dir, path);
    char *parent = path_dirname(full);

    assert_int_equal(path_mkdirs(parent, 0755), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, full, text, strlen(text), 0644), 0);
    free(parent);
    free(full);
}

static void fake_tree_is_parsed(void **state)
{
    struct cgroup_root *fake;
    struct cgroup *cg;
    struct strv kill_files = {0}, events = {0}, oom = {0};
    char *want;

    (void)state;
    fake_file("memory/memory.limit_in_bytes", "0\n");
    fake_file("unified/cgroup.subtree_control", "\n");
    fake = cgroup_root_open(dir, "fuzzd-fake", NULL);
    assert_string_equal(cgroup_root_name(fake), "v1");
    assert_non_null(strstr(cgroup_root_why(fake), "/pids not there: a fork bomb"));
    assert_non_null(strstr(cgroup_root_why(fake), "/cpu not there: cpu limits"));
    assert_null(strstr(cgroup_root_why(fake), "/memory not there"));
    fake_file("memory/fuzzd-fake/c/a.main/afl/memory.oom_control",
              "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    fake_file("memory/fuzzd-fake/c/a.main/t/memory.oom_control",
              "oom_kill_disable 7\nunder_oom 0\noom_kill 40\n");
    fake_file("unified/fuzzd-fake/c/a.main/t/cgroup.events", "frozen 0\npopulated 1\n");
    fake_file("unified/fuzzd-fake/c/a.main/t/cgroup.kill", "");
    fake_file("unified/fuzzd-fake/c/a.main/afl/cgroup.events", "populated 0\nfrozen 1\n");
    cg = cgroup_attach(fake, "c/a.main");
    assert_int_equal(cgroup_oom_kills(cg), 42);
    assert_int_equal(cgroup_populated(cg, CGROUP_T), 1);
    assert_int_equal(cgroup_populated(cg, CGROUP_AFL), 0);
    assert_int_equal(cgroup_kill(cg, CGROUP_T), 0);
    want = path_join(dir, "unified/fuzzd-fake/c/a.main/t/cgroup.kill");
    assert_file(want, "1");
    cgroup_watch_paths(cg, &kill_files, &events, &oom);
    assert_int_equal(kill_files.n, 1); /* afl has none */
    assert_string_equal(kill_files.v[0], want);
    assert_int_equal(events.n, 2);
    assert_int_equal(oom.n, 3);
    /* Cut and hostile counters are errors, not numbers. */
    fake_file("memory/fuzzd-fake/c/a.main/t/memory.oom_control", "oom_kill -1\n");
    assert_int_equal(cgroup_oom_kills(cg), -EINVAL);
    fake_file("memory/fuzzd-fake/c/a.main/t/memory.oom_control", "oom_kill");
    assert_int_equal(cgroup_oom_kills(cg), 2);
    free(want);
    strv_clear(&kill_files);
    strv_clear(&events);
    strv_clear(&oom);
    cgroup_free(cg);
    cgroup_root_free(fake);
}

static void host_without_cgroups_says_what_does_not_hold(void **state)
{
    const struct cgroup_limits lim = {.memory_bytes = 1 << 20};
    struct cgroup_root *none = cgroup_root_open("/nonexistent", "fuzzd-x", NULL);
    struct cgroup *cg = NULL;
    struct strv paths = {0};
    struct err err = {0};

    (void)state;
    assert_string_equal(cgroup_root_name(none), "none");
    assert_non_null(strstr(cgroup_root_why(none), "a pause only stops afl-fuzz"));
    assert_int_equal(cgroup_create(none, "c/a.main", &lim, &cg, &err), 0);
    cgroup_procs_paths(cg, CGROUP_T, &paths);
    assert_int_equal(paths.n, 0);
    assert_int_equal(cgroup_freeze(cg, CGROUP_T, true), -EOPNOTSUPP);
    assert_int_equal(cgroup_destroy(cg, 0), 0);
    assert_int_equal(cgroup_enter_ctl(none), 0);
    cgroup_free(cg);
    cgroup_root_free(none);

    none = cgroup_root_open(FS, "fuzzd-x", "none");
    assert_string_equal(cgroup_root_name(none), "none");
    assert_non_null(strstr(cgroup_root_why(none), "turned off"));
    cgroup_root_free(none);
}

static void prefix_names_the_state_folder(void **state)
{
    char a[32], b[32], c[32];

    (void)state;
    assert_int_equal(cgroup_prefix(dir, a, sizeof(a)), 0);
    assert_int_equal(cgroup_prefix(dir, b, sizeof(b)), 0);
    assert_int_equal(cgroup_prefix("/", c, sizeof(c)), 0);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    assert_int_equal(strlen(a), 14);
    assert_int_equal(cgroup_prefix("/nonexistent", a, sizeof(a)), -ENOENT);
    assert_int_equal(cgroup_prefix(dir, a, 8), -ENAMETOOLONG);
}

static void nothing_is_left(void **state)
{
    static const char *const h[] = {"memory", "pids", "cpu", "unified"};

    (void)state;
    need_real();
    cgroup_prune(root);
    for (size_t i = 0; i < sizeof(h) / sizeof(h[0]); i++) {
        char *path = xasprintf("%s/%s/%s", FS, h[i], prefix);

        assert_int_equal(access(path, F_OK), -1);
        free(path);
    }
    char *path = path_join(cgroup_root_place(root), prefix);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_reaches_an_escapee_and_spares_the_keeper),
        cmocka_unit_test(create_refuses_a_group_with_processes),
        cmocka_unit_test(freeze_stops_the_target_and_thaw_lets_it_go_on),
        cmocka_unit_test(destroy_of_a_missing_group_succeeds),
        cmocka_unit_test(names_that_leave_the_prefix_are_refused),
        cmocka_unit_test(daemon_group_is_entered_and_left),
        cmocka_unit_test(fake_tree_is_parsed),
        cmocka_unit_test(host_without_cgroups_says_what_does_not_hold),
        cmocka_unit_test(prefix_names_the_state_folder),
        cmocka_unit_test(nothing_is_left),
    };
    const struct CMUnitTest limits_v1[] = {
        cmocka_unit_test(limits_are_really_set),
        cmocka_unit_test(memory_limit_kills_the_target_and_is_counted),
        cmocka_unit_test(pids_limit_contains_a_fork_bomb),
    };
    const struct CMUnitTest limits_v2[] = {
        cmocka_unit_test(limits_are_really_set_on_v2),
        cmocka_unit_test(memory_limit_kills_the_target_and_is_counted),
        cmocka_unit_test(pids_limit_contains_a_fork_bomb),
    };
    static const char *const trees[] = {FS, FS "/unified"};
    int failed = 0;

    if (mkdtemp(dir) == NULL)
        return 1;
    (void)snprintf(prefix, sizeof(prefix), "fuzzd-u%07x", (unsigned)getpid() & 0xfffffff);
    for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
        fs = trees[i];
        if (i > 0 && access(FS "/unified/cgroup.controllers", F_OK) < 0)
            break;
        root = cgroup_root_open(fs, prefix, NULL);
        print_message("%s: %s\n%s\n", fs, cgroup_root_name(root), cgroup_root_why(root));
        if (strcmp(cgroup_root_name(root), "none") == 0) {
            print_message("SKIPPING what needs real cgroups\n");
            cgroup_root_free(root);
            root = NULL;
        }
        /* The limits are where the controllers are; the tree beside v1 has none. */
        if (i == 0)
            failed += is_v1() ? cmocka_run_group_tests(limits_v1, NULL, NULL)
                              : cmocka_run_group_tests(limits_v2, NULL, NULL);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
        cgroup_root_free(root);
    }
    (void)path_remove_tree(dir);
    return failed;
}
