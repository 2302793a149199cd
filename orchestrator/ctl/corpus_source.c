/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an input came from. What the index says of its bytes is known; what the path says is
 * taken only of files below the state directory, where we gave the names. A path of the machine goes into no record.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "ctl/corpus.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

#define PREFIX_MIN 4

void corpus_source_clear(struct corpus_source *s)
{
    free(s->path);
    free(s->campaign);
    free(s->run);
    free(s->instance);
    free(s->file);
    free(s->was);
    *s = (struct corpus_source){0};
}

static bool hex_word(const char *s)
{
    size_t n = strlen(s);

    return n >= PREFIX_MIN && n <= 64 && strspn(s, "0123456789abcdef") == n;
}

/* Campaign, run, instance, file and verdict of one content of a run. */
static void fill_origin(struct db *db, const struct artifact_row *a, struct corpus_source *s)
{
    struct result_row res = {0};
    struct run_row run = {0};
    struct err err = {0};

    str_set(&s->run, a->run);
    str_set(&s->instance, a->instance);
    str_set(&s->file, a->file);
    if (runs_get(db, NULL, a->run, &run, &err) == 0) {
        str_set(&s->campaign, run.campaign);
        run_row_clear(&run);
    }
    if (results_get(db, a->run, a->target, a->sha256, &res, &err) == 0) {
        free(s->was);
        s->was = xasprintf("%s %s", res.class_ != NULL ? res.class_ : "",
                           res.kind != NULL ? res.kind : "");
        result_row_clear(&res);
    }
}

/* Looks for a content by the beginning of its hash. 0, -ENOENT, -ENOTUNIQ. */
static int by_hash(const struct cmd_env *env, struct db *db, const char *prefix,
                   struct corpus_source *s, struct err *err)
{
    struct artifact_row *rows = NULL;
    const struct artifact_row *hit = NULL;
    size_t n = 0;
    int r = artifact_list(db, NULL, &rows, &n, err);

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (rows[i].sha256[0] == '\0' || strncmp(rows[i].sha256, prefix, strlen(prefix)) != 0)
            continue;
        if (hit != NULL && strcmp(hit->sha256, rows[i].sha256) != 0)
            r = err_set(err, -ENOTUNIQ, "%s: more than one artifact begins so", prefix);
        hit = &rows[i];
    }
    if (r == 0 && hit == NULL)
        r = err_set(err, -ENOENT, "%s: no such file, bucket or artifact", prefix);
    if (r == 0) {
        fill_origin(db, hit, s);
        if (s->path == NULL)
            s->path = artifact_blob_path(env->state_dir, hit->sha256);
    }
    artifact_rows_free(rows, n);
    return r;
}

static int by_id(const struct cmd_env *env, const char *word, struct corpus_source *s,
                 struct err *err)
{
    struct bucket_row *bucket = xcalloc(1, sizeof(*bucket));
    cleanup_free char *run = NULL;
    struct db *db = NULL;
    int r = db_open(env->state_dir, false, &db, err);

    if (r < 0) {
        free(bucket);
        return r == -ENOENT ? err_set(err, r, "%s: no such file", word) : r;
    }
    r = results_bucket_find(db, word, bucket, &run, err);
    if (r == 0 && bucket->best_sha256 != NULL)
        r = by_hash(env, db, bucket->best_sha256, s, err);
    else if (r == -ENOENT || r == 0)
        r = by_hash(env, db, word, s, err);
    if (run != NULL)
        bucket_rows_free(bucket, 1);
    else
        free(bucket);
    db_close(db);
    return r;
}

/* STATE/campaigns/C/R/out/T/I/REST: the names are ours. True when path is such a one. */
static bool by_place(const struct cmd_env *env, const char *path, struct corpus_source *s)
{
    char real[PATH_MAX], state[PATH_MAX], c[256], r[256], t[256], i[256];
    int rest = 0;
    size_t n;

    if (realpath(path, real) == NULL || realpath(env->state_dir, state) == NULL)
        return false;
    n = strlen(state);
    if (strncmp(real, state, n) != 0 ||
        sscanf(real + n, "/campaigns/%255[^/]/%255[^/]/out/%255[^/]/%255[^/]/%n", c, r, t, i,
               &rest) != 4 ||
        rest == 0)
        return false;
    str_set(&s->campaign, c);
    str_set(&s->run, r);
    str_set(&s->instance, i);
    str_set(&s->file, real + n + rest);
    return true;
}

/* The run's id where the place gave its folder. */
static void name_run(struct db *db, struct corpus_source *s)
{
    const char *last = s->run != NULL ? strrchr(s->run, '-') : NULL;
    struct run_row run = {0};
    struct err err = {0};

    if (last != NULL && runs_get(db, s->campaign, last + 1, &run, &err) == 0) {
        str_set(&s->run, run.id);
        run_row_clear(&run);
    }
}

static void by_path(const struct cmd_env *env, const char *path, struct corpus_source *s)
{
    const char *slash = strrchr(path, '/');
    bool placed = by_place(env, path, s);
    struct db *db = NULL;
    struct err err = {0};
    char sha256[65], real[PATH_MAX];

    s->path = xstrdup(path);
    if (db_open(env->state_dir, false, &db, &err) == 0) {
        if (placed)
            name_run(db, s);
        else if (realpath(path, real) != NULL &&
                 file_sha256(AT_FDCWD, real, ARTIFACT_MAX_BYTES, sha256, NULL) == 0)
            (void)by_hash(env, db, sha256, s, &err);
        db_close(db);
    }
    if (s->file == NULL)
        s->file = xstrdup(slash != NULL ? slash + 1 : path);
}

int corpus_source_find(const struct cmd_env *env, const char *word, struct corpus_source *ret,
                       struct err *err)
{
    int r = 0;

    if (strchr(word, '/') == NULL && access(word, F_OK) < 0) {
        if (!hex_word(word))
            return err_set(err, -ENOENT, "no such file");
        r = by_id(env, word, ret, err);
    } else {
        by_path(env, word, ret);
    }
    if (r < 0)
        corpus_source_clear(ret);
    return r;
}
