/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: a campaign of a plain build finds inputs that read a byte too far and do not crash. Each entry of its queues
 * is run once more, in the build that tells. The order is the invariant: the copy of what fails is on disk before the
 * record says that the entry was run.
 */
#include "triage/job_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "engine/runner.h"
#include "store/rotation.h"
#include "triage/classify.h"
#include "triage/job.h"
#include "triage/job_input.h"
#include "triage/json_util.h"
#include "triage/program.h"
#include "triage/replay.h"
#include "triage/sweepbook.h"
#include "triage/sweeplist.h"

#define NAME_MAX_BYTES 220 /* of a copy, with room for a hash */
#define START_MS       20000
#define ALIKE_KEPT     8
#define UNPLACED_KEPT  64
#define HANGS_KEPT     4 /* each costs its replay many times its limit */
#define FLUSH_EVERY    256
#define FOREVER_MS     (24 * 3600 * INT64_C(1000))

enum fault { FAULT_CRASH, FAULT_HANG };

/* An entry whose run did not end well. */
struct suspect {
    size_t index;
    struct sweepbook_content content;
    uint8_t *data;
    size_t size;
    enum forkserver_end end;
    int signo;
    char signature[512]; /* what it showed */
    size_t keep;         /* so many of that are kept */
};

struct sweep {
    const json_t *job;
    const char *state_dir, *dir;
    struct strv queues, instances;
    struct sweepbook *book;
    struct sweeplist list;
    struct program program;
    struct suspect suspects[JOB_SWEEP_FAILURES + 256]; /* those of servers that were at work yet */
    size_t n_suspects;
    size_t done, stored, too_large, unread;
    int64_t until_ms, hang_ms;
    volatile sig_atomic_t cancel;
    bool started, no_space;
    char why[512];
};

static void fail(struct sweep *s, int code, const struct err *err)
{
    s->no_space |= code == -ENOSPC || code == -EDQUOT;
    if (s->why[0] == '\0')
        (void)json_text_ascii(s->why, sizeof(s->why), err->msg);
}

static void flush(struct sweep *s)
{
    int r = sweepbook_flush(s->book);
    struct err err;

    if (r == 0)
        return;
    (void)err_sys(&err, r, "the record of what was swept");
    fail(s, r, &err);
    s->cancel = 1;
}

/* ---- the run ---- */
static int read_entry(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    struct sweep *s = ctx;

    return sweeplist_load(&s->list, index, FORKSERVER_INPUT_BYTES, ret_data, ret_size);
}

static void known(struct sweep *s, size_t index, struct sweepbook_content content)
{
    sweepbook_add(s->book, s->list.v[index].key, content);
    if (++s->done % FLUSH_EVERY == 0)
        flush(s);
}

static void on_unread(struct sweep *s, const struct runner_result *r)
{
    struct err err;

    if (r->code == -EFBIG) {
        s->too_large++;
        s->done++;
    } else if (r->code == -ENOENT) {
        s->done++; /* the next look finds what has taken its place */
    } else {
        s->unread++;
        (void)err_sys(&err, r->code, "queue entry %s", s->list.v[r->index].name);
        fail(s, r->code, &err);
    }
}

/* Some inputs of a bug are kept, not each that meets it; of what shows no place, which may be many bugs, more. */
static void name_fault(const struct sweep *s, const struct runner_result *r, struct suspect *sus)
{
    cleanup_free char *text = xstrndup(r->text, r->text_bytes);
    struct replay_run run = {.end = r->run.exit_code >= 0 ? REPLAY_EXIT : REPLAY_SIGNAL,
                             .code = r->run.exit_code >= 0 ? r->run.exit_code : r->run.signo,
                             .err_text = text};
    struct verdict_of_run v = {0};

    if (r->run.end == FORKSERVER_TIMEOUT)
        run.end = REPLAY_TIMEOUT;
    else if (r->run.end == FORKSERVER_LOST)
        run.end = REPLAY_PARENT;
    classify_run(&run, json_str(s->job, "target", ""), "", &v);
    (void)strlcpy(sus->signature, v.signature, sizeof(sus->signature));
    sus->keep = r->run.end == FORKSERVER_TIMEOUT ? HANGS_KEPT
                : v.evidence >= EVIDENCE_LIBC    ? ALIKE_KEPT
                                                 : UNPLACED_KEPT;
}

