/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a bucket to its bundle: what state.db, the run's folder and the store know
 * is gathered into files, described by the manifest, and written beside the old
 * bundle before it takes its name. Nothing of this moment goes in, so the same
 * state makes the same bytes.
 */
#include "bundle/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/version.h"
#include "bundle/bundle_internal.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"
#include "triage/json_util.h"

#define INPUTS_MAX       16
#define MODE             0644
#define INPUTS_MAX_BYTES (256u << 20) /* of those behind the first */
#define OCCURRENCES_MAX  20000
#define TEXT_MAX_BYTES   (16 << 20) /* spec, plan */

struct maker {
    const char *state_dir;
    struct db *db;
    struct run_row run;
    struct bucket_row bucket;
    struct result_row *inputs;
    size_t n_inputs;
    struct bundle_file *files;
    size_t n_files;
    json_t *input_names;
};

static struct bundle_file *file_add(struct maker *mk, const char *name)
{
    struct bundle_file *f;

    mk->files = xreallocarray(mk->files, mk->n_files + 1, sizeof(*mk->files));
    f = &mk->files[mk->n_files++];
    memset(f, 0, sizeof(*f));
    (void)snprintf(f->m.name, sizeof(f->m.name), "%s", name);
    f->mode = 0644;
    return f;
}

/* Takes ownership of data. */
static struct bundle_file *text_add(struct maker *mk, const char *name, char *data, size_t size)
{
    struct bundle_file *f = file_add(mk, name);

    f->data = data;
    f->m.size = size;
    hash_sha256_hex(data, size, f->m.sha256);
    return f;
}

/* Takes the reference. */
static int json_add(struct maker *mk, const char *name, json_t *j, struct err *err)
{
    char *text = json_dumps(j, JSON_INDENT(1) | JSON_SORT_KEYS), *line;

    json_decref(j);
    if (text == NULL)
        return err_set(err, -ENOMEM, "%s cannot be written as JSON", name);
    line = xasprintf("%s\n", text);
    free(text);
    (void)text_add(mk, name, line, strlen(line));
    return 0;
}

static int run_file_add(struct maker *mk, const char *name, struct err *err)
{
    cleanup_free char *path = path_join(mk->run.dir, name);
    char *data;
    size_t size;
    int r = file_read_below(mk->state_dir, path, TEXT_MAX_BYTES, &data, &size);

    if (r < 0)
        return err_sys(err, r, "%s", path);
    (void)text_add(mk, name, data, size);
    return 0;
}

/* The bucket of that id in the run; mk->bucket is then ours to clear. */
static int bucket_load(struct maker *mk, const char *id, struct err *err)
{
    struct bucket_row *rows = NULL;
    size_t n = 0;
    int r = results_buckets(mk->db, mk->run.id, &rows, &n, err);

    if (r < 0)
        return r;
    r = -ENOENT;
    for (size_t i = 0; i < n && r != 0; i++) {
        if (rows[i].id != NULL && strcmp(rows[i].id, id) == 0) {
            mk->bucket = rows[i];
            memset(&rows[i], 0, sizeof(rows[i]));
            r = 0;
        }
    }
    bucket_rows_free(rows, n);
    return r == 0 ? 0 : err_set(err, r, "run %s has no bucket %s", mk->run.id, id);
}

static int inputs_add(struct maker *mk, struct err *err)
{
    uint64_t total = 0;

    for (size_t i = 0; i < mk->n_inputs && json_array_size(mk->input_names) < INPUTS_MAX; i++) {
        const char *sha256 = mk->inputs[i].sha256;
        cleanup_free char *path = artifact_blob_path(mk->state_dir, sha256), *name = NULL;
        struct bundle_file *f;
        struct stat st;

        if (!hash_hex_ok(sha256) || stat(path, &st) != 0)
            return err_sys(err, errno > 0 ? -errno : -EIO, "input %s", path);
        if (i > 0 && total + (uint64_t)st.st_size > INPUTS_MAX_BYTES)
            continue;
        total += (uint64_t)st.st_size;
        name = xasprintf("inputs/%.12s", sha256);
        f = file_add(mk, name);
        f->path = steal_ptr(&path);
        f->m.size = (uint64_t)st.st_size;
        (void)snprintf(f->m.sha256, sizeof(f->m.sha256), "%s", sha256);
        json_array_append_new(mk->input_names, json_string(name));
    }
    return 0;
}

