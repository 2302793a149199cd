/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether systemd gives us a group to divide, tried by asking for one: the rest of the isolation is then tried in it, as
 * fuzzd would run. What is missing is named with the command that mends it.
 */
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "ctl/doctor.h"
#include "sys/scope.h"
#include "sys/sock.h"

#define FS "/sys/fs/cgroup"

/* Why a user's manager does not answer: it does not run, or it runs without a bus. */
static const char *bus_mend(const char *user, char *buf, size_t size)
{
    cleanup_free char *dir = xasprintf("/run/user/%u/systemd", (unsigned)geteuid());
    cleanup_free char *bus = xasprintf("/run/user/%u/bus", (unsigned)geteuid());
    /* One that is gone may have left its sockets. */
    cleanup_close int manager = sock_connect(dir, "private");

    if (manager < 0)
        (void)snprintf(buf, size,
                       "loginctl enable-linger %s (as root), or log in with libpam-systemd", user);
    else if (access(bus, F_OK) < 0)
        (void)snprintf(
            buf, size,
            "apt-get install dbus-user-session (as root), then loginctl terminate-user %s", user);
    else
        (void)snprintf(buf, size, "systemctl --user status; systemctl --user restart dbus.socket");
    return buf;
}

static void linger(struct doctor *d, const char *user)
{
    cleanup_free char *path = xasprintf("/var/lib/systemd/linger/%s", user);
    cleanup_free char *mend = xasprintf("loginctl enable-linger %s", user);

    if (access(path, F_OK) == 0)
        doctor_add(d, DOCTOR_OK, "linger", NULL, NULL, "campaigns go on when %s has logged out",
                   user);
    else
        doctor_add(d, DOCTOR_WARN, "linger", "campaigns end with the last session of this user",
                   mend, "%s does not linger", user);
}

void doctor_scope(struct doctor *d, const char *prefix)
{
    const struct passwd *pw = geteuid() != 0 ? getpwuid(geteuid()) : NULL;
    cleanup_free char *user =
        pw != NULL ? xstrdup(pw->pw_name) : xasprintf("%u", (unsigned)geteuid());
    struct err err = {0};
    char mend[300];

    if (!scope_is_of_use(FS, "/proc/self/cgroup"))
        return;
    if (scope_enter_own(FS, prefix, &err) == 0) {
        doctor_add(d, DOCTOR_OK, "scope", NULL, NULL, "systemd gives a scope in %s", SCOPE_SLICE);
        if (geteuid() != 0)
            linger(d, user);
    } else if (geteuid() == 0) {
        doctor_add(d, DOCTOR_WARN, "scope", "groups are made at the top of the tree instead",
                   "apt-get install dbus; systemctl start dbus.socket", "%s", err.msg);
    } else {
        doctor_add(d, DOCTOR_WARN, "scope", "without one an ordinary user has no limits",
                   bus_mend(user, mend, sizeof(mend)), "%s", err.msg);
    }
}
