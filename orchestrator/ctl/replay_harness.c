/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many inputs through one program. By its fork server where it has one: some thousand a second
 * and core, with what they cover; else one process each. An input that cannot be run is told and never counted
 * as passed. Results are printed in the order of the inputs, whoever of the servers is first.
 */
#include "ctl/replay_harness.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "corpus/inputs.h"
#include "ctl/given.h"
#include "ctl/manyrun.h"
#include "ctl/replay_scope.h"
#include "engine/map.h"
#include "engine/runner.h"
#include "plan/elfprobe.h"
#include "report/fields.h"
#include "triage/classify.h"
#include "triage/replay.h"

#define STATEFUL (-1) /* no exit codes */
#define LOST     (-2) /* less its forkserver_loss */
#define MERGED   4096 /* maps remembered as merged; a power of two */

struct result {
    char *line; /* NULL: nothing to print */
    bool done;
};

struct replay {
    const struct cmd_env *env;
    const struct replay_harness *o;
    struct elfprobe elf;
    enum runner_engine engine;
    struct inputs inputs;
    struct result *results; /* one an input */
    size_t printed, ended;
    long passed, failed, unread;
    uint8_t *seen; /* bits of all maps */
    size_t seen_bytes;
    uint64_t merged[MERGED]; /* hashes of maps that are in seen */
    struct manyrun_progress progress;
};

static void show_progress(struct replay *r)
{
    char failed[40];

    if (!r->progress.on)
        return;
    (void)snprintf(failed, sizeof(failed), ", %ld failed", r->failed);
    manyrun_progress_show(&r->progress, r->ended, r->inputs.n, failed);
}

/* Prints what can be in order. */
static void print_ready(struct replay *r)
{
    while (r->printed < r->inputs.n && r->results[r->printed].done) {
        struct result *next = &r->results[r->printed++];

        if (next->line == NULL)
            continue;
        manyrun_progress_clear(&r->progress);
        puts(next->line);
        free(next->line);
        next->line = NULL;
    }
}

static const char *status_of(const struct replay_run *run, const struct verdict_of_run *v)
{
    if (strcmp(v->class_, "none") == 0)
        return "pass";
    return run->end == REPLAY_TIMEOUT ? "timeout" : v->class_;
}

/* What only the engine knows: a server that did not come back, a program that keeps state. */
static void judge(const struct replay *r, const struct replay_run *run, struct verdict_of_run *ret)
{
    static const char *const losses[] = {
        [FORKSERVER_DIED] = "the program's fork server died of it",
        [FORKSERVER_SILENT] = "the program's fork server fell silent",
        [FORKSERVER_BABBLED] = "the program's fork server said what none says"};
    /* A program that is run by itself has no server but its parent. */
    static const char *const native_losses[] = {
        [FORKSERVER_DIED] = "the program killed its parent",
        [FORKSERVER_SILENT] = "the program stopped its parent",
        [FORKSERVER_BABBLED] = "the program's parent said what it never says"};
    const char *slash = strrchr(r->o->program, '/');

    if (run->end != REPLAY_EXIT || run->code >= 0) {
        classify_run(run, slash != NULL ? slash + 1 : r->o->program, r->elf.build_id, ret);
        return;
    }
    if (run->code == STATEFUL) {
        (void)snprintf(ret->class_, sizeof(ret->class_), "stateful");
        (void)snprintf(ret->kind, sizeof(ret->kind), "passes alone, fails behind other inputs");
        return;
    }
    (void)snprintf(ret->class_, sizeof(ret->class_), "lost");
    (void)snprintf(ret->kind, sizeof(ret->kind), "%s",
                   (r->engine == RUNNER_NATIVE ? native_losses : losses)[LOST - run->code]);
}

/* extra: members of the engine's; its reference is taken. */
static void add_result(struct replay *r, size_t index, int code, const struct replay_run *run,
                       json_t *extra)
{
    const char *file = r->inputs.v[index];
    struct verdict_of_run v = {.class_ = "none"};
    struct result *res = &r->results[index];
    cleanup_free char *name = NULL;

    if (code == 0)
        judge(r, run, &v);
    if (code < 0)
        r->unread++;
    else if (strcmp(v.class_, "none") == 0)
        r->passed++;
    else
        r->failed++;
    if (r->env->json) {
        json_t *j = json_pack("{s:o, s:s}", "file", fields_string(file), "status",
                              code < 0 ? "unread" : status_of(run, &v));

        if (code < 0)
            (void)json_object_set_new(j, "error", json_string(inputs_why(code)));
        if (code == 0 && strcmp(v.class_, "none") != 0) {
            (void)json_object_set_new(j, "kind", fields_string(v.kind));
            (void)json_object_set_new(j, "signature", fields_string(v.signature));
        }
        if (code == 0) {
            (void)json_object_set_new(
                j, "signal", run->end == REPLAY_SIGNAL ? json_integer(run->code) : json_null());
            (void)json_object_set_new(
                j, "exit_code",
                run->end == REPLAY_EXIT && run->code >= 0 ? json_integer(run->code) : json_null());
            if (extra != NULL)
                (void)json_object_update(j, extra);
        }
        res->line = json_dumps(j, JSON_COMPACT);
        json_decref(j);
    } else if (code < 0) {
        name = fields_safe(file);
        res->line = xasprintf("%s: not run: %s", name, inputs_why(code));
    } else if (strcmp(v.class_, "none") != 0) {
        name = fields_safe(file);
        res->line = xasprintf("%s: %s: %s", name, status_of(run, &v), v.kind);
    }
    json_decref(extra);
    res->done = true;
    r->ended++;
    if (!r->env->quiet || r->env->json)
        print_ready(r);
    show_progress(r);
}

