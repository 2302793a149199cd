/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for a terminal of 80 columns: the verdict and its reasons first, then
 * each target, then each bucket with the command that replays it. Only commands and
 * paths may be wider, as they are there to be pasted.
 */
#include "report/model.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "report/fields.h"
#include "report/stability.h"
#include "store/artifact.h"

#define WIDTH        80
#define LABEL_WIDTH  13
#define LABEL_BLANKS "             " /* so many */
#define SHUFFLE_TOLD 3               /* inputs, and edges */
#define SEEDS_NAMED  10              /* seeds that failed */
#define LOST_NAMED   10
#define STABILITY_OTHER_WORDS                                                                      \
    "afl-fuzz's stability is the share of edges that stay the same when it runs an input again "   \
    "at once; the shuffle also runs it alone and behind others"

struct page {
    FILE *out;
    bool color;
};

static const char *sgr(const struct page *p, const char *code)
{
    return p->color ? code : "";
}

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

static const char *verdict_color(const char *verdict)
{
    if (strcmp(verdict, "clean") == 0)
        return "\033[1;32m";
    return strcmp(verdict, "findings") == 0 ? "\033[1;31m" : "\033[1;33m";
}

/* Text broken at blanks so that it fits, each further line begun with indent blanks; the cursor is at column at. */
static void print_wrapped(FILE *out, int at, int indent, const char *text)
{
    cleanup_free char *safe = fields_safe(text);
    bool fresh = true; /* nothing on this line yet that could be broken off */

    for (const char *p = safe; *p != '\0';) {
        size_t blanks = strspn(p, " "), n = strcspn(p + blanks, " ");

        if (!fresh && at + (int)(blanks + n) > WIDTH) {
            (void)fprintf(out, "\n%*s", indent, "");
            at = indent;
            p += blanks;
            blanks = 0;
        }
        (void)fwrite(p, 1, blanks + n, out);
        at += (int)(blanks + n);
        p += blanks + n;
        fresh = false;
    }
    (void)fputc('\n', out);
}

static void print_line(FILE *out, int indent, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void print_line(FILE *out, int indent, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)fprintf(out, "%*s", indent, "");
    print_wrapped(out, indent, indent + 2, text);
}

/* "  label      text", further lines under the text. */
static void print_item(const struct page *p, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void print_item(const struct page *p, const char *label, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)fprintf(p->out, "  %-10s ", label);
    print_wrapped(p->out, LABEL_WIDTH, LABEL_WIDTH, text);
}

static const char *duration(char *buf, size_t size, json_int_t s)
{
    return format_duration(buf, size, (int64_t)s * 1000);
}

static void print_head(const struct page *p, const json_t *m)
{
    const char *verdict = fields_text(m, "verdict");
    const json_t *versions = json_object_get(m, "versions"), *reason;
    const json_t *isolation = json_object_get(m, "isolation");
    const char *commit = fields_text(versions, "git_commit");
    char took[40], budget[40];
    size_t i;

    (void)fputs(sgr(p, BOLD), p->out);
    fields_print(p->out, m, "campaign");
    (void)fprintf(p->out, "%s: %s", sgr(p, PLAIN), sgr(p, verdict_color(verdict)));
    fields_print(p->out, m, verdict[0] != '\0' ? "verdict" : "state");
    (void)fprintf(p->out, "%s\n", sgr(p, PLAIN));
    json_array_foreach (json_object_get(m, "reasons"), i, reason) {
        (void)fputs("  - ", p->out);
        print_wrapped(p->out, 4, 4, json_string_value(reason) ? json_string_value(reason) : "");
    }
    (void)fputc('\n', p->out);
    print_line(p->out, 0, "run %s, started %s", fields_text(m, "run"),
               fields_text(m, "started_at"));
    print_line(p->out, 0, "took %s, budget %s a target, seed %s",
               duration(took, sizeof(took), fields_int(m, "elapsed_s")),
               duration(budget, sizeof(budget), fields_int(m, "budget_s")), fields_text(m, "seed"));
    print_line(p->out, 0, "afl-fuzz %s, fuzzctl %s%s%.12s%s", fields_text(versions, "afl"),
               fields_text(versions, "fuzzctl"), commit[0] != '\0' ? ", root at commit " : "",
               commit, json_is_true(json_object_get(versions, "git_dirty")) ? " with changes" : "");
    if (fields_text(isolation, "cgroup")[0] != '\0')
        print_line(p->out, 0, "isolation: cgroup %s%s%s", fields_text(isolation, "cgroup"),
                   fields_text(isolation, "from")[0] != '\0' ? ", from " : "",
                   fields_text(isolation, "from"));
    json_array_foreach (json_object_get(isolation, "why"), i, reason)
        print_line(p->out, 2, "%s", json_string_value(reason) ? json_string_value(reason) : "");
    json_array_foreach (json_object_get(m, "frozen"), i, reason) {
        json_int_t n = fields_int(reason, "times");

        print_line(p->out, 0, "frozen %lld time%s, %s in all: %s", (long long)n, text_plural(n),
                   duration(took, sizeof(took), fields_int(reason, "ms") / 1000),
                   fields_text(reason, "why"));
    }
}