static int occurrences_add(struct maker *mk, struct err *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < mk->n_inputs && json_array_size(list) < OCCURRENCES_MAX; i++) {
        struct occurrence_row *rows = NULL;
        size_t n = 0;
        int r = results_occurrences(mk->db, mk->run.id, mk->inputs[i].target, mk->inputs[i].sha256,
                                    &rows, &n, err);

        if (r < 0) {
            json_decref(list);
            return r;
        }
        for (size_t k = 0; k < n; k++) {
            char at[32], file[1024];

            json_array_append_new(
                list, json_pack("{s:s, s:s, s:s, s:s}", "sha256", mk->inputs[i].sha256, "instance",
                                rows[k].instance, "file",
                                json_text_ascii(file, sizeof(file), rows[k].file), "seen_at",
                                clock_iso8601(at, sizeof(at), rows[k].seen_at_ms)));
        }
        occurrence_rows_free(rows, n);
    }
    return json_add(mk, "occurrences.json", list, err);
}

static json_t *members_json(const struct maker *mk)
{
    json_t *list = json_array();

    for (size_t i = 0; i < mk->n_files; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "name", mk->files[i].m.name,
                                              "size", (json_int_t)mk->files[i].m.size, "sha256",
                                              mk->files[i].m.sha256));
    return list;
}

/* A string of the database as JSON: never NULL, never bytes that JSON cannot hold. */
static json_t *text_json(const char *s)
{
    char buf[1024];

    return json_string(json_text_ascii(buf, sizeof(buf), s != NULL ? s : ""));
}

/* The manifest without its members. NULL with err. */
static json_t *manifest_make(const struct maker *mk, const json_t *plan, struct err *err)
{
    const struct result_row *best = &mk->inputs[0];
    json_t *detail =
        json_loads(best->detail != NULL ? best->detail : "", JSON_REJECT_DUPLICATES, NULL);
    json_t *m = NULL;
    const json_t *replay = json_object_get(detail, "replay"),
                 *expect = json_object_get(detail, "expect");
    const json_t *programs = json_object_get(detail, "programs");

    if (json_is_object(replay) && json_is_object(expect) && json_is_array(programs))
        m = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:I, s:I, s:O, "
                      "s:O, s:O, s:O}",
                      "version", BUNDLE_VERSION, "campaign", text_json(mk->run.campaign), "run",
                      text_json(mk->run.id), "target", text_json(mk->bucket.target), "bucket",
                      text_json(mk->bucket.id), "class", text_json(best->class_), "kind",
                      text_json(best->kind), "signature", text_json(best->signature), "why",
                      text_json(best->signature_why), "severity", best->severity, "reproduced",
                      best->reproduced, "runs", best->runs, "count", (json_int_t)mk->bucket.count,
                      "inputs_known", (json_int_t)mk->n_inputs, "inputs", mk->input_names, "replay",
                      replay, "expect", expect, "programs", programs);
    json_decref(detail);
    if (m == NULL) {
        (void)err_set(err, -EBADMSG, "bucket %s: its replay is not on record", mk->bucket.id);
        return NULL;
    }
    /* The line for this host names the store: repro.sh stands for it here. */
    json_object_del(json_object_get(m, "replay"), "command");
    json_object_set_new(m, "afl",
                        json_pack("{s:o, s:o, s:o}", "path",
                                  text_json(json_str(plan, "afl_path", "")), "version",
                                  text_json(json_str(plan, "afl_version", "")), "sha256",
                                  text_json(json_str(plan, "afl_sha256", ""))));
    json_object_set_new(m, "fuzzd",
                        json_pack("{s:s, s:s}", "version", version_string(), "git", version_git()));
    json_object_set_new(m, "git",
                        json_pack("{s:o, s:b}", "commit",
                                  text_json(json_str(plan, "git_commit", "")), "dirty",
                                  (int)json_flag(plan, "git_dirty")));
    return m;
}

