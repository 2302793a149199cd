/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl corpus stats: what lies in corpora, and with a harness what it is worth. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/sort.h"
#include "corpus/contents.h"
#include "ctl/corpus.h"
#include "ctl/corpus_harness.h"
#include "ctl/corpus_places.h"
#include "ctl/given.h"
#include "ctl/spec_word.h"
#include "ctl/unread.h"
#include "report/fields.h"

struct run {
    const struct cmd_env *env;
    struct corpus_harness harness;
    struct inputs inputs;
    json_t *places;
};

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The smallest of the sorted sizes that pct percent are no larger than. */
static json_int_t percentile(const uint64_t *sizes, size_t n, unsigned pct)
{
    return n == 0 ? 0 : (json_int_t)sizes[(n * pct + 99) / 100 - (pct > 0 ? 1 : 0)];
}

static void count_instance(json_t *instances, const char *path)
{
    cleanup_free char *name = contents_instance(path);
    cleanup_free char *safe = name != NULL ? fields_safe(name) : NULL;

    if (safe != NULL)
        (void)json_object_set_new(
            instances, safe,
            json_integer(json_integer_value(json_object_get(instances, safe)) + 1));
}

/* Of the inputs from number first on. */
static void describe(struct run *r, const char *name, const char *path, size_t first)
{
    cleanup_free uint64_t *sizes = xcalloc(r->inputs.n - first + 1, sizeof(*sizes));
    json_t *instances = json_object();
    int64_t oldest = 0, newest = 0;
    json_int_t bytes = 0;
    size_t n = 0;

    for (size_t i = first; i < r->inputs.n; i++) {
        int64_t time_s;

        if (inputs_stat(&r->inputs, i, &sizes[n], &time_s) < 0)
            continue;
        bytes += (json_int_t)sizes[n++];
        oldest = n == 1 || time_s < oldest ? time_s : oldest;
        newest = time_s > newest ? time_s : newest;
        count_instance(instances, r->inputs.v[i]);
    }
    array_sort(sizes, n, sizeof(*sizes), by_size);
    (void)json_array_append_new(
        r->places,
        json_pack("{s:s, s:o, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:o, s:o}", "place", name,
                  "path", fields_string(path), "files", (json_int_t)(r->inputs.n - first), "bytes",
                  bytes, "size", "min", percentile(sizes, n, 0), "p50", percentile(sizes, n, 50),
                  "p90", percentile(sizes, n, 90), "p99", percentile(sizes, n, 99), "max",
                  percentile(sizes, n, 100), "oldest", fields_time(oldest * 1000), "newest",
                  fields_time(newest * 1000), "instances", instances));
}

static int add_place(struct run *r, const char *name, const char *path)
{
    const size_t first = r->inputs.n;
    const int code = given_inputs_add(&cmd_corpus, "stats", &r->inputs, path);

    if (code == EXIT_DONE)
        describe(r, name, path, first);
    return code;
}

/* ---- what it is worth ---- */
static int measure(struct run *r, json_t *doc)
{
    const struct edge_count c = corpus_harness_count(&r->harness, r->env, &r->inputs);
    struct edges_result e;
    struct err err = {0};
    json_t *ended = json_object();
    size_t enough = 0;
    int rc = edge_count(&c, &e, &err);

    if (rc == 0) {
        for (int i = 0; i < EDGES_ENDS; i++)
            (void)json_object_set_new(ended, edges_end_name((enum edges_end)i),
                                      json_integer((json_int_t)e.count[i]));
        rc = edge_count_enough(&c, &enough, &err);
    }
    if (rc == 0)
        (void)json_object_set_new(doc, "edges",
                                  json_pack("{s:I, s:I, s:I, s:I, s:O}", "covered",
                                            (json_int_t)e.edges, "map", (json_int_t)e.map_bytes,
                                            "tuples", (json_int_t)e.tuples, "enough",
                                            (json_int_t)enough, "ended", ended));
    json_decref(ended);
    if (rc < 0)
        return cmd_fail(&cmd_corpus, rc == -EINVAL || rc == -ENOENT ? EXIT_USAGE : EXIT_ERROR,
                        "stats: %s", rc == -ECANCELED ? "interrupted" : err.msg);
    edges_result_clear(&e);
    return EXIT_DONE;
}

