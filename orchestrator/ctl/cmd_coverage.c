/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl coverage: what the inputs of targets cover, as edges and as lines of source. It reads, and writes nothing but the pages of
 * --html, which are made beside their place and get their name when they are whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/path.h"
#include "corpus/outfolder.h"
#include "ctl/coverage.h"
#include "ctl/given.h"
#include "ctl/spec_word.h"
#include "report/fields.h"

#define HTML_MODE 0755

struct run {
    struct coverage_opts o;
    struct strv given;
    char *html;
    struct beside html_tmp;
    struct spec *spec;
    char **names; /* of targets, borrowed; none: all */
    size_t n_names;
    bool by_default; /* nobody named the campaign file */
    json_t *targets;
};

static int parse_options(struct run *r, int argc, char **argv)
{
    static const struct option options[] = {{"corpus", required_argument, NULL, 'c'},
                                            {"html", required_argument, NULL, 'h'},
                                            MANYRUN_OPTIONS,
                                            {0}};
    int opt, code = EXIT_DONE;

    optind = 1;
    while (code == EXIT_DONE && (opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'c')
            strv_add(&r->given, optarg);
        else if (opt == 'h')
            str_set(&r->html, optarg);
        else if (opt == '?')
            return cmd_usage(&cmd_coverage);
        else
            code = manyrun_option(&cmd_coverage, &r->o.limits, opt, optarg);
    }
    return code;
}

/* A build that is not there is told where it is missed. */
static int load_spec(struct run *r, const char *path)
{
    struct spec_faults all = {0}, counting = {0};
    struct err err = {0};
    int code = EXIT_DONE;

    if (spec_read(path, NULL, &r->spec, &all, &err) < 0)
        return cmd_fail(&cmd_coverage, EXIT_USAGE, "%s", err.msg);
    for (size_t i = 0; i < all.n; i++) {
        const struct spec_fault *f = &all.v[i];

        if (!f->warning && !f->unbuilt)
            spec_faults_add(&counting, f->line, f->section, f->key, false, "%s", f->msg);
    }
    if (counting.n > 0) {
        spec_faults_print(&counting, path, stderr);
        code = EXIT_USAGE;
    }
    spec_faults_clear(&counting);
    spec_faults_clear(&all);
    return code;
}

static int check_names(const struct run *r)
{
    for (size_t i = 0; i < r->n_names; i++) {
        bool met = false;

        for (size_t k = 0; k < r->spec->n_targets; k++)
            met |= strcmp(r->spec->targets[k].name, r->names[i]) == 0;
        if (!met)
            return given_no_target(&cmd_coverage, NULL, r->spec, r->names[i]);
    }
    return EXIT_DONE;
}

static bool is_wanted(const struct run *r, const char *name)
{
    for (size_t i = 0; i < r->n_names; i++) {
        if (strcmp(r->names[i], name) == 0)
            return true;
    }
    return r->n_names == 0;
}

/* That the places are there, before anything is run. */
static int check_given(const struct run *r)
{
    for (size_t i = 0; i < r->given.n; i++) {
        struct stat st;

        if (stat(r->given.v[i], &st) < 0)
            return cmd_fail(&cmd_coverage, EXIT_USAGE, "--corpus %s: %s", r->given.v[i],
                            strerror(errno));
    }
    return EXIT_DONE;
}

/* That the pages would be no inputs. */
static int check_html(const struct run *r)
{
    int code = given_output_check(&cmd_coverage, NULL, "--html ", r->html, r->given.v, r->given.n);

    return code == EXIT_DONE
               ? given_output_check_spec(&cmd_coverage, NULL, "--html ", r->html, r->spec)
               : code;
}

static int open_html(struct run *r)
{
    struct err err = {0};
    int rc;

    if (r->html == NULL)
        return EXIT_DONE;
    if (outfolder_check(r->html, &err) < 0)
        return cmd_fail(&cmd_coverage, EXIT_USAGE, "--html %s", err.msg);
    rc = beside_make(r->html, BESIDE_FOLDER, HTML_MODE, &r->html_tmp);
    if (rc < 0)
        return cmd_fail(&cmd_coverage, EXIT_ERROR, "--html %s: %s", r->html, strerror(-rc));
    r->o.html = r->html_tmp.path;
    return EXIT_DONE;
}

