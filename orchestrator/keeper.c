/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-keeper: the parent of one afl-fuzz. It outlives fuzzd, keeps the core's lock, bounds the
 * log, and at the end leaves no process and no memory behind and writes how it ended.
 *
 * The invariant: once afl-fuzz runs, only afl-fuzz's end or a SIGTERM to us ends the keeper, and
 * it ends with a record. So there is no allocation after start, both records have their disk space
 * before the fork, and every failure after it costs a detail, never the record.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/clock.h"
#include "base/file.h"
#include "sys/drop.h"
#include "sys/gate.h"
#include "sys/keeper.h"
#include "sys/keeper_wire.h"
#include "sys/raw.h"
#include "sys/runlog.h"
#include "sys/seal.h"
#include "sys/shmseg.h"

#define DESC_FD         3
#define READ_ROUNDS     16
#define GRACE_MS_MAX    3600000
#define CLEANUP_MS_MAX  10000
#define CLEANUP_STEP_MS 5
#define NO_DEADLINE     INT64_MAX
#define GATE_REST_MS    5 /* after each knock, so that knocking keeps nobody busy */

static char desc_data[KEEPER_DESC_BYTES_MAX];
static char *desc_slots[KEEPER_SLOTS_MAX];
static char record[KEEPER_RUN_BYTES_MAX];
static char run_temp[4096];

static struct keeper_desc desc;
static struct keeper_run run = {.cpu = -1};
static struct keeper_exit end;
static struct runlog out_log = {.fd = -1};
static int exit_fd = -1, run_fd = -1;
static int log_in = -1, log_out = -1; /* ends of afl-fuzz's output pipe */
static int64_t oom_before;
static int gate_fd = -1;
static const char *gate_ways;    /* cgroup.procs files of t, colons between */
static bool afl_ended, uses_shm; /* something of the instance lies in /dev/shm */

/* ---- Records ------------------------------------------------------------------------------ */

_Noreturn static void exit_write(void)
{
    static char text[KEEPER_RECORD_BYTES];
    int n;

    end.ended_at_ms = clock_wall_ms();
    n = keeper_exit_format(text, sizeof(text), &end);
    if (n < 0 || exit_fd < 0)
        _exit(1);
    /* The blanks behind the text belong to the record: an older, longer one may not shine through. */
    if (pwrite(exit_fd, text, sizeof(text), 0) != (ssize_t)sizeof(text) || fdatasync(exit_fd) < 0)
        _exit(1);
    _exit(0);
}

static void setup_failed(int code, const char *what, const char *name)
{
    end.end = KEEPER_SETUP_FAILED;
    end.code = -code;
    (void)snprintf(end.what, sizeof(end.what), "%s%s%s: %s", what, *name != '\0' ? " " : "", name,
                   strerror(-code));
    (void)dprintf(STDERR_FILENO, "fuzz-keeper: %s\n", end.what);
    if (run_fd >= 0)
        (void)unlink(run_temp);
    exit_write();
}

