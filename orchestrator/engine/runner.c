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
#include "engine/batch.h"
#include "engine/deadline.h"
#include "engine/map.h"
#include "engine/native.h"
#include "sys/cpu.h"

#define ATTEMPTS    2
#define WORKERS_MAX 256
#define CHUNK_MIN   16 /* inputs that a worker takes at once, for batches */
#define CHUNK_MAX   1024
#define CHUNK_US                                                                                   \
    100000         /* what they shall take, so that an interrupt is heard and no worker ends late */
#define SHARES 4   /* of what is left, a worker takes one of so many */
#define LOT    256 /* inputs of a job that is not left to chance, for one process */

struct shared {
    const struct runner_job *job;
    pthread_mutex_t lock; /* of what follows, and of calls of done() */
    size_t next;
    int workers;
    size_t map_bytes; /* of the first that came up; 0: none, or there are no maps */
    int code;         /* of the first that failed */
    struct err *err;
};

struct worker {
    struct shared *shared;
    int number, cpu;
    pthread_t thread;
    struct forkserver *fs; /* by the engine, one of them */
    struct batch *batch;
    struct native *native;
    size_t chunk;
    size_t lot, lot_end; /* what is left of the lot */
    bool begins;         /* what was taken is the first of a lot */
    bool locked;
    struct batch_input in[CHUNK_MAX];
    size_t index[CHUNK_MAX];
};

const char *runner_engine_name(enum runner_engine engine)
{
    static const char *const names[] = {
        [RUNNER_FORK] = "fork", [RUNNER_BATCH] = "batch", [RUNNER_NATIVE] = "native"};

    return names[engine];
}

enum runner_engine runner_engine_best(const struct elfprobe *elf)
{
    if (elf->batch)
        return RUNNER_BATCH;
    return elf->instrumented ? RUNNER_FORK : RUNNER_NATIVE;
}

int runner_engine_check(enum runner_engine engine, const struct elfprobe *elf, struct err *err)
{
    if (engine == RUNNER_FORK && !elf->instrumented)
        return err_set(err, -EINVAL,
                       "has no fork server; build it with afl-clang-fast or the like");
    if (engine == RUNNER_BATCH && !elf->batch)
        return err_set(err, -EINVAL,
                       "cannot run batches; that takes a harness of the kit, built for AFL++");
    return 0;
}

/* Up to max of what is left to all, in its order; how many. */
static size_t take_some(struct shared *s, size_t max, size_t *ret_first)
{
    size_t n = s->job->inputs - s->next;
    const size_t share = n / ((size_t)s->workers * SHARES);
    size_t least;

    n = n < max ? n : max;
    least = n < CHUNK_MIN ? n : CHUNK_MIN;
    if (n > share)
        n = share > least ? share : least;
    *ret_first = s->next;
    s->next += n;
    return n;
}

/* The same of the worker's lot, which is the next whole one when it is done. */
static size_t take_of_lot(struct worker *w, size_t max, size_t *ret_first)
{
    struct shared *s = w->shared;
    size_t n;

    w->begins = w->lot == w->lot_end;
    if (w->begins) {
        w->lot = s->next;
        w->lot_end = s->job->inputs - s->next < LOT ? s->job->inputs : s->next + LOT;
        s->next = w->lot_end;
    }
    n = w->lot_end - w->lot < max ? w->lot_end - w->lot : max;
    *ret_first = w->lot;
    w->lot += n;
    return n;
}