static void print_reach(const struct page *p, const json_t *t)
{
    const json_t *required = json_object_get(t, "reach_required");
    const json_t *reach = json_object_get(t, "reach");
    size_t n = json_array_size(required),
           missing = json_array_size(json_object_get(t, "reach_missing"));

    if (fields_text(t, "reach_error")[0] != '\0')
        print_item(p, "reach", "not measured: %s", fields_text(t, "reach_error"));
    else if (json_is_object(reach) && n > 0)
        print_item(p, "reach", "%zu of %zu required ids, %zu id%s in all", n - missing, n,
                   json_object_size(reach), text_plural((int64_t)json_object_size(reach)));
    else if (json_is_object(reach))
        print_item(p, "reach", "%zu id%s seen, none required", json_object_size(reach),
                   text_plural((int64_t)json_object_size(reach)));
}

/* What the run of the seeds before fuzzing came to, where that was not "all passed". */
static void print_seeds(const struct page *p, const json_t *t)
{
    const json_t *seeds = json_object_get(t, "seeds"), *one;
    json_int_t failed = fields_int(seeds, "failed"), total = fields_int(seeds, "total");
    size_t i;

    if (failed > 0)
        print_item(p, "seeds", "%lld of %lld failed before fuzzing%s", (long long)failed,
                   (long long)total,
                   json_is_true(json_object_get(seeds, "left_out")) ? ", left out" : "");
    json_array_foreach (json_object_get(seeds, "failures"), i, one) {
        if (i == SEEDS_NAMED)
            break;
        print_item(p, "", "%s: %s %s", fields_text(one, "file"), fields_text(one, "class"),
                   fields_text(one, "inv"));
    }
    if (failed > SEEDS_NAMED)
        print_item(p, "", "and %lld more", (long long)failed - SEEDS_NAMED);
    if (fields_int(seeds, "left") > 0)
        print_item(p, failed > 0 ? "" : "seeds", "%lld of %lld not replayed before fuzzing",
                   (long long)fields_int(seeds, "left"), (long long)total);
    if (fields_text(seeds, "why")[0] != '\0')
        print_item(p, failed > 0 ? "" : "seeds", "%s", fields_text(seeds, "why"));
}

