/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking systemd for a scope, against a systemd of our own at the other end of a socket pair: one that answers as the real
 * one does, and ones that refuse, are slow, hang up, or answer with something else.
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
#include <sys/wait.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/scope.h"

#define JOB    "/org/freedesktop/systemd1/job/7"
#define PREFIX "fuzzd-0123abcd"
#define UNIT   PREFIX ".scope"
#define GROUP  "/fuzz.slice/" UNIT

enum manner {
    HONEST,
    REFUSES,
    NEVER_ANSWERS,
    NEVER_ENDS,
    FAILS,
    ANSWERS_A_NUMBER,
    ANSWERS_A_LONG_JOB,
    HANGS_UP,
    LIES,           /* says done and moves nobody */
    FLOODS,         /* jobs of others, and signals of another shape, before ours */
    HAS_IT,         /* the unit is there, and can be joined */
    HAS_IT_DYING,   /* the unit is there at first */
    HAS_IT_OUTSIDE, /* and says that its group is somewhere else */
    HAS_IT_UPWARD,
    HAS_IT_CLOSED, /* and lets nobody in: somebody else's, who did not have it delegated */
};

static char dir[] = "/tmp/fz-scope.XXXXXX";
static char *self_file;

struct fake {
    enum manner manner;
    int starts;
};

static void move_to(const char *group)
{
    char line[200];

    (void)snprintf(line, sizeof(line), "0::%s\n", group);
    (void)file_write_atomic(AT_FDCWD, self_file, line, strlen(line), 0600);
}

static int tell(sd_bus_message *call, const char *job, const char *result)
{
    return sd_bus_emit_signal(sd_bus_message_get_bus(call), "/org/freedesktop/systemd1",
                              "org.freedesktop.systemd1.Manager", "JobRemoved", "uoss", 7, job,
                              UNIT, result);
}

/* True when it asks for what a scope of ours needs. */
static bool properties_ok(sd_bus_message *m)
{
    const char *unit, *mode, *name, *type, *slice = "", *policy = "";
    int delegate = 0, pids = 0, rc;

    if (sd_bus_message_read(m, "ss", &unit, &mode) < 0 || strcmp(unit, UNIT) != 0 ||
        strcmp(mode, "fail") != 0 || sd_bus_message_enter_container(m, 'a', "(sv)") < 0)
        return false;
    while ((rc = sd_bus_message_enter_container(m, 'r', "sv")) > 0) {
        if (sd_bus_message_read(m, "s", &name) < 0 || sd_bus_message_peek_type(m, NULL, &type) < 0)
            return false;
        if (strcmp(name, "Delegate") == 0)
            (void)sd_bus_message_read(m, "v", "b", &delegate);
        else if (strcmp(name, "Slice") == 0)
            (void)sd_bus_message_read(m, "v", "s", &slice);
        else if (strcmp(name, "OOMPolicy") == 0)
            (void)sd_bus_message_read(m, "v", "s", &policy);
        else if (strcmp(name, "PIDs") == 0)
            pids += sd_bus_message_skip(m, "v") >= 0;
        else if (sd_bus_message_skip(m, "v") < 0)
            return false;
        if (sd_bus_message_exit_container(m) < 0)
            return false;
    }
    return rc == 0 && delegate == 1 && pids == 1 && strcmp(slice, "fuzz.slice") == 0 &&
           strcmp(policy, "continue") == 0;
}

