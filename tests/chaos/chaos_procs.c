/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults with processes and cgroups. Only the program's own ancestors up to the keeper and the
 * groups of its own instance are ever meant.
 */
#include "chaos.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FUSE_PROCS 300

static volatile char sink;

static void sleep_for_ever(void) __attribute__((noreturn));
static void sleep_for_ever(void)
{
    (void)prctl(PR_SET_NAME, "fz-chaos-left");
    for (;;)
        (void)pause();
}

int chaos_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), ok;

    if (fd < 0)
        return -1;
    ok = write(fd, text, strlen(text)) > 0;
    (void)close(fd);
    return ok ? 0 : -1;
}

static void put(const char *path, const char *text)
{
    (void)chaos_put(path, text);
}

/* ---- Processes ---------------------------------------------------------------------------- */

void chaos_sleepers(void)
{
    int i;

    for (i = 0; i < 500; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return;
        if (pid == 0)
            sleep_for_ever();
    }
    (void)chaos_mark("fuse");
}

/* Each child forks twice, and tries again when it may not, until 300 were made or a second is over. */
void chaos_forkbomb(void)
{
    int *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    time_t end = time(NULL) + 2;

    if (made == MAP_FAILED || fork() != 0)
        return;
    while (time(NULL) < end && __atomic_load_n(made, __ATOMIC_RELAXED) < FUSE_PROCS)
        if (fork() >= 0)
            (void)__atomic_add_fetch(made, 1, __ATOMIC_RELAXED);
    sleep_for_ever();
}

static int become_orphan(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return 0;
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    return 1;
}

void chaos_escape(void)
{
    if (become_orphan())
        sleep_for_ever();
}

void chaos_loop(void)
{
    for (;;)
        sink++;
}

void chaos_stop(void)
{
    (void)raise(SIGSTOP);
}

void chaos_parent(void)
{
    (void)kill(getppid(), SIGKILL);
}

static pid_t parent_of(pid_t pid)
{
    char path[64], buf[512], *p;
    ssize_t n = -1;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, buf, sizeof(buf) - 1);
        (void)close(fd);
    }
    buf[n > 0 ? n : 0] = '\0';
    p = strrchr(buf, ')');
    return p != NULL ? (pid_t)strtol(p + 4, NULL, 10) : 0;
}

/* Our ancestor that runs a program of that name, so that nobody else is ever meant. */
pid_t chaos_ancestor(const char *comm)
{
    pid_t pid = getppid();
    char path[64], buf[32];
    int depth, fd;

    for (depth = 0; depth < 4 && pid > 1; depth++, pid = parent_of(pid)) {
        ssize_t n = -1;

        (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            n = read(fd, buf, sizeof(buf) - 1);
            (void)close(fd);
        }
        if (n > 1 && strncmp(buf, comm, (size_t)n - 1) == 0 && comm[n - 1] == '\0')
            return pid;
    }
    return 0;
}

void chaos_aflfuzz(void)
{
    pid_t pid = chaos_ancestor("afl-fuzz");

    if (pid > 1)
        (void)kill(pid, SIGKILL);
}

void chaos_keeper(void)
{
    pid_t pid = chaos_ancestor("fuzz-keeper");

    if (pid > 1)
        (void)kill(pid, SIGKILL);
}

/* Makes all above it the likelier victims, itself the least likely, and then asks for memory. */
void chaos_oomadj(void)
{
    pid_t pids[3] = {getppid(), chaos_ancestor("afl-fuzz"), chaos_ancestor("fuzz-keeper")};
    char path[64];
    int i;

    for (i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pids[i]);
        if (pids[i] > 1)
            put(path, "1000");
    }
    put("/proc/self/oom_score_adj", "0");
    put("/proc/self/oom_score_adj", "-1000");
    chaos_oom();
}

/* ---- Cgroups ------------------------------------------------------------------------------ */

enum cgroup_act { ACT_LEAVE, ACT_KILL, ACT_FREEZE, ACT_LIMITS };