/* What it began with, and what it leaves to the next run. */
static void print_corpus(const struct page *p, const json_t *t)
{
    const json_t *start = json_object_get(json_object_get(t, "seeds"), "start");
    const json_t *kept = json_object_get(t, "corpus"), *before = json_object_get(kept, "before");
    json_int_t failed = fields_int(start, "kept_failed");
    char size[32], more[96] = "";

    if (fields_int(start, "files") > 0)
        print_item(p, "start", "%lld input%s%s, %lld of the last run among those looked at",
                   (long long)fields_int(start, "files"), text_plural(fields_int(start, "files")),
                   json_is_true(json_object_get(start, "distilled")) ? ", distilled" : "",
                   (long long)fields_int(start, "kept"));
    if (failed > 0)
        print_item(p, "", "%lld that the last run kept fail%s now", (long long)failed,
                   failed == 1 ? "s" : "");
    if (fields_int(before, "files") > 0)
        (void)snprintf(more, sizeof(more), " (before: %lld, %lld edges)",
                       (long long)fields_int(before, "files"),
                       (long long)fields_int(before, "edges"));
    if (fields_int(kept, "files") > 0)
        print_item(p, "kept", "%lld input%s, %s, %lld edge%s, for the next run%s%s",
                   (long long)fields_int(kept, "files"), text_plural(fields_int(kept, "files")),
                   format_bytes(size, sizeof(size), fields_int(kept, "bytes")),
                   (long long)fields_int(kept, "edges"), text_plural(fields_int(kept, "edges")),
                   more, json_is_true(json_object_get(kept, "distilled")) ? "" : ", not distilled");
    if (fields_text(kept, "why")[0] != '\0')
        print_item(p, "kept", "not renewed: %s", fields_text(kept, "why"));
}

/* A note: what its inputs do depends on what was run before, or on chance. */
static void print_shuffle(const struct page *p, const json_t *t)
{
    const json_t *shuffle = json_object_get(t, "shuffle");
    const char *why = fields_text(shuffle, "why");
    cleanup_free char *line = NULL;

    if (why[0] != '\0')
        print_item(p, "shuffle", "not done: %s", why);
    if (fields_int(shuffle, "inputs") <= 0)
        return;
    line = stability_line(shuffle);
    print_item(p, "shuffle", "%s", line);
    stability_print(shuffle, LABEL_BLANKS, SHUFFLE_TOLD, p->out);
    if (fields_int(shuffle, "stateful") + fields_int(shuffle, "flaky") +
                fields_int(shuffle, "unstable") >
            0 &&
        fields_real(t, "stability") >= 100)
        print_item(p, "", "%s", STABILITY_OTHER_WORDS);
}

/* The queues in the sanitizer build. */
static void print_sweep(const struct page *p, const json_t *t)
{
    const json_t *sweep = json_object_get(t, "sweep");
    json_int_t swept = fields_int(sweep, "swept"), left = fields_int(sweep, "left");
    json_int_t failed = fields_int(sweep, "failed"), large = fields_int(sweep, "too_large");
    json_int_t alike = fields_int(sweep, "alike");
    char more[160] = "";
    int n = 0;

    if (left > 0)
        n = snprintf(more, sizeof(more), ", %lld left", (long long)left);
    if (failed > 0)
        n += snprintf(more + n, sizeof(more) - (size_t)n, ", %lld failed", (long long)failed);
    if (alike > 0)
        n += snprintf(more + n, sizeof(more) - (size_t)n, " (%lld like others, not kept)",
                      (long long)alike);
    if (large > 0)
        (void)snprintf(more + n, sizeof(more) - (size_t)n, ", %lld too large", (long long)large);
    if (swept > 0 || left > 0)
        print_item(p, "sweep", "%lld queue entr%s run in the sanitizer build%s", (long long)swept,
                   swept == 1 ? "y" : "ies", more);
    if (fields_text(sweep, "why")[0] != '\0')
        print_item(p, swept > 0 || left > 0 ? "" : "sweep", "%s", fields_text(sweep, "why"));
}

