/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report in Markdown, for an issue or a wiki. Text that came from outside is
 * escaped, commands and reports stand in indented blocks, where nothing has a meaning.
 */
#include "report/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "report/fields.h"
#include "report/stability.h"
#include "store/artifact.h"

#define SHUFFLE_TOLD 3 /* inputs, and edges */

/* Text in a paragraph or a table cell. */
static void put(FILE *out, const char *text)
{
    cleanup_free char *safe = fields_safe(text);

    for (const char *p = safe; *p != '\0'; p++) {
        if (strchr("\\`*_{}[]<>#|~", *p) != NULL)
            (void)fputc('\\', out);
        (void)fputc(*p, out);
    }
}

static void put_field(FILE *out, const json_t *j, const char *key)
{
    put(out, fields_text(j, key));
}

static void put_block(FILE *out, const char *title, const json_t *j, const char *key)
{
    if (fields_text(j, key)[0] == '\0')
        return;
    (void)fprintf(out, "\n%s:\n\n    ", title);
    fields_print(out, j, key);
    (void)fputc('\n', out);
}

static void put_head(FILE *out, const json_t *m)
{
    const json_t *versions = json_object_get(m, "versions"), *reason;
    const json_t *isolation = json_object_get(m, "isolation");
    const char *commit = fields_text(versions, "git_commit");
    char took[40], budget[40];
    size_t i;

    (void)fputs("# ", out);
    put_field(out, m, "campaign");
    (void)fputs(": ", out);
    put_field(out, m, fields_text(m, "verdict")[0] != '\0' ? "verdict" : "state");
    (void)fputs("\n\n", out);
    json_array_foreach (json_object_get(m, "reasons"), i, reason) {
        (void)fputs("- ", out);
        put(out, json_string_value(reason) != NULL ? json_string_value(reason) : "");
        (void)fputc('\n', out);
    }
    (void)fputs("\n| | |\n|---|---|\n| run | ", out);
    put_field(out, m, "run");
    (void)fputs(" |\n| started | ", out);
    put_field(out, m, "started_at");
    (void)fprintf(out, " |\n| took | %s, budget %s a target |\n| seed | %s |\n| afl-fuzz | ",
                  format_duration(took, sizeof(took), fields_int(m, "elapsed_s") * 1000),
                  format_duration(budget, sizeof(budget), fields_int(m, "budget_s") * 1000),
                  fields_text(m, "seed"));
    put_field(out, versions, "afl");
    (void)fputs(" |\n| fuzzctl | ", out);
    put_field(out, versions, "fuzzctl");
    if (commit[0] != '\0') {
        (void)fputs(" |\n| root at commit | ", out);
        put(out, commit);
        if (json_is_true(json_object_get(versions, "git_dirty")))
            (void)fputs(" with changes", out);
    }
    (void)fputs(" |\n| isolation | ", out);
    put_field(out, isolation, "cgroup");
    if (fields_text(isolation, "from")[0] != '\0') {
        (void)fputs(", from ", out);
        put_field(out, isolation, "from");
    }
    json_array_foreach (json_object_get(isolation, "why"), i, reason) {
        (void)fputs(i == 0 ? ": " : "; ", out);
        put(out, json_string_value(reason) != NULL ? json_string_value(reason) : "");
    }
    (void)fputs(" |\n", out);
    json_array_foreach (json_object_get(m, "frozen"), i, reason) {
        json_int_t n = fields_int(reason, "times");

        format_duration(took, sizeof(took), fields_int(reason, "ms") / 1000 * 1000);
        (void)fprintf(out, "| frozen | %lld time%s, %s in all: ", (long long)n, text_plural(n),
                      took);
        put_field(out, reason, "why");
        (void)fputs(" |\n", out);
    }
}

/* What depends on what was run before, or on chance. */
static void put_shuffle(FILE *out, const json_t *shuffle)
{
    cleanup_free char *line = NULL, *text = NULL;
    char *rest, *one;
    size_t size = 0;
    FILE *f;

    if (fields_int(shuffle, "inputs") <= 0)
        return;
    line = stability_line(shuffle);
    (void)fputs("; ", out);
    put(out, line);
    f = open_memstream(&text, &size);
    if (f == NULL)
        return;
    stability_print(shuffle, "", SHUFFLE_TOLD, f);
    if (fclose(f) != 0)
        return;
    rest = text;
    while ((one = strsep(&rest, "\n")) != NULL) {
        one += strspn(one, " ");
        if (one[0] == '\0')
            continue;
        (void)fputs("; ", out);
        put(out, one);
    }
}