static int start_unit(struct fake *f, sd_bus_message *m)
{
    char *text;
    int rc;

    f->starts++;
    if (!properties_ok(m))
        return sd_bus_reply_method_errorf(m, "test.Bad", "not the properties of a scope");
    switch (f->manner) {
    case REFUSES:
        return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_ACCESS_DENIED, "Rejected\nby policy");
    case NEVER_ANSWERS:
        return 1;
    case ANSWERS_A_NUMBER:
        return sd_bus_reply_method_return(m, "u", 7);
    case ANSWERS_A_LONG_JOB:
        text = xcalloc(1, 5002);
        memset(text, 'a', 5001);
        text[0] = '/';
        rc = sd_bus_reply_method_return(m, "o", text);
        free(text);
        return rc;
    case HANGS_UP:
        _exit(0);
    case HAS_IT:
    case HAS_IT_OUTSIDE:
    case HAS_IT_UPWARD:
    case HAS_IT_CLOSED:
        return sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.UnitExists", "is there");
    case HAS_IT_DYING:
        if (f->starts < 3)
            return sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.UnitExists", "is there");
        break;
    default:
        break;
    }
    rc = sd_bus_reply_method_return(m, "o", JOB);
    if (f->manner == NEVER_ENDS)
        return rc;
    if (f->manner == FAILS)
        return tell(m, JOB, "failed");
    if (f->manner == FLOODS) {
        for (int i = 0; i < 500; i++)
            (void)tell(m, "/org/freedesktop/systemd1/job/8", "failed");
        (void)sd_bus_emit_signal(sd_bus_message_get_bus(m), "/org/freedesktop/systemd1",
                                 "org.freedesktop.systemd1.Manager", "JobRemoved", "s", JOB);
    }
    if (f->manner != LIES)
        move_to(GROUP);
    return tell(m, JOB, "done");
}

static int on_call(sd_bus_message *m, void *userdata, sd_bus_error *e)
{
    struct fake *f = userdata;
    const char *unit, *sub;

    (void)e;
    if (sd_bus_message_is_method_call(m, NULL, "StartTransientUnit"))
        return start_unit(f, m);
    if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus.Properties", "Get"))
        return sd_bus_reply_method_return(m, "v", "s",
                                          f->manner == HAS_IT_OUTSIDE  ? "/user.slice"
                                          : f->manner == HAS_IT_UPWARD ? "/../etc/" UNIT
                                          : f->manner == HAS_IT_DYING  ? ""
                                                                       : GROUP);
    if (!sd_bus_message_is_method_call(m, NULL, "AttachProcessesToUnit"))
        return 0;
    if (sd_bus_message_read(m, "ss", &unit, &sub) < 0 || strcmp(unit, UNIT) != 0 ||
        strcmp(sub, "/" PREFIX "/ctl") != 0)
        return sd_bus_reply_method_errorf(m, "test.Bad", "attached elsewhere");
    if (f->manner == HAS_IT_CLOSED)
        return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_INVALID_ARGS, "not a delegated unit");
    move_to(GROUP "/" PREFIX "/ctl");
    return sd_bus_reply_method_return(m, "");
}

static void serve(int fd, enum manner manner)
{
    struct fake f = {.manner = manner};
    sd_id128_t id;
    sd_bus *bus = NULL;
    int rc;

    if (sd_id128_randomize(&id) < 0 || sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
        sd_bus_set_server(bus, 1, id) < 0 || sd_bus_set_anonymous(bus, 1) < 0 ||
        sd_bus_start(bus) < 0 ||
        sd_bus_add_fallback(bus, NULL, "/org/freedesktop/systemd1", on_call, &f) < 0)
        _exit(3);
    do {
        rc = sd_bus_process(bus, NULL);
        if (rc == 0)
            rc = sd_bus_wait(bus, UINT64_MAX);
    } while (rc >= 0);
    _exit(0);
}

/* scope_enter against a systemd of that manner. */
static int ask(enum manner manner, int64_t timeout_ms, struct err *err)
{
    const struct scope_want want = {
        .prefix = PREFIX, .fs = dir, .self_file = self_file, .timeout_ms = timeout_ms};
    sd_bus *bus = NULL;
    int fds[2], rc;
    pid_t pid;

    move_to("/user.slice/session-1.scope");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        serve(fds[1], manner);
    }
    (void)close(fds[1]);
    assert_true(sd_bus_new(&bus) >= 0);
    assert_true(sd_bus_set_fd(bus, fds[0], fds[0]) >= 0);
    assert_true(sd_bus_start(bus) >= 0);
    rc = scope_enter(bus, &want, err);
    sd_bus_close_unref(bus);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return rc;
}

static void a_scope_is_made_with_the_properties_it_needs(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(ask(HONEST, 5000, &err), 0);
    assert_string_equal(err.msg, "");
}

