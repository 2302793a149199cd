/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of inputs are handed to threads. A chunk has a folder for the raw profiles of its processes,
 * merged and removed when the chunk is through: so a torn one costs a chunk, and what lies on disk is bounded
 * by the number of threads.
 */
#include "corpus/profile.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/sort.h"
#include "sys/cpu.h"
#include "triage/kitrun.h"
#include "triage/replay.h"

#define WORKERS_MAX 64
#define CHUNK       KITRUN_FILES
#define RAW_EXT     ".profraw"

struct shared {
    const struct profile_opts *o;
    struct profile_result *ret;
    size_t *turn; /* numbers of the inputs that are run */
    size_t n_turn;
    pthread_mutex_t lock; /* of what follows, and of *ret */
    size_t next, done;
    struct strv merged;
    int code; /* of the first that failed */
    struct err *err;
};

struct chunk {
    struct shared *s;
    const size_t *index;
    size_t n;
    struct strv env;
    char *dir;
};

static void give_up(struct shared *s, int code, const struct err *err)
{
    (void)pthread_mutex_lock(&s->lock);
    if (s->code == 0) {
        s->code = code;
        *s->err = *err;
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* One input is through; why NULL: to its end. */
static void told(struct shared *s, size_t index, const char *why)
{
    struct profile_result *ret = s->ret;

    (void)pthread_mutex_lock(&s->lock);
    s->done++;
    if (why == NULL) {
        ret->run++;
    } else {
        ret->lost = xreallocarray(ret->lost, ret->n_lost + 1, sizeof(*ret->lost));
        ret->lost[ret->n_lost].index = index;
        (void)strlcpy(ret->lost[ret->n_lost++].why, why, sizeof(ret->lost->why));
    }
    if (s->o->progress != NULL)
        s->o->progress(s->o->ctx, s->done, s->n_turn);
    (void)pthread_mutex_unlock(&s->lock);
}

static bool stopped(struct shared *s)
{
    bool stop;

    (void)pthread_mutex_lock(&s->lock);
    if (s->o->cancel != NULL && *s->o->cancel != 0 && s->code == 0)
        s->code = -ECANCELED;
    stop = s->code != 0;
    (void)pthread_mutex_unlock(&s->lock);
    return stop;
}

static struct replay_program program_of(const struct chunk *c)
{
    const struct profile_opts *o = c->s->o;

    return (struct replay_program){.path = o->program,
                                   .args = o->args,
                                   .env = &c->env,
                                   .kit = o->kit,
                                   .takes_file = o->takes_file,
                                   .timeout_ms = o->timeout_ms,
                                   .memory_bytes = o->memory_bytes,
                                   .cancel = o->cancel,
                                   .impatient = true};
}

/* ---- by the kit: it runs each input in a child ---- */
struct kit_ctx {
    struct chunk *c;
    size_t base; /* of what is run now */
};

static void on_line(void *ctx, size_t i, const struct kitrun_line *line)
{
    const struct kit_ctx *k = ctx;

    told(k->c->s, k->c->index[k->base + i],
         strcmp(line->class_, "pass") == 0 ? NULL : line->class_);
}

static int run_kit(struct chunk *c, struct err *err)
{
    const struct replay_program prog = program_of(c);
    const char *paths[CHUNK];
    struct kit_ctx ctx = {.c = c};

    for (size_t i = 0; i < c->n; i++)
        paths[i] = c->s->o->inputs->v[c->index[i]];
    while (ctx.base < c->n && !stopped(c->s)) {
        const struct kitrun k = {.prog = &prog,
                                 .paths = paths + ctx.base,
                                 .n = c->n - ctx.base,
                                 .fn = on_line,
                                 .ctx = &ctx};
        struct kitrun_end end;
        int rc = kitrun(&k, &end, err);

        if (rc == 0)
            return 0;
        if ((rc != -ECHILD && rc != -ETIME && rc != -EPROTO) || end.self_test)
            return rc;
        /* It cannot go past this one, so we do. */
        if (ctx.base + end.done < c->n)
            told(c->s, c->index[ctx.base + end.done], "not run");
        ctx.base += end.done + 1;
    }
    return 0;
}

/* ---- one process each ---- */
static int run_each(struct chunk *c, struct err *err)
{
    const struct replay_program prog = program_of(c);

    for (size_t i = 0; i < c->n && !stopped(c->s); i++) {
        const char *path = c->s->o->inputs->v[c->index[i]];
        struct replay_run run = {0};
        char why[32];
        int rc;

        rc = access(path, R_OK) < 0 ? -EIO : replay_once(&prog, path, &run, err);
        if (rc == -ENOENT || rc == -EACCES || rc == -ENOEXEC || rc == -ECANCELED)
            return rc;
        (void)snprintf(why, sizeof(why), "signal %d", run.code);
        told(c->s, c->index[i],
             rc < 0                      ? "not run"
             : run.end == REPLAY_TIMEOUT ? "timeout"
             : run.end == REPLAY_OOM     ? "oom"
             : run.end == REPLAY_SIGNAL  ? why
             : run.end == REPLAY_PARENT  ? REPLAY_PARENT_WORDS
                                         : NULL);
        if (rc == 0)
            replay_run_clear(&run);
    }
    return 0;
}

/* ---- chunks ---- */
static void raw_profiles(const char *dir, struct strv *list)
{
    cleanup_dir DIR *d = opendir(dir);
    const struct dirent *de;

    while (d != NULL && (de = readdir(d)) != NULL) {
        size_t n = strlen(de->d_name);

        if (n > strlen(RAW_EXT) && strcmp(de->d_name + n - strlen(RAW_EXT), RAW_EXT) == 0)
            strv_take(list, path_join(dir, de->d_name));
    }
}

/* The tools, found with the first profile there is. */
static int tools_of(struct shared *s, const char *raw, struct err *err)
{
    int rc = 0;

    (void)pthread_mutex_lock(&s->lock);
    if (s->ret->tools.profdata == NULL)
        rc = llvmtools_find(raw, s->o->dir, &s->ret->tools, err);
    (void)pthread_mutex_unlock(&s->lock);
    return rc;
}

static int merge_chunk(struct chunk *c, size_t number, struct err *err)
{
    cleanup_free char *out = xasprintf("%s/%zu.profdata", c->s->o->dir, number);
    struct strv raw = {0};
    struct err why = {0};
    int rc = 0;

    raw_profiles(c->dir, &raw);
    if (raw.n > 0)
        rc = tools_of(c->s, raw.v[0], err);
    if (rc == 0 && raw.n > 0) {
        bool good = llvmtools_merge(&c->s->ret->tools, &raw, out, &why) == 0;

        (void)pthread_mutex_lock(&c->s->lock);
        if (good)
            strv_add(&c->s->merged, out);
        else
            c->s->ret->torn += c->n;
        (void)pthread_mutex_unlock(&c->s->lock);
    }
    strv_clear(&raw);
    return rc;
}

static int run_chunk(struct shared *s, size_t first, size_t n, struct err *err)
{
    struct chunk c = {.s = s, .index = s->turn + first, .n = n};
    cleanup_free char *pattern = NULL;
    int rc;

    c.dir = xasprintf("%s/%zu", s->o->dir, first);
    pattern = xasprintf("%s/%%m" RAW_EXT, c.dir);
    if (s->o->env != NULL)
        strv_copy(&c.env, s->o->env);
    strv_env_set(&c.env, "LLVM_PROFILE_FILE", pattern);
    rc = mkdir(c.dir, 0700) < 0 ? err_sys(err, -errno, "%s", c.dir)
         : s->o->kit            ? run_kit(&c, err)
                                : run_each(&c, err);
    if (rc == 0)
        rc = merge_chunk(&c, first, err);
    (void)path_remove_tree(c.dir);
    free(c.dir);
    strv_clear(&c.env);
    return rc;
}

static void *worker_main(void *arg)
{
    struct shared *s = arg;
    struct err err = {0};

    while (!stopped(s)) {
        size_t first, n;
        int rc;

        (void)pthread_mutex_lock(&s->lock);
        first = s->next;
        n = s->n_turn - first < CHUNK ? s->n_turn - first : CHUNK;
        s->next += n;
        (void)pthread_mutex_unlock(&s->lock);
        if (n == 0)
            break;
        rc = run_chunk(s, first, n, &err);
        if (rc < 0)
            give_up(s, rc, &err);
    }
    return NULL;
}

static void run_all(struct shared *s, int jobs)
{
    pthread_t threads[WORKERS_MAX];
    int n = 0;

    while (n < jobs && pthread_create(&threads[n], NULL, worker_main, s) == 0)
        n++;
    if (n == 0)
        (void)worker_main(s);
    while (n > 0)
        (void)pthread_join(threads[--n], NULL);
}

static int by_index(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return x < y ? -1 : x > y;
}

static int finish(struct shared *s)
{
    struct profile_result *ret = s->ret;

    if (s->code == -ECANCELED)
        return -ECANCELED;
    if (s->code < 0)
        return s->code;
    if (s->n_turn == 0)
        return err_set(s->err, -ENODATA, "none of its inputs can be run");
    if (s->merged.n == 0 && s->ret->run == 0)
        return err_set(s->err, -ENODATA, "%s wrote no profile: no input came to its end",
                       s->o->program);
    if (s->merged.n == 0)
        return err_set(s->err, -ENODATA,
                       "%s wrote no profile: a coverage build is made by clang with "
                       "-fprofile-instr-generate -fcoverage-mapping",
                       s->o->program);
    /* The number is the first member. */
    array_sort(ret->lost, ret->n_lost, sizeof(*ret->lost), by_index);
    ret->path = xasprintf("%s/all.profdata", s->o->dir);
    return llvmtools_merge(&ret->tools, &s->merged, ret->path, s->err);
}

int profile_run(const struct profile_opts *o, struct profile_result *ret, struct err *err)
{
    cleanup_free int *cpus = xcalloc(CPU_MAX, sizeof(*cpus));
    int jobs = o->jobs > 0 ? o->jobs : cpu_allowed(cpus, CPU_MAX), rc;
    struct err why = {0};
    struct shared s = {.o = o, .ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER, .err = &why};

    *ret = (struct profile_result){.tools.cancel = o->cancel};
    s.turn = xcalloc(o->inputs->n + 1, sizeof(*s.turn));
    for (size_t i = 0; i < o->inputs->n; i++) {
        if (o->skip == NULL || !o->skip[i])
            s.turn[s.n_turn++] = i;
    }
    run_all(&s, jobs < WORKERS_MAX ? jobs : WORKERS_MAX);
    rc = finish(&s);
    if (rc < 0) {
        if (err != NULL)
            *err = why;
        profile_result_clear(ret);
    }
    strv_clear(&s.merged);
    free(s.turn);
    (void)pthread_mutex_destroy(&s.lock);
    return rc;
}

void profile_result_clear(struct profile_result *r)
{
    llvmtools_clear(&r->tools);
    free(r->path);
    free(r->lost);
    *r = (struct profile_result){0};
}
