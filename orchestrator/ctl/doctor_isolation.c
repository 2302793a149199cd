/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps a target from hurting the host. Files that are there prove little, so a child is put
 * into a group made like an instance's, frozen and killed; the group's prefix is this process's
 * own, so a running fuzzd and its instances are not touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "ctl/doctor.h"
#include "sys/cgroup.h"
#include "sys/seal.h"

#define FS             "/sys/fs/cgroup"
#define LIST_BYTES_MAX 4096
#define WAIT_ROUNDS    200 /* of 5 ms */
#define DELEGATE                                                                                   \
    "as root, or as a user whose systemd gives a scope (packages dbus-user-session and "           \
    "libpam-systemd)"

#define WRITABLE                                                                                   \
    "a tree that can be written to: mount -o remount,rw " FS                                       \
    " and what is mounted below it (a container has one by --privileged)"

/* Root needs no scope: he lacks the tree itself, as in a container. */
static const char *mend_groups(void)
{
    if (geteuid() != 0)
        return DELEGATE;
    if (access(FS "/cgroup.controllers", F_OK) < 0 && access(FS "/memory", F_OK) < 0 &&
        access(FS "/unified", F_OK) < 0)
        return "mount -t cgroup2 none " FS;
    return WRITABLE;
}

static const char *mend_namespaces(void)
{
    return geteuid() != 0 ? "run as root, or with CAP_SYS_ADMIN"
                          : "CAP_SYS_ADMIN (a container has it by --cap-add SYS_ADMIN)";
}

static void nap(void)
{
    const struct timespec step = {.tv_nsec = 5 * 1000 * 1000};

    (void)nanosleep(&step, NULL);
}

