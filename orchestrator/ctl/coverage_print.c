/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl coverage for people: totals, then what a person can act on: functions nobody calls, files with the most left. */
#include "ctl/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "report/fields.h"

#define FUNCTIONS_SHOWN 40
#define FILES_SHOWN     10
#define INPUTS_SHOWN    20

static void print_path(const char *path, const char *root, FILE *out)
{
    const size_t n = strlen(root);
    char *safe = fields_safe(strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : path);

    (void)fputs(safe, out);
    free(safe);
}

static double share(json_int_t part, json_int_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0.0;
}

static void print_count(const json_t *sum, const char *key, FILE *out)
{
    const json_t *c = json_object_get(sum, key);
    json_int_t covered = fields_int(c, "covered"), count = fields_int(c, "count");

    (void)fprintf(out, "  %-9s %5.1f %%  %lld of %lld\n", key, share(covered, count),
                  (long long)covered, (long long)count);
}

static void print_functions(const json_t *functions, const char *part, const char *root, FILE *out)
{
    const json_t *f;
    size_t i, n = 0;

    json_array_foreach (functions, i, f) {
        if (json_is_true(json_object_get(f, "covered")) ||
            strcmp(fields_text(f, "part"), part) != 0)
            continue;
        if (n == 0)
            (void)fprintf(out, "  never called, %s:\n", part);
        if (n++ >= FUNCTIONS_SHOWN)
            continue;
        (void)fputs("    ", out);
        print_path(fields_text(f, "file"), root, out);
        (void)fprintf(out, ":%lld ", (long long)fields_int(f, "line"));
        fields_print(out, f, "name");
        (void)fputc('\n', out);
    }
    if (n > FUNCTIONS_SHOWN)
        (void)fprintf(out, "    and %zu more; --json names all\n", n - FUNCTIONS_SHOWN);
}

static void print_files(const json_t *files, const char *root, FILE *out)
{
    const json_t *f;
    size_t i, n = 0;

    json_array_foreach (files, i, f) {
        const json_t *lines = json_object_get(f, "lines");
        json_int_t covered = fields_int(lines, "covered"), count = fields_int(lines, "count");

        if (strcmp(fields_text(f, "part"), "library") != 0 || covered == count || n >= FILES_SHOWN)
            continue;
        if (n++ == 0)
            (void)fputs("  least covered files, library:\n", out);
        (void)fprintf(out, "    %5.1f %%  %lld line%s missing  ", share(covered, count),
                      (long long)(count - covered), text_plural(count - covered));
        print_path(fields_text(f, "file"), root, out);
        (void)fputc('\n', out);
    }
}

static void print_inputs(const json_t *list, const char *what, FILE *out)
{
    const json_t *j;
    size_t i;

    if (json_array_size(list) > 0)
        (void)fprintf(out, "  %s: %zu\n", what, json_array_size(list));
    json_array_foreach (list, i, j) {
        if (i >= INPUTS_SHOWN)
            break;
        (void)fprintf(out, "    %s: ", fields_text(j, "why"));
        fields_print(out, j, "file");
        (void)fprintf(out, "%s%s\n", fields_text(j, "error")[0] != '\0' ? ": " : "",
                      fields_text(j, "error"));
    }
    if (json_array_size(list) > INPUTS_SHOWN)
        (void)fprintf(out, "    and %zu more; --json names all\n",
                      json_array_size(list) - INPUTS_SHOWN);
}

static void print_source(const json_t *source, const char *root, bool brief, FILE *out)
{
    static const char *const parts[] = {"library", "harness", "kit"};
    const json_t *of = json_object_get(source, "parts");

    print_count(json_object_get(of, "library"), "lines", out);
    print_count(json_object_get(of, "library"), "functions", out);
    print_count(json_object_get(of, "library"), "regions", out);
    for (size_t i = 1; i < 3; i++) {
        const json_t *lines = json_object_get(json_object_get(of, parts[i]), "lines");

        if (fields_int(lines, "count") > 0)
            (void)fprintf(out, "  (%s: lines %lld of %lld)\n", parts[i],
                          (long long)fields_int(lines, "covered"),
                          (long long)fields_int(lines, "count"));
    }
    if (!brief) {
        print_functions(json_object_get(source, "functions"), "library", root, out);
        print_functions(json_object_get(source, "functions"), "harness", root, out);
        print_files(json_object_get(source, "files"), root, out);
    }
    print_inputs(json_object_get(source, "lost"), "did not end well, so the lines miss them", out);
    if (fields_int(source, "torn") > 0)
        (void)fprintf(out, "  the profile%s of %lld input%s cannot be read: not counted\n",
                      text_plural(fields_int(source, "torn")),
                      (long long)fields_int(source, "torn"),
                      text_plural(fields_int(source, "torn")));
}

void coverage_print(const json_t *target, const char *root, bool brief, FILE *out)
{
    const json_t *edges = json_object_get(target, "edges"), *source, *p;
    size_t i;

    fields_print(out, target, "target");
    (void)fprintf(out, ": %lld input%s", (long long)fields_int(target, "inputs"),
                  text_plural(fields_int(target, "inputs")));
    json_array_foreach (json_object_get(target, "places"), i, p)
        (void)fprintf(out, "%s%s %lld", i == 0 ? ": " : ", ", fields_text(p, "place"),
                      (long long)fields_int(p, "inputs"));
    (void)fputc('\n', out);
    if (json_is_object(edges)) {
        if (fields_int(edges, "map") > 0) /* else none was run to its end */
            (void)fprintf(out, "  %-9s %5.1f %%  %lld of a map of %lld\n", "edges",
                          share(fields_int(edges, "covered"), fields_int(edges, "map")),
                          (long long)fields_int(edges, "covered"),
                          (long long)fields_int(edges, "map"));
        print_inputs(json_object_get(edges, "set_aside"), "not counted among the edges", out);
    }
    source = json_object_get(target, "source");
    if (json_is_object(source))
        print_source(source, root, brief, out);
    json_array_foreach (brief ? NULL : json_object_get(target, "notes"), i, p) {
        char *safe = fields_safe(json_string_value(p));

        (void)fprintf(out, "  %s\n", safe);
        free(safe);
    }
}
