/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into the target's group: who knocks is moved, he alone, and only from where afl-fuzz is.
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
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/gate.h"

static char dir[] = "/tmp/fz-gate.XXXXXX";
static char *file_a, *file_b, *ways;
static char name[64];
static int gate = -1;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(file_write_atomic(AT_FDCWD, file_a, "", 0, 0600), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, file_b, "", 0, 0600), 0);
    gate = gate_open(name, sizeof(name));
    assert_true(gate >= 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(gate);
    return 0;
}

static int knock(void)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(un.sun_path + 1, name, strlen(name));
    if (connect(fd, (struct sockaddr *)&un,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) < 0)
        _exit(9);
    return fd;
}

/* A child that knocks and ends when it is let go. */
static pid_t knocker(void)
{
    pid_t pid = fork();
    char c;

    if (pid == 0)
        _exit((int)read(knock(), &c, 1)); /* 0: the end of the connection */
    assert_true(pid > 0);
    return pid;
}

static int answer(const char *to, pid_t like)
{
    int rc;

    while ((rc = gate_answer(gate, to, like)) == -EAGAIN)
        (void)usleep(1000);
    return rc;
}

static int status_of(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_file(const char *path, const char *want)
{
    char *data = NULL;
    size_t size = 0;

    assert_int_equal(file_read(AT_FDCWD, path, 100, &data, &size), 0);
    assert_string_equal(data, want);
    free(data);
}

static void who_knocks_is_moved_and_let_go(void **state)
{
    char *want;
    pid_t pid;

    (void)state;
    assert_int_equal(gate_answer(gate, ways, getpid()), -EAGAIN);
    pid = knocker();
    assert_int_equal(answer(ways, getpid()), 0);
    assert_int_equal(status_of(pid), 0);
    want = xasprintf("%d", (int)pid);
    assert_file(file_a, want);
    assert_file(file_b, want);
    free(want);
}

static void way_that_fails_does_not_hide_the_others(void **state)
{
    char *with_bad = xasprintf("::/nonexistent/procs:/%02000d:%s:", 0, file_b), *want;
    pid_t pid = knocker();

    (void)state;
    assert_int_equal(answer(with_bad, getpid()), -ENOENT);
    assert_int_equal(status_of(pid), 0);
    want = xasprintf("%d", (int)pid);
    assert_file(file_b, want);
    free(want);
    free(with_bad);
}

/* Whatever it says: the kernel tells who knocks. */
static void words_of_the_knocker_are_not_listened_to(void **state)
{
    char *want;
    pid_t pid = fork();
    char c;

    (void)state;
    if (pid == 0) {
        int fd = knock();

        (void)!write(fd, "1", 1);
        while (read(fd, &c, 1) > 0)
            ;
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(answer(ways, getpid()), 0);
    assert_int_equal(status_of(pid), 0);
    want = xasprintf("%d", (int)pid);
    assert_file(file_a, want);
    free(want);
}

static void who_is_not_where_afl_fuzz_is_is_not_moved(void **state)
{
    pid_t pid = knocker();

    (void)state;
    /* A process that has gone is nowhere. */
    assert_int_equal(answer(ways, (pid_t)0x3fffffff), -EPERM);
    assert_int_equal(status_of(pid), 0);
    assert_file(file_a, "");
}

static void who_has_died_since_is_not_moved(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        (void)knock();
        _exit(0);
    }
    assert_int_equal(status_of(pid), 0);
    assert_int_equal(answer(ways, getpid()), -EPERM);
    assert_file(file_a, "");
}

static void name_that_does_not_fit_is_refused(void **state)
{
    char small[3];

    (void)state;
    assert_int_equal(gate_open(small, sizeof(small)), -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_knocks_is_moved_and_let_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(way_that_fails_does_not_hide_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_of_the_knocker_are_not_listened_to, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_is_not_where_afl_fuzz_is_is_not_moved, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_has_died_since_is_not_moved, set_up, tear_down),
        cmocka_unit_test(name_that_does_not_fit_is_refused),
    };
    int failed;

    (void)signal(SIGPIPE, SIG_IGN);
    if (mkdtemp(dir) == NULL)
        return 1;
    file_a = path_join(dir, "a");
    file_b = path_join(dir, "b");
    ways = xasprintf("%s:%s", file_a, file_b);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)path_remove_tree(dir);
    free(file_a);
    free(file_b);
    free(ways);
    return failed;
}
