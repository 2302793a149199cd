/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a short helper to its end, or to the end of its time, with both streams captured up to a
 * bound. Output past the bound is read and dropped, so that the helper never blocks on us, and a
 * grandchild that keeps the pipes open does not keep us waiting once the helper itself is done.
 */
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sys/guard.h"
#include "sys/launcher.h"
#include "sys/proc_child.h"

#define READ_CHUNK (64 * 1024)
#define REST_MS    3000 /* for what a program left behind to go */

struct capture {
    int fd; /* -1: ended */
    char *data;
    size_t len, cap, max;
};

static int capture_append(struct capture *c, const char *data, size_t n)
{
    size_t room = c->max - c->len;

    if (n > room)
        n = room;
    if (c->len + n + 1 > c->cap) {
        size_t cap = c->cap > 0 ? c->cap : 512;
        char *p;

        while (cap < c->len + n + 1)
            cap *= 2;
        p = realloc(c->data, cap);
        if (p == NULL)
            return -ENOMEM;
        c->data = p;
        c->cap = cap;
    }
    memcpy(c->data + c->len, data, n);
    c->len += n;
    c->data[c->len] = '\0';
    return 0;
}

/* Reads what is there; rounds bounds a program that writes faster than we drop. */
static int capture_read(struct capture *c, int rounds)
{
    static _Thread_local char buf[READ_CHUNK];

    while (c->fd >= 0 && rounds-- > 0) {
        ssize_t n = read(c->fd, buf, sizeof(buf));
        int rc;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            (void)close(steal_fd(&c->fd));
            return 0;
        }
        rc = capture_append(c, buf, (size_t)n);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void proc_interrupts(sigset_t *ret)
{
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGINT);
    (void)sigaddset(ret, SIGTERM);
    (void)sigaddset(ret, SIGHUP);
}

