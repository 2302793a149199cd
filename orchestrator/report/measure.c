/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measurements of a target. An answer that is missing something is an error of that
 * measurement, never a good sign.
 */
#include "report/measure.h"

#include "base/alloc.h"
#include "report/fields.h"
#include "triage/job.h"

char *measure_error(const json_t *answer)
{
    const char *text = fields_text(answer, "error");

    return xstrdup(text[0] != '\0' ? text : "fuzz-triage gave no answer of use");
}

static void take_reach(struct judge_target *t, const json_t *answer, bool ok)
{
    json_t *reach = json_object_get(answer, "reach");

    if (ok && json_is_object(reach))
        t->reach = json_deep_copy(reach);
    if (t->reach != NULL)
        t->corpus_failed = fields_int(answer, "failed");
    else
        t->reach_error = measure_error(answer);
}

static void take_floor(struct judge_target *t, const json_t *answer, bool ok)
{
    const json_t *edges = json_object_get(answer, "edges");

    if (ok && json_is_integer(edges) && json_integer_value(edges) >= 0)
        t->edges_floor = json_integer_value(edges);
    else
        t->floor_error = measure_error(answer);
}

static void take_seeds(struct judge_target *t, const json_t *answer, bool ok)
{
    const char *sha256 = fields_text(answer, "sha256");

    json_t *changed = json_object_get(answer, "changed");

    if (ok && json_array_size(changed) > 0)
        t->programs_changed = json_deep_copy(changed);
    if (ok && sha256[0] != '\0')
        t->seeds_sha256 = xstrdup(sha256);
    else
        t->seeds_error = measure_error(answer);
}

void measure_take(enum measure what, struct judge_target *t, const json_t *answer)
{
    bool ok = json_is_true(json_object_get(answer, "ok"));

    if (what == MEASURE_REACH)
        take_reach(t, answer, ok);
    else if (what == MEASURE_FLOOR)
        take_floor(t, answer, ok);
    else
        take_seeds(t, answer, ok);
}

static bool has_kit(const struct plan_target *t)
{
    const struct plan_program *programs[] = {&t->harness, &t->sanitizer, &t->replay};

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (programs[i]->path != NULL && programs[i]->kit)
            return true;
    }
    return false;
}

bool measure_applies(enum measure what, const struct plan_target *pt)
{
    return what != MEASURE_REACH || has_kit(pt) || pt->reach_required.n > 0;
}

json_t *measure_job(enum measure what, const struct plan *plan, const struct plan_target *pt)
{
    if (what == MEASURE_REACH)
        return job_reach_make(plan, pt);
    if (what == MEASURE_FLOOR)
        return job_floor_make(plan, pt);
    return job_seeds_make(plan, pt);
}