/* Files of afl-fuzz that a full disk left empty, and those that it may have cut. */
static void print_lost(const struct page *p, const json_t *t)
{
    json_int_t lost = fields_int(t, "lost"), cut = fields_int(t, "maybe_cut");
    const json_t *one;
    size_t i;

    if (lost == 0)
        return;
    print_item(p, "lost", "%lld crash or hang file%s empty: %s", (long long)lost,
               lost == 1 ? " is" : "s are", ARTIFACT_LOST_WORDS);
    json_array_foreach (json_object_get(t, "lost_files"), i, one) {
        if (i == LOST_NAMED)
            break;
        print_item(p, "", "%s", json_string_value(one) != NULL ? json_string_value(one) : "");
    }
    if (lost > LOST_NAMED)
        print_item(p, "", "and %lld more", (long long)lost - LOST_NAMED);
    if (cut > 0)
        print_item(p, "", "%lld kept input%s may be cut: saved in the same minute, in whole pages",
                   (long long)cut, text_plural(cut));
}

static void print_target(const struct page *p, const json_t *t)
{
    const char *verdict = fields_text(t, "verdict"), *end = fields_text(t, "end_reason");
    json_int_t edges = fields_int(t, "edges_found"), total = fields_int(t, "total_edges");
    json_int_t restarts = fields_int(t, "restarts"), kills = fields_int(t, "oom_kills");
    const json_t *one;
    size_t i;
    json_int_t seeds = fields_int(t, "corpus_seeds");
    char execs[32], rate[32], took[40], of[64] = "", floor[48] = "", stability[48] = "";

    (void)fprintf(p->out, "\n%s", sgr(p, BOLD));
    fields_print(p->out, t, "name");
    (void)fprintf(p->out, "%s: %s", sgr(p, PLAIN), sgr(p, verdict_color(verdict)));
    fields_print(p->out, t, verdict[0] != '\0' ? "verdict" : "state");
    (void)fprintf(p->out, "%s\n", sgr(p, PLAIN));
    if (fields_text(t, "start_failure")[0] != '\0')
        print_item(p, "start", "%s", fields_text(t, "start_failure"));
    if (fields_text(t, "skipped")[0] != '\0')
        print_item(p, "skipped", "%s", fields_text(t, "skipped"));
    print_item(p, "end", "%s after %s of fuzzing%s", end[0] != '\0' ? end : fields_text(t, "state"),
               duration(took, sizeof(took), fields_int(t, "fuzz_s")),
               json_is_true(json_object_get(t, "saturated")) ? ", saturated" : "");
    print_item(p, "executions", "%s, %s/s",
               format_count(execs, sizeof(execs), (double)fields_int(t, "execs_done")),
               format_count(rate, sizeof(rate), fields_real(t, "execs_per_sec")));
    if (total > 0)
        (void)snprintf(of, sizeof(of), " of %lld (%.1f %%)", (long long)total,
                       100.0 * (double)edges / (double)total);
    if (fields_int(t, "edges_floor") >= 0)
        (void)snprintf(floor, sizeof(floor), "; a rejected input has %lld",
                       (long long)fields_int(t, "edges_floor"));
    if (fields_int(t, "execs_done") > 0)
        (void)snprintf(stability, sizeof(stability), ", stability by afl-fuzz %.2f %%",
                       fields_real(t, "stability"));
    print_item(p, "edges", "%lld%s%s", (long long)edges, of, floor);
    print_item(p, "", "%s", fields_text(t, "findings_note"));
    print_item(p, "corpus", "%lld from %lld seed%s%s", (long long)fields_int(t, "corpus_count"),
               (long long)seeds, text_plural(seeds), stability);
    print_item(p, "inputs", "crash %lld, oom %lld, timeout %lld, unreproduced %lld",
               (long long)fields_int(t, "crashes"), (long long)fields_int(t, "ooms"),
               (long long)fields_int(t, "timeouts"), (long long)fields_int(t, "unreproduced"));
    if (fields_int(t, "pending") > 0 || fields_int(t, "unsaved") > 0)
        print_item(p, "", "not triaged %lld, not kept %lld", (long long)fields_int(t, "pending"),
                   (long long)fields_int(t, "unsaved"));
    print_lost(p, t);
    print_seeds(p, t);
    print_sweep(p, t);
    print_corpus(p, t);
    print_shuffle(p, t);
    if (fields_int(t, "corpus_failed") > fields_int(json_object_get(t, "seeds"), "failed"))
        print_item(p, "", "%lld of its seeds or queues fail when replayed",
                   (long long)fields_int(t, "corpus_failed"));
    print_reach(p, t);
    json_array_foreach (json_object_get(t, "instances"), i, one)
        if (fields_int(one, "rotations") > 0)
            print_item(p, "",
                       "%s went on in another folder %lld time%s: AFL++ saves only so much in "
                       "one",
                       fields_text(one, "name"), (long long)fields_int(one, "rotations"),
                       text_plural(fields_int(one, "rotations")));
    if (restarts > 0 || kills > 0)
        print_item(p, "instances", "%lld restart%s, %lld kill%s for memory", (long long)restarts,
                   text_plural(restarts), (long long)kills, text_plural(kills));
}