static void put_targets(FILE *out, const json_t *targets)
{
    const json_t *t;
    size_t i;

    (void)fputs("\n## Targets\n\n"
                "| target | verdict | end | executions | per second | edges | stability | corpus |"
                " crash | oom | timeout | unreproduced |\n"
                "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
                out);
    json_array_foreach (targets, i, t) {
        (void)fputs("| ", out);
        put_field(out, t, "name");
        (void)fputs(" | ", out);
        put_field(out, t, fields_text(t, "verdict")[0] != '\0' ? "verdict" : "state");
        (void)fputs(" | ", out);
        put_field(out, t, "end_reason");
        (void)fprintf(out, " | %lld | %.0f | %lld of %lld | %.2f %% | %lld |",
                      (long long)fields_int(t, "execs_done"), fields_real(t, "execs_per_sec"),
                      (long long)fields_int(t, "edges_found"),
                      (long long)fields_int(t, "total_edges"), fields_real(t, "stability"),
                      (long long)fields_int(t, "corpus_count"));
        (void)fprintf(out, " %lld | %lld | %lld | %lld |\n", (long long)fields_int(t, "crashes"),
                      (long long)fields_int(t, "ooms"), (long long)fields_int(t, "timeouts"),
                      (long long)fields_int(t, "unreproduced"));
    }
    (void)fputc('\n', out);
    json_array_foreach (targets, i, t) {
        (void)fputs("- ", out);
        put_field(out, t, "name");
        (void)fputs(": ", out);
        put_field(out, t, "findings_note");
        if (fields_text(t, "start_failure")[0] != '\0') {
            (void)fputs("; did not start: ", out);
            put_field(out, t, "start_failure");
        }
        if (fields_int(json_object_get(t, "seeds"), "failed") > 0)
            (void)fprintf(out, "; %lld of %lld seeds failed before fuzzing",
                          (long long)fields_int(json_object_get(t, "seeds"), "failed"),
                          (long long)fields_int(json_object_get(t, "seeds"), "total"));
        if (fields_int(json_object_get(t, "corpus"), "files") > 0)
            (void)fprintf(out, "; %lld input%s with %lld edge%s kept for the next run",
                          (long long)fields_int(json_object_get(t, "corpus"), "files"),
                          text_plural(fields_int(json_object_get(t, "corpus"), "files")),
                          (long long)fields_int(json_object_get(t, "corpus"), "edges"),
                          text_plural(fields_int(json_object_get(t, "corpus"), "edges")));
        if (json_is_object(json_object_get(t, "sweep"))) {
            const json_t *sweep = json_object_get(t, "sweep");

            (void)fprintf(out, "; %lld queue entr%s run in the sanitizer build, %lld left",
                          (long long)fields_int(sweep, "swept"),
                          fields_int(sweep, "swept") == 1 ? "y" : "ies",
                          (long long)fields_int(sweep, "left"));
            if (fields_text(sweep, "why")[0] != '\0') {
                (void)fputs(": ", out);
                put_field(out, sweep, "why");
            }
        }
        put_shuffle(out, json_object_get(t, "shuffle"));
        if (fields_int(t, "lost") > 0) {
            const json_t *one;
            size_t k;

            (void)fprintf(out, "; lost, as their files are empty: %lld (" ARTIFACT_LOST_WORDS ")",
                          (long long)fields_int(t, "lost"));
            json_array_foreach (json_object_get(t, "lost_files"), k, one) {
                (void)fputs(k == 0 ? ": " : ", ", out);
                put(out, json_string_value(one) != NULL ? json_string_value(one) : "");
            }
            if (fields_int(t, "maybe_cut") > 0)
                (void)fprintf(out, "; %lld kept input%s may be cut",
                              (long long)fields_int(t, "maybe_cut"),
                              text_plural(fields_int(t, "maybe_cut")));
        }
        if (fields_text(t, "skipped")[0] != '\0') {
            (void)fputs("; skipped: ", out);
            put_field(out, t, "skipped");
        }
        if (fields_int(t, "edges_floor") >= 0)
            (void)fprintf(out, "; a rejected input has %lld edge%s",
                          (long long)fields_int(t, "edges_floor"),
                          text_plural(fields_int(t, "edges_floor")));
        if (json_is_object(json_object_get(t, "reach")))
            (void)fprintf(out, "; %zu reach id%s seen, %zu of %zu required ones missing",
                          json_object_size(json_object_get(t, "reach")),
                          text_plural((int64_t)json_object_size(json_object_get(t, "reach"))),
                          json_array_size(json_object_get(t, "reach_missing")),
                          json_array_size(json_object_get(t, "reach_required")));
        if (json_is_true(json_object_get(t, "saturated")))
            (void)fputs("; saturated", out);
        (void)fputc('\n', out);
    }
}

static void put_bucket(FILE *out, const json_t *b)
{
    (void)fputs("\n### ", out);
    put_field(out, b, "id");
    (void)fputs(": ", out);
    put_field(out, b, "class");
    (void)fputc(' ', out);
    put_field(out, b, "kind");
    (void)fputs(" in ", out);
    put_field(out, b, "target");
    (void)fprintf(out, "\n\n- severity %lld of 5, reproduced %s\n- signature: ",
                  (long long)fields_int(b, "severity"), fields_text(b, "reproduced"));
    put_field(out, b, "signature");
    if (fields_text(b, "signature_why")[0] != '\0') {
        (void)fputs(" (", out);
        put_field(out, b, "signature_why");
        (void)fputc(')', out);
    }
    (void)fprintf(out, "\n- inputs: %lld, files: %lld, first seen ",
                  (long long)fields_int(b, "inputs"), (long long)fields_int(b, "count"));
    put_field(out, b, "first_seen");
    (void)fputs(", over all runs ", out);
    put_field(out, b, "first_seen_ever");
    (void)fputc('\n', out);
    put_block(out, "Replay", b, "replay");
    put_block(out, "Bundle", b, "bundle");
}

void report_md(const json_t *model, FILE *out)
{
    const json_t *list, *j;
    size_t i;

    put_head(out, model);
    put_targets(out, json_object_get(model, "targets"));
    list = json_object_get(model, "buckets");
    if (json_array_size(list) > 0)
        (void)fputs("\n## Buckets\n", out);
    json_array_foreach (list, i, j)
        put_bucket(out, j);
    list = json_object_get(model, "unreproduced");
    if (json_array_size(list) > 0)
        (void)fputs("\n## Timeouts that did not reproduce\n", out);
    json_array_foreach (list, i, j) {
        (void)fputs("\n- ", out);
        put_field(out, j, "target");
        (void)fputs(": ", out);
        put_field(out, j, "file");
        (void)fprintf(out, ", %lld byte%s, reproduced %s\n", (long long)fields_int(j, "size"),
                      text_plural(fields_int(j, "size")), fields_text(j, "reproduced"));
        put_block(out, "Replay", j, "replay");
    }
}
