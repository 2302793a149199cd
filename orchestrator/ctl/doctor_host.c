/* SPDX-License-Identifier: Apache-2.0 */
/* What else a campaign needs of the host: kernel, cores, our own programs, AFL++, and a place for its state. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/doctor.h"
#include "plan/aflprobe.h"
#include "sys/cpu.h"
#include "sys/lock.h"

#define FLOOR_GIB 2 /* default of the key disk_floor */

static void kernel(struct doctor *d)
{
    struct utsname u;
    unsigned major = 0, minor = 0;

    if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2) {
        doctor_add(d, DOCTOR_WARN, "kernel", "its age cannot be judged", NULL, "version unknown");
        return;
    }
    if (major < 5 || (major == 5 && minor < 9))
        doctor_add(d, DOCTOR_BAD, "kernel", "pidfds and close_range are missing",
                   "Linux 5.9 or later", "Linux %s", u.release);
    else if (major == 5 && minor < 14)
        doctor_add(d, DOCTOR_WARN, "kernel",
                   "no cgroup.kill: groups are frozen and killed one by one", "Linux 5.14 or later",
                   "Linux %s", u.release);
    else
        doctor_add(d, DOCTOR_OK, "kernel", NULL, NULL, "Linux %s", u.release);
    if (access("/proc/pressure/memory", R_OK) < 0)
        doctor_add(d, DOCTOR_WARN, "pressure", "the key pressure does nothing",
                   "boot with psi=1 on a kernel with CONFIG_PSI", "no /proc/pressure/memory");
}

