/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs for fuzz-triage, one process at a time, without ever blocking the loop:
 * the job goes in by one memfd and the answer comes out by another, of fixed
 * size, so there is no pipe to serve and no output without bound. Everything
 * starts and ends from the loop, never from within a call of ours, and nothing is
 * touched after a callback, which may well free the queue.
 */

#include "triage/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "sys/keeper.h"
#include "sys/proc.h"
#include "triage/job.h"
#include "triage/jobfd.h"
#include "triage/json_util.h"
#include "triage/scratch.h"

#define TRIES              2
#define DEADLINE_SLACK     250000 /* accuracy of the deadline, microseconds */
#define TARGET_SPARE_BYTES (16LL << 20)

struct item {
    TAILQ_ENTRY(item) entry;
    json_t *job;
    const void *owner;
    bool wait_core;
    int tries;
    queue_fn *fn;
    void *ctx;
};
TAILQ_HEAD(items, item);

struct queue {
    sd_event *loop;
    char *program;
    struct cgroup *cg;
    struct items waiting;
    bool free_core;
    const void **released; /* owners whose jobs no longer wait for a core */
    size_t n_released;
    sd_event_source *pump; /* starts the next job; enabled when there may be one */
    /* the running job */
    struct item *running;
    pid_t pid;
    int pidfd, answer_fd;
    char *record;  /* file that names the folder, NULL none */
    char *scratch; /* its TMPDIR, removed with it: a killed process leaves its folders */
    bool timed_out;
    sd_event_source *exit_source, *deadline;
};

static void item_free(struct item *it)
{
    if (it == NULL)
        return;
    json_decref(it->job);
    free(it);
}

static void wake(struct queue *q)
{
    (void)sd_event_source_set_enabled(q->pump, SD_EVENT_ONESHOT);
}

static bool is_released(const struct queue *q, const void *owner)
{
    for (size_t i = 0; i < q->n_released; i++) {
        if (q->released[i] == owner)
            return true;
    }
    return false;
}

static bool may_run(const struct queue *q, const struct item *it)
{
    return !it->wait_core || q->free_core || is_released(q, it->owner);
}

static struct item *next_item(struct queue *q)
{
    struct item *it;

    TAILQ_FOREACH (it, &q->waiting, entry) {
        if (may_run(q, it))
            return it;
    }
    return NULL;
}

/* Forgets the process; the item stays with the caller. */
static struct item *run_close(struct queue *q)
{
    struct item *it = q->running;

    q->exit_source = sd_event_source_disable_unref(q->exit_source);
    q->deadline = sd_event_source_disable_unref(q->deadline);
    if (q->pidfd >= 0)
        (void)close(steal_fd(&q->pidfd));
    if (q->answer_fd >= 0)
        (void)close(steal_fd(&q->answer_fd));
    scratch_remove(q->record, q->scratch);
    str_set(&q->scratch, NULL);
    q->running = NULL;
    q->pid = 0;
    return it;
}

/* Our child leads its own session; what it runs dies with it, or with the cgroup. */
static void run_kill(struct queue *q)
{
    if (q->running == NULL)
        return;
    if (q->cg != NULL) {
        (void)cgroup_kill(q->cg, CGROUP_T);
        (void)cgroup_kill(q->cg, CGROUP_AFL);
    }
    (void)kill(-q->pid, SIGKILL);
}

/* Kills the process and takes its exit, so that no zombie stays. SIGKILL: the wait is short. */
static struct item *run_abandon(struct queue *q)
{
    siginfo_t si;

    run_kill(q);
    while (waitid(P_PIDFD, (id_t)q->pidfd, &si, WEXITED) < 0 && errno == EINTR)
        ;
    return run_close(q);
}

/* Calls back and frees. q must not be touched behind this. */
static void item_answer(struct item *it, json_t *answer)
{
    if (it->fn != NULL)
        it->fn(it->ctx, answer);
    json_decref(answer);
    item_free(it);
}