static void on_run(void *ctx, const struct runner_result *r)
{
    struct sweep *s = ctx;
    struct sweepbook_content content;
    struct suspect *sus;

    if (clock_now_ms() >= s->until_ms)
        s->cancel = 1;
    if (r->code < 0) {
        on_unread(s, r);
        return;
    }
    s->started = true;
    content = sweepbook_content(r->data, r->size);
    if (r->run.end == FORKSERVER_OK) {
        known(s, r->index, content);
        return;
    }
    if (s->n_suspects == sizeof(s->suspects) / sizeof(s->suspects[0]))
        return; /* the next job's */
    sus = &s->suspects[s->n_suspects++];
    *sus = (struct suspect){.index = r->index,
                            .content = content,
                            .data = xmalloc(r->size + 1),
                            .size = r->size,
                            .end = r->run.end,
                            .signo = r->run.signo};
    memcpy(sus->data, r->data, r->size);
    name_fault(s, r, sus);
    if (s->n_suspects >= JOB_SWEEP_FAILURES || r->run.end == FORKSERVER_TIMEOUT)
        s->cancel = 1;
}

/* Of entries with the same content, and of those that a peer has imported, one is run. */
static void drop_known(struct sweep *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->list.n; i++) {
        struct sweepentry *e = &s->list.v[i];
        cleanup_free uint8_t *data = NULL;
        size_t size = 0;

        if (clock_now_ms() < s->until_ms &&
            sweeplist_load(&s->list, i, FORKSERVER_INPUT_BYTES, &data, &size) == 0) {
            struct sweepbook_content content = sweepbook_content(data, size);

            if (sweepbook_has_content(s->book, content)) {
                sweepbook_add(s->book, e->key, content);
                free(e->name);
                continue;
            }
        }
        s->list.v[kept++] = *e;
    }
    s->list.n = kept;
}

static void run_all(struct sweep *s)
{
    struct runner_job job = {.program = s->program.opts,
                             .engine = s->program.engine,
                             .inputs = s->list.n,
                             .workers = program_take_cores(!json_flag(s->job, "last")),
                             .read = read_entry,
                             .done = on_run,
                             .ctx = s,
                             .cancel = &s->cancel};
    struct err err = {0};
    int r = s->list.n > 0 && s->cancel == 0 ? runner_run(&job, &err) : 0;

    if (r < 0 && r != -ECANCELED)
        fail(s, r, &err);
}

/* ---- what failed ---- */
/*
 * Whether it fails again in a fresh server, with the time of a replay; without its patience where others like it have hung with
 * that, or a build that hangs on everything would hold up the verdict for hours. 0 with *ret, or -errno.
 */
static int repeats(struct sweep *s, const struct suspect *sus, struct forkserver_run *ret,
                   struct err *err)
{
    const bool patient = sweepbook_alike(s->book, sus->signature) < sus->keep;
    struct forkserver_opts opts = s->program.opts;
    struct forkserver *fs = NULL;
    int r;

    opts.run_ms = s->hang_ms * JOB_SAN_SLOWNESS * (patient ? REPLAY_PATIENCE : 1);
    r = forkserver_open(&opts, &fs, err);
    if (r == 0)
        r = forkserver_run(fs, sus->data, sus->size, ret, err);
    forkserver_close(fs);
    return r;
}