static void desc_read(void)
{
    size_t size = 0;
    ssize_t n;
    int rc;

    while ((n = read(DESC_FD, desc_data + size, sizeof(desc_data) - size)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            setup_failed(-errno, "description on descriptor 3", "");
        size += (size_t)n;
    }
    (void)close(DESC_FD);
    uses_shm = memmem(desc_data, size, "/shm/", 5) != NULL;
    rc = keeper_desc_parse(desc_data, size, desc_slots, &desc);
    if (rc < 0)
        setup_failed(rc, "description on descriptor 3", "");
    if (desc.grace_ms < 0 || desc.grace_ms > GRACE_MS_MAX)
        setup_failed(-ERANGE, "grace_ms", "");
}

/* Opens a record's file and makes sure that its bytes are there, whatever happens to the disk later. */
static int record_open(const char *path, int64_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    int rc;

    if (fd < 0)
        setup_failed(-errno, "cannot make record", path);
    rc = posix_fallocate(fd, 0, size);
    if (rc != 0)
        setup_failed(-rc, "no room for record", path);
    return fd;
}

static void run_write(void)
{
    int n = keeper_run_format(record, sizeof(record), &run);

    if (n < 0)
        setup_failed(n, "record too long", desc.run_path);
    if (file_write_all(run_fd, record, (size_t)n) < 0 || ftruncate(run_fd, n) < 0 ||
        fsync(run_fd) < 0 || rename(run_temp, desc.run_path) < 0)
        setup_failed(-errno, "cannot write record", desc.run_path);
    (void)file_sync_parent(AT_FDCWD, desc.run_path);
    (void)close(run_fd);
    run_fd = -1;
}

/* ---- Cgroup and processes ----------------------------------------------------------------- */

/*
 * SIGKILL to afl, t and our own children. Grandchildren need no search: we are the reaper of all
 * below us, so they become our children as their parents die, and a child we have not reaped
 * cannot have lost its pid to somebody else.
 */
static void kill_all(void)
{
    size_t i;

    for (i = 0; i < desc.kill_files.n; i++)
        (void)raw_put(desc.kill_files.v[i], "1");
    raw_kill_children();
    if (!afl_ended)
        (void)kill(run.afl.pid, SIGKILL);
}

/* Collects whoever has ended, counting those that our SIGKILL ended. True while children are left. */
static bool reap(bool count_killed)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == run.afl.pid && !afl_ended) {
            afl_ended = true;
            end.end = WIFSIGNALED(status) ? KEEPER_SIGNALLED : KEEPER_EXITED;
            end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
        } else if (count_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            end.leftover++;
        }
    }
    return pid == 0 || errno != ECHILD;
}

static void log_drain(void)
{
    static char buf[65536];
    int rounds;
    ssize_t n = 1;

    for (rounds = 0; rounds < READ_ROUNDS && log_in >= 0; rounds++) {
        n = read(log_in, buf, sizeof(buf));
        if (n > 0)
            runlog_write(&out_log, buf, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            (void)close(log_in);
            log_in = -1;
        } else
            return;
    }
}

/* ---- Start -------------------------------------------------------------------------------- */

_Noreturn static void child_main(int go_fd, int report_fd)
{
    static char *no_env[] = {NULL};
    struct rlimit fsize = {(rlim_t)desc.fsize_bytes, (rlim_t)desc.fsize_bytes};
    struct sigaction sa = {.sa_handler = SIG_DFL};
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int sig, code = 0;
    sigset_t none;
    size_t i;
    char go;

    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != run.keeper.pid ||
        read(go_fd, &go, 1) != 1)
        _exit(127); /* the keeper is gone */
    (void)setpgid(0, 0);
    for (i = 0; i < desc.procs_afl.n && code == 0; i++)
        code = raw_put(desc.procs_afl.v[i], "0");
    if (code == 0 && desc.fsize_bytes > 0 && setrlimit(RLIMIT_FSIZE, &fsize) < 0)
        code = -errno;
    if (code == 0 && (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(log_out, 1) < 0 ||
                      dup2(log_out, 2) < 0 || close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0))
        code = -errno;
    (void)seal_self();
    if (code == 0 && desc.uid != 0)
        code = drop_self(&(struct drop){.uid = (uid_t)desc.uid, .gid = (gid_t)desc.gid});
    /* The kernel forgets the signal when the user changes. */
    if (desc.uid != 0 && (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != run.keeper.pid))
        _exit(127);
    for (sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &sa, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (code == 0) {
        (void)execve(desc.argv.v[0], desc.argv.v, desc.env.n > 0 ? desc.env.v : no_env);
        code = -errno;
    }
    (void)!write(report_fd, &code, sizeof(code));
    _exit(127);
}