/* One act on each hierarchy's group of this process; dir is the leaf's, up the instance's. */
static void on_group(const char *mount, const char *dir, enum cgroup_act act)
{
    char path[1024], up[512], *slash;

    (void)snprintf(up, sizeof(up), "%s", dir);
    slash = strrchr(up, '/');
    if (slash == NULL || strstr(dir, "/fuzzd-") == NULL)
        return;
    *slash = '\0';
    switch (act) {
    case ACT_LEAVE:
        (void)snprintf(path, sizeof(path), "%s/cgroup.procs", mount);
        put(path, "0");
        (void)rmdir(dir);
        break;
    case ACT_KILL:
        (void)snprintf(path, sizeof(path), "%s/keep/cgroup.kill", up);
        put(path, "1");
        (void)snprintf(path, sizeof(path), "%s/cgroup.kill", up);
        put(path, "1");
        break;
    case ACT_FREEZE:
        (void)snprintf(path, sizeof(path), "%s/cgroup.freeze", up);
        put(path, "1");
        break;
    case ACT_LIMITS:
        (void)snprintf(path, sizeof(path), "%s/memory.memsw.limit_in_bytes", dir);
        put(path, "-1");
        (void)snprintf(path, sizeof(path), "%s/memory.limit_in_bytes", dir);
        put(path, "-1");
        (void)snprintf(path, sizeof(path), "%s/memory.max", dir);
        put(path, "max");
        (void)snprintf(path, sizeof(path), "%s/pids.max", dir);
        put(path, "max");
        break;
    }
}

static void on_groups(enum cgroup_act act)
{
    char buf[4096], dir[512], mount[128], *line, *p = buf, *name, *where;
    const char *dir_name;
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, buf, sizeof(buf) - 1) : -1;
    int v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;

    if (fd >= 0)
        (void)close(fd);
    buf[n > 0 ? n : 0] = '\0';
    while ((line = strsep(&p, "\n")) != NULL) {
        (void)strsep(&line, ":");
        name = strsep(&line, ":");
        where = line;
        if (name == NULL || where == NULL || strncmp(where, "/fuzzd-", 7) != 0)
            continue;
        dir_name = name;
        if (*name == '\0')
            dir_name = "unified";
        (void)snprintf(mount, sizeof(mount), v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/%.32s",
                       dir_name);
        (void)snprintf(dir, sizeof(dir), "%s%.300s", mount, where);
        on_group(mount, dir, act);
    }
}

/*
 * Ways to where the trees can be written: mounted anew, mounted for writing again, and as other processes see
 * them. What was mounted goes with the mount namespace of the instance.
 */
void chaos_cgmount(void)
{
    char seen[64];

    (void)mkdir("cg", 0700);
    if (mount("cgroup", "cg", "cgroup2", 0, NULL) == 0)
        (void)chaos_mark("mount");
    if (mount("cgroup", "cg", "cgroup", 0, "memory") == 0)
        (void)chaos_mark("mount1");
    if (mount(NULL, "/sys/fs/cgroup/memory", NULL, MS_REMOUNT | MS_BIND, NULL) == 0 ||
        mount(NULL, "/sys/fs/cgroup/unified", NULL, MS_REMOUNT | MS_BIND, NULL) == 0 ||
        mount(NULL, "/sys/fs/cgroup", NULL, MS_REMOUNT | MS_BIND, NULL) == 0)
        (void)chaos_mark("remount");
    (void)snprintf(seen, sizeof(seen), "/proc/%d/root", (int)chaos_ancestor("fuzz-keeper"));
    if (chdir(seen) == 0)
        (void)chaos_mark("keeper");
    if (chdir("/proc/1/root") == 0)
        (void)chaos_mark("init");
    chaos_cglimits();
}

/* Out of all groups, without parent and session: only the keeper still holds it. */
void chaos_cgleave(void)
{
    if (!become_orphan())
        return;
    on_groups(ACT_LEAVE);
    sleep_for_ever();
}

void chaos_cgkill(void)
{
    on_groups(ACT_KILL);
}

void chaos_cgfreeze(void)
{
    on_groups(ACT_FREEZE);
}

void chaos_cglimits(void)
{
    on_groups(ACT_LIMITS);
    chaos_oom();
}
