/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A note on the harness, not part of the verdict: how far what it does depends on what it did before. It must not
 * hold up the end of a run, so it takes a minute at most and says what it has not looked at.
 */
#include "corpus/job_stability.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "corpus/inputs.h"
#include "corpus/job_corpus.h"
#include "corpus/stability.h"
#include "store/rotation.h"
#include "triage/job.h"
#include "triage/job_input.h"
#include "triage/json_util.h"
#include "triage/program.h"

#define FOLDERS_MAX (PLAN_MAX_INSTANCES + 8)
#define SPARE_MS    INT64_C(60000) /* over the budget, to come up and to end */
#define SEED        1              /* of the order: the same corpus, the same answer */

bool job_stability_applies(const struct plan *plan, const struct plan_target *t)
{
    (void)plan;
    return t->harness.path != NULL && t->harness.instrumented;
}

json_t *job_stability_make(const struct plan *plan, const struct plan_target *t,
                           const char *state_dir, int64_t budget_ms)
{
    cleanup_free char *kept = corpus_kept_path(plan, t, state_dir);
    json_t *inputs = json_array();

    if (budget_ms > JOB_STABILITY_MS)
        budget_ms = JOB_STABILITY_MS;
    for (size_t i = 0; i < t->n_instances; i++) {
        cleanup_free char *newest = rotation_newest(t->instances[i].out_dir);
        cleanup_free char *queue = path_join(newest, "queue");

        json_array_append_new(inputs, json_string(queue));
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "job", "shuffle",
                     "target", t->name, "kept", kept != NULL ? kept : "", "inputs", inputs,
                     "program", job_program_json("harness", &t->harness), "args",
                     json_strv(&t->args), "env", json_strv(&t->env), "memory_bytes",
                     (json_int_t)t->limits.memory_bytes, "timeout_ms",
                     (json_int_t)job_hang_timeout_ms(t), "budget_ms", (json_int_t)budget_ms,
                     "deadline_ms", (json_int_t)(budget_ms + SPARE_MS));
}

static int list_all(const json_t *job, struct inputs *list, bool *ret_kept, struct err *err)
{
    const char *kept = json_str(job, "kept", "");
    struct strv folders = {0};
    int r = 0;

    if (kept[0] == '/' && access(kept, F_OK) == 0)
        r = inputs_add(list, kept, err);
    *ret_kept = r == 0 && list->n > 0;
    json_strv_get(job, "inputs", FOLDERS_MAX, &folders);
    for (size_t i = 0; i < folders.n && r == 0 && !*ret_kept; i++) {
        if (folders.v[i][0] == '/' && access(folders.v[i], F_OK) == 0)
            r = inputs_add(list, folders.v[i], err);
    }
    strv_clear(&folders);
    return r;
}

json_t *job_stability_run(const json_t *job)
{
    struct inputs inputs = {0};
    struct program program = {0};
    struct stability_opts o = {.inputs = &inputs, .seed = SEED};
    struct stability_result r = {.smallest = SIZE_MAX};
    struct err err = {0};
    json_t *answer;
    bool kept = false;
    int rc = list_all(job, &inputs, &kept, &err);

    if (rc == 0 && inputs.n > 0)
        rc = program_open(job, json_int(job, "timeout_ms", FORKSERVER_RUN_MS), &program, &err);
    if (rc == 0 && inputs.n > 0) {
        (void)program_take_cores(true);
        o.program = program.opts;
        o.folder = kept ? json_str(job, "kept", NULL) : NULL;
        o.budget_ms = json_int(job, "budget_ms", JOB_STABILITY_MS);
        rc = stability_run(&o, &r, &err);
    }
    if (rc < 0) {
        answer = job_answer_error("%s", err.msg);
    } else {
        answer = stability_json(&o, &r, JOB_STABILITY_TOLD);
        (void)json_object_set_new(answer, "ok", json_true());
        (void)json_object_set_new(answer, "kept", json_boolean(kept));
        if (kept)
            (void)json_object_set(answer, "folder", json_object_get(job, "kept"));
    }
    stability_result_clear(&r);
    program_clear(&program);
    inputs_clear(&inputs);
    return answer;
}