/* ---- the runs ---- */
static int read_input(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    const struct replay *r = ctx;

    return inputs_read(&r->inputs, index, FORKSERVER_INPUT_BYTES, ret_data, ret_size);
}

static int borrow_input(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    const struct replay *r = ctx;
    const uint8_t *data;
    int rc = inputs_borrow(&r->inputs, index, FORKSERVER_INPUT_BYTES, &data, ret_size);

    if (rc == 0)
        *ret_data = (uint8_t *)(uintptr_t)data; /* which the engine only reads */
    return rc;
}

/* Maps of equal hash are equal, and most are of one seen lately. */
static void merge(struct replay *r, const struct runner_result *rr)
{
    uint64_t *last = &r->merged[rr->map_hash % MERGED];

    if (rr->map == NULL || rr->run.end == FORKSERVER_LOST || *last == rr->map_hash)
        return;
    if (r->seen == NULL) {
        r->seen_bytes = rr->map_bytes;
        r->seen = xcalloc(1, r->seen_bytes);
    }
    (void)map_merge(r->seen, rr->map, r->seen_bytes, NULL);
    *last = rr->map_hash;
}

/* Members of a result that the engine knows of; a new reference, NULL when nobody asks. */
static json_t *engine_json(const struct replay *r, const struct runner_result *rr)
{
    json_t *extra;
    char hash[32];

    if (!r->env->json)
        return NULL;
    extra = json_pack("{s:I}", "us", (json_int_t)rr->run.wall_us);
    if (rr->map != NULL && rr->run.end != FORKSERVER_LOST) {
        (void)snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)rr->map_hash);
        (void)json_object_set_new(extra, "edges", json_integer((json_int_t)rr->edges));
        (void)json_object_set_new(extra, "map", json_string(hash));
    }
    return extra;
}

static void run_done(void *ctx, const struct runner_result *rr)
{
    static const enum replay_end ends[] = {[FORKSERVER_OK] = REPLAY_EXIT,
                                           [FORKSERVER_CRASH] = REPLAY_SIGNAL,
                                           [FORKSERVER_TIMEOUT] = REPLAY_TIMEOUT,
                                           [FORKSERVER_LOST] = REPLAY_EXIT};
    struct replay *r = ctx;
    struct replay_run run = {.wall_ms = rr->run.wall_us / 1000};

    if (rr->code < 0) {
        add_result(r, rr->index, rr->code, &run, NULL);
        return;
    }
    run.end = ends[rr->run.end];
    run.code = rr->run.signo;
    if (rr->run.end == FORKSERVER_LOST) {
        run.code = LOST - (int)rr->run.loss;
    } else if (rr->after_others) {
        run.code = STATEFUL;
    } else if (rr->run.exit_code >= 0) {
        run.end = REPLAY_EXIT;
        run.code = rr->run.exit_code;
    } else if (run.end == REPLAY_SIGNAL && rr->run.signo == SIGKILL) {
        /* Not by us, so by the kernel. */
        run.end = REPLAY_OOM;
    }
    if (rr->run.end != FORKSERVER_OK)
        run.err_text = xstrndup(rr->text, rr->text_bytes);
    merge(r, rr);
    add_result(r, rr->index, 0, &run, engine_json(r, rr));
    free(run.err_text);
}

/* What a program without a fork server is called with: the kit's has a word for one input, a fuzzer's main takes files. */
static void native_args(const struct replay *r, struct strv *args)
{
    const bool takes_file = r->elf.libfuzzer || r->elf.driver;
    bool named = false;

    if (r->elf.kit) {
        strv_add(args, "--one");
        strv_add(args, "@@");
        return;
    }
    strv_copy(args, r->o->args);
    for (size_t i = 0; i < args->n; i++)
        named = named || strstr(args->v[i], "@@") != NULL;
    if (takes_file && !named)
        strv_add(args, "@@");
}