/* Names of targets are letters, digits, '_' and '-': nothing in them is markup. */
static int close_html(struct run *r)
{
    cleanup_free char *index = NULL, *text = NULL;
    size_t size = 0, i;
    const json_t *t;
    FILE *out = open_memstream(&text, &size);
    int rc;

    if (out == NULL)
        return cmd_fail(&cmd_coverage, EXIT_ERROR, "%s", strerror(errno));
    (void)fputs("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Coverage</title>\n<ul>\n", out);
    json_array_foreach (r->targets, i, t)
        (void)fprintf(out, "<li><a href=\"%s/index.html\">%s</a></li>\n", fields_text(t, "target"),
                      fields_text(t, "target"));
    (void)fputs("</ul>\n", out);
    if (fclose(out) != 0)
        return cmd_fail(&cmd_coverage, EXIT_ERROR, "%s", strerror(errno));
    index = path_join(r->html_tmp.path, "index.html");
    rc = file_write_atomic(AT_FDCWD, index, text, size, 0644);
    if (rc == 0)
        rc = beside_whole(&r->html_tmp);
    if (rc == 0 && rename(r->html_tmp.path, r->html) < 0)
        rc = -errno;
    if (rc < 0)
        return cmd_fail(&cmd_coverage, EXIT_ERROR, "--html %s: %s", r->html, strerror(-rc));
    beside_placed(&r->html_tmp);
    return EXIT_DONE;
}

static int tell_errors(const json_t *target, bool vacuous)
{
    const json_t *errors = json_object_get(target, "errors"), *e;
    size_t i;

    json_array_foreach (errors, i, e)
        (void)cmd_fail(&cmd_coverage, EXIT_ERROR, "%s: %s", fields_text(target, "target"),
                       json_string_value(e));
    return vacuous ? EXIT_VACUOUS : i > 0 ? EXIT_ERROR : EXIT_DONE;
}

static int measure(struct run *r)
{
    int code = EXIT_DONE;

    for (size_t i = 0; i < r->spec->n_targets; i++) {
        const struct spec_target *t = &r->spec->targets[i];
        json_t *doc;
        int rc = 0, one;

        if (!is_wanted(r, t->name))
            continue;
        doc = coverage_target(&r->o, r->spec, t, &rc);
        (void)json_array_append_new(r->targets, doc);
        if (rc == -ECANCELED)
            return cmd_fail(&cmd_coverage, EXIT_ERROR, "interrupted");
        if (!r->o.env->json)
            coverage_print(doc, r->spec->root, r->o.env->quiet, stdout);
        one = tell_errors(doc, rc == -ENODATA);
        if (code == EXIT_DONE || one == EXIT_ERROR)
            code = one;
    }
    return code;
}

static int run(struct run *r, int argc, char **argv)
{
    cleanup_free char *path = optind < argc ? spec_word(argv[optind]) : NULL;
    int code, html = EXIT_DONE;

    if (path != NULL) {
        optind++;
    } else {
        if (access(SPEC_WORD_GATE, F_OK) < 0 && optind < argc)
            return cmd_fail(
                &cmd_coverage, EXIT_USAGE,
                "%s: no such campaign file, and there is no %s to have a target of that "
                "name",
                argv[optind], SPEC_WORD_GATE);
        if (access(SPEC_WORD_GATE, F_OK) < 0)
            return cmd_fail(
                &cmd_coverage, EXIT_USAGE,
                "name a campaign file: there is no %s, which is taken where none is named",
                SPEC_WORD_GATE);
        path = xstrdup(SPEC_WORD_GATE);
        r->by_default = true;
    }
    r->names = argv + optind;
    r->n_names = (size_t)(argc - optind);
    code = load_spec(r, path);
    if (code == EXIT_DONE)
        code = check_names(r);
    if (code == EXIT_DONE)
        code = check_given(r);
    if (code == EXIT_DONE && r->html != NULL)
        code = check_html(r);
    if (code == EXIT_DONE && r->given.n == 0)
        code = cmd_state_check(r->o.env);
    if (code == EXIT_DONE)
        code = open_html(r);
    if (code != EXIT_DONE)
        return code;
    if (r->by_default && !r->o.env->json && !r->o.env->quiet)
        printf("of the targets in %s, as no campaign file is named:\n", path);
    manyrun_catch();
    code = measure(r);
    if (r->html_tmp.path != NULL && code == EXIT_DONE)
        html = close_html(r);
    if (r->o.env->json)
        cmd_print_json_take(json_pack(
            "{s:i, s:o, s:o, s:O}", "version", 1, "campaign", fields_string(r->spec->name), "html",
            fields_string(r->html_tmp.path == NULL ? r->html : NULL), "targets", r->targets));
    return code != EXIT_DONE ? code : html;
}

static int coverage_exec(struct cmd_env *env, int argc, char **argv)
{
    struct run r = {.o = {.env = env}, .targets = json_array()};
    int code;

    r.o.given = &r.given;
    code = parse_options(&r, argc, argv);
    if (code == EXIT_DONE)
        code = run(&r, argc, argv);
    beside_clear(&r.html_tmp);
    free(r.html);
    spec_free(r.spec);
    strv_clear(&r.given);
    json_decref(r.targets);
    return code;
}

const struct cmd_entry cmd_coverage = {
    .name = "coverage",
    .usage = "[SPEC] [TARGET...] [--corpus PATH]... [--html FOLDER] [--jobs N] [--timeout TIME]\n"
             "                        [--memory SIZE] [--json]",
    .help = "what the inputs of targets cover: edges, and lines of source that are missing",
    .exec = coverage_exec,
    .stateless = true,
};
