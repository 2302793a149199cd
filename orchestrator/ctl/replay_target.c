/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One target of fuzzctl replay. Whatever keeps an input from being run is an error
 * with a line of its own; "passed" counts nothing but runs that passed.
 */
#include "ctl/replay_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "ctl/manyrun.h"
#include "report/fields.h"
#include "triage/kitrun.h"
#include "triage/seedrun.h"

struct job {
    const struct spec *spec;
    const struct spec_target *t;
    struct seedrun run;
    json_t *inputs, *errors;
    bool no_inputs;
};

static const char *const own_keys[] = {"replay", "seeds", "regressions"};
static const char *const other_keys[] = {"harness", "cmplog",     "sanitizer", "laf",   "coverage",
                                         "mutator", "dictionary", "watch",     "build", "cores"};

static bool is_one_of(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(key, keys[i]) == 0)
            return true;
    }
    return false;
}

static bool is_own(const struct spec_fault *f)
{
    return is_one_of(f->key, own_keys, sizeof(own_keys) / sizeof(own_keys[0]));
}

bool replay_fault_counts(const struct spec_fault *f)
{
    return !f->warning && !is_own(f) &&
           !is_one_of(f->key, other_keys, sizeof(other_keys) / sizeof(other_keys[0]));
}

static void add_error(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_error(struct job *j, const char *fmt, ...)
{
    struct err text = {0};
    va_list ap;
    char *line = NULL;

    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        line = NULL;
    va_end(ap);
    (void)err_set(&text, -EIO, "%s", line != NULL ? line : "out of memory");
    free(line);
    (void)json_array_append_new(j->errors, fields_string(text.msg));
}

/* Below root as the spec names it, else whole. */
static const char *shown(const struct job *j, const char *path)
{
    size_t n = strlen(j->spec->root);

    return strncmp(path, j->spec->root, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/* What repeats a failure; --one never comes back from an endless loop. */
static char *again(const struct job *j, const char *path, const char *class_)
{
    const struct replay_program *prog = &j->run.prog;
    cleanup_free char *line = replay_command_line(prog, path);
    cleanup_free char *limit = NULL;
    char *at = strstr(line, " --one ");

    if (!prog->kit || strcmp(class_, "timeout") != 0 || at == NULL)
        return steal_ptr(&line);
    limit = xasprintf(" --timeout %lld ",
                      (long long)(prog->timeout_ms > 0 ? prog->timeout_ms : KITRUN_TIMEOUT));
    return xasprintf("%.*s%s%s", (int)(at - line), line, limit, at + strlen(" --one "));
}

static void add_input(struct job *j, const char *file, const struct seedrun_result *r,
                      const char *command)
{
    json_t *in = json_pack("{s:o, s:s, s:o, s:o, s:i, s:f}", "file", fields_string(file), "class",
                           r->class_, "inv", fields_string(r->inv[0] != '\0' ? r->inv : NULL),
                           "detail", fields_string(r->detail[0] != '\0' ? r->detail : NULL),
                           "signal", r->signal, "ms", r->ms);

    if (command != NULL)
        (void)json_object_set_new(in, "again", fields_string(command));
    (void)json_array_append_new(j->inputs, in);
}

static void on_result(void *ctx, const struct seed *seed, const struct seedrun_result *r)
{
    struct job *j = ctx;
    cleanup_free char *command = r->pass ? NULL : again(j, seed->path, r->class_);

    add_input(j, shown(j, seed->path), r, command);
}

/* A self-test that fails is told as an input of that name. */
static void add_self_test(struct job *j, const struct seedrun_sum *sum)
{
    cleanup_free char *command = replay_command_line(&j->run.prog, "/dev/null");
    struct seedrun_result r = {.class_ = "internal", .inv = "SELFTEST", .signal = 0};

    (void)strlcpy(r.detail, sum->words, sizeof(r.detail));
    add_input(j, "start-up self-test", &r, command);
}

static void take_faults(struct job *j, const struct spec_faults *faults, const char *spec_path)
{
    char section[64];

    (void)snprintf(section, sizeof(section), "target %s", j->t->name);
    for (size_t i = 0; i < faults->n; i++) {
        const struct spec_fault *f = &faults->v[i];

        bool tell_build = strcmp(f->key, "replay") == 0 && j->t->build != NULL && !f->unbuilt;

        if (f->warning || strcmp(f->section, section) != 0 || !is_own(f))
            continue;
        if (strcmp(f->key, "seeds") == 0 && strstr(f->msg, SPEC_NO_SEED) != NULL)
            j->no_inputs = true;
        else
            add_error(j, "%s:%d: %s: %s%s%s", spec_path, f->line, f->key, f->msg,
                      tell_build ? "; built by: " : "", tell_build ? j->t->build : "");
    }
}

static bool list_inputs(struct job *j, struct seedlist *l)
{
    struct err err = {0};
    int r = j->t->seeds != NULL ? seedlist_add(l, j->t->seeds, &err) : 0;

    for (size_t i = 0; r == 0 && i < j->t->regressions.n; i++)
        r = seedlist_add(l, j->t->regressions.v[i], &err);
    if (r < 0)
        add_error(j, "%s", err.msg);
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].error != 0)
            add_error(j, "%s: %s", shown(j, l->v[i].path), seedlist_why(&l->v[i]));
    }
    return r == 0;
}

