/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target by its name, from the specs a person works with. Several specs may name the same target; that is fine as
 * long as they mean the same seeds, as those are what is going to change.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/corpus.h"
#include "ctl/given.h"
#include "plan/plan.h"
#include "store/runs.h"

#define RUNS_LOOKED_AT 200

/* What was found so far; the first spec stays. */
struct find {
    const char *name;
    struct spec *spec;
    const struct spec_target *t;
};

static const struct spec_target *named(const struct spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_targets; i++) {
        if (strcmp(spec->targets[i].name, name) == 0)
            return &spec->targets[i];
    }
    return NULL;
}

/* Faults are no matter here: a spec whose cmplog build is not there still names the seeds. */
static int load(const char *path, struct spec **ret, struct err *err)
{
    struct spec_faults faults = {0};
    int r = spec_read(path, NULL, ret, &faults, err);

    spec_faults_clear(&faults);
    return r;
}

static bool replayable(const struct spec_target *t)
{
    return t->replay != NULL || t->sanitizer != NULL;
}

static int look_in(struct find *f, const char *path, struct err *err)
{
    const struct spec_target *t;
    struct spec *spec = NULL;
    struct err why = {0};

    if (load(path, &spec, &why) < 0)
        return 0;
    t = named(spec, f->name);
    if (t == NULL || t->seeds == NULL) {
        spec_free(spec);
        return 0;
    }
    if (f->t != NULL && strcmp(f->t->seeds, t->seeds) != 0) {
        int r =
            err_set(err, -ENOTUNIQ, "%s is in %s and in %s, with different seeds; say --spec FILE",
                    f->name, f->spec->path, spec->path);
        spec_free(spec);
        return r;
    }
    if (f->t == NULL || (!replayable(f->t) && replayable(t))) {
        spec_free(f->spec);
        f->spec = spec;
        f->t = t;
    } else {
        spec_free(spec);
    }
    return 0;
}

static int look_by_pattern(struct find *f, const char *pattern, struct err *err)
{
    glob_t g = {0};
    int r = 0;

    if (glob(pattern, 0, NULL, &g) == 0) {
        for (size_t i = 0; r == 0 && i < g.gl_pathc; i++)
            r = look_in(f, g.gl_pathv[i], err);
    }
    globfree(&g);
    return r;
}

/* The spec of the newest run that has the target. */
static int look_in_runs(struct find *f, const char *state_dir, struct err *err)
{
    struct run_row *rows = NULL;
    struct db *db = NULL;
    struct err why = {0};
    size_t n = 0;
    int r = 0;

    if (db_open(state_dir, false, &db, &why) < 0)
        return 0;
    if (runs_list(db, false, &rows, &n, &why) < 0)
        n = 0;
    for (size_t i = 0; r == 0 && f->t == NULL && i < n && i < RUNS_LOOKED_AT; i++) {
        struct plan *plan = NULL;

        if (plan_load(state_dir, rows[i].dir, &plan, &why) < 0)
            continue;
        if (plan_target_find(plan, f->name) != NULL)
            r = look_in(f, plan->spec_path, err);
        plan_free(plan);
    }
    for (size_t i = 0; i < n; i++)
        run_row_clear(&rows[i]);
    free(rows);
    db_close(db);
    return r;
}

/* The target of one spec file; name NULL: its only one. */
static int from_file(const char *path, const char *name, struct spec **ret_spec,
                     const struct spec_target **ret, struct err *err)
{
    struct spec *spec = NULL;
    int r = load(path, &spec, err);

    if (r < 0)
        return r;
    const struct spec_target *t = name != NULL           ? named(spec, name)
                                  : spec->n_targets == 1 ? &spec->targets[0]
                                                         : NULL;
    if (t == NULL && name != NULL) {
        cleanup_free char *words = given_known_targets(spec, name);

        r = err_set(err, -ENOENT, "%s: %s", path, words);
    } else if (t == NULL) {
        r = err_set(err, -ENOTUNIQ, "%s has %zu targets; say --spec %s and the target's name", path,
                    spec->n_targets, path);
    }
    if (r < 0) {
        spec_free(spec);
        return r;
    }
    *ret_spec = spec;
    *ret = t;
    return 0;
}

int corpus_target_find(const struct cmd_env *env, const char *spec_path, const char *word,
                       struct spec **ret_spec, const struct spec_target **ret, struct err *err)
{
    size_t n = strlen(word);
    struct find f = {.name = word};
    int r;

    if (spec_path != NULL)
        return from_file(spec_path, word, ret_spec, ret, err);
    if (strchr(word, '/') != NULL || (n > 4 && strcmp(word + n - 4, ".ini") == 0))
        return from_file(word, NULL, ret_spec, ret, err);
    r = look_by_pattern(&f, "conf/campaigns/*.ini", err);
    if (r == 0)
        r = look_by_pattern(&f, "*.ini", err);
    if (r == 0 && f.t == NULL)
        r = look_in_runs(&f, env->state_dir, err);
    if (r == 0 && f.t == NULL)
        r = err_set(err, -ENOENT,
                    "no spec in conf/campaigns or this folder, and no run, has a target %s with "
                    "seeds",
                    word);
    if (r < 0) {
        spec_free(f.spec);
        return r;
    }
    *ret_spec = f.spec;
    *ret = f.t;
    return 0;
}