/* In the environment afl-fuzz gets the gate's name instead of the files, which are ours to write to. */
static void gate_set_up(void)
{
    static char item[64] = GATE_ENV "=";
    const size_t n = sizeof(KEEPER_ENV_PROCS "=") - 1, head = sizeof(GATE_ENV "=") - 1;
    size_t i;

    for (i = 0; i < desc.env.n; i++) {
        if (strncmp(desc.env.v[i], KEEPER_ENV_PROCS "=", n) != 0)
            continue;
        gate_ways = desc.env.v[i] + n;
        if (gate_fd < 0)
            gate_fd = gate_open(item + head, sizeof(item) - head);
        if (gate_fd < 0)
            setup_failed(gate_fd, "make the way into the target's group", "");
        desc.env.v[i] = item;
    }
}

static void afl_start(void)
{
    int go[2], report[2], code = 0;
    pid_t pid;
    ssize_t n;

    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
        setup_failed(-errno, "pipe", "");
    run.started_at_ms = clock_wall_ms();
    pid = fork();
    if (pid < 0)
        setup_failed(-errno, "fork", "");
    if (pid == 0) {
        (void)close(go[1]);
        child_main(go[0], report[1]);
    }
    run.afl.pid = pid;
    (void)close(go[0]);
    (void)close(report[1]);
    (void)close(log_out);
    /* It waits for our word, so it is still there to be identified and recorded before it does anything. */
    code = proc_identify(pid, &run.afl);
    if (code < 0)
        setup_failed(code, "identify afl-fuzz", "");
    (void)snprintf(end.started_afl, sizeof(end.started_afl), "%llu",
                   (unsigned long long)run.afl.start_ticks);
    run_write();
    (void)!write(go[1], "g", 1);
    (void)close(go[1]);
    do
        n = read(report[0], &code, sizeof(code));
    while (n < 0 && errno == EINTR);
    (void)close(report[0]);
    if (n == (ssize_t)sizeof(code)) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        end.end = KEEPER_EXEC_FAILED;
        end.code = -code;
        (void)snprintf(end.what, sizeof(end.what), "%s: %s", desc.argv.v[0], strerror(-code));
        exit_write();
    }
}

static void place(void)
{
    cpu_set_t cpus;
    size_t i;
    int rc;

    for (i = 0; i < desc.procs_keep.n; i++)
        if ((rc = raw_put(desc.procs_keep.v[i], "0")) < 0)
            setup_failed(rc, "enter cgroup", desc.procs_keep.v[i]);
    run.own_ipc = unshare(CLONE_NEWIPC) == 0;
    (void)(uses_shm || shmseg_own_files());
    if (desc.cpu >= 0) {
        CPU_ZERO(&cpus);
        if (desc.cpu < CPU_SETSIZE)
            CPU_SET(desc.cpu, &cpus);
        if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
            setup_failed(-errno, "pin to its core", "");
    }
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        setup_failed(-errno, "become the reaper", "");
    if (desc.cwd != NULL && chdir(desc.cwd) < 0)
        setup_failed(-errno, "scratch folder", desc.cwd);
    oom_before = raw_sum(&desc.oom_files, "oom_kill");
}

static void records_open(void)
{
    int fds[2];

    exit_fd = record_open(desc.exit_path, KEEPER_RECORD_BYTES);
    if (snprintf(run_temp, sizeof(run_temp), "%s.tmp", desc.run_path) >= (int)sizeof(run_temp))
        setup_failed(-ENAMETOOLONG, "record", desc.run_path);
    run_fd = record_open(run_temp, sizeof(record));
    if (desc.log_path != NULL)
        runlog_open(&out_log, desc.log_path, desc.log_max_bytes);
    if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
        setup_failed(-errno, "pipe", "");
    log_in = fds[0];
    log_out = fds[1];
    if (proc_identify(getpid(), &run.keeper) < 0)
        setup_failed(-ESRCH, "identify the keeper", "");
    (void)strlcpy(run.id, desc.id != NULL ? desc.id : "", sizeof(run.id));
    (void)strlcpy(run.plan_hash, desc.plan_hash != NULL ? desc.plan_hash : "",
                  sizeof(run.plan_hash));
    run.cpu = desc.cpu;
    run.statsd_port = desc.statsd_port;
    run.cgroups = desc.cgroups; /* borrowed: never cleared */
}

