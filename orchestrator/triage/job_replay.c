/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds of a target before it is fuzzed. afl-fuzz leaves a crashing seed out
 * with a warning and says no more of it: here it becomes a file that is kept as any
 * crash is, and afl-fuzz gets a folder without it. The seeds themselves are only read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/drop.h"
#include "triage/job.h"
#include "triage/job_input.h"
#include "triage/json_util.h"
#include "triage/seedrun.h"

#define NAME_MAX_BYTES 200 /* of a copy, with room for a number */

enum fate { FATE_LEFT, FATE_PASSED, FATE_CRASH, FATE_HANG };

struct replay_job {
    const json_t *job;
    struct strv args, env;
    struct seedlist seeds;
    enum fate *fates; /* of each seed */
    struct seedrun run;
    struct seedrun_sum sum;
    json_t *failures;
    bool aside; /* those that failed are put aside, and the others apart from them */
    char why[1024];
};

static void on_result(void *ctx, const struct seed *seed, const struct seedrun_result *r)
{
    struct replay_job *j = ctx;
    size_t i = (size_t)(seed - j->seeds.v);
    char file[512];

    j->fates[i] = r->pass                             ? FATE_PASSED
                  : strcmp(r->class_, "timeout") == 0 ? FATE_HANG
                                                      : FATE_CRASH;
    if (r->pass || json_array_size(j->failures) >= JOB_SEEDS_TOLD)
        return;
    json_array_append_new(j->failures,
                          json_pack("{s:s, s:s, s:s, s:s}", "file",
                                    json_text_ascii(file, sizeof(file), seed->path + seed->top),
                                    "class", r->class_, "inv", r->inv, "detail", r->detail));
}

static void fill_program(struct replay_job *j, struct seedrun *run, const json_t *spec)
{
    run->target = json_str(j->job, "target", "");
    run->prog.kit = json_flag(spec, "kit");
    run->prog.asan = run->prog.asan || json_flag(spec, "asan");
    run->prog.args = &j->args;
    run->prog.env = &j->env;
    run->prog.timeout_ms = json_int(j->job, "timeout_ms", 0);
    run->prog.memory_bytes = run->prog.kit ? 0 : json_int(j->job, "memory_bytes", 0);
}

/* Whether the other builds come up: one whose self-test fails never will, under afl-fuzz neither. */
static void check_starts(struct replay_job *j)
{
    const json_t *spec;
    size_t i;

    json_array_foreach (json_object_get(j->job, "starts"), i, spec) {
        struct seedrun run = {0};
        struct seedrun_sum sum = {0};
        struct err err = {0};

        if (j->sum.self_test || seedrun_probe(&run, json_str(spec, "path", ""), &err) < 0)
            continue;
        fill_program(j, &run, spec);
        (void)seedrun_start(&run, &sum, &err);
        if (sum.self_test) {
            j->sum.self_test = true;
            (void)strlcpy(j->sum.words, sum.words, sizeof(j->sum.words));
        }
    }
}

/* A file name of the seed's place below its folder: unique by a number where two would be one. */
static void copy_name(char *buf, size_t size, const struct seed *seed, size_t number)
{
    const char *rest = seed->path + seed->top;
    char name[NAME_MAX_BYTES + 1];

    if (strchr(rest, '/') == NULL && strlen(rest) <= NAME_MAX_BYTES) {
        (void)strlcpy(buf, rest, size);
        return;
    }
    (void)strlcpy(name, rest, sizeof(name));
    for (char *p = name; *p != '\0'; p++) {
        if (*p == '/')
            *p = '_';
    }
    (void)snprintf(buf, size, "%zu-%s", number, name);
}

static int copy_seed(const struct seed *seed, size_t number, int dir)
{
    char name[NAME_MAX_BYTES + 32];
    cleanup_free char *data = NULL;
    cleanup_close int fd = -1;
    size_t n = 0;
    int r = file_read_follow(AT_FDCWD, seed->path, REPLAY_INPUT_MAX, &data, &n);

    if (r < 0)
        return r;
    copy_name(name, sizeof(name), seed, number);
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? -errno : file_write_all(fd, data, n);
}

