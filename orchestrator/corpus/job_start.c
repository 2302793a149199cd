/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What afl-fuzz begins with. Only a program that no client of the protocol could talk to is refused, as afl-fuzz may wait for it for
 * ever: for all else, and where there is no time, it begins with what there is, and the words say so. Committed seeds and the kept corpus are only read.
 */
#include "corpus/job_corpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "corpus/inputs.h"
#include "corpus/keptdir.h"
#include "corpus/pick.h"
#include "engine/forkserver.h"
#include "plan/aflprobe.h"
#include "sys/drop.h"
#include "triage/job.h"
#include "triage/job_input.h"
#include "triage/json_util.h"
#include "triage/program.h"

#define BUDGET_MS INT64_C(20000)
#define SPARE_MS  INT64_C(40000) /* until the harness has come up, and for what is written */
#define INIT_MS   INT64_C(10000) /* AFL++'s own: EXEC_TIMEOUT * FORK_WAIT_MULT of its config.h */
#define TRY_MS    INT64_C(3000)  /* for one input of a server that is tried */
#define TRIES     3
#define KNOWN_AFL                                                                                  \
    500 /* the newest AFL++ whose protocol is known here, as aflprobe_version_num has it */

struct start {
    const json_t *job;
    json_t *answer;
    const char *state_dir, *dir;
    struct inputs inputs; /* the seeds, then what was kept */
    size_t n_seeds, damaged;
    struct strv files; /* of dir/start */
    struct strv crashes, hangs;
    size_t seeds_failed, kept_failed;
    struct pick_result pick;
    bool distilled;
    char why[512];
};

static void say(struct start *s, const struct err *err)
{
    if (s->why[0] == '\0')
        (void)json_text_ascii(s->why, sizeof(s->why), err->msg);
}

/* afl-fuzz takes no empty file. */
static void drop_empty(struct inputs *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++) {
        uint64_t size;
        int64_t time_s;

        if (inputs_stat(list, i, &size, &time_s) == 0 && size > 0) {
            list->packed[kept] = list->packed[i];
            list->v[kept++] = list->v[i];
        } else {
            free(list->v[i]);
        }
    }
    list->n = kept;
}

static void list_inputs(struct start *s)
{
    const char *kept = json_str(json_object_get(s->job, "start"), "kept", "");
    cleanup_free char *passed = path_join(s->dir, "in");
    struct strv old = {0};
    struct err err = {0};
    bool apart = json_int(s->answer, "failed", 0) > 0;

    if (inputs_add(&s->inputs, apart ? passed : json_str(s->job, "seeds", ""), &err) < 0)
        say(s, &err);
    drop_empty(&s->inputs);
    s->n_seeds = s->inputs.n;
    if (kept[0] == '/' && keptdir_list(s->state_dir, kept, &old, &s->damaged, &err) < 0)
        say(s, &err);
    for (size_t i = 0; i < old.n; i++)
        inputs_add_file(&s->inputs, old.v[i]);
    strv_clear(&old);
}

static void tell_failure(struct start *s, const char *file, const char *class_, bool lost)
{
    json_t *list = json_object_get(s->answer, "failures");
    const char *slash = strrchr(file, '/');
    char name[512];

    if (json_array_size(list) < JOB_SEEDS_TOLD)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s}", "file",
                            json_text_ascii(name, sizeof(name), slash != NULL ? slash + 1 : file),
                            "class", class_, "inv", lost ? "lost server" : "", "detail",
                            lost ? "the fork server of the harness's own build dies or falls silent"
                                 : "in the harness's own build"));
}

/* What was set aside: failures are put where those of the replay are, and a seed that is too large for us is afl-fuzz's affair. */
static void take_aside(struct start *s)
{
    const struct distill_result *d = &s->pick.distilled;

    for (size_t i = 0; i < d->n_aside; i++) {
        const size_t index = d->aside[i].index;
        const char *file = s->inputs.v[index];
        const bool hang = d->aside[i].why == DISTILL_TIMEOUT;

        if (d->aside[i].why == DISTILL_UNREAD && index < s->n_seeds)
            strv_add(&s->files, file);
        if (d->aside[i].why == DISTILL_UNREAD || d->aside[i].why == DISTILL_UNSTABLE)
            continue;
        strv_add(hang ? &s->hangs : &s->crashes, file);
        tell_failure(s, file, hang ? "timeout" : "crash", d->aside[i].why == DISTILL_LOST);
        if (index < s->n_seeds)
            s->seeds_failed++;
        else
            s->kept_failed++;
    }
}