/* The run's plan as it is in the bundle; only words are taken from it, so any version of it will do. NULL: no JSON. */
static json_t *plan_read(const struct maker *mk)
{
    for (size_t i = 0; i < mk->n_files; i++) {
        if (strcmp(mk->files[i].m.name, "plan.json") == 0)
            return json_loadb(mk->files[i].data, (size_t)mk->files[i].m.size, 0, NULL);
    }
    return NULL;
}

static int manifest_add(struct maker *mk, struct err *err)
{
    json_t *plan = plan_read(mk), *m = manifest_make(mk, plan, err);
    char *script;

    json_decref(plan);
    if (m == NULL)
        return -EBADMSG;
    script = bundle_script(m);
    text_add(mk, "repro.sh", script, strlen(script))->mode = 0755;
    json_object_set_new(m, "members", members_json(mk));
    return json_add(mk, MANIFEST_NAME, m, err);
}

static int gather(struct maker *mk, const char *run, const char *bucket, struct err *err)
{
    const char *report;
    char *text;
    int r = runs_get(mk->db, NULL, run, &mk->run, err);

    if (r == 0)
        r = bucket_load(mk, bucket, err);
    if (r == 0)
        r = results_inputs(mk->db, mk->run.id, bucket, &mk->inputs, &mk->n_inputs, err);
    if (r == 0 && mk->n_inputs == 0)
        r = err_set(err, -ENOENT, "bucket %s holds no input", bucket);
    if (r == 0)
        r = inputs_add(mk, err);
    if (r == 0)
        r = occurrences_add(mk, err);
    if (r == 0)
        r = run_file_add(mk, "spec.ini", err);
    if (r == 0)
        r = run_file_add(mk, "plan.json", err);
    if (r < 0)
        return r;
    report = mk->inputs[0].report != NULL ? mk->inputs[0].report : "";
    text = xstrdup(report);
    (void)text_add(mk, "report.txt", text, strlen(text));
    return manifest_add(mk, err);
}

static void maker_clear(struct maker *mk)
{
    struct bucket_row *bucket = NULL;

    for (size_t i = 0; i < mk->n_files; i++) {
        free(mk->files[i].data);
        free(mk->files[i].path);
    }
    free(mk->files);
    for (size_t i = 0; i < mk->n_inputs; i++)
        result_row_clear(&mk->inputs[i]);
    free(mk->inputs);
    /* bucket_rows_free frees an array: hand it one. */
    bucket = xmalloc(sizeof(*bucket));
    *bucket = mk->bucket;
    bucket_rows_free(bucket, 1);
    run_row_clear(&mk->run);
    json_decref(mk->input_names);
    db_close(mk->db);
}

/* Temporary, fsync, rename, fsync of the folder: a bundle of that name is always whole. */
static int write_atomic(struct maker *mk, const char *path, struct err *err)
{
    struct beside tmp = {0};
    int r = beside_make(path, BESIDE_FILE, MODE, &tmp);

    if (r < 0)
        return err_sys(err, r, "%s", path);
    r = bundle_write(tmp.fd, mk->files, mk->n_files, err);
    if (r == 0 && (beside_whole(&tmp) < 0 || rename(tmp.path, path) < 0))
        r = err_sys(err, -errno, "%s", path);
    if (r < 0) {
        beside_clear(&tmp);
        return r;
    }
    beside_placed(&tmp);
    r = file_sync_parent(AT_FDCWD, path);
    return r < 0 ? err_sys(err, r, "%s", path) : 0;
}

int bundle_make(const char *state_dir, const char *run, const char *bucket, char **ret_path,
                struct err *err)
{
    struct maker mk = {.state_dir = state_dir};
    cleanup_free char *dir = path_join(state_dir, "bundles"), *path = NULL;
    int r;

    r = db_open(state_dir, false, &mk.db, err);
    if (r < 0)
        return r;
    mk.input_names = json_array();
    path = xasprintf("%s/%s.tar.zst", dir, bucket);
    r = gather(&mk, run, bucket, err);
    if (r == 0) {
        r = path_mkdirs_below(state_dir, dir, 0755);
        if (r < 0)
            r = err_sys(err, r, "%s", dir);
    }
    if (r == 0)
        r = write_atomic(&mk, path, err);
    maker_clear(&mk);
    if (r < 0) {
        err_wrap(err, "bundle %s", bucket);
        return r;
    }
    *ret_path = steal_ptr(&path);
    return 0;
}
