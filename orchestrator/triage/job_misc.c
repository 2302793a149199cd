/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements a verdict asks for: which places the corpus reached, and whether the seeds are as they were.
 */
#include "triage/job_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/drop.h"
#include "sys/proc.h"
#include "triage/job.h"
#include "triage/json_util.h"
#include "triage/reach.h"
#include "triage/replay_env.h"

#define REACH_CHUNK      64 /* folders a run */
#define REACH_TIMEOUT_MS 300000
#define OUTPUT_MAX       (1 << 20)

/* A folder of our own for one run. Caller frees; NULL with err. */
static char *scratch_dir(struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = xasprintf("%s/fz-triage.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");

    if (drop_mkdtemp(dir) < 0) {
        err_sys(err, -errno, "%s", dir);
        free(dir);
        return NULL;
    }
    return dir;
}

static int run_in_scratch(const struct strv *argv, const json_t *job, const char *dir,
                          int64_t timeout_ms, struct proc_result *ret, struct err *err)
{
    struct strv env = {0};
    struct proc_spec ps = {.argv = argv,
                           .env = &env,
                           .cwd = dir,
                           .timeout_ms = timeout_ms,
                           .max_out = OUTPUT_MAX,
                           .sweep = true,
                           .cgroup_procs_fd = {-1, -1, -1, -1}};
    int r;

    json_strv_get(job, "env", 4096, &env);
    replay_env_scratch(dir, &env);
    r = proc_run(&ps, ret, err);
    strv_clear(&env);
    return r;
}

/* Inputs that failed, by the closing line "127 passed, 5 failed"; when that is cut off, at least one has. */
static int64_t reach_failed(const struct proc_result *pr)
{
    const char *text = pr->err != NULL ? pr->err : "";
    const char *closing = NULL;

    for (const char *p = text; (p = strstr(p, " passed, ")) != NULL;) {
        p += strlen(" passed, ");
        closing = p;
    }
    if (closing == NULL)
        return strstr(text, "FZ-FAIL ") != NULL ? 1 : 0;
    return strtoll(closing, NULL, 10);
}

static json_t *reach_chunk(const json_t *job, const struct strv *inputs, size_t from, size_t to,
                           const char *dir, json_t *sum, int64_t *failed)
{
    struct strv argv = {0};
    struct proc_result pr = {0};
    struct err err = {0};
    json_t *bad = NULL;
    int r;

    strv_add(&argv, json_str(job, "program", ""));
    strv_add(&argv, "--reach");
    for (size_t i = from; i < to; i++)
        strv_add(&argv, inputs->v[i]);
    r = run_in_scratch(&argv, job, dir, REACH_TIMEOUT_MS, &pr, &err);
    strv_clear(&argv);
    if (r < 0)
        bad = job_answer_error("%s", err.msg);
    else if (pr.timed_out)
        bad = job_answer_error("%s --reach did not end in %d s", json_str(job, "program", ""),
                               REACH_TIMEOUT_MS / 1000);
    /* Exit code 1 only says that some input failed, 3 that there was none. */
    else if (!reach_add(pr.out != NULL ? pr.out : "", sum) &&
             !(WIFEXITED(pr.status) && WEXITSTATUS(pr.status) == 3))
        bad = job_answer_error("%s --reach printed no counts", json_str(job, "program", ""));
    if (bad == NULL)
        *failed += reach_failed(&pr);
    proc_result_clear(&pr);
    return bad;
}

json_t *job_reach_run(const json_t *job)
{
    struct strv all = {0}, inputs = {0};
    cleanup_free char *dir = NULL;
    struct err err = {0};
    json_t *sum = json_object(), *bad = NULL;
    int64_t failed_seeds = 0, failed = 0;

    if (json_str(job, "program", "")[0] != '/') {
        json_decref(sum);
        return job_answer_error("target %s has no program of the harness kit",
                                json_str(job, "target", ""));
    }
    /* A queue that an instance never made is no error. */
    json_strv_get(job, "inputs", 65536, &all);
    for (size_t i = 0; i < all.n; i++) {
        struct stat st;

        if (stat(all.v[i], &st) == 0)
            strv_add(&inputs, all.v[i]);
    }
    strv_clear(&all);
    dir = scratch_dir(&err);
    if (dir == NULL)
        bad = job_answer_error("%s", err.msg);
    /* Seeds come first, in a run of their own: afl-fuzz copies them into its queues. */
    if (bad == NULL && inputs.n > 0)
        bad = reach_chunk(job, &inputs, 0, 1, dir, sum, &failed_seeds);
    for (size_t i = 1; bad == NULL && i < inputs.n; i += REACH_CHUNK)
        bad = reach_chunk(job, &inputs, i, i + REACH_CHUNK < inputs.n ? i + REACH_CHUNK : inputs.n,
                          dir, sum, &failed);
    if (dir != NULL)
        (void)path_remove_tree(dir);
    strv_clear(&inputs);
    if (bad != NULL) {
        json_decref(sum);
        return bad;
    }
    return json_pack("{s:b, s:o, s:I}", "ok", 1, "reach", sum, "failed",
                     (json_int_t)(failed_seeds > 0 ? failed_seeds : failed));
}

/* The roles of programs that are not what they were, or are gone. A new reference. */
static json_t *changed_programs(const json_t *programs)
{
    json_t *changed = json_array();
    const json_t *p;
    size_t i;

    json_array_foreach (programs, i, p) {
        const char *was = json_str(p, "sha256", "");

        if (was[0] != '\0' && file_has_sha256(json_str(p, "path", ""), was) != 1)
            (void)json_array_append_new(changed, json_string(json_str(p, "role", "program")));
    }
    return changed;
}

json_t *job_seeds_run(const json_t *job)
{
    const char *path = json_str(job, "path", "");
    char hex[65];
    struct err err = {0};
    long n = 0;

    if (path[0] != '/')
        return job_answer_error("seeds: no folder");
    if (file_tree_sha256(path, NULL, hex, &n, &err) < 0)
        return job_answer_error("%s", err.msg);
    return json_pack("{s:b, s:s, s:I, s:o}", "ok", 1, "sha256", hex, "n", (json_int_t)n, "changed",
                     changed_programs(json_object_get(job, "programs")));
}
