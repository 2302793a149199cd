/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the files, one over the functions. A function is told once, whatever number of
 * instances a template or a header gives it, and is covered when any of them is.
 */
#include "corpus/linecov.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/sort.h"

#define FUNCTIONS_MAX 1000000
#define REGION_CODE   0 /* kinds of regions; others are expansions, skipped and gaps */

const char *linecov_part_name(enum linecov_part part)
{
    static const char *const names[] = {
        [LINECOV_LIBRARY] = "library", [LINECOV_HARNESS] = "harness", [LINECOV_KIT] = "kit"};

    return names[part];
}

static bool begins(const char *s, const char *word)
{
    return strncmp(s, word, strlen(word)) == 0;
}

/* word between the beginning, '_', '.' and the end. */
static bool has_word(const char *name, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = name; (p = strstr(p, word)) != NULL; p++) {
        if ((p == name || p[-1] == '_') && (p[n] == '_' || p[n] == '.' || p[n] == '\0'))
            return true;
    }
    return false;
}

enum linecov_part linecov_part_of(const char *path, bool kit)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *folder = slash;

    if (!kit)
        return LINECOV_LIBRARY;
    while (folder != NULL && folder > path && folder[-1] != '/')
        folder--;
    if (folder != NULL && begins(folder, "sdk/") && (begins(name, "fz") || begins(name, "main_")))
        return LINECOV_KIT;
    return has_word(name, "invariants") || has_word(name, "oracle") || has_word(name, "mutator")
               ? LINECOV_HARNESS
               : LINECOV_LIBRARY;
}

static struct linecov_count count_of(const json_t *summary, const char *key)
{
    const json_t *j = json_object_get(summary, key);
    struct linecov_count c = {.covered = (long)json_integer_value(json_object_get(j, "covered")),
                              .count = (long)json_integer_value(json_object_get(j, "count"))};

    if (c.count < 0)
        c.count = 0;
    if (c.covered < 0 || c.covered > c.count)
        c.covered = 0;
    return c;
}

static void add(struct linecov_count *to, const struct linecov_count *c)
{
    to->covered += c->covered;
    to->count += c->count;
}

static void take_file(struct linecov *l, const json_t *j, bool kit)
{
    const char *path = json_string_value(json_object_get(j, "filename"));
    const json_t *summary = json_object_get(j, "summary");
    struct linecov_file f = {.sum = {.lines = count_of(summary, "lines"),
                                     .functions = count_of(summary, "functions"),
                                     .regions = count_of(summary, "regions")}};

    if (path == NULL || f.sum.lines.count == 0)
        return;
    f.part = linecov_part_of(path, kit);
    add(&l->parts[f.part].lines, &f.sum.lines);
    add(&l->parts[f.part].functions, &f.sum.functions);
    add(&l->parts[f.part].regions, &f.sum.regions);
    f.path = xstrdup(path);
    l->files[l->n_files++] = f;
}

/* "file.c:name" of a static function. */
static const char *plain_name(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon != NULL && colon[1] != ':' && colon[1] != '\0' ? colon + 1 : name;
}

static long region(const json_t *r, size_t i)
{
    return (long)json_integer_value(json_array_get(r, i));
}

static void take_function(struct linecov *l, const json_t *j, bool kit)
{
    const char *name = json_string_value(json_object_get(j, "name"));
    const char *path = json_string_value(json_array_get(json_object_get(j, "filenames"), 0));
    const json_t *regions = json_object_get(j, "regions"), *r;
    struct linecov_function f = {.covered = json_integer_value(json_object_get(j, "count")) > 0,
                                 .line = region(json_array_get(regions, 0), 0)};
    size_t i;

    if (name == NULL || path == NULL)
        return;
    json_array_foreach (regions, i, r) {
        if (region(r, 7) != REGION_CODE)
            continue;
        f.regions.count++;
        f.regions.covered += region(r, 4) > 0;
    }
    f.part = linecov_part_of(path, kit);
    f.path = xstrdup(path);
    f.name = xstrdup(plain_name(name));
    l->functions[l->n_functions++] = f;
}

static void function_clear(struct linecov_function *f)
{
    free(f->name);
    free(f->path);
}

static int by_place(const void *a, const void *b)
{
    const struct linecov_function *x = a, *y = b;
    int c = strcmp(x->path, y->path);

    return c != 0               ? c
           : x->line != y->line ? (x->line < y->line ? -1 : 1)
                                : strcmp(x->name, y->name);
}

static int by_need(const void *a, const void *b)
{
    const struct linecov_function *x = a, *y = b;

    if (x->covered != y->covered)
        return x->covered ? 1 : -1;
    return x->part != y->part ? (int)x->part - (int)y->part : by_place(a, b);
}

static int by_cover(const void *a, const void *b)
{
    const struct linecov_file *x = a, *y = b;
    /* Shares as cross products: no file counts lines by the billion. */
    const long long p = (long long)x->sum.lines.covered * y->sum.lines.count;
    const long long q = (long long)y->sum.lines.covered * x->sum.lines.count;

    return p != q ? (p < q ? -1 : 1) : strcmp(x->path, y->path);
}

/* Instances of one function become one. */
static void unite(struct linecov *l)
{
    size_t n = 0;

    array_sort(l->functions, l->n_functions, sizeof(*l->functions), by_place);
    for (size_t i = 0; i < l->n_functions; i++) {
        struct linecov_function *f = &l->functions[i], *last = n > 0 ? &l->functions[n - 1] : NULL;

        if (last != NULL && last->line == f->line && strcmp(last->path, f->path) == 0) {
            last->covered |= f->covered;
            if (f->regions.covered > last->regions.covered)
                last->regions = f->regions;
            function_clear(f);
        } else {
            l->functions[n++] = *f;
        }
    }
    l->n_functions = n;
    array_sort(l->functions, n, sizeof(*l->functions), by_need);
}

int linecov_parse(const char *text, size_t size, bool kit, struct linecov *ret, struct err *err)
{
    json_error_t why;
    json_t *doc = json_loadb(text, size, 0, &why);
    const json_t *data, *files, *functions, *j;
    struct linecov l = {0};
    size_t i;

    if (doc == NULL)
        return err_set(err, -EPROTO, "llvm-cov printed what is no JSON: %s", why.text);
    data = json_array_get(json_object_get(doc, "data"), 0);
    files = json_object_get(data, "files");
    functions = json_object_get(data, "functions");
    if (!json_is_array(files) || !json_is_array(functions) ||
        json_array_size(functions) > FUNCTIONS_MAX) {
        json_decref(doc);
        return err_set(err, -EPROTO, "llvm-cov printed no files and functions, or too many");
    }
    l.files = xcalloc(json_array_size(files) + 1, sizeof(*l.files));
    l.functions = xcalloc(json_array_size(functions) + 1, sizeof(*l.functions));
    json_array_foreach (files, i, j)
        take_file(&l, j, kit);
    json_array_foreach (functions, i, j)
        take_function(&l, j, kit);
    json_decref(doc);
    array_sort(l.files, l.n_files, sizeof(*l.files), by_cover);
    unite(&l);
    *ret = l;
    return 0;
}

void linecov_clear(struct linecov *l)
{
    for (size_t i = 0; i < l->n_files; i++)
        free(l->files[i].path);
    for (size_t i = 0; i < l->n_functions; i++)
        function_clear(&l->functions[i]);
    free(l->files);
    free(l->functions);
    *l = (struct linecov){0};
}
