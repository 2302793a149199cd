/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking systemd for a scope. All of it happens before the daemon serves anybody, so it may block, for
 * one deadline over all its steps. The other side may be missing, slow, broken or hostile; then the answer is an error
 * and the caller goes on with less.
 */
#include "sys/scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup_internal.h"

#define DESTINATION    "org.freedesktop.systemd1"
#define OBJECT         "/org/freedesktop/systemd1"
#define MANAGER        "org.freedesktop.systemd1.Manager"
#define SCOPE          "org.freedesktop.systemd1.Scope"
#define SELF_BYTES_MAX (64 * 1024)
#define WORD_MAX       512 /* of a path or result that we are told */
#define RETRY_MS       100

struct ask {
    sd_bus *bus;
    const struct scope_want *want;
    char *unit;
    int64_t until_ms;
    char job[WORD_MAX];    /* the job that was promised */
    char result[WORD_MAX]; /* how it ended, "" until then */
};

static void ask_clear(struct ask *a)
{
    free(a->unit);
}

static int64_t left_ms(const struct ask *a)
{
    int64_t left = a->until_ms - clock_now_ms();

    return left > 0 ? left : 0;
}

/* What the bus said, in the words of scope.h. */
static int failure(struct err *err, int rc, const sd_bus_error *e, const char *what)
{
    if (sd_bus_error_is_set(e)) {
        if (sd_bus_error_has_name(e, SD_BUS_ERROR_ACCESS_DENIED) ||
            sd_bus_error_has_name(e, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) ||
            sd_bus_error_has_name(e, SD_BUS_ERROR_AUTH_FAILED))
            rc = -EACCES;
        else if (sd_bus_error_has_name(e, SD_BUS_ERROR_NO_REPLY) ||
                 sd_bus_error_has_name(e, SD_BUS_ERROR_TIMEOUT))
            rc = -ETIMEDOUT;
        else if (rc != -ETIMEDOUT && rc != -ECONNRESET)
            rc = -EIO;
        return err_set(err, rc, "systemd: %s: %s", what, e->message != NULL ? e->message : e->name);
    }
    if (rc == -ENOTCONN || rc == -EPIPE)
        rc = -ECONNRESET;
    else if (rc == -ENXIO || rc == -EBADMSG || rc == -EINVAL)
        rc = -EPROTO;
    return err_sys(err, rc, "systemd: %s", what);
}

/* ---- The group we are in ---------------------------------------------------------------- */

/* "/a/b" of the line "0::/a/b"; NULL: not told. Caller frees. */
static char *own_group(const char *self_file)
{
    cleanup_free char *data = NULL;
    char *rest, *line;

    if (file_read_proc(self_file, SELF_BYTES_MAX, &data) < 0)
        return NULL;
    for (rest = data; (line = strsep(&rest, "\n")) != NULL;)
        if (strncmp(line, "0::/", 4) == 0)
            return xstrdup(line + 3);
    return NULL;
}

/* True when the kernel says that we are in the scope or below it. */
static bool is_in(const struct ask *a)
{
    cleanup_free char *self = own_group(a->want->self_file);
    cleanup_free char *part = xasprintf("/%s/", a->unit);
    cleanup_free char *whole = xasprintf("%s/", self != NULL ? self : "");

    return strstr(whole, part) != NULL;
}

/* ---- One call --------------------------------------------------------------------------- */

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *e)
{
    struct ask *a = userdata;
    const char *job = NULL, *unit = NULL, *result = NULL;
    uint32_t id;

    (void)e;
    /* A signal of another shape, or of somebody else's job, is none of ours. */
    if (sd_bus_message_read(m, "uoss", &id, &job, &unit, &result) < 0 || a->job[0] == '\0' ||
        strcmp(job, a->job) != 0)
        return 0;
    (void)snprintf(a->result, sizeof(a->result), "%s", *result != '\0' ? result : "unknown");
    return 0;
}

static int call(struct ask *a, sd_bus_message *m, const char *what, sd_bus_message **ret,
                sd_bus_error *e, struct err *err)
{
    int64_t left = left_ms(a);
    int rc = left > 0 ? sd_bus_call(a->bus, m, (uint64_t)left * 1000, e, ret) : -ETIMEDOUT;

    return rc < 0 ? failure(err, rc, e, what) : 0;
}

/* Reads "o", the job, and waits for its end. */
static int wait_for_job(struct ask *a, sd_bus_message *reply, struct err *err)
{
    const char *job = NULL;
    int rc = sd_bus_message_read(reply, "o", &job);

    if (rc < 0 || strlen(job) >= sizeof(a->job))
        return err_set(err, -EPROTO, "systemd: the answer to StartTransientUnit is not a job");
    (void)snprintf(a->job, sizeof(a->job), "%s", job);
    a->result[0] = '\0';
    while (a->result[0] == '\0') {
        int64_t left = left_ms(a);

        if (left == 0)
            return err_set(err, -ETIMEDOUT, "systemd: the job for %s does not end", a->unit);
        rc = sd_bus_process(a->bus, NULL);
        if (rc == 0)
            rc = sd_bus_wait(a->bus, (uint64_t)left * 1000);
        if (rc < 0 && rc != -EINTR)
            return failure(err, rc, NULL, "waiting for the job");
    }
    if (strcmp(a->result, "done") != 0)
        return err_set(err, -EIO, "systemd: the job for %s ended as \"%s\"", a->unit, a->result);
    return 0;
}