static size_t take(struct worker *w, size_t *ret_first)
{
    struct shared *s = w->shared;
    size_t n = 0;

    (void)pthread_mutex_lock(&s->lock);
    if (s->job->cancel != NULL && *s->job->cancel != 0 && s->code == 0)
        s->code = -ECANCELED;
    if (s->code == 0 && (s->next < s->job->inputs || w->lot < w->lot_end))
        n = s->job->alike ? take_of_lot(w, w->chunk, ret_first) : take_some(s, w->chunk, ret_first);
    (void)pthread_mutex_unlock(&s->lock);
    return n;
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

/* Of an input that takes its server along. */
static int attempts_of(const struct runner_job *job)
{
    return job->max_attempts > 0 ? job->max_attempts : ATTEMPTS;
}

static int run_native(struct worker *w, const uint8_t *data, size_t size, struct runner_result *r,
                      struct err *err)
{
    const int attempts = attempts_of(w->shared->job);
    int rc = 0;

    r->run.end = FORKSERVER_LOST;
    for (int i = 0; i < attempts && rc == 0 && r->run.end == FORKSERVER_LOST; i++)
        rc = native_run(w->native, data, size, &r->run, err);
    if (rc == 0 && r->run.end != FORKSERVER_OK)
        r->text = native_text(w->native, &r->text_bytes);
    return rc;
}

/* A first run of a process that is to be like the others' is followed by a second. */
static int run_once(struct worker *w, const uint8_t *data, size_t size, struct forkserver_run *ret,
                    struct err *err)
{
    const bool cold = w->shared->job->alike && !forkserver_waits(w->fs);
    int rc = forkserver_run(w->fs, data, size, ret, err);

    if (rc == 0 && cold && ret->end == FORKSERVER_OK && forkserver_waits(w->fs))
        rc = forkserver_run(w->fs, data, size, ret, err);
    return rc;
}

static int run_fork(struct worker *w, const uint8_t *data, size_t size, struct runner_result *r,
                    struct err *err)
{
    const int attempts = attempts_of(w->shared->job);
    const bool behind = forkserver_waits(w->fs);
    bool bad, littered;
    int rc;

    r->run.end = FORKSERVER_LOST;
    for (int i = 0; i < attempts && r->run.end == FORKSERVER_LOST; i++) {
        rc = run_once(w, data, size, &r->run, err);
        if (rc < 0)
            return rc;
    }
    bad = r->run.end == FORKSERVER_CRASH || r->run.end == FORKSERVER_TIMEOUT;
    littered = forkserver_littered(w->fs, &r->run);
    /* Its process is gone, so this one is the first of another. */
    if (bad && (behind || littered)) {
        rc = run_once(w, data, size, &r->run, err);
        if (rc < 0)
            return rc;
        r->after_others = r->run.end == FORKSERVER_OK && !littered;
        (void)forkserver_littered(w->fs, &r->run);
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
    cleanup_free uint8_t *own = NULL;
    uint8_t *data = NULL;
    size_t size = 0;
    int rc = 0;

    r.code = job->read(job->ctx, index, &data, &size);
    own = job->read_keeps ? NULL : data;
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

/* ---- batches ---- */
static void batch_pause(void *ctx)
{
    struct worker *w = ctx;

    if (w->locked)
        (void)pthread_mutex_unlock(&w->shared->lock);
    w->locked = false;
}

/* Results come by the hundred, so the lock is kept until the harness is waited for. */
static void batch_tell(struct worker *w, const struct runner_result *r)
{
    if (!w->locked)
        (void)pthread_mutex_lock(&w->shared->lock);
    w->locked = true;
    w->shared->job->done(w->shared->job->ctx, r);
}

static void batch_done(void *ctx, size_t k, const struct batch_result *b)
{
    struct worker *w = ctx;
    const struct runner_result r = {.index = w->index[k],
                                    .run = b->run,
                                    .cpu_us = b->cpu_us,
                                    .after_others = b->after_others,
                                    .data = w->in[k].data,
                                    .size = w->in[k].size,
                                    .map = b->map,
                                    .map_bytes = batch_map_bytes(w->batch),
                                    .edges = b->edges,
                                    .map_hash = b->map_hash,
                                    .text = b->text,
                                    .text_bytes = b->text_bytes};

    batch_tell(w, &r);
}

/* Reads inputs first..first+n-1; those that cannot be run are told at once. The number of the others. */
static size_t batch_read(struct worker *w, size_t first, size_t n)
{
    const struct runner_job *job = w->shared->job;
    size_t m = 0;

    for (size_t i = first; i < first + n; i++) {
        struct runner_result r = {.index = i, .text = ""};
        uint8_t *data = NULL;

        r.code = job->read(job->ctx, i, &data, &r.size);
        if (r.code == 0 && r.size > FORKSERVER_INPUT_BYTES)
            r.code = -EFBIG;
        if (r.code == 0) {
            w->in[m] = (struct batch_input){.data = data, .size = r.size};
            w->index[m++] = i;
            continue;
        }
        batch_tell(w, &r);
        if (!job->read_keeps)
            free(data);
    }
    return m;
}

static int read_and_run_batch(struct worker *w, size_t first, size_t n, struct err *err)
{
    const struct batch_calls calls = {.done = batch_done, .pause = batch_pause, .ctx = w};
    const int64_t began_us = deadline_now_us();
    const size_t m = batch_read(w, first, n);
    const int rc = batch_run(w->batch, w->in, m, &calls, err);
    int64_t took_us;

    batch_pause(w);
    for (size_t k = 0; k < m && !w->shared->job->read_keeps; k++)
        free((void *)(uintptr_t)w->in[k].data);
    took_us = deadline_now_us() - began_us;
    if (took_us < CHUNK_US / 2 && w->chunk < CHUNK_MAX)
        w->chunk *= 2;
    else if (took_us > CHUNK_US && w->chunk > 1)
        w->chunk /= 2;
    return rc;
}

/* ---- workers ---- */
static void pin(int cpu)
{
    const struct sched_param none = {0};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

static int open_batch(struct worker *w, const struct forkserver_opts *opts, struct err *err)
{
    const struct runner_job *job = w->shared->job;
    int rc = batch_open(opts, job->max_attempts, &w->batch, err);

    if (rc == 0 && job->alike)
        batch_warm(w->batch);
    return rc;
}

static int worker_open(struct worker *w, const struct forkserver_opts *opts, struct err *err)
{
    if (w->shared->job->engine == RUNNER_NATIVE)
        return native_open(opts, &w->native, err);
    if (w->shared->job->engine == RUNNER_BATCH)
        return open_batch(w, opts, err);
    return forkserver_open(opts, &w->fs, err);
}

static size_t worker_map_bytes(const struct worker *w)
{
    return w->batch != NULL ? batch_map_bytes(w->batch)
           : w->fs != NULL  ? forkserver_map_bytes(w->fs)
                            : 0;
}

/* Maps of several servers are put together, so they are of one size. */
static int worker_agrees(struct worker *w, struct err *err)
{
    struct shared *s = w->shared;
    const size_t own = worker_map_bytes(w);
    size_t first;

    (void)pthread_mutex_lock(&s->lock);
    if (s->map_bytes == 0)
        s->map_bytes = own;
    first = s->map_bytes;
    (void)pthread_mutex_unlock(&s->lock);
    return own == first
               ? 0
               : err_set(err, -EPROTO,
                         "%s: started twice, its coverage map has another size (%zu and %zu bytes)",
                         s->job->program.path, first, own);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct forkserver_opts opts = w->shared->job->program;
    cleanup_free char *scratch = NULL;
    struct err err = {0};
    size_t first = 0, n;
    int rc = 0;

    w->chunk = w->shared->job->engine == RUNNER_BATCH ? CHUNK_MIN : 1;
    opts.cancel = w->shared->job->cancel;
    pin(w->cpu);
    if (opts.scratch != NULL) {
        scratch = xasprintf("%s/%d", opts.scratch, w->number);
        opts.scratch = scratch;
        if (mkdir(scratch, 0700) < 0 && errno != EEXIST)
            rc = err_sys(&err, -errno, "%s", scratch);
    }
    if (rc == 0)
        rc = worker_open(w, &opts, &err);
    if (rc == 0)
        rc = worker_agrees(w, &err);
    while (rc == 0 && (n = take(w, &first)) > 0) {
        if (w->begins && w->batch != NULL)
            batch_fresh(w->batch);
        else if (w->begins && w->fs != NULL)
            forkserver_fresh(w->fs);
        rc =
            w->batch != NULL ? read_and_run_batch(w, first, n, &err) : read_and_run(w, first, &err);
    }
    if (rc < 0)
        give_up(w->shared, rc, &err);
    forkserver_close(w->fs);
    batch_close(w->batch);
    native_close(w->native);
    if (scratch != NULL)
        (void)path_remove_tree(scratch);
    return NULL;
}

int runner_run(const struct runner_job *job, struct err *err)
{
    struct shared shared = {.job = job, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err};
    cleanup_free struct worker *workers = NULL;
    cleanup_free int *cpus = xcalloc(CPU_MAX, sizeof(*cpus));
    int n_cpus = cpu_allowed(cpus, CPU_MAX);
    int want = job->workers > 0 ? job->workers : n_cpus, started = 0, rc;

    if (want > WORKERS_MAX)
        want = WORKERS_MAX;
    if ((size_t)want > job->inputs)
        want = (int)job->inputs;
    shared.workers = want;
    workers = xcalloc((size_t)want + 1, sizeof(*workers));
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