/* A label and a text that must stay on one line. */
static void print_whole(const struct page *p, const char *label, const json_t *j, const char *key)
{
    if (fields_text(j, key)[0] == '\0')
        return;
    (void)fprintf(p->out, "  %-10s ", label);
    fields_print(p->out, j, key);
    (void)fputc('\n', p->out);
}

static void print_bucket(const struct page *p, const json_t *b)
{
    const char *ever = fields_text(b, "first_seen_ever"), *first = fields_text(b, "first_seen");
    const char *shows = fields_text(b, "shows"), *kind = fields_text(b, "kind");
    bool named = kind[0] != '\0' && strcmp(kind, shows) != 0;
    json_int_t inputs = fields_int(b, "inputs"), count = fields_int(b, "count");
    bool as = shows[0] != '\0' && strcmp(shows, fields_text(b, "class")) != 0;

    (void)fprintf(p->out, "\n%sbucket ", sgr(p, BOLD));
    fields_print(p->out, b, "id");
    (void)fprintf(p->out, "%s\n", sgr(p, PLAIN));
    print_line(p->out, 2, "%s%s%s%s%s in %s, severity %lld of 5, reproduced %s",
               fields_text(b, "class"), as ? " " : "", as ? shows : "", named ? " " : "",
               named ? kind : "", fields_text(b, "target"), (long long)fields_int(b, "severity"),
               fields_text(b, "reproduced"));
    print_item(p, "signature", "%s", fields_text(b, "signature"));
    if (fields_text(b, "signature_why")[0] != '\0')
        print_item(p, "", "%s", fields_text(b, "signature_why"));
    print_item(p, "seen", "%lld input%s in %lld file%s, first %s%s%s", (long long)inputs,
               text_plural(inputs), (long long)count, text_plural(count), first,
               strcmp(ever, first) != 0 ? ", in earlier runs since " : "",
               strcmp(ever, first) != 0 ? ever : "");
    print_whole(p, "replay", b, "replay");
    print_whole(p, "bundle", b, "bundle");
}

void report_text(const json_t *model, bool color, FILE *out)
{
    struct page p = {.out = out, .color = color};
    const json_t *list, *j;
    size_t i;

    print_head(&p, model);
    json_array_foreach (json_object_get(model, "targets"), i, j)
        print_target(&p, j);
    json_array_foreach (json_object_get(model, "buckets"), i, j)
        print_bucket(&p, j);
    list = json_object_get(model, "unreproduced");
    if (json_array_size(list) > 0)
        (void)fprintf(out, "\n%stimeouts that did not reproduce%s\n", sgr(&p, BOLD),
                      sgr(&p, PLAIN));
    json_array_foreach (list, i, j) {
        print_line(out, 2, "%s: %s, %lld byte%s, reproduced %s", fields_text(j, "target"),
                   fields_text(j, "file"), (long long)fields_int(j, "size"),
                   text_plural(fields_int(j, "size")), fields_text(j, "reproduced"));
        print_whole(&p, "replay", j, "replay");
    }
}