static int append_properties(sd_bus_message *m)
{
    int rc = sd_bus_message_open_container(m, 'a', "(sv)");

    if (rc >= 0)
        rc = sd_bus_message_append(m, "(sv)", "Description", "s", "fuzzd and its instances");
    if (rc >= 0)
        rc = sd_bus_message_append(m, "(sv)", "PIDs", "au", 1, (uint32_t)getpid());
    if (rc >= 0)
        rc = sd_bus_message_append(m, "(sv)", "Delegate", "b", 1);
    /* An instance that runs out of memory is the keeper's to judge. */
    if (rc >= 0)
        rc = sd_bus_message_append(m, "(sv)", "OOMPolicy", "s", "continue");
    if (rc >= 0)
        rc = sd_bus_message_append(m, "(sv)", "Slice", "s", SCOPE_SLICE);
    if (rc >= 0)
        rc = sd_bus_message_append(m, "(sv)", "CollectMode", "s", "inactive-or-failed");
    return rc >= 0 ? sd_bus_message_close_container(m) : rc;
}

/* Makes the scope with us in it. *ret_exists: there is one of that name. */
static int make(struct ask *a, bool *ret_exists, struct err *err)
{
    sd_bus_message *m = NULL, *reply = NULL;
    sd_bus_error e = SD_BUS_ERROR_NULL;
    int rc = sd_bus_message_new_method_call(a->bus, &m, DESTINATION, OBJECT, MANAGER,
                                            "StartTransientUnit");

    *ret_exists = false;
    if (rc >= 0)
        rc = sd_bus_message_append(m, "ss", a->unit, "fail");
    if (rc >= 0)
        rc = append_properties(m);
    if (rc >= 0)
        rc = sd_bus_message_append(m, "a(sa(sv))", 0);
    if (rc < 0)
        rc = failure(err, rc, NULL, "StartTransientUnit");
    else
        rc = call(a, m, "StartTransientUnit", &reply, &e, err);
    *ret_exists = rc < 0 && sd_bus_error_has_name(&e, "org.freedesktop.systemd1.UnitExists") > 0;
    if (rc == 0)
        rc = wait_for_job(a, reply, err);
    sd_bus_error_free(&e);
    sd_bus_message_unref(reply);
    sd_bus_message_unref(m);
    return rc;
}

/* ---- A scope that lives on -------------------------------------------------------------- */

/* Makes PREFIX/ctl in the scope's folder, which must be ours. */
static int make_ctl(struct ask *a, const char *group, struct err *err)
{
    cleanup_free char *tail = xasprintf("/%s", a->unit);
    cleanup_free char *dir = xasprintf("%s%s", a->want->fs, group);
    cleanup_free char *ctl = xasprintf("%s/%s/%s", dir, a->want->prefix, CGROUP_CTL);
    size_t n = strlen(group), m = strlen(tail);
    struct stat st;
    int rc;

    if (n == 0)
        return err_set(err, -EAGAIN, "systemd: %s has no group", a->unit);
    if (n < m || n >= WORD_MAX || group[0] != '/' || strstr(group, "..") != NULL ||
        strcmp(group + n - m, tail) != 0)
        return err_set(err, -EPROTO, "systemd: \"%.100s\" is not the group of %s", group, a->unit);
    if (lstat(dir, &st) < 0)
        return err_sys(err, -errno, "%s", dir);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return err_set(err, -EACCES, "%s is not ours", dir);
    rc = path_mkdirs(ctl, 0755);
    return rc < 0 ? err_sys(err, rc, "%s", ctl) : 0;
}

/* One that does not let us in is somebody else's; what is in use of ours the kernel keeps. */
static void remove_ctl(const struct ask *a, const char *group)
{
    cleanup_free char *prefix = xasprintf("%s%s/%s", a->want->fs, group, a->want->prefix);
    cleanup_free char *ctl = path_join(prefix, CGROUP_CTL);

    (void)rmdir(ctl);
    (void)rmdir(prefix);
}