/* ---- Life and end ------------------------------------------------------------------------- */

static void watch(int signal_fd)
{
    int64_t deadline_ms = NO_DEADLINE, gate_opens_ms = 0;
    struct signalfd_siginfo si;

    while (reap(false), !afl_ended) {
        int64_t now_ms = clock_now_ms();
        bool rests = gate_fd >= 0 && now_ms < gate_opens_ms;
        struct pollfd p[3] = {{.fd = signal_fd, .events = POLLIN},
                              {.fd = log_in, .events = POLLIN},
                              {.fd = rests ? -1 : gate_fd, .events = POLLIN}};
        int64_t left_ms = deadline_ms - now_ms;

        if (deadline_ms != NO_DEADLINE && left_ms <= 0) {
            end.killed_after_grace = true;
            kill_all();
            left_ms = CLEANUP_STEP_MS;
        }
        if (rests && left_ms > GATE_REST_MS)
            left_ms = GATE_REST_MS;
        (void)poll(p, 3, deadline_ms == NO_DEADLINE && !rests ? -1 : (int)left_ms);
        log_drain();
        if (p[2].revents != 0) {
            (void)gate_answer(gate_fd, gate_ways, run.afl.pid);
            gate_opens_ms = clock_now_ms() + GATE_REST_MS;
        }
        while (read(signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
            if (si.ssi_signo == SIGCHLD || end.asked)
                continue;
            /* Not reaped yet, so the pid is still afl-fuzz's. */
            end.asked = true;
            (void)kill(run.afl.pid, SIGTERM);
            deadline_ms = clock_now_ms() + desc.grace_ms;
        }
    }
}

static void clean_up(void)
{
    int64_t deadline_ms = clock_now_ms() + CLEANUP_MS_MAX;

    (void)reap(false);
    kill_all();
    while (reap(true) || raw_sum(&desc.events_files, "populated") > 0) {
        if (clock_now_ms() >= deadline_ms) {
            (void)strlcpy(end.what, "some processes did not die", sizeof(end.what));
            break;
        }
        log_drain();
        (void)poll(NULL, 0, CLEANUP_STEP_MS);
        kill_all();
    }
    log_drain();
    runlog_close(&out_log);
    if (!run.own_ipc)
        (void)shmseg_remove(run.afl.pid, run.started_at_ms / 1000, clock_wall_ms() / 1000);
    end.oom_kills = raw_sum(&desc.oom_files, "oom_kill") - oom_before;
    raw_children_usage(&end.user_ms, &end.system_ms, &end.max_rss_bytes);
}

int main(void)
{
    sigset_t all, watched;
    int signal_fd;

    (void)signal(SIGPIPE, SIG_IGN);
    desc_read();
    (void)fcntl(KEEPER_LOCK_FD, F_SETFD, FD_CLOEXEC);
    (void)close_range(KEEPER_LOCK_FD + 1, ~0U, 0);
    (void)setsid();
    /* Blocked for life: no signal but SIGKILL ends us, and the watched ones are read as data. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)sigemptyset(&watched);
    (void)sigaddset(&watched, SIGTERM);
    (void)sigaddset(&watched, SIGINT);
    (void)sigaddset(&watched, SIGCHLD);
    signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    records_open();
    if (signal_fd < 0)
        setup_failed(-errno, "signalfd", "");
    place();
    gate_set_up();
    afl_start();
    watch(signal_fd);
    clean_up();
    exit_write();
}
