/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edges come from the fuzzed build by its fork server, lines from the coverage build. Neither waits for
 * the other: what one lacks is told, and the other is still measured.
 */
#include "ctl/coverage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "corpus/linecov.h"
#include "corpus/profile.h"
#include "ctl/corpus_places.h"
#include "ctl/edge_count.h"
#include "ctl/given.h"
#include "ctl/input_paths.h"
#include "ctl/private_dir.h"
#include "plan/elfprobe.h"
#include "report/fields.h"

#define SLOWER 5 /* than the fuzzed build, at the most: without optimisation, with counters */

struct job {
    const struct coverage_opts *o;
    const struct spec_target *t;
    struct inputs inputs;
    struct manyrun_limits limits;
    struct private_dir dir;
    bool *skip; /* what hangs in the fuzzed build hangs here */
    json_t *doc, *errors, *notes;
};

static void add_text(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_text(json_t *list, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) >= 0)
        (void)json_array_append_new(list, fields_string(text));
    va_end(ap);
    free(text);
}

/* ---- inputs ---- */
static void add_place(struct job *j, json_t *places, const char *name, const char *path)
{
    const size_t before = j->inputs.n;
    struct err err = {0};

    if (input_paths_add(&j->inputs, path, &err) < 0)
        add_text(j->errors, "%s", err.msg);
    (void)json_array_append_new(places, json_pack("{s:s, s:o, s:I}", "place", name, "path",
                                                  fields_string(path), "inputs",
                                                  (json_int_t)(j->inputs.n - before)));
}

/* -ENODATA: there are none. What cannot be read may have had some. */
static int collect(struct job *j, const struct spec *spec)
{
    struct corpus_place found[CORPUS_PLACES_MAX];
    json_t *places = json_array();
    size_t n;

    for (size_t i = 0; i < j->o->given->n; i++)
        add_place(j, places, "given", j->o->given->v[i]);
    if (j->o->given->n == 0) {
        n = corpus_places_find(j->o->env, spec, j->t, found);
        for (size_t i = 0; i < n; i++)
            add_place(j, places, found[i].name, found[i].path);
        corpus_places_clear(found, n);
    }
    (void)json_object_set_new(j->doc, "inputs", json_integer((json_int_t)j->inputs.n));
    (void)json_object_set_new(j->doc, "places", places);
    if (j->inputs.n > 0 || json_array_size(j->errors) > 0)
        return 0;
    cleanup_free char *why = given_no_inputs(&j->inputs);

    add_text(j->errors, "%s", why);
    return -ENODATA;
}

static json_t *input_json(const struct job *j, size_t index, const char *why)
{
    const char *shown = j->inputs.v[index];

    return json_pack("{s:o, s:s}", "file", fields_string(shown), "why", why);
}

/* Of those that could not be run each one is an error. */
static void set_aside(struct job *j, const struct edges_result *r, json_t *aside)
{
    for (size_t i = 0; i < j->inputs.n; i++) {
        json_t *one;

        j->skip[i] = r->end[i] == EDGES_TIMEOUT || r->end[i] == EDGES_NOT_RUN;
        if (r->end[i] == EDGES_OK)
            continue;
        one = input_json(j, i, edges_end_name(r->end[i]));
        if (r->code[i] < 0)
            (void)json_object_set_new(one, "error", json_string(inputs_why(r->code[i])));
        (void)json_array_append_new(aside, one);
    }
    if (r->count[EDGES_NOT_RUN] > 0)
        add_text(j->errors, "%zu of %zu input%s could not be run", r->count[EDGES_NOT_RUN],
                 j->inputs.n, text_plural((int64_t)j->inputs.n));
}

/* ---- edges ---- */
static int count_edges(struct job *j)
{
    const struct edge_count c = {.harness = j->t->harness,
                                 .args = &j->t->args,
                                 .env = &j->t->env,
                                 .inputs = &j->inputs,
                                 .limits = j->limits,
                                 .cmd_env = j->o->env};
    json_t *aside = json_array();
    struct edges_result r;
    struct err err = {0};
    int rc;

    if (j->t->harness == NULL) {
        add_text(j->errors, "no edges: its harness is not there%s%s",
                 j->t->build != NULL ? ": " : "", j->t->build != NULL ? j->t->build : "");
        json_decref(aside);
        return 0;
    }
    rc = edge_count(&c, &r, &err);
    if (rc < 0) {
        if (rc != -ECANCELED)
            add_text(j->errors, "no edges: %s", err.msg);
        json_decref(aside);
        return rc == -ECANCELED ? rc : 0;
    }
    set_aside(j, &r, aside);
    (void)json_object_set_new(j->doc, "edges",
                              json_pack("{s:I, s:I, s:I, s:o}", "covered", (json_int_t)r.edges,
                                        "map", (json_int_t)r.map_bytes, "tuples",
                                        (json_int_t)r.tuples, "set_aside", aside));
    edges_result_clear(&r);
    return 0;
}

