/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, locks, sockets and cores against the real kernel. Each test reaps what it starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "sys/cpu.h"
#include "sys/lock.h"
#include "sys/proc.h"
#include "sys/sock.h"

static char dir[] = "/tmp/fz-proc.XXXXXX";

static void argv_sh(struct strv *argv, const char *script)
{
    strv_add(argv, "/bin/sh");
    strv_add(argv, "-c");
    strv_add(argv, script);
}

static int run_sh(const char *script, int64_t timeout_ms, size_t max_out, struct proc_result *r)
{
    struct strv argv = {0};
    struct proc_spec ps = {.argv = &argv, .timeout_ms = timeout_ms, .max_out = max_out};
    struct err err = {0};
    int rc;

    argv_sh(&argv, script);
    rc = proc_run(&ps, r, &err);
    strv_clear(&argv);
    if (rc < 0)
        print_message("%s\n", err.msg);
    return rc;
}

static void identity_tells_a_process_from_its_zombie(void **state)
{
    struct proc_id me = {0}, child = {0};
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal(proc_identify(getpid(), &me), 0);
    assert_true(me.start_ticks > 0);
    assert_int_equal(strlen(me.boot_id), 32);
    assert_true(proc_alive(&me));

    pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_int_equal(proc_identify(pid, &child), 0);
    fd = proc_pidfd(&child);
    assert_true(fd >= 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    (void)close(fd);
    assert_int_equal(proc_signal(&child, SIGKILL), 0);
    /* Ended but not reaped: a zombie counts as dead. */
    while (proc_alive(&child))
        (void)usleep(1000);
    assert_int_equal(proc_identify(pid, &child), -ESRCH);
    assert_int_equal(proc_signal(&child, SIGTERM), -ESRCH);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void identity_refuses_a_recycled_pid(void **state)
{
    struct proc_id me = {0};

    (void)state;
    assert_int_equal(proc_identify(getpid(), &me), 0);
    me.start_ticks--;
    assert_false(proc_alive(&me));
    assert_int_equal(proc_pidfd(&me), -ESRCH);
    me.start_ticks++;
    me.boot_id[0] = me.boot_id[0] == 'f' ? '0' : 'f';
    assert_false(proc_alive(&me));
    me.pid = 0;
    assert_false(proc_alive(&me));
    assert_int_equal(proc_identify(-1, &me), -ESRCH);
}

static void identity_reads_a_command_with_brackets(void **state)
{
    struct proc_id id = {0};
    int ready[2];
    char c;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        FILE *f = fopen("/proc/self/comm", "w");

        if (f != NULL) {
            (void)fputs("a) Z (b) 1", f);
            (void)fclose(f);
        }
        (void)!write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(proc_identify(pid, &id), 0);
    assert_true(id.start_ticks > 0);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static void a_tree_stands_still_until_one_in_it_works(void **state)
{
    int go[2], up[2];
    uint64_t before, after;
    char c = 'x';
    pid_t child;

    (void)state;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(up), 0);
    child = fork();
    if (child == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0)
            (void)close(go[1]);
        while (grandchild == 0) {
            (void)!write(up[1], &c, 1);
            if (read(go[0], &c, 1) != 1)
                _exit(0);
        }
        (void)close(go[1]);
        (void)waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    assert_int_equal(read(up[0], &c, 1), 1);
    (void)usleep(50000); /* until both wait */
    assert_int_equal(proc_tree_life(child, &before), 0);
    (void)usleep(50000);
    assert_int_equal(proc_tree_life(child, &after), 0);
    assert_true(before == after);
    assert_int_equal(write(go[1], &c, 1), 1);
    assert_int_equal(read(up[0], &c, 1), 1);
    (void)usleep(50000);
    assert_int_equal(proc_tree_life(child, &after), 0);
    assert_false(before == after);
    (void)kill(child, SIGKILL);
    (void)close(go[1]);
    (void)waitpid(child, NULL, 0);
    (void)close(go[0]);
    (void)close(up[0]);
    (void)close(up[1]);
    assert_int_equal(proc_tree_life(child, &after), -ENOENT);
    assert_int_equal(proc_tree_life(0, &after), -ESRCH);
}

static void run_captures_both_streams_and_the_code(void **state)
{
    struct proc_result r = {0};

    (void)state;
    assert_int_equal(run_sh("echo out; echo err >&2; exit 3", 5000, 100, &r), 0);
    assert_string_equal(r.out, "out\n");
    assert_string_equal(r.err, "err\n");
    assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 3);
    assert_false(r.timed_out);
    assert_true(r.max_rss_bytes > 0);
    proc_result_clear(&r);
}

static void run_bounds_the_capture_without_blocking_the_program(void **state)
{
    struct proc_result r = {0};

    (void)state;
    assert_int_equal(run_sh("head -c 3000000 /dev/zero; echo done >&2", 10000, 1000, &r), 0);
    assert_int_equal(r.out_len, 1000);
    assert_string_equal(r.err, "done\n");
    assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
    proc_result_clear(&r);
}

static void run_kills_the_group_and_escaped_children_at_the_timeout(void **state)
{
    struct proc_result r = {0};
    int64_t start_ms = clock_now_ms();
    char *p;
    int i;

    (void)state;
    assert_int_equal(
        run_sh("sleep 77 & echo $!; setsid sleep 78 & echo $!; sleep 79", 400, 100, &r), 0);
    assert_true(r.timed_out);
    assert_true(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGKILL);
    assert_true(clock_now_ms() - start_ms < 5000);
    p = r.out;
    for (i = 0; i < 2; i++) {
        struct proc_id id;
        long pid = strtol(p, &p, 10);

        assert_true(pid > 1);
        for (int tries = 0; tries < 200 && proc_identify((pid_t)pid, &id) == 0; tries++)
            (void)usleep(5000);
        assert_int_equal(proc_identify((pid_t)pid, &id), -ESRCH);
    }
    proc_result_clear(&r);
}

static void run_does_not_wait_for_a_grandchild_that_holds_the_pipe(void **state)
{
    struct proc_result r = {0};
    int64_t start_ms = clock_now_ms();

    (void)state;
    assert_int_equal(run_sh("sleep 60 & echo hello", 20000, 100, &r), 0);
    assert_string_equal(r.out, "hello\n");
    assert_false(r.timed_out);
    assert_true(clock_now_ms() - start_ms < 5000);
    proc_result_clear(&r);
}

static void run_ends_what_has_left_its_session(void **state)
{
    (void)state;
    struct strv argv = {0};
    struct proc_result r = {0};
    struct err err = {0};
    struct proc_id other = {0};
    char *end = NULL;
    int status = 0;
    pid_t mine = fork();

    if (mine == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(mine > 0);
    argv_sh(&argv, "setsid sh -c 'trap \"\" TERM; sleep 300 >/dev/null 2>&1 & echo $!; exit'");
    assert_int_equal(
        proc_run(
            &(struct proc_spec){.argv = &argv, .timeout_ms = 10000, .max_out = 100, .sweep = true},
            &r, &err),
        0);
    strv_clear(&argv);
    long pid = strtol(r.out, &end, 10);
    assert_true(pid > 1);
    assert_int_equal(proc_identify((pid_t)pid, &other), -ESRCH);
    proc_result_clear(&r);
    /* A child that was there before is left alone. */
    assert_int_equal(waitpid(mine, &status, WNOHANG), 0);
    assert_int_equal(kill(mine, SIGKILL), 0);
    assert_int_equal(waitpid(mine, &status, 0), mine);
}

static void a_program_that_is_not_trusted_may_kill_or_stop_its_parent(void **state)
{
    static const struct {
        const char *script;
        int rc;
    } runs[] = {{"kill -9 $PPID; sleep 300", -EOWNERDEAD},
                {"kill -STOP $PPID", -EOWNERDEAD},
                {"kill -STOP $PPID; sleep 300", -EOWNERDEAD},
                {"kill -TERM $PPID; echo there", 0},
                {"exit 3", 0},
                {"kill -SEGV $$", 0},
                {"sleep 300", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        struct proc_result r = {0};
        struct strv argv = {0};
        struct err err = {0};
        const int64_t began_ms = clock_now_ms();
        int rc;

        argv_sh(&argv, runs[i].script);
        rc = proc_run(
            &(struct proc_spec){.argv = &argv, .timeout_ms = 500, .max_out = 100, .sweep = true},
            &r, &err);
        strv_clear(&argv);
        if (rc != runs[i].rc)
            fail_msg("%s: %d %s", runs[i].script, rc, rc < 0 ? err.msg : "");
        /* The limit, and what it takes to see that nothing more comes. */
        assert_true(clock_now_ms() - began_ms < 2500);
        if (rc < 0)
            assert_non_null(strstr(err.msg, "killed or stopped its parent"));
        else if (i == 3)
            assert_string_equal(r.out, "there\n");
        else if (i == 4)
            assert_int_equal(WEXITSTATUS(r.status), 3);
        else if (i == 5)
            assert_int_equal(WTERMSIG(r.status), SIGSEGV);
        else
            assert_true(r.timed_out);
        proc_result_clear(&r);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void run_names_the_program_that_is_missing(void **state)
{
    struct strv argv = {0};
    struct proc_spec ps = {.argv = &argv, .timeout_ms = 1000, .max_out = 10};
    struct proc_result r = {0};
    struct err err = {0};

    (void)state;
    strv_add(&argv, "/nonexistent/program");
    assert_int_equal(proc_run(&ps, &r, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/program"));
    assert_null(r.out);
    strv_clear(&argv);
}

static void run_applies_limits_stdin_folder_and_environment(void **state)
{
    struct strv argv = {0}, env = {0};
    struct proc_spec ps = {.argv = &argv, .env = &env, .cwd = "/", .timeout_ms = 5000};
    struct proc_result r = {0};
    struct err err = {0};

    (void)state;
    ps.max_out = 1000;
    ps.cpu_limit_s = 7;
    ps.fsize_limit_bytes = 1024 * 1024;
    ps.stdin_path = "/proc/self/comm";
    strv_add(&env, "ONLY=this");
    argv_sh(&argv, "pwd; ulimit -t; ulimit -f; echo \"$ONLY$HOME\"; cat; ls /proc/self/fd | wc -l");
    assert_int_equal(proc_run(&ps, &r, &err), 0);
    /* 4 descriptors: the three streams and ls's own folder. */
    assert_string_equal(r.out, "/\n7\n2048\nthis\ntest_proc\n4\n");
    proc_result_clear(&r);
    strv_clear(&argv);
    strv_clear(&env);
}

static void run_resets_signals(void **state)
{
    struct proc_result r = {0};
    uint64_t blocked = 1, ignored = 1;
    sigset_t set, old;

    (void)state;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, &old);
    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(run_sh("grep -E '^Sig(Blk|Ign)' /proc/self/status", 5000, 200, &r), 0);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    assert_int_equal(sscanf(r.out, "SigBlk: %" SCNx64 " SigIgn: %" SCNx64, &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    /*
     * Signals 32 and 33 are glibc's own: its posix_spawn leaves them ignored in what it starts (make,
     * for one, starts programs so), and its sigaction refuses to touch them.
     */
    assert_int_equal(ignored & ~(UINT64_C(3) << 31), 0);
    proc_result_clear(&r);
}

static void start_gives_kept_descriptors_and_closes_the_rest(void **state)
{
    struct strv argv = {0};
    struct proc_spawn sp = {
        .argv = &argv, .stdin_fd = -1, .stderr_fd = -1, .keep_fd = {-1, -1, -1}};
    int out[2], keep[2], pidfd = -1, extra;
    char buf[64] = "";
    pid_t pid = 0;

    (void)state;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(keep, O_CLOEXEC), 0);
    extra = open("/dev/null", O_RDONLY); /* not close-on-exec: must not reach the child */
    assert_int_equal(write(keep[1], "via3\n", 5), 5);
    sp.stdout_fd = out[1];
    sp.keep_fd[0] = keep[0];
    sp.keep_fd[1] = keep[1];
    sp.new_session = true;
    argv_sh(&argv, "read x <&3; echo $x; echo via4 >&4; for i in 5 6 7 8 9 10 11 12; do "
                   "[ -e /proc/self/fd/$i ] && echo open $i; done; [ $(ps -o sid= -p $$) = $$ ] && "
                   "echo session");
    assert_int_equal(proc_start(&sp, &pid, &pidfd), 0);
    assert_true(pid > 0 && pidfd >= 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(read(out[0], buf, sizeof(buf) - 1) > 0);
    assert_string_equal(buf, "via3\nsession\n");
    assert_int_equal(read(keep[0], buf, sizeof(buf)), 5);
    (void)close(pidfd);
    (void)close(extra);
    for (int i = 0; i < 2; i++) {
        (void)close(out[i]);
        (void)close(keep[i]);
    }
    strv_clear(&argv);
}

static void start_reports_a_failed_exec(void **state)
{
    struct strv argv = {0};
    struct proc_spawn sp = {
        .argv = &argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .keep_fd = {-1, -1, -1}};
    int pidfd = -1;
    pid_t pid = -1;

    (void)state;
    strv_add(&argv, dir);
    assert_int_equal(proc_start(&sp, &pid, &pidfd), -EACCES);
    assert_int_equal(pid, -1);
    assert_int_equal(pidfd, -1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    strv_clear(&argv);
}

static void status_text_names_signals(void **state)
{
    char buf[64];

    (void)state;
    assert_string_equal(proc_status_text(buf, sizeof(buf), SIGSEGV), "signal 11 (SIGSEGV)");
    assert_string_equal(proc_status_text(buf, sizeof(buf), 1 << 8), "exit code 1");
}

static void lock_tells_who_holds_it_and_ends_with_the_holder(void **state)
{
    char *path = path_join(dir, "lock");
    char who[64] = "";
    int fd, fd2;

    (void)state;
    assert_int_equal(lock_holder(path, who, sizeof(who)), 0);
    fd = lock_take(path, "pid 17 run A, a long line", who, sizeof(who));
    assert_true(fd >= 0);
    assert_string_equal(who, "");
    assert_int_equal(lock_take(path, "other", who, sizeof(who)), -EWOULDBLOCK);
    assert_string_equal(who, "pid 17 run A, a long line");
    who[0] = '\0';
    assert_int_equal(lock_holder(path, who, sizeof(who)), 1);
    assert_string_equal(who, "pid 17 run A, a long line");
    (void)close(fd);
    assert_int_equal(lock_holder(path, who, sizeof(who)), 0);
    fd2 = lock_take(path, "short", NULL, 0);
    assert_true(fd2 >= 0);
    assert_int_equal(lock_holder(path, who, sizeof(who)), 1);
    assert_string_equal(who, "short");
    (void)close(fd2);
    free(path);
}

static void lock_follows_no_symlink(void **state)
{
    char *path = path_join(dir, "link");

    (void)state;
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(lock_take(path, "x", NULL, 0), -ELOOP);
    (void)unlink(path);
    free(path);
}

static void socket_works_below_a_path_longer_than_sun_path(void **state)
{
    char *deep = xasprintf("%s/%0120d/%0120d", dir, 1, 2);
    char *file = path_join(deep, "fuzzd.sock");
    struct stat st;
    int lfd, lfd2, cfd, afd;
    uid_t uid = 77;
    pid_t pid = 0;

    (void)state;
    assert_int_equal(path_mkdirs(deep, 0700), 0);
    assert_int_equal(sock_connect(deep, "fuzzd.sock"), -ENOENT);
    lfd = sock_listen(deep, "fuzzd.sock");
    assert_true(lfd >= 0);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    cfd = sock_connect(deep, "fuzzd.sock");
    assert_true(cfd >= 0);
    afd = accept(lfd, NULL, NULL);
    assert_true(afd >= 0);
    assert_int_equal(sock_peer(afd, &uid, &pid), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(pid, getpid());
    (void)close(afd);
    (void)close(cfd);
    (void)close(lfd);
    assert_int_equal(sock_connect(deep, "fuzzd.sock"), -ECONNREFUSED);
    /* What a killed daemon left is taken over. */
    lfd2 = sock_listen(deep, "fuzzd.sock");
    assert_true(lfd2 >= 0);
    (void)close(lfd2);
    assert_int_equal(sock_listen(deep, "../x"), -EINVAL);
    free(file);
    free(deep);
}

static void udp_port_is_chosen_and_can_be_taken_again(void **state)
{
    uint16_t port = 0, again = 0;
    int fd = sock_udp_loopback(0, &port);
    int fd2;

    (void)state;
    assert_true(fd >= 0);
    assert_true(port > 0);
    assert_int_equal(sock_udp_loopback(port, &again), -EADDRINUSE);
    assert_int_equal(again, 0);
    (void)close(fd);
    fd2 = sock_udp_loopback(port, &again);
    assert_true(fd2 >= 0);
    assert_int_equal(again, port);
    (void)close(fd2);
}

static void who_has_a_udp_port_is_found(void **state)
{
    uint16_t port = 0, other = 0;
    int fd = sock_udp_loopback(0, &port), fd2 = sock_udp_loopback(0, &other);
    uint64_t inode = 0, inode2 = 0;

    (void)state;
    assert_true(fd >= 0 && fd2 >= 0);
    assert_int_equal(sock_udp_inode(port, &inode), 0);
    assert_int_equal(sock_udp_inode(other, &inode2), 0);
    assert_true(inode != 0 && inode != inode2);
    assert_true(sock_is_open_in(getpid(), inode));
    assert_false(sock_is_open_in(1, inode));
    assert_false(sock_is_open_in(0, inode));
    (void)close(fd);
    assert_false(sock_is_open_in(getpid(), inode));
    assert_true(sock_is_open_in(getpid(), inode2));
    (void)close(fd2);
    assert_int_equal(sock_udp_inode(other, &inode), -ENOENT);
}

static void core_is_owned_by_one_at_a_time(void **state)
{
    int cpus[CPU_MAX], pretend[2] = {CPU_MAX - 2, CPU_MAX - 1};
    int n = cpu_allowed(cpus, CPU_MAX), i, a = -1, b = -1, c = -1;
    int fa, fb;
    cpu_set_t set;

    (void)state;
    assert_true(n >= 1);
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    assert_int_equal(n, CPU_COUNT(&set));
    for (i = 1; i < n; i++)
        assert_true(cpus[i] > cpus[i - 1]);
    /* Cores that do not exist here, so that nobody else's are touched. */
    fa = cpu_take(pretend, 2, &a);
    fb = cpu_take(pretend, 2, &b);
    assert_true(fa >= 0 && fb >= 0);
    assert_int_equal(a, pretend[0]);
    assert_int_equal(b, pretend[1]);
    assert_int_equal(cpu_take(pretend, 2, &c), -EBUSY);
    assert_int_equal(c, -1);
    (void)close(fa);
    fa = cpu_take(pretend, 2, &c);
    assert_true(fa >= 0);
    assert_int_equal(c, pretend[0]);
    (void)close(fa);
    (void)close(fb);
    for (i = 0; i < 2; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/run/lock/fuzzd-cpu%d", pretend[i]);
        (void)unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_tells_a_process_from_its_zombie),
        cmocka_unit_test(identity_refuses_a_recycled_pid),
        cmocka_unit_test(identity_reads_a_command_with_brackets),
        cmocka_unit_test(a_tree_stands_still_until_one_in_it_works),
        cmocka_unit_test(run_captures_both_streams_and_the_code),
        cmocka_unit_test(run_bounds_the_capture_without_blocking_the_program),
        cmocka_unit_test(run_kills_the_group_and_escaped_children_at_the_timeout),
        cmocka_unit_test(run_does_not_wait_for_a_grandchild_that_holds_the_pipe),
        cmocka_unit_test(run_ends_what_has_left_its_session),
        cmocka_unit_test(a_program_that_is_not_trusted_may_kill_or_stop_its_parent),
        cmocka_unit_test(run_names_the_program_that_is_missing),
        cmocka_unit_test(run_applies_limits_stdin_folder_and_environment),
        cmocka_unit_test(run_resets_signals),
        cmocka_unit_test(start_gives_kept_descriptors_and_closes_the_rest),
        cmocka_unit_test(start_reports_a_failed_exec),
        cmocka_unit_test(status_text_names_signals),
        cmocka_unit_test(lock_tells_who_holds_it_and_ends_with_the_holder),
        cmocka_unit_test(lock_follows_no_symlink),
        cmocka_unit_test(socket_works_below_a_path_longer_than_sun_path),
        cmocka_unit_test(udp_port_is_chosen_and_can_be_taken_again),
        cmocka_unit_test(who_has_a_udp_port_is_found),
        cmocka_unit_test(core_is_owned_by_one_at_a_time),
    };
    int failed;

    if (mkdtemp(dir) == NULL)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)path_remove_tree(dir);
    return failed;
}