/* Moves us into a scope that is there. */
static int join(struct ask *a, struct err *err)
{
    cleanup_free char *object = NULL;
    cleanup_free char *group = NULL;
    cleanup_free char *sub = xasprintf("/%s/%s", a->want->prefix, CGROUP_CTL);
    sd_bus_message *m = NULL;
    sd_bus_error e = SD_BUS_ERROR_NULL;
    int rc = sd_bus_path_encode("/org/freedesktop/systemd1/unit", a->unit, &object);

    if (rc >= 0)
        rc = sd_bus_set_method_call_timeout(a->bus, (uint64_t)left_ms(a) * 1000 + 1);
    if (rc >= 0)
        rc = sd_bus_get_property_string(a->bus, DESTINATION, object, SCOPE, "ControlGroup", &e,
                                        &group);
    if (rc < 0) {
        rc = failure(err, rc, &e, "ControlGroup");
        sd_bus_error_free(&e);
        return rc;
    }
    rc = make_ctl(a, group, err);
    if (rc < 0)
        return rc;
    rc = sd_bus_message_new_method_call(a->bus, &m, DESTINATION, OBJECT, MANAGER,
                                        "AttachProcessesToUnit");
    if (rc >= 0)
        rc = sd_bus_message_append(m, "ssau", a->unit, sub, 1, (uint32_t)getpid());
    if (rc < 0)
        rc = failure(err, rc, NULL, "AttachProcessesToUnit");
    else
        rc = call(a, m, "AttachProcessesToUnit", NULL, &e, err);
    if (rc < 0)
        remove_ctl(a, group);
    sd_bus_error_free(&e);
    sd_bus_message_unref(m);
    return rc;
}

int scope_enter(sd_bus *bus, const struct scope_want *want, struct err *err)
{
    const struct timespec step = {.tv_nsec = RETRY_MS * 1000000L};
    struct ask a = {.bus = bus,
                    .want = want,
                    .unit = xasprintf("%s.scope", want->prefix),
                    .until_ms = clock_now_ms() + want->timeout_ms};
    sd_bus_slot *slot = NULL;
    int rc =
        sd_bus_match_signal(bus, &slot, NULL, OBJECT, MANAGER, "JobRemoved", on_job_removed, &a);

    if (rc < 0)
        rc = failure(err, rc, NULL, "JobRemoved");
    /* One that empties just now goes away in a moment: it can neither be made nor joined until then. */
    while (rc >= 0) {
        bool exists;

        rc = make(&a, &exists, err);
        if (exists)
            rc = join(&a, err);
        if (rc == 0 || !exists || left_ms(&a) <= RETRY_MS || rc == -ECONNRESET || rc == -EPROTO)
            break;
        (void)nanosleep(&step, NULL);
        rc = 0;
    }
    sd_bus_slot_unref(slot);
    if (rc == 0 && !is_in(&a))
        rc = err_set(err, -EPROTO, "systemd: %s is said to be made, and we are not in it", a.unit);
    ask_clear(&a);
    return rc;
}

/* ---- For the daemon --------------------------------------------------------------------- */

bool scope_is_of_use(const char *fs, const char *self_file)
{
    cleanup_free char *self = NULL;

    if (!cgroup_fs_has(fs, "cgroup.controllers") || sd_booted() <= 0)
        return false;
    self = own_group(self_file);
    return self == NULL || !cgroup_v2_is_given(fs, self);
}

/* Waits until the bus has said hello, or has not for long enough. */
static int wait_ready(sd_bus *bus, int64_t timeout_ms)
{
    int64_t until_ms = clock_now_ms() + timeout_ms;
    int rc;

    while ((rc = sd_bus_is_ready(bus)) == 0) {
        int64_t left = until_ms - clock_now_ms();

        if (left <= 0)
            return -ETIMEDOUT;
        rc = sd_bus_process(bus, NULL);
        if (rc == 0)
            rc = sd_bus_wait(bus, (uint64_t)left * 1000);
        if (rc < 0 && rc != -EINTR)
            return rc;
    }
    return rc < 0 ? rc : 0;
}

int scope_bus_open(uid_t user, int64_t timeout_ms, sd_bus **ret, struct err *err)
{
    cleanup_free char *socket = xasprintf("/run/user/%u/bus", (unsigned)user);
    cleanup_free char *address = xasprintf("unix:path=%s", socket);
    sd_bus *bus = NULL;
    int rc;

    if (user == 0) {
        rc = sd_bus_open_system(&bus);
    } else {
        if (access(socket, F_OK) < 0)
            return err_set(err, -ENOENT,
                           "no user manager of user %u answers: %s is not there (package "
                           "dbus-user-session, and a login or loginctl enable-linger)",
                           (unsigned)user, socket);
        rc = sd_bus_new(&bus);
        if (rc >= 0)
            rc = sd_bus_set_address(bus, address);
        if (rc >= 0)
            rc = sd_bus_set_bus_client(bus, 1);
        if (rc >= 0)
            rc = sd_bus_start(bus);
    }
    if (rc >= 0)
        rc = wait_ready(bus, timeout_ms);
    if (rc < 0) {
        sd_bus_close_unref(bus);
        return err_sys(err, rc, "cannot connect to systemd's bus");
    }
    *ret = bus;
    return 0;
}

int scope_enter_own(const char *fs, const char *prefix, struct err *err)
{
    const struct scope_want want = {.prefix = prefix,
                                    .fs = fs,
                                    .self_file = "/proc/self/cgroup",
                                    .timeout_ms = SCOPE_TIMEOUT_MS};
    sd_bus *bus = NULL;
    int rc;

    if (!scope_is_of_use(fs, want.self_file))
        return 0;
    rc = scope_bus_open(geteuid(), SCOPE_TIMEOUT_MS / 2, &bus, err);
    if (rc < 0)
        return rc;
    rc = scope_enter(bus, &want, err);
    sd_bus_flush_close_unref(bus);
    return rc;
}