/* ---- for people ---- */
static void print_size(const json_t *size, const char *key, const char *word)
{
    char text[32];

    printf(", %s %s", word, format_size(text, sizeof(text), fields_int(size, key)));
}

static void print_place(const json_t *p)
{
    const json_t *size = json_object_get(p, "size"), *n;
    json_t *instances = json_object_get(p, "instances");
    const char *name, *comma = "  ";
    char bytes[32];

    printf("%s ", fields_text(p, "place"));
    fields_print(stdout, p, "path");
    printf("\n  %lld file%s, %s", (long long)fields_int(p, "files"),
           text_plural(fields_int(p, "files")),
           format_bytes(bytes, sizeof(bytes), fields_int(p, "bytes")));
    if (fields_int(p, "files") > 0) {
        print_size(size, "min", "smallest");
        print_size(size, "p50", "half up to");
        print_size(size, "p90", "90 % up to");
        print_size(size, "p99", "99 % up to");
        print_size(size, "max", "largest");
        if (!json_is_null(json_object_get(p, "newest")))
            printf("\n  from %s to %s", fields_text(p, "oldest"), fields_text(p, "newest"));
    }
    putchar('\n');
    json_object_foreach (instances, name, n) {
        printf("%s%s %lld", comma, name, (long long)json_integer_value(n));
        comma = ", ";
    }
    if (json_object_size(instances) > 0)
        putchar('\n');
}

static void print_doc(const json_t *doc)
{
    const json_t *edges = json_object_get(doc, "edges"), *p;
    size_t i;

    json_array_foreach (json_object_get(doc, "places"), i, p)
        print_place(p);
    printf("together %lld file%s, %lld content%s", (long long)fields_int(doc, "files"),
           text_plural(fields_int(doc, "files")), (long long)fields_int(doc, "contents"),
           text_plural(fields_int(doc, "contents")));
    if (fields_int(doc, "unread") > 0)
        printf(", not read: %lld", (long long)fields_int(doc, "unread"));
    putchar('\n');
    if (!json_is_object(edges))
        return;
    printf("%lld edge%s of a map of %lld, %lld edges and counts\n",
           (long long)fields_int(edges, "covered"), text_plural(fields_int(edges, "covered")),
           (long long)fields_int(edges, "map"), (long long)fields_int(edges, "tuples"));
    printf("%lld file%s enough for that, %lld redundant\n", (long long)fields_int(edges, "enough"),
           fields_int(edges, "enough") == 1 ? " is" : "s are",
           (long long)(fields_int(json_object_get(edges, "ended"), "ok") -
                       fields_int(edges, "enough")));
    p = json_object_get(edges, "ended");
    if (fields_int(p, "crash") + fields_int(p, "timeout") + fields_int(p, "lost") > 0)
        printf("not counted: %lld crash, %lld timeout, %lld lost\n",
               (long long)fields_int(p, "crash"), (long long)fields_int(p, "timeout"),
               (long long)fields_int(p, "lost"));
}

/* ---- the verb ---- */
static bool is_spec(const char *word)
{
    const size_t n = strlen(word), ext = strlen(SPEC_WORD_EXT);
    struct stat st;

    return n > ext && strcmp(word + n - ext, SPEC_WORD_EXT) == 0 && stat(word, &st) == 0 &&
           S_ISREG(st.st_mode);
}