/* 1 it fails, with *ret_fault; 0 it does not; -errno. */
static int judge(struct sweep *s, const struct suspect *sus, enum fault *ret_fault, struct err *err)
{
    struct forkserver_run run = {0};
    int r;

    *ret_fault = FAULT_CRASH;
    if (sus->end == FORKSERVER_CRASH && sus->signo != SIGKILL)
        return 1;
    r = repeats(s, sus, &run, err);
    if (r < 0)
        return r;
    if (run.end == FORKSERVER_TIMEOUT)
        *ret_fault = FAULT_HANG;
    return run.end != FORKSERVER_OK;
}

/* Text of the queue's name and whose it is; two of one name and different contents do not come to lie on one another. */
static void copy_name(const struct sweep *s, const struct suspect *sus, char *buf, size_t size)
{
    const struct sweepentry *e = &s->list.v[sus->index];
    int n = snprintf(buf, size, "%s,%s", s->instances.v[e->dir], e->name);

    if (n > NAME_MAX_BYTES)
        (void)snprintf(buf + NAME_MAX_BYTES, size - NAME_MAX_BYTES, "-%016llx",
                       (unsigned long long)sus->content.low);
}

static int put_copy(struct sweep *s, const struct suspect *sus, enum fault fault, struct err *err)
{
    cleanup_free char *to = path_join(s->dir, fault == FAULT_HANG ? "hangs" : "crashes");
    cleanup_close int top = path_open_below(s->state_dir, s->dir, 0700);
    cleanup_close int dir = path_open_below(s->state_dir, to, 0700);
    cleanup_close int fd = -1;
    char name[NAME_MAX_BYTES + 32];
    int r = top < 0 ? top : dir < 0 ? dir : 0;

    copy_name(s, sus, name, sizeof(name));
    /* What a job that was killed has left is written over: there is one a target. */
    if (r == 0) {
        fd = openat(top, "new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        r = fd < 0 ? -errno : file_write_all(fd, sus->data, sus->size);
    }
    if (r == 0 && (fsync(fd) < 0 || renameat(top, "new", dir, name) < 0 || fsync(dir) < 0))
        r = -errno;
    return r < 0 ? err_sys(err, r, "%s/%s", to, name) : 0;
}

static void judge_all(struct sweep *s)
{
    for (size_t i = 0; i < s->n_suspects; i++) {
        const struct suspect *sus = &s->suspects[i];
        enum fault fault;
        struct err err = {0};
        int r;

        /* One that fails and was met twice is in the store once. */
        r = sweepbook_has_content(s->book, sus->content) ? 0 : judge(s, sus, &fault, &err);
        if (r > 0) {
            const bool keep = sweepbook_alike(s->book, sus->signature) < sus->keep;

            r = keep ? put_copy(s, sus, fault, &err) : 0;
            s->stored += keep && r == 0;
            if (r == 0)
                sweepbook_add_fault(s->book, sus->signature, keep);
        }
        if (r < 0)
            fail(s, r, &err);
        else
            known(s, sus->index, sus->content);
    }
}

/* ---- the job ---- */
static int prepare(struct sweep *s, struct err *err)
{
    int r;

    s->state_dir = json_str(s->job, "state", "");
    s->dir = json_str(s->job, "dir", "");
    s->hang_ms = json_int(s->job, "timeout_ms", 1000);
    s->until_ms = clock_now_ms() + json_int(s->job, "budget_ms", JOB_SWEEP_MS);
    json_strv_get(s->job, "queues", PLAN_MAX_INSTANCES, &s->queues);
    json_strv_get(s->job, "instances", PLAN_MAX_INSTANCES, &s->instances);
    if (s->state_dir[0] != '/' || s->dir[0] != '/' || s->queues.n != s->instances.n)
        return err_set(err, -EINVAL, "sweep: no folder, or not as many queues as instances");
    r = sweepbook_open(s->state_dir, json_str(s->job, "book", ""), &s->book, err);
    return r < 0 ? r
                 : sweeplist_read(s->state_dir, &s->queues, &s->instances, s->book, &s->list, err);
}

static json_t *answer_make(const struct sweep *s, size_t to_do)
{
    size_t failed = 0, alike = 0;

    if (s->book != NULL)
        sweepbook_faults(s->book, &failed, &alike);
    return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:s?}", "ok", 1, "total",
                     (json_int_t)s->list.total, "swept",
                     (json_int_t)(s->book != NULL ? sweepbook_contents(s->book) : 0), "left",
                     (json_int_t)(to_do - s->done), "failed", (json_int_t)failed, "alike",
                     (json_int_t)alike, "stored", (json_int_t)s->stored, "too_large",
                     (json_int_t)s->too_large, "started", (int)s->started, "no_space",
                     (int)s->no_space, "why", s->why[0] != '\0' ? s->why : NULL);
}