/* A child that waits in t. Its pid, or -errno. */
static pid_t child_in_target(const struct cgroup *cg)
{
    struct strv paths = {0};
    int ready[2];
    pid_t pid;
    char ok = 0;

    if (pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    cgroup_procs_paths(cg, CGROUP_T, &paths);
    pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < paths.n; i++) {
            int fd = open(paths.v[i], O_WRONLY | O_CLOEXEC);

            if (fd < 0 || write(fd, "0", 1) != 1)
                _exit(1);
        }
        (void)!write(ready[1], "y", 1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    if (pid > 0 && read(ready[0], &ok, 1) != 1) {
        (void)waitpid(pid, NULL, 0);
        pid = -EACCES;
    }
    (void)close(ready[0]);
    strv_clear(&paths);
    return pid;
}

static bool empties(struct cgroup *cg, pid_t pid)
{
    for (int i = 0; i < WAIT_ROUNDS; i++) {
        (void)waitpid(pid, NULL, WNOHANG);
        if (cgroup_populated(cg, CGROUP_T) == 0)
            return true;
        nap();
    }
    return false;
}

static void try_leaf(struct doctor *d, struct cgroup *cg)
{
    pid_t pid = child_in_target(cg);
    int r;

    if (pid < 0) {
        doctor_add(d, DOCTOR_BAD, "enter", "no instance could start", mend_groups(),
                   "a process cannot enter its group: %s", strerror(-pid));
        return;
    }
    r = cgroup_freeze(cg, CGROUP_T, true);
    if (r == 0)
        doctor_add(d, DOCTOR_OK, "pause", NULL, NULL, "a target can be frozen");
    else
        doctor_add(d, DOCTOR_WARN, "pause",
                   "a pause, and a hold when the host is short of memory or disk, only stops "
                   "afl-fuzz; what its target started goes on",
                   "a kernel with a cgroup v2 tree (5.2 or later)", "a target cannot be frozen");
    r = cgroup_kill(cg, CGROUP_T);
    if (r == 0 && empties(cg, pid))
        doctor_add(d, DOCTOR_OK, "kill", NULL, NULL,
                   "a frozen target and all it has started can be killed at once");
    else
        doctor_add(d, DOCTOR_BAD, "kill", "what a target leaves behind may stay",
                   "a kernel with a cgroup v2 tree (5.14 or later)",
                   "a process in a target's group did not die");
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Whether the host has a controller, be it ours to use or not. */
static bool host_has(const char *name)
{
    cleanup_free char *v1 = xasprintf("%s/%s", FS, name);
    cleanup_free char *list = NULL;
    char *rest, *word;

    if (access(v1, F_OK) == 0)
        return true;
    if (file_read_proc(FS "/cgroup.controllers", LIST_BYTES_MAX, &list) < 0)
        return false;
    for (rest = list; (word = strsep(&rest, " \n")) != NULL;) {
        if (strcmp(word, name) == 0)
            return true;
    }
    return false;
}

static void limit(struct doctor *d, const struct cgroup_root *root, unsigned what, const char *name,
                  const char *held, const char *lost, const char *mend)
{
    if ((cgroup_root_holds(root) & what) != 0)
        doctor_add(d, DOCTOR_OK, name, NULL, NULL, "%s", held);
    else if (host_has(name))
        doctor_add(d, what == CGROUP_HOLDS_MEMORY ? DOCTOR_BAD : DOCTOR_WARN, name, lost,
                   mend_groups(), "the controller %s is not ours to use", name);
    else
        doctor_add(d, what == CGROUP_HOLDS_MEMORY ? DOCTOR_BAD : DOCTOR_WARN, name, lost, mend,
                   "no controller %s", name);
}

static void back_end(struct doctor *d, const struct cgroup_root *root)
{
    const char *p = cgroup_root_why(root);

    if (cgroup_root_holds(root) == 0)
        doctor_add(d, DOCTOR_BAD, "cgroup", "nothing that a target does is contained",
                   mend_groups(), "back-end none");
    else
        doctor_add(d, DOCTOR_OK, "cgroup", NULL, NULL, "back-end %s below %s",
                   cgroup_root_name(root), cgroup_root_place(root));
    while (*p != '\0') {
        size_t n = strcspn(p, "\n");

        if (n > 0)
            doctor_add(d, DOCTOR_WARN, "cgroup", NULL, NULL, "%.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static void ipc_namespace(struct doctor *d)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(unshare(CLONE_NEWIPC) == 0 ? 0 : 1);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        doctor_add(d, DOCTOR_OK, "ipc", NULL, NULL, "each instance gets an IPC namespace");
    else
        doctor_add(d, DOCTOR_WARN, "ipc",
                   "shared memory of a killed afl-fuzz is looked for by its creator's pid instead",
                   mend_namespaces(), "no IPC namespace of its own");
}

static void sealed(struct doctor *d)
{
    switch (seal_try()) {
    case SEAL_WHOLE:
        doctor_add(d, DOCTOR_OK, "seal", NULL, NULL, "a target cannot change its own cgroup");
        break;
    case SEAL_NAMESPACES_OPEN:
        doctor_add(d, DOCTOR_WARN, "seal",
                   "one that means to can lift its limits and freeze processes of others",
                   "a kernel with CONFIG_SECCOMP_FILTER, or sysctl user.max_user_namespaces=0",
                   "a target can change cgroups from a user namespace of its own");
        break;
    case SEAL_NONE:
        doctor_add(d, DOCTOR_WARN, "seal",
                   "one that means to can lift its limits, freeze itself or leave its cgroup",
                   mend_namespaces(), "a target can change its own cgroup");
        break;
    }
}

/* We enter ctl first, as fuzzd does: where our own group is divided, nobody may sit in it. Freeing the root leaves it. */
static void trial(struct doctor *d, struct cgroup_root *root)
{
    const struct cgroup_limits lim = {.memory_bytes = 64 << 20,
                                      .target_memory_bytes = 32 << 20,
                                      .pids = 16,
                                      .cpu_pct = 100,
                                      .cpu_weight_pct = 50};
    struct cgroup *cg = NULL;
    struct err err = {0};
    int r = cgroup_enter_ctl(root);

    back_end(d, root);
    limit(d, root, CGROUP_HOLDS_MEMORY, "memory", "a target is held to its memory",
          "a target can take all memory of the host", "boot with the memory controller on");
    limit(d, root, CGROUP_HOLDS_PIDS, "pids", "a fork bomb is held to the target's pids",
          "a fork bomb in a target is one of the host", "boot with the pids controller on");
    limit(d, root, CGROUP_HOLDS_CPU, "cpu", "an instance is held to its core, triage yields",
          "the key cpu does nothing, and triage takes cores from others",
          "boot with the cpu controller on");
    if (r == 0)
        r = cgroup_create(root, "doctor/try.main", &lim, &cg, &err);
    if (r < 0) {
        doctor_add(d, DOCTOR_BAD, "limits", "no instance could start", mend_groups(),
                   "a group like an instance's cannot be made: %s",
                   err.msg[0] != '\0' ? err.msg : strerror(-r));
        return;
    }
    if (cgroup_root_holds(root) != 0)
        try_leaf(d, cg);
    (void)cgroup_destroy(cg, 2000);
    cgroup_free(cg);
}

void doctor_isolation(struct doctor *d)
{
    char prefix[32];
    struct cgroup_root *root;

    (void)snprintf(prefix, sizeof(prefix), "fuzzd-doctor%d", (int)getpid());
    doctor_scope(d, prefix);
    root = cgroup_root_open(FS, prefix, NULL);
    trial(d, root);
    cgroup_prune(root);
    cgroup_root_free(root);
    sealed(d);
    ipc_namespace(d);
}