static int collect(struct run *r, int argc, char **argv)
{
    cleanup_free char *spec = spec_word(argv[optind]);
    struct corpus_place found[CORPUS_PLACES_MAX];
    int code = EXIT_DONE;
    size_t n;

    if (spec == NULL || !is_spec(spec)) {
        for (int i = optind; i < argc && code == EXIT_DONE; i++)
            code = add_place(r, "given", argv[i]);
        return code;
    }
    if (argc - optind > 2)
        return cmd_misuse(&cmd_corpus, &corpus_stats, "one target at a time: %s is one too many",
                          argv[optind + 2]);
    if (r->harness.path != NULL)
        return cmd_misuse(&cmd_corpus, &corpus_stats,
                          "--harness does not go with a campaign file, which names its own");
    code = corpus_harness_spec(&r->harness, "stats", spec, argv[optind + 1]);
    if (code == EXIT_DONE)
        code = cmd_state_check(r->env);
    if (code != EXIT_DONE)
        return code;
    n = corpus_places_find(r->env, r->harness.spec, r->harness.t, found);
    for (size_t i = 0; i < n && code == EXIT_DONE; i++)
        code = add_place(r, found[i].name, found[i].path);
    corpus_places_clear(found, n);
    return code;
}

static int stats(struct run *r)
{
    struct contents c;
    json_t *doc;
    int code = EXIT_DONE;

    if (contents_find(&r->inputs, &manyrun_stop, &c) < 0)
        return cmd_fail(&cmd_corpus, EXIT_ERROR, "stats: interrupted");
    doc = json_pack(
        "{s:i, s:O, s:I, s:I, s:I, s:n, s:o}", "version", 1, "places", r->places, "files",
        (json_int_t)r->inputs.n, "contents", (json_int_t)c.count[CONTENTS_FIRST], "unread",
        (json_int_t)c.count[CONTENTS_UNREAD], "edges", "unread_files", unread_json(&r->inputs, &c));
    if (r->harness.path != NULL && r->inputs.n > 0)
        code = measure(r, doc);
    if (code == EXIT_DONE && r->env->json) {
        cmd_print_json(doc);
    } else if (code == EXIT_DONE) {
        if (!r->env->quiet)
            unread_print(&r->inputs, &c);
        print_doc(doc);
    }
    json_decref(doc);
    contents_clear(&c);
    return code == EXIT_DONE ? given_inputs_check(&cmd_corpus, "stats", &r->inputs) : code;
}

static int stats_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {
        {"harness", required_argument, NULL, 'h'}, MANYRUN_OPTIONS, {0}};
    struct run r = {.env = env, .places = json_array()};
    int ours = 1, opt, code = EXIT_DONE;

    while (ours < argc && strcmp(argv[ours], "--") != 0)
        ours++;
    for (int i = ours + 1; i < argc; i++)
        strv_add(&r.harness.args, argv[i]);
    optind = 1;
    while (code == EXIT_DONE && (opt = getopt_long(ours, argv, "", options, NULL)) != -1) {
        if (opt == 'h')
            str_set(&r.harness.path, optarg);
        else
            code = opt == '?' ? cmd_sub_usage(&cmd_corpus, &corpus_stats)
                              : manyrun_option(&cmd_corpus, &r.harness.limits, opt, optarg);
    }
    if (code == EXIT_DONE && optind >= ours)
        code = cmd_misuse(&cmd_corpus, &corpus_stats, "no corpus and no campaign file is named");
    if (code == EXIT_DONE)
        code = collect(&r, ours, argv);
    if (code == EXIT_DONE)
        code = corpus_harness_check(&r.harness, "stats");
    if (code == EXIT_DONE) {
        manyrun_catch();
        code = stats(&r);
    }
    corpus_harness_clear(&r.harness);
    json_decref(r.places);
    inputs_clear(&r.inputs);
    return code;
}

const struct cmd_sub corpus_stats = {
    .name = "stats",
    .usage = "PATH... [--harness PROGRAM] [-- ARGUMENTS]\n"
             "       fuzzctl corpus stats SPEC [TARGET]",
    .help = "files, sizes and ages of corpora, and what they cover and what of them is redundant",
    .exec = stats_exec,
    .stateless = true,
};