/* ---- lines ---- */
static json_t *count_json(const struct linecov_count *c)
{
    return json_pack("{s:I, s:I}", "covered", (json_int_t)c->covered, "count",
                     (json_int_t)c->count);
}

static json_t *sum_json(const struct linecov_sum *s)
{
    return json_pack("{s:o, s:o, s:o}", "lines", count_json(&s->lines), "functions",
                     count_json(&s->functions), "regions", count_json(&s->regions));
}

static void fill_source(const struct job *j, const struct profile_result *p,
                        const struct linecov *l, json_t *source)
{
    json_t *lost = json_array(), *parts = json_object(), *functions = json_array(),
           *files = json_array();

    for (size_t i = 0; i < p->n_lost; i++)
        (void)json_array_append_new(lost, input_json(j, p->lost[i].index, p->lost[i].why));
    for (int i = 0; i < LINECOV_PARTS; i++)
        (void)json_object_set_new(parts, linecov_part_name((enum linecov_part)i),
                                  sum_json(&l->parts[i]));
    for (size_t i = 0; i < l->n_functions; i++) {
        const struct linecov_function *f = &l->functions[i];

        (void)json_array_append_new(
            functions, json_pack("{s:o, s:o, s:I, s:s, s:b, s:o}", "name", fields_string(f->name),
                                 "file", fields_string(f->path), "line", (json_int_t)f->line,
                                 "part", linecov_part_name(f->part), "covered", (int)f->covered,
                                 "regions", count_json(&f->regions)));
    }
    for (size_t i = 0; i < l->n_files; i++) {
        json_t *file = sum_json(&l->files[i].sum);

        (void)json_object_set_new(file, "file", fields_string(l->files[i].path));
        (void)json_object_set_new(file, "part", json_string(linecov_part_name(l->files[i].part)));
        (void)json_array_append_new(files, file);
    }
    (void)json_object_set_new(source, "program", fields_string(j->t->coverage));
    (void)json_object_set_new(source, "run", json_integer((json_int_t)p->run));
    (void)json_object_set_new(source, "lost", lost);
    (void)json_object_set_new(source, "torn", json_integer((json_int_t)p->torn));
    (void)json_object_set_new(source, "parts", parts);
    (void)json_object_set_new(source, "functions", functions);
    (void)json_object_set_new(source, "files", files);
}

/* Without the tool, or when it fails, the names stay as the program has them. */
static void demangle(const struct job *j, const struct llvmtools *tools, struct linecov *l)
{
    struct strv names = {0}, plain = {0};
    struct err err = {0};

    for (size_t i = 0; i < l->n_functions; i++)
        strv_add(&names, l->functions[i].name);
    if (llvmtools_demangle(tools, &names, j->dir.path, &plain, &err) == 0)
        for (size_t i = 0; i < l->n_functions; i++)
            str_set(&l->functions[i].name, plain.v[i]);
    strv_clear(&names);
    strv_clear(&plain);
}

static int show_source(struct job *j, const struct profile_result *p, bool kit, struct err *err)
{
    cleanup_free char *text = NULL, *pages = NULL;
    struct linecov l = {0};
    json_t *source;
    size_t size = 0;
    int rc = llvmtools_export(&p->tools, j->t->coverage, p->path, &text, &size, err);

    if (rc == 0)
        rc = linecov_parse(text, size, kit, &l, err);
    if (rc < 0)
        return rc;
    demangle(j, &p->tools, &l);
    source = json_object();
    fill_source(j, p, &l, source);
    linecov_clear(&l);
    if (j->o->html != NULL) {
        pages = path_join(j->o->html, j->t->name);
        rc = llvmtools_html(&p->tools, j->t->coverage, p->path, pages, err);
    }
    (void)json_object_set_new(j->doc, "source", source);
    return rc;
}

static void show_progress(void *ctx, size_t done, size_t all)
{
    manyrun_progress_show(ctx, done, all, " through the coverage build");
}

