/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_SCOPE_H
#define SYS_SCOPE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "base/err.h"

/*
 * A scope of systemd for the daemon and its instances: a group that is ours to divide, outside of the session that started
 * us, and there for as long as a process is in it. An ordinary user gets one from his own manager, with the same limits.
 * Source: org.freedesktop.systemd1(5) StartTransientUnit, AttachProcessesToUnit, JobRemoved; systemd.scope(5).
 */
#define SCOPE_SLICE      "fuzz.slice"
#define SCOPE_TIMEOUT_MS 8000

struct scope_want {
    const char *
        prefix; /* "fuzzd-XXXXXXXX": the unit is PREFIX.scope, and below it are PREFIX/ctl and the instances */
    const char *fs;        /* mount point of the cgroup v2 tree */
    const char *self_file; /* "/proc/self/cgroup" */
    int64_t timeout_ms;    /* of all of it */
};

/* True when there is a cgroup v2 tree, systemd runs, and we are not in a group already that it delegated to us. */
bool scope_is_of_use(const char *fs, const char *self_file);

/*
 * A connection to the manager that a user's processes belong to: the system's for root, else his own. 0, -ENOENT (there is
 * none), -ETIMEDOUT, -errno. sd_bus_flush_close_unref it.
 */
int scope_bus_open(uid_t user, int64_t timeout_ms, sd_bus **ret, struct err *err);

/*
 * Moves this process into PREFIX.scope, which is made when there is none, and joined when instances of an earlier daemon
 * live in it. What systemd answers is believed only when the kernel says that we are there. Blocks for at most timeout_ms.
 * 0; -EACCES (refused), -ETIMEDOUT, -ECONNRESET (the bus went away), -EIO (the job failed), -EPROTO (an answer that is none).
 */
int scope_enter(sd_bus *bus, const struct scope_want *want, struct err *err);

/* The three above, for fuzzd. 0 (we are in a scope, or need none), or as above. */
int scope_enter_own(const char *fs, const char *prefix, struct err *err);

#endif