static int on_exit_event(sd_event_source *s, int fd, uint32_t revents, void *ctx)
{
    struct queue *q = ctx;
    siginfo_t si = {0};
    json_t *answer = NULL;
    struct item *it;
    bool timed_out = q->timed_out;

    (void)s, (void)fd, (void)revents;
    if (waitid(P_PIDFD, (id_t)q->pidfd, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid == 0)
        return 0;
    /* Left-overs of its group, should it have died early: before it is reaped and its number free. */
    run_kill(q);
    (void)waitid(P_PIDFD, (id_t)q->pidfd, &si, WEXITED | WNOHANG);
    if (!timed_out && si.si_code == CLD_EXITED && si.si_status == 0)
        answer = jobfd_read_answer(q->answer_fd);
    it = run_close(q);
    wake(q);
    if (answer == NULL && !timed_out && ++it->tries < TRIES) {
        TAILQ_INSERT_HEAD(&q->waiting, it, entry);
        return 0;
    }
    if (answer == NULL && timed_out)
        answer = job_answer_error("fuzz-triage did not end within %lld ms",
                                  (long long)job_deadline_ms(it->job));
    else if (answer == NULL)
        answer = job_answer_error(
            "fuzz-triage %s %d without an answer",
            si.si_code == CLD_EXITED ? "ended with exit code" : "died of signal", si.si_status);
    item_answer(it, answer);
    return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *ctx)
{
    struct queue *q = ctx;

    (void)s, (void)usec;
    q->timed_out = true;
    run_kill(q); /* on_exit_event follows */
    return 0;
}

static void cgroup_close(struct proc_spawn *ps)
{
    while (ps->cgroup_procs_count > 0)
        (void)close(ps->cgroup_procs_fd[--ps->cgroup_procs_count]);
}

static int cgroup_open(const struct queue *q, struct proc_spawn *ps, struct err *err)
{
    struct strv paths = {0};
    int r = 0;

    cgroup_procs_paths(q->cg, CGROUP_AFL, &paths);
    for (size_t i = 0; i < paths.n && ps->cgroup_procs_count < 4 && r == 0; i++) {
        int fd = open(paths.v[i], O_WRONLY | O_CLOEXEC);

        if (fd < 0)
            r = err_sys(err, -errno, "%s", paths.v[i]);
        else
            ps->cgroup_procs_fd[ps->cgroup_procs_count++] = fd;
    }
    strv_clear(&paths);
    if (r < 0)
        cgroup_close(ps);
    return r;
}

/* Empty between two jobs, the group may be tidied away by others. Without one there are no limits, and no job. */
static int cgroup_enter(const struct queue *q, struct proc_spawn *ps, struct err *err)
{
    struct err first = {0};

    if (q->cg == NULL || cgroup_open(q, ps, &first) == 0)
        return 0;
    if (cgroup_renew(q->cg, err) == 0)
        return cgroup_open(q, ps, err);
    return err_set(err, first.code, "%s", first.msg);
}

/*
 * t is for programs that are replayed under the memory limit of their target; the way into it goes by the environment, as for
 * fuzz-preload.so. A little over that limit, so that a sanitizer's own comes first.
 */
static void target_group(struct queue *q, const struct item *it, struct strv *env)
{
    int64_t limit = json_int(it->job, "memory_bytes", 0);
    struct strv paths = {0};
    char *all = NULL;

    if (q->cg == NULL || limit <= 0 ||
        cgroup_limit_target(q->cg, limit + limit / 8 + TARGET_SPARE_BYTES) < 0)
        return;
    cgroup_procs_paths(q->cg, CGROUP_T, &paths);
    for (size_t i = 0; i < paths.n; i++) {
        char *more = xasprintf("%s%s%s", all != NULL ? all : "", i > 0 ? ":" : "", paths.v[i]);

        free(all);
        all = more;
    }
    if (all != NULL)
        strv_env_set(env, KEEPER_ENV_PROCS, all);
    free(all);
    strv_clear(&paths);
}

/* Our environment with a TMPDIR of the process's own. */
static int make_env(struct queue *q, struct strv *env)
{
    int r = scratch_make(q->record, &q->scratch);

    if (r < 0)
        return r;
    for (char **e = environ; *e != NULL; e++)
        strv_add(env, *e);
    strv_env_set(env, "TMPDIR", q->scratch);
    return 0;
}

static int spawn(struct queue *q, const struct item *it, const char *text, struct err *err)
{
    cleanup_close int in = jobfd_make(text), out = jobfd_make_answer();
    struct strv argv = {0}, env = {0};
    struct proc_spawn ps = {.argv = &argv,
                            .env = &env,
                            .stdin_fd = in,
                            .stdout_fd = out,
                            .stderr_fd = STDERR_FILENO,
                            .keep_fd = {-1, -1, -1},
                            .new_session = true,
                            .pdeathsig = SIGKILL,
                            .cgroup_procs_fd = {-1, -1, -1, -1}};
    int r = in < 0 ? in : out < 0 ? out : cgroup_enter(q, &ps, err);

    if (r == 0)
        r = make_env(q, &env);
    if (r == 0) {
        target_group(q, it, &env);
        strv_add(&argv, q->program);
        r = proc_start(&ps, &q->pid, &q->pidfd);
    }
    strv_clear(&argv);
    strv_clear(&env);
    cgroup_close(&ps);
    if (r < 0) {
        scratch_remove(q->record, q->scratch);
        str_set(&q->scratch, NULL);
        return r;
    }
    q->answer_fd = steal_fd(&out);
    return 0;
}

static int run_start(struct queue *q, struct item *it, struct err *err)
{
    cleanup_free char *text = json_dumps(it->job, JSON_COMPACT);
    int r;

    if (text == NULL || strlen(text) > JOB_MAX_BYTES)
        return -E2BIG;
    q->timed_out = false;
    r = spawn(q, it, text, err);
    if (r < 0)
        return r;
    q->running = it;
    r = sd_event_add_io(q->loop, &q->exit_source, q->pidfd, EPOLLIN, on_exit_event, q);
    if (r >= 0)
        r = sd_event_add_time_relative(q->loop, &q->deadline, CLOCK_MONOTONIC,
                                       (uint64_t)job_deadline_ms(it->job) * 1000, DEADLINE_SLACK,
                                       on_deadline, q);
    if (r < 0)
        (void)run_abandon(q);
    return r < 0 ? r : 0;
}

static int on_pump(sd_event_source *s, void *ctx)
{
    struct queue *q = ctx;
    struct err err = {0};
    struct item *it;
    int r;

    (void)s;
    if (q->running != NULL || (it = next_item(q)) == NULL)
        return 0;
    TAILQ_REMOVE(&q->waiting, it, entry);
    r = run_start(q, it, &err);
    if (r < 0) {
        wake(q);
        item_answer(it, err.msg[0] != '\0' ? job_answer_error("cgroup of fuzz-triage: %s", err.msg)
                                           : job_answer_error("%s: %s", q->program, strerror(-r)));
    }
    return 0;
}

int queue_new(sd_event *loop, const char *program, const char *record, struct cgroup *cg,
              struct queue **ret, struct err *err)
{
    struct queue *q = xcalloc(1, sizeof(*q));
    int r;

    TAILQ_INIT(&q->waiting);
    q->loop = sd_event_ref(loop);
    q->program = xstrdup(program);
    str_set(&q->record, record);
    scratch_sweep(record);
    q->cg = cg;
    q->pidfd = q->answer_fd = -1;
    r = sd_event_add_defer(loop, &q->pump, on_pump, q);
    if (r >= 0)
        r = sd_event_source_set_enabled(q->pump, SD_EVENT_OFF);
    if (r < 0) {
        queue_free(q);
        return err_sys(err, r, "triage queue");
    }
    *ret = q;
    return 0;
}

void queue_free(struct queue *q)
{
    struct item *it;

    if (q == NULL)
        return;
    if (q->running != NULL)
        item_free(run_abandon(q));
    while ((it = TAILQ_FIRST(&q->waiting)) != NULL) {
        TAILQ_REMOVE(&q->waiting, it, entry);
        item_free(it);
    }
    sd_event_source_disable_unref(q->pump);
    sd_event_unref(q->loop);
    free(q->released);
    free(q->program);
    free(q->record);
    free(q);
}

void queue_push(struct queue *q, json_t *job, const void *owner, bool wait_core, queue_fn *fn,
                void *ctx)
{
    struct item *it = xcalloc(1, sizeof(*it));

    it->job = job;
    it->owner = owner;
    it->wait_core = wait_core;
    it->fn = fn;
    it->ctx = ctx;
    TAILQ_INSERT_TAIL(&q->waiting, it, entry);
    wake(q);
}

void queue_set_free_core(struct queue *q, bool free_core)
{
    q->free_core = free_core;
    if (free_core)
        wake(q);
}

void queue_release(struct queue *q, const void *owner)
{
    if (!is_released(q, owner)) {
        q->released = xreallocarray(q->released, q->n_released + 1, sizeof(*q->released));
        q->released[q->n_released++] = owner;
    }
    wake(q);
}

size_t queue_pending(const struct queue *q, const void *owner)
{
    const struct item *it;
    size_t n = q->running != NULL && (owner == NULL || q->running->owner == owner) ? 1 : 0;

    TAILQ_FOREACH (it, &q->waiting, entry) {
        if (owner == NULL || it->owner == owner)
            n++;
    }
    return n;
}

bool queue_busy(const struct queue *q, const void *owner)
{
    const struct item *it;

    if (q->running != NULL && (owner == NULL || q->running->owner == owner))
        return true;
    TAILQ_FOREACH (it, &q->waiting, entry) {
        if (may_run(q, it) && (owner == NULL || it->owner == owner))
            return true;
    }
    return false;
}

void queue_drop(struct queue *q, const void *owner)
{
    struct item *it, *next;

    for (it = TAILQ_FIRST(&q->waiting); it != NULL; it = next) {
        next = TAILQ_NEXT(it, entry);
        if (it->owner == owner) {
            TAILQ_REMOVE(&q->waiting, it, entry);
            item_free(it);
        }
    }
    if (q->running != NULL && q->running->owner == owner) {
        item_free(run_abandon(q));
        wake(q);
    }
    for (size_t i = 0; i < q->n_released; i++) {
        if (q->released[i] == owner) {
            q->released[i] = q->released[--q->n_released];
            break;
        }
    }
}