/* The build that tells of reach, as in a campaign: of replay, sanitizer and harness the first with the kit. */
static bool reach_build(const struct job *j, struct seedrun *ret)
{
    const char *const builds[] = {j->t->replay, j->t->sanitizer, j->t->harness};

    *ret = j->run;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++)
        if (builds[i] != NULL && seedrun_probe(ret, builds[i], NULL) == 0 && ret->prog.kit)
            return true;
    return false;
}

/* The required ids, what was reached of any, and what was not. */
static void measure_reach(struct job *j, const struct seedlist *l, json_t *doc)
{
    struct seedrun run;
    json_t *required = NULL, *reach = NULL, *missing = json_array();
    const json_t *id;
    struct err err = {0};
    size_t i;

    if (!reach_build(j, &run)) {
        json_decref(missing);
        return;
    }
    if (seedrun_required(&run, &required, &err) < 0 ||
        (json_array_size(required) > 0 && seedrun_reach(&run, l, &reach, &err) < 0))
        add_error(j, "%s", err.msg);
    json_array_foreach (required, i, id) {
        if (reach != NULL && json_integer_value(json_object_get(reach, json_string_value(id))) <= 0)
            (void)json_array_append(missing, (json_t *)(uintptr_t)id);
    }
    (void)json_object_set_new(doc, "reach_required", required != NULL ? required : json_array());
    (void)json_object_set_new(doc, "reach_missing", missing);
    (void)json_object_set_new(doc, "reach", reach != NULL ? reach : json_object());
}

static void run_inputs(struct job *j, const struct seedlist *l, json_t *doc)
{
    struct seedrun_sum sum = {0};
    struct err err = {0};
    int r = seedrun_all(&j->run, l, &sum, &err);

    if (sum.self_test) {
        add_self_test(j, &sum);
        sum.failed++;
    } else if (r == -ECANCELED) {
        add_error(j, "interrupted, %zu of %zu input%s not run", sum.left,
                  sum.left + sum.passed + sum.failed, text_plural((int64_t)l->n));
    } else if (r < 0) {
        add_error(j, "%s", err.msg);
    }
    (void)json_object_set_new(doc, "passed", json_integer((json_int_t)sum.passed));
    (void)json_object_set_new(doc, "failed", json_integer((json_int_t)sum.failed));
    (void)json_object_set_new(doc, "left", json_integer((json_int_t)sum.left));
    if (r == 0 && sum.passed + sum.failed > 0)
        measure_reach(j, l, doc);
}

json_t *replay_target(const struct spec *spec, const struct spec_target *t,
                      const struct spec_faults *faults, const char *spec_path, int64_t timeout_ms)
{
    struct job j = {.spec = spec, .t = t, .inputs = json_array(), .errors = json_array()};
    const char *program = t->replay != NULL ? t->replay : t->harness;
    json_t *doc = json_pack("{s:s, s:o, s:o, s:i, s:i, s:i}", "name", t->name, "spec",
                            fields_string(spec_path), "program", fields_string(program), "passed",
                            0, "failed", 0, "left", 0);
    int64_t from_ms = clock_now_ms();
    struct seedlist l = {0};
    struct err err = {0};

    take_faults(&j, faults, spec_path);
    if (json_array_size(j.errors) == 0 && program == NULL)
        add_error(&j, "%s:%d: names neither a replay build nor a harness that is there", spec_path,
                  t->line);
    if (json_array_size(j.errors) == 0 && seedrun_probe(&j.run, program, &err) < 0)
        add_error(&j, "%s", err.msg);
    if (json_array_size(j.errors) == 0 && list_inputs(&j, &l) && l.n > 0) {
        j.run.target = t->name;
        j.run.prog.args = &t->args;
        j.run.prog.env = &t->env;
        j.run.prog.memory_bytes = j.run.prog.kit ? 0 : t->limits.memory_bytes;
        j.run.prog.timeout_ms = timeout_ms > 0 ? timeout_ms : t->limits.hang_timeout_ms;
        j.run.prog.cancel = &manyrun_stop;
        j.run.fn = on_result;
        j.run.ctx = &j;
        run_inputs(&j, &l, doc);
    }
    (void)json_object_set_new(doc, "ms", json_integer(clock_now_ms() - from_ms));
    (void)json_object_set_new(doc, "inputs", j.inputs);
    (void)json_object_set_new(doc, "errors", j.errors);
    seedlist_clear(&l);
    return doc;
}

static bool same_ids(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "reach_required"), json_object_get(b, "reach_required"));
}

void replay_share_reach(json_t *targets)
{
    json_t *t, *other;
    size_t i, k;

    json_array_foreach (targets, i, t) {
        json_t *missing = json_object_get(t, "reach_missing");

        for (size_t n = json_array_size(missing); n-- > 0;) {
            const char *id = json_string_value(json_array_get(missing, n));
            bool reached = false;

            json_array_foreach (targets, k, other)
                reached |=
                    same_ids(t, other) && fields_int(json_object_get(other, "reach"), id) > 0;
            if (reached)
                (void)json_array_remove(missing, n);
        }
    }
}