static void refusals_and_failures_are_told_apart(void **state)
{
    static const struct {
        enum manner manner;
        int rc;
        const char *words;
    } cases[] = {
        {REFUSES, -EACCES, "StartTransientUnit: Rejected\\x0aby policy"},
        {FAILS, -EIO, "the job for " UNIT " ended as \"failed\""},
        {ANSWERS_A_NUMBER, -EPROTO, "not a job"},
        {ANSWERS_A_LONG_JOB, -EPROTO, "not a job"},
        {HANGS_UP, -ECONNRESET, "StartTransientUnit"},
        {LIES, -EPROTO, "we are not in it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};

        assert_int_equal(ask(cases[i].manner, 5000, &err), cases[i].rc);
        assert_non_null(strstr(err.msg, cases[i].words));
    }
}

static void what_does_not_come_is_waited_for_no_longer_than_told(void **state)
{
    static const enum manner manners[] = {NEVER_ANSWERS, NEVER_ENDS};

    (void)state;
    for (size_t i = 0; i < sizeof(manners) / sizeof(manners[0]); i++) {
        struct err err = {0};
        int64_t from = clock_now_ms();

        assert_int_equal(ask(manners[i], 300, &err), -ETIMEDOUT);
        assert_in_range(clock_now_ms() - from, 250, 3000);
    }
}

static void jobs_of_others_are_not_ours(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(ask(FLOODS, 5000, &err), 0);
}

static void a_scope_that_lives_is_joined(void **state)
{
    char *group = path_join(dir, &GROUP[1]);
    char *ctl = path_join(group, PREFIX "/ctl");
    struct err err = {0};

    (void)state;
    assert_int_equal(path_mkdirs(group, 0755), 0);
    assert_int_equal(ask(HAS_IT, 5000, &err), 0);
    assert_int_equal(access(ctl, F_OK), 0);
    free(ctl);
    free(group);
}

static void in_a_scope_of_somebody_else_nothing_is_left(void **state)
{
    char *group = path_join(dir, &GROUP[1]);
    char *prefix = path_join(group, PREFIX);
    struct err err = {0};

    (void)state;
    (void)path_remove_tree(prefix);
    assert_int_equal(path_mkdirs(group, 0755), 0);
    assert_int_equal(ask(HAS_IT_CLOSED, 300, &err), -EIO);
    assert_int_equal(access(prefix, F_OK), -1);
    free(prefix);
    free(group);
}

static void one_that_goes_away_is_made_anew(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(ask(HAS_IT_DYING, 5000, &err), 0);
}

static void a_group_elsewhere_is_not_entered(void **state)
{
    struct err err = {0};
    int64_t from = clock_now_ms();

    (void)state;
    assert_int_equal(ask(HAS_IT_OUTSIDE, 60000, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "\"/user.slice\" is not the group of " UNIT));
    assert_int_equal(ask(HAS_IT_UPWARD, 60000, &err), -EPROTO);
    /* Nor is another answer waited for. */
    assert_in_range(clock_now_ms() - from, 0, 30000);
}

static void a_user_without_a_manager_is_told_what_is_missing(void **state)
{
    sd_bus *bus = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(scope_bus_open(4294967290U, 300, &bus, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "dbus-user-session"));
    assert_null(bus);
}

static void a_host_without_cgroup_v2_is_not_asked(void **state)
{
    (void)state;
    assert_false(scope_is_of_use("/nonexistent", self_file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_is_made_with_the_properties_it_needs),
        cmocka_unit_test(refusals_and_failures_are_told_apart),
        cmocka_unit_test(what_does_not_come_is_waited_for_no_longer_than_told),
        cmocka_unit_test(jobs_of_others_are_not_ours),
        cmocka_unit_test(a_scope_that_lives_is_joined),
        cmocka_unit_test(in_a_scope_of_somebody_else_nothing_is_left),
        cmocka_unit_test(one_that_goes_away_is_made_anew),
        cmocka_unit_test(a_group_elsewhere_is_not_entered),
        cmocka_unit_test(a_user_without_a_manager_is_told_what_is_missing),
        cmocka_unit_test(a_host_without_cgroup_v2_is_not_asked),
    };
    int rc;

    if (mkdtemp(dir) == NULL)
        return 1;
    self_file = path_join(dir, "self");
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(self_file);
    (void)path_remove_tree(dir);
    return rc;
}
