/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run leaves. The old corpus stays until the new one is whole and on the disk, and is among its inputs: a
 * job that fails or is killed costs the run's own inputs, never those of the runs before.
 */
#include "corpus/job_corpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "corpus/inputs.h"
#include "corpus/keptdir.h"
#include "corpus/pick.h"
#include "store/rotation.h"
#include "triage/job.h"
#include "triage/job_input.h"
#include "triage/json_util.h"
#include "triage/program.h"

#define FOLDERS_MAX   (PLAN_MAX_INSTANCES + 8)
#define RAW_FILES_MAX 20000
#define RAW_BYTES_MAX (INT64_C(256) << 20)
#define SPARE_MS      INT64_C(60000)

struct keep {
    const json_t *job;
    const char *state_dir, *path;
    struct inputs old, inputs; /* inputs: old first */
    size_t damaged;
    struct program program;
    struct pick_result pick;
    size_t edges_before, files;
    uint64_t bytes;
    struct strv chosen;
    bool distilled;
    char why[512];
};

static void say(struct keep *k, const struct err *err)
{
    if (k->why[0] == '\0')
        (void)json_text_ascii(k->why, sizeof(k->why), err->msg);
}

static int list_all(struct keep *k, struct err *err)
{
    struct strv folders = {0}, old = {0};
    int r = keptdir_list(k->state_dir, k->path, &old, &k->damaged, err);

    for (size_t i = 0; i < old.n; i++) {
        inputs_add_file(&k->old, old.v[i]);
        inputs_add_file(&k->inputs, old.v[i]);
    }
    strv_clear(&old);
    json_strv_get(k->job, "inputs", FOLDERS_MAX, &folders);
    for (size_t i = 0; i < folders.n && r == 0; i++) {
        if (access(folders.v[i], F_OK) == 0)
            r = inputs_add(&k->inputs, folders.v[i], err);
    }
    strv_clear(&folders);
    return r;
}

/* All of the old are there too where the new ones, run once, show less: by what varies, no doubt, but who is to know. */
static void take_pick(struct keep *k)
{
    const bool less = k->pick.edges < k->edges_before;

    for (size_t i = 0; i < k->old.n && less; i++)
        strv_add(&k->chosen, k->old.v[i]);
    for (size_t i = 0; i < k->pick.n_chosen; i++) {
        if (!less || k->pick.chosen[i] >= k->old.n)
            strv_add(&k->chosen, k->inputs.v[k->pick.chosen[i]]);
    }
    if (less)
        k->pick.edges = k->edges_before;
    k->distilled = true;
}

/* Not distilled, as there was no time: the next run does it. */
static void take_raw(struct keep *k)
{
    int64_t bytes = 0;
    struct stat st;

    for (size_t i = 0; i < k->inputs.n; i++) {
        if (stat(k->inputs.v[i], &st) < 0 || st.st_size == 0)
            continue;
        if (i >= k->old.n && (k->chosen.n >= RAW_FILES_MAX || bytes + st.st_size > RAW_BYTES_MAX))
            break;
        bytes += st.st_size;
        strv_add(&k->chosen, k->inputs.v[i]);
    }
}

/*
 * Whether nothing that the harness does with any input differs from what it does with one that it rejects: a build that
 * went wrong, by which no corpus can be judged.
 */
static bool is_blind(const struct keep *k)
{
    struct err err;
    size_t edges = 0;

    return job_floor_edges(&k->program.opts, &edges, &err) == 0 && k->pick.edges <= edges;
}

static int choose(struct keep *k, struct err *err)
{
    const int64_t budget_ms = json_int(k->job, "budget_ms", SPARE_MS);
    const struct pick_opts all = {.program = k->program.opts,
                                  .engine = k->program.engine,
                                  .inputs = &k->inputs,
                                  .jobs = program_take_cores(false),
                                  .until_ms = clock_now_ms() + budget_ms};
    struct pick_opts old = all;
    int r;

    old.inputs = &k->old;
    r = pick_edges(&old, &k->edges_before, err);
    if (r == 0)
        r = pick_run(&all, &k->pick, err);
    if (r == 0 && k->old.n > 0 && is_blind(k))
        return err_set(err, -ENODATA,
                       "the harness does no more with any input than with one that it rejects, "
                       "what was kept before stays");
    if (r == 0)
        take_pick(k);
    else if (r == -ETIME)
        take_raw(k);
    return r == -ETIME ? 0 : r;
}

static json_t *answer_make(const struct keep *k)
{
    return json_pack("{s:b, s:I, s:I, s:I, s:{s:I, s:I}, s:I, s:I, s:I, s:b, s:s?}", "ok", 1,
                     "files", (json_int_t)k->files, "bytes", (json_int_t)k->bytes, "edges",
                     (json_int_t)k->pick.edges, "before", "files", (json_int_t)k->old.n, "edges",
                     (json_int_t)k->edges_before, "inputs", (json_int_t)k->inputs.n, "aside",
                     (json_int_t)k->pick.distilled.n_aside, "damaged", (json_int_t)k->damaged,
                     "distilled", (int)k->distilled, "why", k->why[0] != '\0' ? k->why : NULL);
}

json_t *corpus_keep_run(const json_t *job)
{
    struct keep k = {.job = job};
    struct err err = {0};
    json_t *answer;
    int r;

    k.state_dir = json_str(job, "state", "");
    k.path = json_str(job, "path", "");
    if (k.state_dir[0] != '/' || k.path[0] != '/')
        return job_answer_error("keep: no folder");
    r = list_all(&k, &err);
    if (r == 0 && k.inputs.n > 0)
        r = program_open(job, json_int(job, "timeout_ms", 1000), &k.program, &err);
    if (r == 0 && k.inputs.n > 0)
        r = choose(&k, &err);
    if (r == 0 && k.chosen.n > 0)
        r = keptdir_write(k.state_dir, k.path, k.chosen.v, k.chosen.n, &k.files, &k.bytes, &err);
    if (r < 0)
        say(&k, &err);
    answer = answer_make(&k);
    program_clear(&k.program);
    pick_result_clear(&k.pick);
    inputs_clear(&k.old);
    inputs_clear(&k.inputs);
    strv_clear(&k.chosen);
    return answer;
}

bool corpus_keep_applies(const struct plan *plan, const struct plan_target *t)
{
    return !plan->drop_corpus && corpus_start_applies(t);
}

json_t *corpus_keep_make(const struct plan *plan, const struct plan_target *t,
                         const char *state_dir, int64_t budget_ms)
{
    cleanup_free char *path = keptdir_path(state_dir, plan->campaign, t->name);
    cleanup_free char *start = xasprintf("%s/seeds/%s/start", plan->run_dir, t->name);
    json_t *inputs = json_array();

    json_array_append_new(inputs, json_string(start));
    for (size_t i = 0; i < t->n_instances; i++) {
        cleanup_free char *newest = rotation_newest(t->instances[i].out_dir);
        cleanup_free char *queue = path_join(newest, "queue");

        json_array_append_new(inputs, json_string(queue));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "job", "keep",
                     "target", t->name, "state", state_dir, "path", path, "inputs", inputs,
                     "program", job_program_json("harness", &t->harness), "args",
                     json_strv(&t->args), "env", json_strv(&t->env), "memory_bytes",
                     (json_int_t)t->limits.memory_bytes, "timeout_ms",
                     (json_int_t)job_hang_timeout_ms(t), "budget_ms", (json_int_t)budget_ms,
                     "deadline_ms", (json_int_t)(budget_ms + SPARE_MS));
}