/* Readable while one of the signals waits that proc_interrupts has; -1 without. Nobody reads it. */
static int interrupts_open(bool wanted)
{
    sigset_t set;

    if (!wanted)
        return -1;
    proc_interrupts(&set);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A program and who is waited for: itself, or, where it is not trusted, its launcher. */
struct started {
    pid_t pid; /* our child */
    int fd; /* readable when there is something to wait for no longer: a pidfd, or the launcher's talk */
    bool launched;
    struct launcher_said said; /* the last that was heard of a launcher */
};

/* Whether there is nothing to wait for any more. A launcher that is stopped early tells of the start late, or never. */
static bool is_over(struct started *st)
{
    return !st->launched || launcher_hear(st->fd, &st->said) < 0 ||
           st->said.word != LAUNCHER_STARTED;
}

/* 0 when the program has ended, -ETIME at the deadline, -EINTR by interrupt_fd, -ECANCELED, else -errno. */
static int wait_end(struct capture *cap, struct started *st, int interrupt_fd, int64_t deadline_ms,
                    const volatile sig_atomic_t *cancel)
{
    const int64_t look_ms = cancel != NULL ? PROC_CANCEL_MS : INT32_MAX;

    for (;;) {
        struct pollfd p[4] = {{.fd = st->fd, .events = POLLIN},
                              {.fd = cap[0].fd, .events = POLLIN},
                              {.fd = cap[1].fd, .events = POLLIN},
                              {.fd = interrupt_fd, .events = POLLIN}};
        int64_t left_ms = deadline_ms - clock_now_ms();
        int i, rc;

        if (cancel != NULL && *cancel != 0)
            return -ECANCELED;
        if (left_ms <= 0)
            return -ETIME;
        if (poll(p, 4, (int)(left_ms < look_ms ? left_ms : look_ms)) < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (p[3].revents != 0)
            return -EINTR;
        for (i = 0; i < 2; i++) {
            if (p[i + 1].revents != 0 && (rc = capture_read(&cap[i], 4)) < 0)
                return rc;
        }
        if (p[0].revents != 0 && is_over(st)) {
            for (i = 0; i < 2; i++)
                if ((rc = capture_read(&cap[i], 64)) < 0)
                    return rc;
            return 0;
        }
    }
}

static int pipe_make(int *ret_read, int *ret_write)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    *ret_read = fds[0];
    *ret_write = fds[1];
    return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static void result_fill(struct proc_result *ret, int status, bool timed_out, int64_t wall_ms,
                        const struct rusage *ru, struct capture *cap)
{
    memset(ret, 0, sizeof(*ret));
    ret->status = status;
    ret->timed_out = timed_out;
    ret->wall_ms = wall_ms;
    ret->cpu_ms = (int64_t)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000 +
                  (ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) / 1000;
    ret->max_rss_bytes = (int64_t)ru->ru_maxrss * 1024;
    ret->out_len = cap[0].len;
    ret->err_len = cap[1].len;
    ret->out = steal_ptr(&cap[0].data);
    ret->err = steal_ptr(&cap[1].data);
}

/* 0, or -errno with the step; what a launcher does not manage to start is told by it. */
static int start(const struct proc_spec *ps, const struct proc_child *pc, struct started *st,
                 const char **step)
{
    st->launched = ps->sweep;
    if (!st->launched) {
        st->pid = proc_child_start(pc, step);
        st->fd = st->pid > 0 ? (int)syscall(SYS_pidfd_open, st->pid, 0U) : -1;
        return st->pid < 0 ? st->pid : 0;
    }
    st->pid = launcher_open(pc, &st->fd);
    /* One that is gone already is met by whoever waits for it. */
    if (st->pid > 0)
        (void)launcher_go(st->fd);
    return st->pid < 0 ? st->pid : 0;
}

/* The launcher's last word, which is waited for while it can speak. */
static bool last_word(struct started *st)
{
    const int64_t deadline_ms = clock_now_ms() + REST_MS;
    struct pollfd p = {.fd = st->fd, .events = POLLIN};

    while (st->said.word == LAUNCHER_STARTED && clock_now_ms() < deadline_ms) {
        if (poll(&p, 1, PROC_CANCEL_MS) > 0) {
            if (launcher_hear(st->fd, &st->said) < 0)
                return false;
        } else if (proc_child_stopped(st->pid)) {
            return false;
        }
    }
    return st->said.word != LAUNCHER_STARTED;
}

/* Once its end is told, or it shall end (kill). 0, or -EOWNERDEAD: it did away with its launcher; or why it did not start, by step. */
static int finish(struct started *st, bool ended, int *ret_status, struct rusage *ret_ru,
                  const char **step)
{
    int rc = 0;

    if (!ended)
        proc_child_kill_tree(st->pid);
    if (!st->launched) {
        /* The program is not reaped yet, so its pid and with it the group's id are still ours. */
        (void)kill(-st->pid, SIGKILL);
        while (wait4(st->pid, ret_status, 0, ret_ru) < 0 && errno == EINTR)
            ;
        return 0;
    }
    if (!last_word(st)) {
        rc = -EOWNERDEAD;
        proc_child_kill_tree(st->pid);
    } else if (st->said.word == LAUNCHER_FAILED) {
        rc = st->said.value;
        *step = st->said.step;
    } else {
        *ret_status = st->said.value;
        *ret_ru = st->said.usage;
    }
    (void)kill(st->pid, SIGKILL);
    if (rc == -EOWNERDEAD)
        (void)session_kill(st->pid);
    while (waitpid(st->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc;
}

static int run_in(const struct proc_spec *ps, struct capture *cap, const struct proc_child *pc,
                  int write_fds[2], struct proc_result *ret, struct err *err)
{
    struct started st = {.fd = -1};
    cleanup_close int interrupt_fd = interrupts_open(ps->interruptible);
    const char *step = "fork";
    int64_t start_ms = clock_now_ms();
    struct proc_sweep sweep = {.n = -1};
    struct rusage ru = {0};
    int status = 0, rc, gone, i;

    if (ps->sweep)
        proc_sweep_begin(&sweep);
    rc = start(ps, pc, &st, &step);
    if (rc < 0) {
        proc_sweep_end(&sweep);
        return err_sys(err, rc, "%s: %s", ps->argv->v[0], step);
    }
    for (i = 0; i < 2; i++)
        (void)close(steal_fd(&write_fds[i]));
    rc = st.fd < 0 ? -EMFILE
                   : wait_end(cap, &st, interrupt_fd, start_ms + ps->timeout_ms, ps->cancel);
    gone = finish(&st, rc == 0, &status, &ru, &step);
    if (st.fd >= 0)
        (void)close(st.fd);
    proc_sweep_end(&sweep);
    for (i = 0; i < 2 && rc == -ETIME; i++)
        (void)capture_read(&cap[i], 64);
    if (rc == -ECANCELED)
        return err_set(err, rc, "%s: interrupted", ps->argv->v[0]);
    if (rc < 0 && rc != -ETIME)
        return err_sys(err, rc, "%s: reading its output", ps->argv->v[0]);
    if (gone < 0 && gone != -EOWNERDEAD)
        return err_sys(err, gone, "%s: %s", ps->argv->v[0], step);
    if (gone < 0)
        return err_set(err, gone, "%s: killed or stopped its parent", ps->argv->v[0]);
    for (i = 0; i < 2; i++)
        if (cap[i].data == NULL && capture_append(&cap[i], "", 0) < 0)
            return err_sys(err, -ENOMEM, "%s", ps->argv->v[0]);
    result_fill(ret, status, rc == -ETIME, clock_now_ms() - start_ms, &ru, cap);
    return 0;
}

int proc_run(const struct proc_spec *ps, struct proc_result *ret, struct err *err)
{
    struct capture cap[2] = {{.fd = -1, .max = ps->max_out}, {.fd = -1, .max = ps->max_out}};
    cleanup_close int in_fd = -1;
    int write_fds[2] = {-1, -1};
    struct proc_child pc = {
        .argv = ps->argv,
        .env = ps->env,
        .cwd = ps->cwd,
        .procs_fds = ps->cgroup_procs_fd,
        .procs_count = ps->cgroup_procs_count,
        .cpu_limit_s = ps->cpu_limit_s,
        .as_limit_bytes = ps->as_limit_bytes,
        .fsize_limit_bytes = ps->fsize_limit_bytes,
        .oom_victim = ps->oom_victim,
        .seal = ps->seal,
        .pdeathsig = SIGKILL, /* nobody waits for it when we are gone */
    };
    int rc, i;

    if (ps->argv == NULL || ps->argv->n == 0 || ps->timeout_ms <= 0)
        return err_set(err, -EINVAL, "no program or no time to run it");
    in_fd = open(ps->stdin_path != NULL ? ps->stdin_path : "/dev/null", O_RDONLY | O_CLOEXEC);
    if (in_fd < 0)
        return err_sys(err, -errno, "%s", ps->stdin_path);
    rc = pipe_make(&cap[0].fd, &write_fds[0]);
    if (rc == 0)
        rc = pipe_make(&cap[1].fd, &write_fds[1]);
    if (rc == 0) {
        pc.std_fd[0] = in_fd;
        pc.std_fd[1] = write_fds[0];
        pc.std_fd[2] = write_fds[1];
        rc = run_in(ps, cap, &pc, write_fds, ret, err);
    } else {
        (void)err_sys(err, rc, "pipe");
    }
    for (i = 0; i < 2; i++) {
        cleanup_close_fn(&cap[i].fd);
        cleanup_close_fn(&write_fds[i]);
        free(cap[i].data);
    }
    return rc;
}

void proc_result_clear(struct proc_result *r)
{
    free(r->out);
    free(r->err);
    memset(r, 0, sizeof(*r));
}

int proc_start(const struct proc_spawn *ps, pid_t *ret_pid, int *ret_pidfd)
{
    struct proc_child pc = {
        .argv = ps->argv,
        .env = ps->env,
        .cwd = ps->cwd,
        .std_fd = {ps->stdin_fd, ps->stdout_fd, ps->stderr_fd},
        .keep_fds = ps->keep_fd,
        .procs_fds = ps->cgroup_procs_fd,
        .procs_count = ps->cgroup_procs_count,
        .new_session = ps->new_session,
        .pdeathsig = ps->pdeathsig,
    };
    int pidfd, rc;
    pid_t pid;

    while (pc.keep_count < 3 && ps->keep_fd[pc.keep_count] >= 0)
        pc.keep_count++;
    pid = proc_child_start(&pc, NULL);
    if (pid < 0)
        return pid;
    /* Not reaped by anybody but the caller, so the pid is still this child's. */
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);
    if (pidfd < 0) {
        rc = -errno;
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return rc;
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return 0;
}
