/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread for each server, pinned with it to one core: their conversation is a ping-pong, and
 * between cores it costs more than the runs do. The thread asks the scheduler for batch treatment,
 * as a client that is woken by the first of two words gains nothing by interrupting the server.
 */
#include "engine/runner.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "engine/map.h"
#include "engine/native.h"
#include "sys/cpu.h"

#define ATTEMPTS    2
#define WORKERS_MAX 256

struct shared {
    const struct runner_job *job;
    pthread_mutex_t lock; /* of what follows, and of calls of done() */
    size_t next;
    int code; /* of the first that failed */
    struct err *err;
};

struct worker {
    struct shared *shared;
    int number, cpu;
    pthread_t thread;
    struct forkserver *fs; /* by the engine, one of them */
    struct native *native;
};

const char *runner_engine_name(enum runner_engine engine)
{
    static const char *const names[] = {[RUNNER_FORK] = "fork", [RUNNER_NATIVE] = "native"};

    return names[engine];
}

enum runner_engine runner_engine_best(const struct elfprobe *elf)
{
    return elf->elf && elf->instrumented ? RUNNER_FORK : RUNNER_NATIVE;
}

int runner_engine_check(enum runner_engine engine, const struct elfprobe *elf, struct err *err)
{
    if (engine == RUNNER_FORK && !elf->instrumented)
        return err_set(err, -EINVAL,
                       "has no fork server; build it with afl-clang-fast or the like");
    return 0;
}

static bool take(struct shared *s, size_t *ret_index)
{
    bool more;

    (void)pthread_mutex_lock(&s->lock);
    if (s->job->cancel != NULL && *s->job->cancel != 0 && s->code == 0)
        s->code = -ECANCELED;
    more = s->code == 0 && s->next < s->job->inputs;
    if (more)
        *ret_index = s->next++;
    (void)pthread_mutex_unlock(&s->lock);
    return more;
}

static void give_up(struct shared *s, int code, const struct err *err)
{
    (void)pthread_mutex_lock(&s->lock);
    if (s->code == 0) {
        s->code = code;
        if (s->err != NULL)
            *s->err = *err;
    }
    (void)pthread_mutex_unlock(&s->lock);
}

static int run_native(struct worker *w, const uint8_t *data, size_t size, struct runner_result *r,
                      struct err *err)
{
    int rc = native_run(w->native, data, size, &r->run, err);

    if (rc == 0 && r->run.end != FORKSERVER_OK)
        r->text = native_text(w->native, &r->text_bytes);
    return rc;
}

static int run_fork(struct worker *w, const uint8_t *data, size_t size, struct runner_result *r,
                    struct err *err)
{
    const struct runner_job *job = w->shared->job;
    const int attempts = job->max_attempts > 0 ? job->max_attempts : ATTEMPTS;
    int rc;

    r->run.end = FORKSERVER_LOST;
    for (int i = 0; i < attempts && r->run.end == FORKSERVER_LOST; i++) {
        rc = forkserver_run(w->fs, data, size, &r->run, err);
        if (rc < 0)
            return rc;
    }
    r->map = forkserver_map(w->fs);
    r->map_bytes = forkserver_map_bytes(w->fs);
    map_classify(forkserver_map(w->fs), r->map_bytes);
    r->edges = map_edges(r->map, r->map_bytes);
    r->map_hash = map_hash(r->map, r->map_bytes);
    if (r->run.end != FORKSERVER_OK)
        r->text = forkserver_text(w->fs, &r->text_bytes);
    return 0;
}

static void tell(struct worker *w, const struct runner_result *r)
{
    (void)pthread_mutex_lock(&w->shared->lock);
    w->shared->job->done(w->shared->job->ctx, r);
    (void)pthread_mutex_unlock(&w->shared->lock);
}

/* 0, or -errno of a server that does not come back. */
static int read_and_run(struct worker *w, size_t index, struct err *err)
{
    const struct runner_job *job = w->shared->job;
    struct runner_result r = {.index = index, .text = ""};
    cleanup_free uint8_t *data = NULL;
    size_t size = 0;
    int rc = 0;

    r.code = job->read(job->ctx, index, &data, &size);
    r.data = data;
    r.size = size;
    if (r.code == 0)
        rc = w->native != NULL ? run_native(w, data, size, &r, err)
                               : run_fork(w, data, size, &r, err);
    if (rc == -EFBIG)
        r.code = rc;
    else if (rc < 0)
        return rc;
    tell(w, &r);
    return 0;
}

static void pin(int cpu)
{
    const struct sched_param none = {0};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

static int worker_open(struct worker *w, const struct forkserver_opts *opts, struct err *err)
{
    if (w->shared->job->engine == RUNNER_NATIVE)
        return native_open(opts, &w->native, err);
    return forkserver_open(opts, &w->fs, err);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct forkserver_opts opts = w->shared->job->program;
    cleanup_free char *scratch = NULL;
    struct err err = {0};
    size_t index = 0;
    int rc = 0;

    pin(w->cpu);
    if (opts.scratch != NULL) {
        scratch = xasprintf("%s/%d", opts.scratch, w->number);
        opts.scratch = scratch;
        if (mkdir(scratch, 0700) < 0 && errno != EEXIST)
            rc = err_sys(&err, -errno, "%s", scratch);
    }
    if (rc == 0)
        rc = worker_open(w, &opts, &err);
    while (rc == 0 && take(w->shared, &index))
        rc = read_and_run(w, index, &err);
    if (rc < 0)
        give_up(w->shared, rc, &err);
    forkserver_close(w->fs);
    native_close(w->native);
    if (scratch != NULL)
        (void)path_remove_tree(scratch);
    return NULL;
}

int runner_run(const struct runner_job *job, struct err *err)
{
    struct shared shared = {.job = job, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err};
    cleanup_free struct worker *workers = xcalloc(WORKERS_MAX, sizeof(*workers));
    cleanup_free int *cpus = xcalloc(CPU_MAX, sizeof(*cpus));
    int n_cpus = cpu_allowed(cpus, CPU_MAX);
    int want = job->workers > 0 ? job->workers : n_cpus, started = 0, rc;

    if (want > WORKERS_MAX)
        want = WORKERS_MAX;
    if ((size_t)want > job->inputs)
        want = (int)job->inputs;
    while (started < want) {
        struct worker *w = &workers[started];

        w->shared = &shared;
        w->number = started;
        w->cpu = cpus[started % n_cpus];
        rc = pthread_create(&w->thread, NULL, worker_main, w);
        if (rc != 0) {
            struct err why;

            err_sys(&why, -rc, "cannot start a thread");
            give_up(&shared, -rc, &why);
            break;
        }
        started++;
    }
    while (started > 0)
        (void)pthread_join(workers[--started].thread, NULL);
    (void)pthread_mutex_destroy(&shared.lock);
    return shared.code;
}