json_t *job_sweep_run(const json_t *job)
{
    struct sweep s = {.job = job};
    struct err err = {0};
    size_t to_do;
    json_t *answer;
    int r = prepare(&s, &err);

    to_do = s.list.n;
    if (r == 0 && to_do > 0) {
        drop_known(&s);
        s.done = to_do - s.list.n;
        r = s.list.n > 0 ? program_open(job, s.hang_ms, &s.program, &err) : 0;
        s.program.opts.start_ms = START_MS;
    }
    if (r == 0 && s.list.n > 0) {
        run_all(&s);
        judge_all(&s);
    }
    if (r < 0)
        fail(&s, r, &err);
    if (s.book != NULL)
        flush(&s);
    answer = answer_make(&s, to_do);
    for (size_t i = 0; i < s.n_suspects; i++)
        free(s.suspects[i].data);
    program_clear(&s.program);
    sweeplist_clear(&s.list);
    sweepbook_close(s.book);
    strv_clear(&s.queues);
    strv_clear(&s.instances);
    return answer;
}

bool job_sweep_applies(const struct plan_target *t)
{
    return t->sanitizer.path != NULL && !t->no_sweep;
}

json_t *job_sweep_make(const struct plan *plan, const struct plan_target *t, const char *state_dir,
                       bool last)
{
    cleanup_free char *dir = path_join(t->sync_dir, JOB_SWEEP_INSTANCE);
    cleanup_free char *book = xasprintf("%s/sweep/%s", plan->run_dir, t->name);
    json_t *queues = json_array(), *instances = json_array();

    for (size_t i = 0; i < t->n_instances; i++) {
        cleanup_free char *newest = rotation_newest(t->instances[i].out_dir);
        cleanup_free char *queue = path_join(newest, "queue");

        json_array_append_new(queues, json_string(queue));
        json_array_append_new(instances, json_string(strrchr(newest, '/') + 1));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:b, s:o, s:o}",
                     "job", "sweep", "target", t->name, "state", state_dir, "dir", dir, "book",
                     book, "queues", queues, "instances", instances, "program",
                     job_program_json("sanitizer", &t->sanitizer), "timeout_ms",
                     (json_int_t)job_hang_timeout_ms(t), "memory_bytes",
                     (json_int_t)t->limits.memory_bytes, "budget_ms", (json_int_t)JOB_SWEEP_MS,
                     "last", (int)last, "args", json_strv(&t->args), "env", json_strv(&t->env));
}

int64_t job_sweep_deadline_ms(const json_t *job)
{
    const int64_t one = json_int(job, "timeout_ms", 1000);
    /* Each suspect may be waited for twice; servers start anew after each. */
    const int64_t all = json_int(job, "budget_ms", JOB_SWEEP_MS) + 2 * START_MS +
                        JOB_SWEEP_FAILURES * (one * JOB_SAN_SLOWNESS * REPLAY_PATIENCE + START_MS);

    return all < FOREVER_MS ? all : FOREVER_MS;
}