/* What lies in a tar is written to a file under its number. */
static int unpack(const struct job *j, size_t index, const char *path)
{
    const uint8_t *data;
    size_t size;
    int rc = inputs_borrow(&j->inputs, index, FORKSERVER_INPUT_BYTES, &data, &size);

    /* What is too large is not run here either. */
    if (rc < 0)
        return rc == -EFBIG ? 0 : rc;
    return file_write_named(path, data, size, 0600);
}

/* Programs get a folder of their own to work in, so every file has to be a whole path. */
static int list_files(const struct job *j, struct strv *ret, struct err *err)
{
    for (size_t i = 0; i < j->inputs.n; i++) {
        char *path;
        int rc;

        if (!inputs_is_packed(&j->inputs, i)) {
            path = realpath(j->inputs.v[i], NULL);
            strv_take(ret, path != NULL ? path : xstrdup(j->inputs.v[i]));
            continue;
        }
        path = xasprintf("%s/input-%zu", j->dir.path, i);
        strv_take(ret, path);
        rc = unpack(j, i, path);
        if (rc < 0)
            return err_sys(err, rc, "%s", path);
    }
    return 0;
}

static int count_lines(struct job *j)
{
    struct strv files = {0};
    struct manyrun_progress progress;
    struct profile_opts o = {.program = j->t->coverage,
                             .args = &j->t->args,
                             .env = &j->t->env,
                             .inputs = &files,
                             .skip = j->skip,
                             .timeout_ms = SLOWER * j->limits.timeout_ms,
                             .memory_bytes = j->limits.memory_bytes,
                             .jobs = j->limits.jobs,
                             .cancel = &manyrun_stop,
                             .progress = show_progress,
                             .ctx = &progress};
    struct profile_result p = {0};
    struct elfprobe elf;
    struct err err = {0};
    int rc = elfprobe_read(j->t->coverage, &elf, &err);

    if (rc == 0)
        rc = private_dir_open(&j->dir, &err);
    if (rc == 0)
        rc = list_files(j, &files, &err);
    if (rc == 0) {
        o.dir = j->dir.path;
        o.kit = elf.kit;
        o.takes_file = elf.libfuzzer || elf.driver;
        manyrun_progress_begin(&progress, j->o->env);
        rc = profile_run(&o, &p, &err);
        manyrun_progress_clear(&progress);
    }
    if (rc == 0) {
        rc = show_source(j, &p, elf.kit, &err);
        profile_result_clear(&p);
    }
    if (rc < 0 && rc != -ECANCELED)
        add_text(j->errors, "no lines: %s", err.msg);
    private_dir_close(&j->dir);
    strv_clear(&files);
    return rc == -ECANCELED ? rc : 0;
}

/* The coverage build is not there: one line with what mends it. */
static void tell_missing(struct job *j, const struct spec *spec)
{
    if (spec_line(spec, j->t->name, "coverage") == 0)
        add_text(j->o->html != NULL ? j->errors : j->notes,
                 "edges only: no coverage = PROGRAM in %s, a build by clang with "
                 "-fprofile-instr-generate -fcoverage-mapping",
                 spec->path);
    else
        add_text(j->errors, "no lines: its coverage build is not there%s%s",
                 j->t->build != NULL ? ", make it with: " : "",
                 j->t->build != NULL ? j->t->build : "");
}

json_t *coverage_target(const struct coverage_opts *o, const struct spec *spec,
                        const struct spec_target *t, int *ret_code)
{
    struct job j = {.o = o,
                    .t = t,
                    .limits = o->limits,
                    .doc = json_object(),
                    .errors = json_array(),
                    .notes = json_array()};
    int rc;

    if (j.limits.timeout_ms == 0)
        j.limits.timeout_ms = t->limits.hang_timeout_ms;
    if (j.limits.memory_bytes == 0)
        j.limits.memory_bytes = t->limits.memory_bytes;
    manyrun_defaults(&j.limits);
    (void)json_object_set_new(j.doc, "target", fields_string(t->name));
    (void)json_object_set_new(j.doc, "edges", json_null());
    (void)json_object_set_new(j.doc, "source", json_null());
    rc = collect(&j, spec);
    if (j.inputs.n > 0) {
        j.skip = xcalloc(j.inputs.n, sizeof(*j.skip));
        rc = count_edges(&j);
        if (rc == 0 && t->coverage != NULL)
            rc = count_lines(&j);
        else if (rc == 0)
            tell_missing(&j, spec);
    }
    (void)json_object_set_new(j.doc, "notes", j.notes);
    (void)json_object_set_new(j.doc, "errors", j.errors);
    free(j.skip);
    inputs_clear(&j.inputs);
    *ret_code = rc;
    return j.doc;
}
