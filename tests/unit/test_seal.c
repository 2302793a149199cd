/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sealed process can still do to cgroups, against the real ones, and what goes on as before.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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
    if (cg == NULL || seal_try() != SEAL_WHOLE) {
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

/* -errno of a raw call with one or two arguments; what libc does around it is left out. */
static long call(long nr, unsigned long a, unsigned long b)
{
    return syscall(nr, a, b, 0, 0, 0) < 0 ? -errno : 0;
}

/* We still hold CAP_SYS_ADMIN here, so but for the filter all of these would be permitted. */
static int try_user_namespaces(void)
{
    struct clone_args how = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);

    if (call(SYS_setns, (unsigned long)own, 0) != -EINVAL || seal_self() != 0)
        return 1;
    if (call(SYS_unshare, CLONE_NEWUSER, 0) != -EPERM)
        return 2;
    if (call(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP, 0) != -EPERM)
        return 3;
    if (call(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0) != -EPERM)
        return 4;
    if (call(SYS_clone3, (unsigned long)&how, sizeof(how)) != -ENOSYS)
        return 5;
    if (call(SYS_setns, (unsigned long)own, 0) != -EPERM)
        return 6;
    /* No more than that is taken away. */
    return call(SYS_unshare, CLONE_FS, 0) == 0 ? 0 : 7;
}

static void user_namespace_can_be_neither_made_nor_entered(void **state)
{
    (void)state;
    need_seal();
    assert_int_equal(in_child(try_user_namespaces), 0);
}

#ifdef __x86_64__
static long call_32(long nr, unsigned long a, unsigned long b)
{
    long rc;

    __asm__ volatile("int $0x80"
                     : "=a"(rc)
                     : "a"(nr), "b"(a), "c"(b)
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)rc;
}

/* 20 is getpid: where 32-bit calls are taken at all. */
static int has_32(void)
{
    return call_32(20, 0, 0) == getpid() ? 0 : 1;
}

static int try_32(void)
{
    if (seal_self() != 0)
        return 1;
    if (call_32(310, CLONE_NEWUSER, 0) != -EPERM || call_32(120, CLONE_NEWUSER, 0) != -EPERM)
        return 2;
    if (call_32(346, 0, 0) != -EPERM || call_32(435, 0, 0) != -ENOSYS)
        return 3;
    return call_32(20, 0, 0) == getpid() ? 0 : 4;
}

static void and_not_by_the_32_bit_calls(void **state)
{
    (void)state;
    need_seal();
    if (in_child(has_32) != 0) {
        print_message("SKIPPING: this kernel takes no 32-bit calls\n");
        return;
    }
    assert_int_equal(in_child(try_32), 0);
}

static int try_x32(void)
{
    const long bit = 0x40000000;

    if (seal_self() != 0)
        return 1;
    if (call(bit | SYS_unshare, CLONE_NEWUSER, 0) != -EPERM ||
        call(bit | SYS_clone, CLONE_NEWUSER | SIGCHLD, 0) != -EPERM)
        return 2;
    return call(bit | SYS_setns, 0, 0) == -EPERM ? 0 : 3;
}

static void and_not_by_the_x32_calls(void **state)
{
    (void)state;
    need_seal();
    assert_int_equal(in_child(try_x32), 0);
}
#endif

static void *thread_main(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static int run_threads_and_children(void)
{
    char *argv[] = {(char *)(uintptr_t) "/bin/true", NULL};
    int ran = 0, status = -1;
    pthread_t thread;
    pid_t pid;

    if (seal_self() != 0)
        return 1;
    if (pthread_create(&thread, NULL, thread_main, &ran) != 0 || pthread_join(thread, NULL) != 0 ||
        ran != 1)
        return 2;
    pid = fork();
    if (pid == 0)
        _exit(7);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
        return 3;
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0)
        return 4;
    /* A program with the set-user-ID bit is what it was. */
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : 5;
}

static void threads_and_children_are_as_before(void **state)
{
    (void)state;
    need_seal();
    assert_int_equal(in_child(run_threads_and_children), 0);
}

static void what_does_not_hold_is_told_of_each_degree(void **state)
{
    (void)state;
    assert_null(seal_lacks(SEAL_WHOLE));
    assert_non_null(strstr(seal_lacks(SEAL_NAMESPACES_OPEN), "user namespace"));
    assert_non_null(strstr(seal_lacks(SEAL_NONE), "mount namespace"));
}

/* As on a kernel without filters: a filter of our own answers for it. */
static int seal_without_filters(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {.len = sizeof(steps) / sizeof(steps[0]), .filter = steps};
    struct cgroup_root *again;

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
        return 1;
    if (seal_try() != SEAL_NAMESPACES_OPEN)
        return 2;
    again = cgroup_root_open("/sys/fs/cgroup", "fuzzd-none", NULL);
    if (strstr(cgroup_root_why(again), "user namespace") == NULL)
        return 5;
    cgroup_root_free(again);
    /* The rest of the seal is there all the same. */
    if (seal_self() != -ENOSYS)
        return 3;
    return raw_put(ways.v[0], "0") == -EROFS ? 0 : 4;
}

static void kernel_that_takes_no_filter_is_found_out(void **state)
{
    (void)state;
    need_seal();
    assert_int_equal(in_child(seal_without_filters), 0);
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
    strv_add(&argv, "/usr/bin/unshare");
    strv_add(&argv, "-U");
    strv_add(&argv, "/bin/true");
    assert_int_equal(proc_run(&ps, &r, &err), 0);
    assert_non_null(strstr(r.err, "Operation not permitted"));
    proc_result_clear(&r);
    strv_clear(&argv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_process_cannot_write_to_any_hierarchy),
        cmocka_unit_test(program_that_root_starts_sealed_cannot_undo_it),
        cmocka_unit_test(user_namespace_can_be_neither_made_nor_entered),
#ifdef __x86_64__
        cmocka_unit_test(and_not_by_the_32_bit_calls),
        cmocka_unit_test(and_not_by_the_x32_calls),
#endif
        cmocka_unit_test(threads_and_children_are_as_before),
        cmocka_unit_test(what_does_not_hold_is_told_of_each_degree),
        cmocka_unit_test(kernel_that_takes_no_filter_is_found_out),
        cmocka_unit_test(replayed_program_is_sealed_where_it_is_asked_for),
    };

    return cmocka_run_group_tests(tests, group_make, group_remove);
}