/* afl-fuzz's own advice, and what we do about it. */
static void core_pattern(struct doctor *d)
{
    cleanup_free char *text = NULL;

    if (file_read_proc("/proc/sys/kernel/core_pattern", 4096, &text) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    if (text[0] == '|')
        doctor_add(d, DOCTOR_WARN, "core_pattern",
                   "each crash starts that program, and a crash may be taken for a timeout",
                   "echo core >/proc/sys/kernel/core_pattern", "crashes are piped to %s", text + 1);
    else
        doctor_add(d, DOCTOR_OK, "core_pattern", NULL, NULL, "\"%s\", no pipe", text);
}

/* "campaign/target.instance" from a keeper's cgroup, "" when it shows none. */
static void owner_name(pid_t pid, char *buf, size_t size)
{
    cleanup_free char *path = xasprintf("/proc/%d/cgroup", (int)pid);
    cleanup_free char *data = NULL;
    const char *p;

    buf[0] = '\0';
    if (file_read_proc(path, 65536, &data) < 0 || (p = strstr(data, "/fuzzd-")) == NULL ||
        (p = strchr(p + 1, '/')) == NULL)
        return;
    (void)snprintf(buf, size, "%.*s", (int)strcspn(p + 1, "\n"), p + 1);
    if (strlen(buf) > 5 && strcmp(buf + strlen(buf) - 5, "/keep") == 0)
        buf[strlen(buf) - 5] = '\0';
}

static void cores(struct doctor *d)
{
    int cpus[CPU_MAX], n = cpu_allowed(cpus, CPU_MAX), held = 0;

    for (int i = 0; i < n; i++) {
        pid_t pid = 0;
        char name[160] = "";
        int r = cpu_owner(cpus[i], &pid);

        if (r < 0) {
            doctor_add(d, DOCTOR_BAD, "cores", "no instance could get a core",
                       "a writable /run/lock, or XDG_RUNTIME_DIR, where fuzzd-cpuN is a file or "
                       "nothing",
                       "the lock of core %d cannot be had: %s", cpus[i], strerror(-r));
            return;
        }
        if (r == 0)
            continue;
        held++;
        if (pid > 0)
            owner_name(pid, name, sizeof(name));
        if (pid > 0)
            doctor_add(d, DOCTOR_OK, "core", NULL, NULL, "core %d is held by pid %d%s%s", cpus[i],
                       (int)pid, name[0] != '\0' ? ", " : "", name);
        else
            doctor_add(d, DOCTOR_OK, "core", NULL, NULL,
                       "core %d is held by a process that cannot be looked at", cpus[i]);
    }
    if (!cpu_locks_are_shared())
        doctor_add(d, DOCTOR_WARN, "core locks",
                   "a fuzzd of another user may fuzz on the same core",
                   "chmod 1777 /run/lock (as root; by tmpfiles.d to last)",
                   "not every user can write to /run/lock");
    if (held == n)
        doctor_add(d, DOCTOR_WARN, "cores", "a campaign would wait for one",
                   "fuzzctl stop, or wait for what runs", "%d of %d free", n - held, n);
    else
        doctor_add(d, DOCTOR_OK, "cores", NULL, NULL, "%d of %d free", n - held, n);
}

static void preload(struct doctor *d)
{
    static const char name[] = "fuzz-preload.so";
    static const char means[] =
        "a target has no memory group of its own; the instance's limit holds "
        "instead, and may end afl-fuzz with it";
    cleanup_free char *path = path_find_program(name), *loaded = path_find_preload();
    struct strv places = {0};

    if (path == NULL) {
        doctor_add(d, DOCTOR_WARN, name, means, "make install",
                   "neither beside fuzzctl nor installed");
    } else if (loaded == NULL) {
        path_preload_places(&places);
        doctor_add(d, DOCTOR_WARN, name, means,
                   "make install, or move the folder to a path without",
                   "%s: the loader takes no path with a blank, a colon or $LIB, and no link to it "
                   "can be made in %s%s%s",
                   path, places.v[0], places.n > 1 ? " or " : "", places.n > 1 ? places.v[1] : "");
        strv_clear(&places);
    } else if (strcmp(path, loaded) != 0) {
        doctor_add(d, DOCTOR_OK, name, NULL, NULL, "%s, loaded as %s", path, loaded);
    } else {
        doctor_add(d, DOCTOR_OK, name, NULL, NULL, "%s", path);
    }
}

static void programs(struct doctor *d)
{
    static const char *const names[] = {"fuzzd", "fuzz-keeper", "fuzz-triage"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_free char *path = path_find_program(names[i]);

        if (path != NULL)
            doctor_add(d, DOCTOR_OK, names[i], NULL, NULL, "%s", path);
        else
            doctor_add(d, DOCTOR_BAD, names[i], "nothing can be started", "make install",
                       "neither beside fuzzctl nor installed");
    }
    preload(d);
}

static void afl(struct doctor *d)
{
    struct aflprobe *p = NULL;
    struct err err = {0};

    if (aflprobe_run(NULL, NULL, &p, &err) < 0) {
        doctor_add(d, DOCTOR_BAD, "afl-fuzz", "there is nothing to drive",
                   "apt-get install afl++, or AFL_FUZZ=/path/to/afl-fuzz", "%s", err.msg);
        return;
    }
    doctor_add(d, DOCTOR_OK, "afl-fuzz", NULL, NULL, "%s, version %s", p->path, p->version);
    aflprobe_free(p);
}

static void state_place(struct doctor *d, const char *path)
{
    struct statvfs vfs;
    double free_gib;

    if (statvfs(path, &vfs) < 0)
        return;
    free_gib = (double)vfs.f_bavail * (double)vfs.f_frsize / (double)(1LL << 30);
    if (free_gib < FLOOR_GIB)
        doctor_add(d, DOCTOR_WARN, "disk", "campaigns are held while less than disk_floor is free",
                   "free some, or --state DIR elsewhere", "%.1f GiB free at %s, less than %d GiB",
                   free_gib, path, FLOOR_GIB);
    else
        doctor_add(d, DOCTOR_OK, "disk", NULL, NULL, "%.1f GiB free at %s", free_gib, path);
}

static void state_dir(struct doctor *d)
{
    cleanup_free char *lock = path_join(d->state_dir, "fuzzd.lock");
    cleanup_free char *parent = path_dirname(d->state_dir);
    char holder[128] = "";
    struct err err = {0};
    struct stat st;

    if (lstat(d->state_dir, &st) < 0 && errno == ENOENT) {
        /* It is made on first use, with its parents. */
        while (access(parent, F_OK) < 0 && strcmp(parent, "/") != 0) {
            char *up = path_dirname(parent);

            free(parent);
            parent = up;
        }
        if (access(parent, W_OK | X_OK) < 0)
            doctor_add(d, DOCTOR_BAD, "state", "nothing can be started",
                       "--state DIR, or FUZZ_STATE", "%s cannot be made in %s: %s", d->state_dir,
                       parent, strerror(errno));
        else
            doctor_add(d, DOCTOR_OK, "state", NULL, NULL, "%s, made on first use", d->state_dir);
        state_place(d, parent);
        return;
    }
    if (path_state_check(d->state_dir, &err) < 0)
        doctor_add(d, DOCTOR_BAD, "state", "fuzzctl and fuzzd refuse it",
                   "as it says; or --state DIR, or FUZZ_STATE", "%s", err.msg);
    else if (access(d->state_dir, R_OK | W_OK | X_OK) < 0)
        doctor_add(d, DOCTOR_BAD, "state", "nothing can be started", "--state DIR, or FUZZ_STATE",
                   "%s: %s", d->state_dir, strerror(errno));
    else
        doctor_add(d, DOCTOR_OK, "state", NULL, NULL, "%s, mode %03o", d->state_dir,
                   (unsigned)st.st_mode & 0777);
    state_place(d, d->state_dir);
    if (lock_holder(lock, holder, sizeof(holder)) == 1)
        doctor_add(d, DOCTOR_OK, "fuzzd", NULL, NULL, "runs: %s", holder);
}

void doctor_host(struct doctor *d)
{
    kernel(d);
    core_pattern(d);
    cores(d);
    programs(d);
    afl(d);
    state_dir(d);
}