/* Twice what afl-fuzz waits for a greeting: the host may be busier now. */
static int64_t greeting_ms(int64_t init_timeout_ms)
{
    return 2 * (init_timeout_ms > 0 ? init_timeout_ms : INIT_MS);
}

/* Whether the server, being up, ever answers. One that dies of an input is told as that input's failure. */
static int try_inputs(const struct start *s, struct forkserver *fs, struct err *err)
{
    struct forkserver_run run = {.end = FORKSERVER_OK};

    for (size_t i = 0; i < TRIES; i++) {
        const size_t index = i < s->inputs.n ? i : 0;
        cleanup_free uint8_t *data = NULL;
        size_t size;

        if (inputs_read(&s->inputs, index, FORKSERVER_INPUT_BYTES, &data, &size) < 0)
            return 0;
        if (forkserver_run(fs, data, size, &run, err) < 0 || run.end != FORKSERVER_LOST ||
            run.loss == FORKSERVER_DIED)
            return 0;
    }
    return err_set(
        err, -EPROTO, "%s: its fork server comes up, but %s when it is to run an input",
        json_str(json_object_get(json_object_get(s->job, "start"), "program"), "path", ""),
        run.loss == FORKSERVER_SILENT ? "falls silent" : "says what none says");
}

/* True, with the words in the answer: afl-fuzz could not talk to it either. */
static bool refuse(struct start *s, const struct program *program)
{
    const json_t *start = json_object_get(s->job, "start");
    struct forkserver_opts opts = program->opts;
    struct forkserver *fs = NULL;
    struct err err = {0};
    char words[512];
    int r;

    opts.start_ms = greeting_ms(json_int(start, "init_timeout_ms", 0));
    opts.run_ms = opts.run_ms < TRY_MS ? opts.run_ms : TRY_MS;
    r = forkserver_open(&opts, &fs, &err);
    if (r == 0)
        r = try_inputs(s, fs, &err);
    forkserver_close(fs);
    /* What we do not know a newer AFL++ may; none can talk to a program that has ended. */
    if (r != -EPIPE && (json_flag(start, "newer") || (r != -EPROTO && r != -ETIMEDOUT)))
        return false;
    (void)json_object_set_new(s->answer, "refused",
                              json_string(json_text_ascii(words, sizeof(words), err.msg)));
    return true;
}

static int choose(struct start *s, struct err *err)
{
    const json_t *start = json_object_get(s->job, "start");
    struct program program = {0};
    struct pick_opts o = {.inputs = &s->inputs, .until_ms = clock_now_ms() + BUDGET_MS};
    int r = program_open(start, json_int(s->job, "timeout_ms", 3000), &program, err);

    if (r == 0 && refuse(s, &program)) {
        program_clear(&program);
        return 0;
    }
    if (r == 0) {
        o.program = program.opts;
        o.engine = program.engine;
        o.jobs = program_take_cores(false);
        r = pick_run(&o, &s->pick, err);
    }
    program_clear(&program);
    if (r < 0)
        return r;
    s->distilled = true;
    take_aside(s);
    for (size_t i = 0; i < s->pick.n_chosen; i++)
        strv_add(&s->files, s->inputs.v[s->pick.chosen[i]]);
    return 0;
}

static int copy(struct start *s, const char *to, const struct strv *files, struct err *err)
{
    cleanup_free char *path = path_join(s->dir, to);

    return files->n > 0 ? keptdir_copy(s->state_dir, path, files->v, files->n, err) : 0;
}

/* afl-fuzz reads it as whoever it is. */
static int give_start(const struct start *s)
{
    cleanup_free char *path = path_join(s->dir, "start");

    return drop_of_children() == NULL
               ? 0
               : drop_folder_and_files(s->state_dir, path, drop_of_children());
}

static void add_number(json_t *j, const char *key, int64_t more)
{
    (void)json_object_set_new(j, key, json_integer(json_int(j, key, 0) + more));
}