/* The programs that have run have our uid: no folder is trusted to be one, from the state directory on. */
static int put_aside(struct replay_job *j, struct err *err)
{
    const char *state = json_str(j->job, "state", ""), *top = json_str(j->job, "dir", "");
    static const char *const names[] = {[FATE_LEFT] = "in",
                                        [FATE_PASSED] = "in",
                                        [FATE_CRASH] = "found/crashes",
                                        [FATE_HANG] = "found/hangs"};
    int dirs[] = {-1, -1, -1, -1}, r = 0;

    for (size_t i = 0; i < 4 && r >= 0; i++) {
        cleanup_free char *path = path_join(top, names[i]);

        r = dirs[i] = path_open_below(state, path, 0700);
    }
    if (r < 0)
        (void)err_sys(err, r, "%s", top);
    for (size_t i = 0; i < j->seeds.n && r >= 0; i++) {
        const struct seed *seed = &j->seeds.v[i];
        bool failed = j->fates[i] == FATE_CRASH || j->fates[i] == FATE_HANG;

        if (seed->error != 0 || (!failed && seed->size_bytes == 0))
            continue;
        r = copy_seed(seed, i, dirs[j->fates[i]]);
        if (r < 0)
            (void)err_sys(err, r, "%s", seed->path);
    }
    if (r >= 0 && drop_of_children() != NULL) {
        cleanup_free char *in = path_join(top, names[FATE_PASSED]);

        /* afl-fuzz reads the seeds that passed. */
        r = drop_folder_and_files(state, in, drop_of_children());
        if (r < 0)
            (void)err_sys(err, r, "%s", in);
    }
    for (size_t i = 0; i < 4; i++) {
        if (dirs[i] >= 0)
            (void)close(dirs[i]);
    }
    return r < 0 ? r : 0;
}

static json_t *answer_make(struct replay_job *j)
{
    json_int_t remaining = 0, unreadable = 0;
    char words[sizeof(j->sum.words)];

    for (size_t i = 0; i < j->seeds.n; i++) {
        unreadable += j->seeds.v[i].error != 0;
        remaining += j->seeds.v[i].error == 0 && j->seeds.v[i].size_bytes > 0 &&
                     (j->fates[i] == FATE_PASSED || j->fates[i] == FATE_LEFT);
    }
    return json_pack("{s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s?, s:s?, s:O}", "ok", 1,
                     "aside", (int)j->aside, "total", (json_int_t)j->seeds.n, "passed",
                     (json_int_t)j->sum.passed, "failed", (json_int_t)j->sum.failed, "left",
                     (json_int_t)j->sum.left, "unreadable", unreadable, "remaining", remaining,
                     "program", json_str(json_object_get(j->job, "program"), "role", ""),
                     "self_test",
                     j->sum.self_test ? json_text_ascii(words, sizeof(words), j->sum.words) : NULL,
                     "why", j->why[0] != '\0' ? j->why : NULL, "failures", j->failures);
}

static void run(struct replay_job *j, const json_t *spec)
{
    struct err err = {0};
    int r = seedlist_add(&j->seeds, json_str(j->job, "seeds", ""), &err);

    j->fates = xcalloc(j->seeds.n + 1, sizeof(*j->fates));
    if (r == 0)
        r = seedrun_probe(&j->run, json_str(spec, "path", ""), &err);
    if (r == 0) {
        fill_program(j, &j->run, spec);
        j->run.budget_ms = json_int(j->job, "budget_ms", JOB_SEEDS_MS);
        j->run.fn = on_result;
        j->run.ctx = j;
        r = seedrun_all(&j->run, &j->seeds, &j->sum, &err);
        if (j->sum.self_test)
            r = 0;
        check_starts(j);
    }
    if (j->sum.failed > 0) {
        struct err aside = {0};

        j->aside = put_aside(j, &aside) == 0;
        if (!j->aside) {
            r = -EIO;
            (void)err_set(&err, r, "what failed could not be put aside: %s", aside.msg);
        }
    }
    if (r < 0)
        (void)json_text_ascii(j->why, sizeof(j->why), err.msg);
}

json_t *job_replay_run(const json_t *job)
{
    const json_t *spec = json_object_get(job, "program");
    struct replay_job j = {.job = job, .failures = json_array()};
    json_t *answer;

    if (json_str(job, "state", "")[0] != '/' || json_str(job, "dir", "")[0] != '/' ||
        json_str(job, "seeds", "")[0] != '/' || json_str(spec, "path", "")[0] != '/') {
        json_decref(j.failures);
        return job_answer_error("replay: no folder or no program");
    }
    json_strv_get(job, "args", 4096, &j.args);
    json_strv_get(job, "env", 4096, &j.env);
    run(&j, spec);
    answer = answer_make(&j);
    json_decref(j.failures);
    seedlist_clear(&j.seeds);
    free(j.fates);
    strv_clear(&j.args);
    strv_clear(&j.env);
    return answer;
}
