/* SPDX-License-Identifier: Apache-2.0 */
/* What was found of an input by running it again, in the words of one who looks for the reason in the program. */
#include "report/stability.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "report/fields.h"

#define SHA256_DIGITS 64
#define SHA256_SHOWN  12

static void add(FILE *f, const json_t *j, const char *key, const char *words, bool *first)
{
    const json_int_t n = fields_int(j, key);

    if (n <= 0)
        return;
    fprintf(f, "%s%lld %s", *first ? ": " : ", ", (long long)n, words);
    *first = false;
}

char *stability_line(const json_t *j)
{
    char *text = NULL;
    size_t size = 0;
    bool first = true;
    FILE *f = open_memstream(&text, &size);

    if (f == NULL)
        return xstrdup("");
    if (fields_int(j, "checked") <= 0) {
        fputs("nothing is known", f);
    } else {
        fprintf(f, "%lld input%s run %lld times each and shuffled",
                (long long)fields_int(j, "checked"), text_plural(fields_int(j, "checked")),
                (long long)fields_int(j, "runs_each"));
    }
    add(f, j, "stateful", "stateful", &first);
    add(f, j, "flaky", "flaky", &first);
    add(f, j, "unstable", "unstable", &first);
    add(f, j, "unread", "not run", &first);
    add(f, j, "left", "left for want of time", &first);
    if (first && fields_int(j, "checked") > 0)
        fputs(": all do the same each time", f);
    if (fields_int(j, "unstable_edges_total") > 0)
        fprintf(f, "; %lld of %lld edges vary", (long long)fields_int(j, "unstable_edges_total"),
                (long long)fields_int(j, "edges"));
    if (json_is_true(json_object_get(j, "over")) && fields_int(j, "left") <= 0)
        fputs("; not looked into to the end, for want of time", f);
    if (fclose(f) != 0)
        str_set(&text, "");
    return text;
}

/* A file's name; what is named by its whole SHA-256, as in a corpus that is kept, by the digits it is named by elsewhere. */
static void print_name(const char *name, FILE *out)
{
    cleanup_free char *safe = fields_safe(name);
    const bool is_sha256 =
        strlen(name) == SHA256_DIGITS && strspn(name, "0123456789abcdef") == SHA256_DIGITS;

    fprintf(out, "%.*s", is_sha256 ? SHA256_SHOWN : (int)strlen(safe), safe);
}

static void print_edges(const json_t *finding, FILE *out)
{
    const json_t *edges = json_object_get(finding, "edges"), *e;
    const json_int_t all = fields_int(finding, "edges_total");
    size_t i;

    if (all <= 0)
        return;
    fprintf(out, " in edge%s", text_plural(all));
    json_array_foreach (edges, i, e)
        fprintf(out, "%s %lld", i > 0 ? "," : "", (long long)json_integer_value(e));
    if (all > (json_int_t)json_array_size(edges))
        fprintf(out, " and %lld more", (long long)all - (long long)json_array_size(edges));
}

static void print_after(const json_t *finding, FILE *out)
{
    const json_t *after = json_object_get(finding, "after"), *a;
    size_t i;

    if (json_is_true(json_object_get(finding, "itself"))) {
        fputs(" when it is run again in the same process", out);
        return;
    }
    if (json_array_size(after) == 0) {
        fputs(json_is_true(json_object_get(finding, "repeats")) ? " after others"
                                                                : " after others, once",
              out);
        return;
    }
    json_array_foreach (after, i, a) {
        fputs(i == 0 ? " after " : " and ", out);
        print_name(json_is_string(a) ? json_string_value(a) : "", out);
    }
}

static void put_verdicts(const json_t *f, const char *between, FILE *out)
{
    fputs(": ", out);
    fields_print(out, f, "alone");
    fputs(between, out);
    fields_print(out, f, "other");
}

static void print_finding(const json_t *f, const char *indent, FILE *out)
{
    const char *alone = fields_text(f, "alone"), *other = fields_text(f, "other");
    const char *kind = fields_text(f, "kind");
    const bool verdict = strcmp(alone, other) != 0;

    fputs(indent, out);
    fields_print(out, f, "kind");
    fputs(": ", out);
    print_name(fields_text(f, "file"), out);
    if (strcmp(kind, "stateful") != 0) {
        if (verdict)
            put_verdicts(f, ", or ", out);
        else
            fputs(": its map differs from run to run", out);
    } else {
        if (verdict)
            put_verdicts(f, " alone, but ", out);
        else
            fputs(": its map differs", out);
        print_after(f, out);
    }
    if (!verdict)
        print_edges(f, out);
    fputc('\n', out);
}

/* The first bytes of a file. */
static void print_bytes(const json_t *file, FILE *out)
{
    const char *hex = fields_text(file, "hex");
    const json_int_t size = fields_int(file, "size");

    fprintf(out, " (%lld byte%s) ", (long long)size, text_plural(size));
    fields_print(out, file, "hex");
    fprintf(out, "%s\n", size > (json_int_t)(strlen(hex) / 2) ? "..." : "");
}

void stability_print(const json_t *j, const char *indent, size_t max, FILE *out)
{
    const json_t *list = json_object_get(j, "findings"), *v;
    const json_int_t told =
        fields_int(j, "stateful") + fields_int(j, "flaky") + fields_int(j, "unstable");
    json_int_t edges = fields_int(j, "unstable_edges_total");
    size_t i, n = 0;

    json_array_foreach (list, i, v) {
        if (max != 0 && i >= max)
            break;
        print_finding(v, indent, out);
        n++;
    }
    if (told > (json_int_t)n)
        fprintf(out, "%s%lld more\n", indent, (long long)told - (long long)n);
    list = json_object_get(j, "smallest_pair");
    json_array_foreach (list, i, v) {
        fprintf(out, "%s%s", indent, i == 0 ? "smallest pair: " : "         then: ");
        print_name(fields_text(v, "file"), out);
        print_bytes(v, out);
    }
    list = json_object_get(j, "unstable_edges");
    n = 0;
    json_array_foreach (list, i, v) {
        const json_int_t state = fields_int(v, "stateful");

        if (max != 0 && i >= max)
            break;
        fprintf(out, "%sedge %lld varies in %lld input%s", indent, (long long)fields_int(v, "id"),
                (long long)fields_int(v, "inputs"), text_plural(fields_int(v, "inputs")));
        if (state > 0)
            fprintf(out, ", in %lld by how often it is run", (long long)state);
        fputc('\n', out);
        n++;
    }
    if (edges > (json_int_t)n)
        fprintf(out, "%sof edges %lld more\n", indent, (long long)edges - (long long)n);
}