/* The numbers of the replay with what this has found out. */
static void answer_fill(struct start *s, bool written)
{
    json_t *a = s->answer;

    add_number(a, "failed", (int64_t)s->seeds_failed);
    add_number(a, "passed", -(int64_t)s->seeds_failed);
    if (json_int(a, "passed", 0) < 0)
        (void)json_object_set_new(a, "passed", json_integer(0));
    if (s->distilled)
        (void)json_object_set_new(a, "remaining", json_integer((json_int_t)s->files.n));
    (void)json_object_set_new(
        a, "start",
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:s?}", "files",
                  (json_int_t)(written ? s->files.n : 0), "edges", (json_int_t)s->pick.edges,
                  "kept", (json_int_t)(s->inputs.n - s->n_seeds), "kept_failed",
                  (json_int_t)s->kept_failed, "kept_damaged", (json_int_t)s->damaged, "slowest_us",
                  (json_int_t)s->pick.slowest_us, "rounds", s->pick.rounds, "distilled",
                  (int)s->distilled, "why", s->why[0] != '\0' ? s->why : NULL));
}

json_t *corpus_start_run(const json_t *job)
{
    struct start s = {.job = job, .answer = job_replay_run(job)};
    struct err err = {0};
    int r = 0;

    s.state_dir = json_str(job, "state", "");
    s.dir = json_str(job, "dir", "");
    if (!json_flag(s.answer, "ok") || json_str(s.answer, "self_test", "")[0] != '\0' ||
        json_str(s.answer, "why", "")[0] != '\0')
        return s.answer;
    list_inputs(&s);
    if (s.inputs.n > 0 && choose(&s, &err) < 0) {
        say(&s, &err);
        /* It begins with all of it. Seeds alone are where they are. */
        for (size_t i = 0; i < s.inputs.n && s.inputs.n > s.n_seeds; i++)
            strv_add(&s.files, s.inputs.v[i]);
    }
    if ((r = copy(&s, "start", &s.files, &err)) < 0 ||
        (r = copy(&s, "found/crashes", &s.crashes, &err)) < 0 ||
        (r = copy(&s, "found/hangs", &s.hangs, &err)) < 0)
        say(&s, &err);
    if (r < 0 && s.crashes.n + s.hangs.n > 0) { /* what failed must not get lost */
        (void)json_object_set_new(s.answer, "why", json_string(s.why));
        (void)json_object_set_new(s.answer, "aside", json_false());
    }
    if (r == 0 && s.files.n > 0 && (r = give_start(&s)) < 0) {
        (void)err_sys(&err, r, "%s/start", s.dir);
        say(&s, &err);
    }
    answer_fill(&s, r == 0);
    pick_result_clear(&s.pick);
    inputs_clear(&s.inputs);
    strv_clear(&s.files);
    strv_clear(&s.crashes);
    strv_clear(&s.hangs);
    return s.answer;
}

bool corpus_start_applies(const struct plan_target *t)
{
    return t->harness.path != NULL && t->harness.instrumented;
}

json_t *corpus_start_make(json_t *replay, const struct plan *plan, const struct plan_target *t,
                          const char *kept)
{
    const int afl = aflprobe_version_num(plan->afl_version != NULL ? plan->afl_version : "");
    json_t *start = json_pack(
        "{s:o, s:I, s:o, s:o, s:s, s:I, s:b}", "program", job_program_json("harness", &t->harness),
        "memory_bytes", (json_int_t)t->limits.memory_bytes, "args", json_strv(&t->args), "env",
        json_strv(&t->env), "kept", kept != NULL ? kept : "", "init_timeout_ms",
        (json_int_t)t->init_timeout_ms, "newer", afl == 0 || afl > KNOWN_AFL);

    (void)json_object_set_new(replay, "job", json_string("start"));
    (void)json_object_set_new(replay, "start", start);
    (void)json_object_set_new(replay, "more_ms",
                              json_integer(BUDGET_MS + SPARE_MS + greeting_ms(t->init_timeout_ms)));
    return replay;
}

char *corpus_kept_path(const struct plan *plan, const struct plan_target *t, const char *state_dir)
{
    return plan->drop_corpus ? NULL : keptdir_path(state_dir, plan->campaign, t->name);
}
