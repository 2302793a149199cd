/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that reach for cgroups by a user namespace and by whatever was inherited. Beside the groups
 * of its own instance they mean the one process that FZ_CHAOS_STRANGER names; each mark says what
 * could be done.
 */
#include "chaos.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPACES    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP)
#define KEPT_LOW  100
#define KEPT_HIGH 197

static const char *stranger(void)
{
    const char *pid = getenv("FZ_CHAOS_STRANGER");

    return pid != NULL && strtol(pid, NULL, 10) > 1 ? pid : NULL;
}

/* In namespaces of its own: the trees are mounted for writing, limits lifted, itself and the stranger frozen. */
static void in_namespaces(void)
{
    (void)chaos_mark("namespace");
    (void)mkdir("cgm", 0700);
    (void)mkdir("cgf", 0700);
    (void)mkdir("cg2", 0700);
    if (mount("cgroup", "cgm", "cgroup", 0, "memory") == 0) {
        (void)chaos_put("cgm/memory.memsw.limit_in_bytes", "-1");
        (void)chaos_put("cgm/memory.limit_in_bytes", "-1");
        if (chaos_put("cgm/memory.oom_control", "1") == 0)
            (void)chaos_mark("limits");
    }
    if (mount("cgroup", "cgf", "cgroup", 0, "freezer") == 0) {
        (void)mkdir("cgf/x", 0700);
        if (stranger() != NULL && chaos_put("cgf/x/cgroup.procs", stranger()) == 0)
            (void)chaos_mark("stranger");
        if (chaos_put("cgf/x/cgroup.procs", "0") == 0) {
            (void)chaos_mark("freezer");
            (void)chaos_put("cgf/x/freezer.state", "FROZEN");
        }
    }
    if (mount("cgroup", "cg2", "cgroup2", 0, NULL) == 0 && chaos_put("cg2/memory.max", "max") == 0)
        (void)chaos_mark("limits2");
}

void chaos_cgns(void)
{
    long pid = syscall(SYS_clone, SPACES | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        in_namespaces();
        _exit(0);
    }
    if (pid > 0)
        (void)waitpid((pid_t)pid, NULL, 0);
    if (unshare(SPACES) == 0)
        in_namespaces();
    chaos_oom();
}

/* Moves the stranger by all that was left open, and by the gate of the instance, saying that it is the stranger who knocks. */
void chaos_cgfds(void)
{
    const char *who = stranger(), *gate = getenv("FUZZ_TARGET_GATE");
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd;
    char c;

    if (who == NULL)
        return;
    for (fd = KEPT_LOW; fd <= KEPT_HIGH; fd++)
        if (write(fd, who, strlen(who)) > 0)
            (void)chaos_mark("stranger");
    if (gate == NULL || strlen(gate) >= sizeof(un.sun_path))
        return;
    memcpy(un.sun_path + 1, gate, strlen(gate));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&un,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(gate))) == 0) {
        (void)chaos_mark("knock");
        (void)!send(fd, who, strlen(who), MSG_NOSIGNAL);
        (void)!read(fd, &c, 1);
    }
    (void)close(fd);
}