static int run_all(struct replay *r, struct err *err)
{
    const bool packed = inputs_all_packed(&r->inputs);
    struct replay_scope *scope = NULL;
    struct runner_job job = {.engine = r->engine,
                             .inputs = r->inputs.n,
                             .workers = r->o->jobs,
                             .read = packed ? borrow_input : read_input,
                             .read_keeps = packed,
                             .done = run_done,
                             .ctx = r,
                             .cancel = &manyrun_stop};
    cleanup_free char *preload = path_find_preload();
    struct strv procs = {0}, args = {0};
    int rc;

    rc = replay_scope_open(r->o->memory_bytes, &procs, &scope, err);
    if (rc < 0)
        return rc;
    job.program = replay_scope_program(scope, &r->elf, r->o->program, r->o->args, &procs, preload,
                                       r->o->timeout_ms, r->o->memory_bytes);
    if (r->engine == RUNNER_NATIVE) {
        native_args(r, &args);
        job.program.args = &args;
    }
    rc = runner_run(&job, err);
    replay_scope_close(scope);
    strv_clear(&procs);
    strv_clear(&args);
    return rc;
}

/* ---- the verb ---- */
static int find_engine(struct replay *r)
{
    int code = given_program(&cmd_replay, NULL, "--harness", r->o->program, false, &r->elf);

    if (code != EXIT_DONE)
        return code;
    return manyrun_engine(&cmd_replay, r->o->engine, false, r->o->program, &r->elf, &r->engine);
}

static int conclude(struct replay *r, int rc, const struct err *err)
{
    const int64_t took_ms = clock_now_ms() - r->progress.began_ms;
    size_t edges = r->seen != NULL ? map_edges(r->seen, r->seen_bytes) : 0;
    size_t not_run = (size_t)r->unread + r->inputs.n - r->ended;
    char count[32], took[32];

    manyrun_progress_clear(&r->progress);
    print_ready(r);
    if (r->env->json)
        printf("{\"passed\":%ld,\"failed\":%ld,\"unread\":%ld,\"left\":%zu,\"edges\":%zu,"
               "\"map_bytes\":%zu,\"ms\":%lld}\n",
               r->passed, r->failed, r->unread, r->inputs.n - r->ended, edges, r->seen_bytes,
               (long long)took_ms);
    else if (!r->env->quiet && r->ended > 0 && r->seen != NULL)
        printf("%zu edge%s of a map of %zu, %s inputs/s in %s\n", edges,
               text_plural((int64_t)edges), r->seen_bytes,
               format_count(count, sizeof(count),
                            1000.0 * (double)r->ended / (double)(took_ms > 0 ? took_ms : 1)),
               format_duration(took, sizeof(took), took_ms));
    if (rc == -ECANCELED)
        (void)cmd_fail(&cmd_replay, EXIT_ERROR, "interrupted, %zu of %zu input%s not run",
                       r->inputs.n - r->ended, r->inputs.n, r->inputs.n == 1 ? "" : "s");
    else if (rc < 0)
        (void)cmd_fail(&cmd_replay, EXIT_ERROR, "%s", err->msg);
    if (!r->env->json && (!r->env->quiet || r->failed > 0)) {
        printf("%ld passed, %ld failed", r->passed, r->failed);
        if (not_run > 0)
            printf(", %zu not run", not_run);
        putchar('\n');
    }
    if (r->failed > 0)
        return EXIT_FINDINGS;
    return rc < 0 || r->unread > 0 ? EXIT_ERROR : EXIT_DONE;
}

int replay_harness(const struct cmd_env *env, const struct replay_harness *o)
{
    struct replay_harness opts = *o;
    struct replay r = {.env = env, .o = &opts};
    struct err err = {0};
    int code, rc = 0;

    if (opts.timeout_ms == 0)
        opts.timeout_ms = MANYRUN_TIMEOUT_MS;
    if (opts.memory_bytes == 0)
        opts.memory_bytes = MANYRUN_MEMORY_BYTES;
    code = find_engine(&r);
    for (int i = 0; i < o->n_paths && code == EXIT_DONE; i++)
        code = given_inputs_add(&cmd_replay, NULL, &r.inputs, o->paths[i]);
    if (code == EXIT_DONE)
        code = given_inputs_check(&cmd_replay, NULL, &r.inputs);
    if (code == EXIT_DONE) {
        manyrun_catch();
        r.results = xcalloc(r.inputs.n, sizeof(*r.results));
        manyrun_progress_begin(&r.progress, env);
        rc = run_all(&r, &err);
        code = conclude(&r, rc, &err);
    }
    for (size_t i = 0; r.results != NULL && i < r.inputs.n; i++)
        free(r.results[i].line);
    free(r.results);
    free(r.seen);
    inputs_clear(&r.inputs);
    return code;
}
