/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sealed process can still do to cgroups, against the real ones.
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
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "sys/cgroup.h"
#include "sys/proc.h"
#include "sys/raw.h"
#include "sys/seal.h"

static struct cgroup_root *root;
static struct cgroup *cg;
static struct strv ways;

static int group_make(void **state)
{
    const struct cgroup_limits lim = {.pids = 50, .target_memory_bytes = 64 << 20};
    struct err err = {0};
    char prefix[32];

    (void)state;
    (void)snprintf(prefix, sizeof(prefix), "fuzzd-s%07x", (unsigned)getpid() & 0xfffffff);
    root = cgroup_root_open("/sys/fs/cgroup", prefix, NULL);
    if (strcmp(cgroup_root_name(root), "none") != 0) {
        assert_int_equal(cgroup_create(root, "c/a.main", &lim, &cg, &err), 0);
        cgroup_procs_paths(cg, CGROUP_T, &ways);
    }
    return 0;
}

static int group_remove(void **state)
{
    (void)state;
    if (cg != NULL)
        assert_int_equal(cgroup_destroy(cg, 2000), 0);
    cgroup_free(cg);
    cgroup_prune(root);
    cgroup_root_free(root);
    strv_clear(&ways);
    return 0;
}

static void need_seal(void)
{
    if (cg == NULL || !seal_works()) {
        print_message("SKIPPING: %s\n", cgroup_root_why(root));
        skip();
    }
}

/* The exit status of fn in a child. */
static int in_child(int (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int try_to_enter(void)
{
    if (seal_self() != 0)
        return 1;
    for (size_t i = 0; i < ways.n; i++)
        if (raw_put(ways.v[i], "0") != -EROFS)
            return 2;
    return 0;
}

static void sealed_process_cannot_write_to_any_hierarchy(void **state)
{
    (void)state;
    need_seal();
    assert_int_equal(in_child(try_to_enter), 0);
    /* And only that child was sealed. */
    assert_int_equal(access(ways.v[0], W_OK), 0);
}

static int exec_sealed(const char *script)
{
    char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)script, NULL};

    if (seal_self() != 0)
        return 1;
    (void)execv(argv[0], argv);
    return 2;
}

static int try_to_undo(void)
{
    return exec_sealed("mount -o remount,bind,rw /sys/fs/cgroup/memory 2>/dev/null && exit 3\n"
                       "mount -o remount,bind,rw /sys/fs/cgroup 2>/dev/null && exit 4\n"
                       "mkdir /tmp/fz-seal.$$ && mount -t cgroup2 none /tmp/fz-seal.$$ 2>/dev/null "
                       "&& exit 5\n"
                       "rmdir /tmp/fz-seal.$$; ls /proc/$PPID/root/ >/dev/null 2>&1 && exit 6\n"
                       "exit 0");
}

static void program_that_root_starts_sealed_cannot_undo_it(void **state)
{
    (void)state;
    need_seal();
    assert_int_equal(in_child(try_to_undo), 0);
}

static void replayed_program_is_sealed_where_it_is_asked_for(void **state)
{
    struct strv argv = {0};
    struct proc_spec ps = {.argv = &argv, .timeout_ms = 5000, .max_out = 4096, .seal = true};
    struct proc_result r = {0};
    struct err err = {0};

    (void)state;
    need_seal();
    strv_add(&argv, "/bin/sh");
    strv_add(&argv, "-c");
    strv_addf(&argv, "echo 0 >%s", ways.v[0]);
    assert_int_equal(proc_run(&ps, &r, &err), 0);
    assert_non_null(strstr(r.err, "Read-only file system"));
    proc_result_clear(&r);
    strv_clear(&argv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_process_cannot_write_to_any_hierarchy),
        cmocka_unit_test(program_that_root_starts_sealed_cannot_undo_it),
        cmocka_unit_test(replayed_program_is_sealed_where_it_is_asked_for),
    };

    return cmocka_run_group_tests(tests, group_make, group_remove);
}
