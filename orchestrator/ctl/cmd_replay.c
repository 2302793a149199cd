/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl replay: the standing gate. Every committed input through the invariants of
 * its target, in the build that a plain compiler makes: no AFL++, no daemon, no state.
 * What was not run never counts as passed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/cmd.h"
#include "ctl/given.h"
#include "ctl/manyrun.h"
#include "ctl/replay_harness.h"
#include "ctl/replay_scope.h"
#include "ctl/replay_target.h"
#include "ctl/spec_word.h"
#include "engine/runner.h"
#include "report/fields.h"
#include "spec/spec.h"

struct replay {
    const struct cmd_env *env;
    const char *junit;
    int64_t timeout_ms;
    char **names; /* of targets, borrowed; none: all */
    size_t n_names;
    bool *met; /* one a name */
    json_t *targets;
    struct strv done; /* what was replayed, by program and seeds */
    struct strv known;
    bool bad_spec;
    bool looking; /* whether the report would be an input, before anything is run */
    int refused;
    size_t left; /* targets that were not begun when we were interrupted */
};

static bool is_wanted(struct replay *r, const char *name)
{
    bool wanted = r->n_names == 0;

    for (size_t i = 0; i < r->n_names; i++) {
        if (strcmp(r->names[i], name) == 0)
            wanted = r->met[i] = true;
    }
    return wanted;
}

static void note_known(struct replay *r, const char *name)
{
    for (size_t i = 0; i < r->known.n; i++) {
        if (strcmp(r->known.v[i], name) == 0)
            return;
    }
    strv_add(&r->known, name);
}

/* A target stands in several campaigns; its inputs are run once. */
static bool is_done(struct replay *r, const struct spec_target *t)
{
    cleanup_free char *key = NULL;
    const char *program = t->replay != NULL ? t->replay : t->harness;

    if (program == NULL || t->seeds == NULL)
        return false;
    key = xasprintf("%s\n%s\n%s", t->name, program, t->seeds);
    for (size_t i = 0; i < r->done.n; i++) {
        if (strcmp(r->done.v[i], key) == 0)
            return true;
    }
    strv_take(&r->done, steal_ptr(&key));
    return false;
}

/* Faults of what replay does not use are none of its business. */
static bool spec_usable(const struct spec_faults *all, const char *path)
{
    struct spec_faults counting = {0};
    bool ok;

    for (size_t i = 0; i < all->n; i++) {
        const struct spec_fault *f = &all->v[i];

        if (replay_fault_counts(f))
            spec_faults_add(&counting, f->line, f->section, f->key, false, "%s", f->msg);
    }
    ok = counting.n == 0;
    spec_faults_print(&counting, path, stderr);
    spec_faults_clear(&counting);
    return ok;
}

static void replay_spec(struct replay *r, const char *path)
{
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};

    const int rc = spec_read(path, NULL, &spec, &faults, &err);

    if (r->looking) {
        if (r->refused == EXIT_DONE)
            r->refused = given_output_keeps(&cmd_replay, NULL, "--junit ", r->junit, &path, 1);
        if (rc == 0 && r->refused == EXIT_DONE)
            r->refused = given_output_check_spec(&cmd_replay, NULL, "--junit ", r->junit, spec);
    } else if (rc < 0) {
        r->bad_spec = true;
        (void)cmd_fail(&cmd_replay, EXIT_USAGE, "%s%s", err.msg,
                       rc == -ENOEXEC ? " (did you mean --harness?)" : "");
    } else if (!spec_usable(&faults, path)) {
        r->bad_spec = true;
    } else {
        for (size_t i = 0; i < spec->n_targets; i++) {
            const struct spec_target *t = &spec->targets[i];

            note_known(r, t->name);
            if (!is_wanted(r, t->name) || is_done(r, t))
                continue;
            if (manyrun_stop != 0)
                r->left++;
            else
                (void)json_array_append_new(r->targets,
                                            replay_target(spec, t, &faults, path, r->timeout_ms));
        }
    }
    spec_free(spec);
    spec_faults_clear(&faults);
}

static int is_spec_name(const struct dirent *de)
{
    size_t n = strlen(de->d_name);

    return de->d_name[0] != '.' && n > strlen(SPEC_WORD_EXT) &&
           strcmp(de->d_name + n - strlen(SPEC_WORD_EXT), SPEC_WORD_EXT) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int replay_folder(struct replay *r, const char *path)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, is_spec_name, by_name);

    if (n < 0)
        return cmd_fail(&cmd_replay, EXIT_USAGE, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        cleanup_free char *file = path_join(path, names[i]->d_name);

        replay_spec(r, file);
        free(names[i]);
    }
    free(names);
    return n > 0 ? EXIT_DONE
                 : cmd_fail(&cmd_replay, EXIT_USAGE, "%s: no *%s in this folder", path,
                            SPEC_WORD_EXT);
}

static bool is_there(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

static int replay_path(struct replay *r, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return replay_folder(r, path);
    replay_spec(r, path);
    return EXIT_DONE;
}

static int replay_named(struct replay *r, const char *path)
{
    if (path != NULL)
        return replay_path(r, path);
    if (is_there(SPEC_WORD_GATE))
        return replay_path(r, SPEC_WORD_GATE);
    if (is_there(SPEC_WORD_DIR))
        return replay_path(r, SPEC_WORD_DIR);
    if (r->n_names > 0)
        return cmd_fail(
            &cmd_replay, EXIT_USAGE,
            "%s: no such campaign file, and neither %s nor %s/ is there to have a target "
            "of that name",
            r->names[0], SPEC_WORD_GATE, SPEC_WORD_DIR);
    return cmd_fail(&cmd_replay, EXIT_USAGE, "name a campaign file: there is neither %s nor %s/",
                    SPEC_WORD_GATE, SPEC_WORD_DIR);
}

static int replay_all(struct replay *r, const char *path)
{
    int code = EXIT_DONE;

    if (r->junit != NULL) {
        r->looking = true;
        code = replay_named(r, path);
        r->looking = false;
    }
    if (code == EXIT_DONE)
        code = r->refused;
    return code == EXIT_DONE ? replay_named(r, path) : code;
}

static int check_names(const struct replay *r, const char *path)
{
    int code = EXIT_DONE;

    for (size_t i = 0; i < r->n_names; i++) {
        if (!r->met[i])
            code = given_no_target_of(&cmd_replay, NULL, path, (const char *const *)r->known.v,
                                      r->known.n, r->names[i]);
    }
    return code;
}

/* A failure must not be overlooked; then what kept inputs from being run; then what proves nothing. */
static int code_of(const json_t *targets)
{
    bool failed = false, error = false, vacuous = json_array_size(targets) == 0;
    const json_t *t;
    size_t i;

    json_array_foreach (targets, i, t) {
        failed |= fields_int(t, "failed") > 0;
        error |= json_array_size(json_object_get(t, "errors")) > 0;
        vacuous |= json_array_size(json_object_get(t, "inputs")) == 0 ||
                   json_array_size(json_object_get(t, "reach_missing")) > 0;
    }
    return failed ? EXIT_FINDINGS : error ? EXIT_ERROR : vacuous ? EXIT_VACUOUS : EXIT_DONE;
}

static int write_junit(const char *path, const json_t *doc)
{
    cleanup_free char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int r;

    if (out == NULL)
        return cmd_fail(&cmd_replay, EXIT_ERROR, "%s: %s", path, strerror(errno));
    replay_print_junit(doc, out);
    if (fclose(out) != 0)
        return cmd_fail(&cmd_replay, EXIT_ERROR, "%s: %s", path, strerror(errno));
    r = file_write_named(path, text, size, 0644);
    if (r < 0)
        return cmd_fail(&cmd_replay, EXIT_ERROR, "%s: %s", path, strerror(-r));
    return EXIT_DONE;
}

static int conclude(struct replay *r)
{
    json_int_t passed = 0, failed = 0, errors = 0;
    int code = code_of(r->targets), junit = EXIT_DONE;
    const json_t *t;
    json_t *doc;
    size_t i;

    if (r->left > 0 && code != EXIT_FINDINGS)
        code = EXIT_ERROR;
    if (r->bad_spec && code != EXIT_FINDINGS)
        code = EXIT_USAGE;
    json_array_foreach (r->targets, i, t) {
        passed += fields_int(t, "passed");
        failed += fields_int(t, "failed");
        errors += (json_int_t)json_array_size(json_object_get(t, "errors"));
        if (!r->env->json)
            replay_print_text(t, r->env->quiet, stdout);
    }
    doc = json_pack("{s:i, s:i, s:I, s:I, s:I, s:O}", "version", 1, "exit_code", code, "passed",
                    passed, "failed", failed, "errors", errors, "targets", r->targets);
    if (r->left > 0)
        (void)cmd_fail(&cmd_replay, EXIT_ERROR, "interrupted, %zu target%s not begun", r->left,
                       text_plural((int64_t)r->left));
    if (r->junit != NULL)
        junit = write_junit(r->junit, doc);
    if (code == EXIT_DONE)
        code = junit;
    (void)json_object_set_new(doc, "exit_code", json_integer(code));
    if (r->env->json)
        cmd_print_json(doc);
    else if ((!r->env->quiet || code != EXIT_DONE) &&
             (!r->bad_spec || json_array_size(r->targets) > 0))
        printf("%lld passed, %lld failed%s\n", passed, failed,
               code == EXIT_VACUOUS ? ", but that proves nothing" : "");
    json_decref(doc);
    return code;
}

/* h->program stays NULL without --harness. */
static int options_parse(struct replay *r, struct replay_harness *h, int argc, char **argv)
{
    static const struct option options[] = {{"junit", required_argument, NULL, 'j'},
                                            {"harness", required_argument, NULL, 'h'},
                                            {"engine", required_argument, NULL, 'e'},
                                            MANYRUN_OPTIONS,
                                            {0}};
    struct manyrun_limits limits = {0};
    int opt, code;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        code = EXIT_DONE;
        if (opt == 'j')
            r->junit = optarg;
        else if (opt == 'h')
            h->program = optarg;
        else if (opt == 'e')
            h->engine = optarg;
        else if (opt == '?')
            return cmd_usage(&cmd_replay);
        else
            code = manyrun_option(&cmd_replay, &limits, opt, optarg);
        if (code != EXIT_DONE)
            return code;
    }
    h->timeout_ms = r->timeout_ms = limits.timeout_ms;
    h->jobs = limits.jobs;
    h->memory_bytes = limits.memory_bytes;
    if (h->program == NULL &&
        (strcmp(h->engine, "auto") != 0 || h->jobs > 0 || h->memory_bytes > 0))
        return cmd_fail(&cmd_replay, EXIT_USAGE, "%s goes with --harness",
                        h->jobs > 0           ? "--jobs"
                        : h->memory_bytes > 0 ? "--memory"
                                              : "--engine");
    if (h->program != NULL && r->junit != NULL)
        return cmd_fail(&cmd_replay, EXIT_USAGE, "--junit does not go with --harness");
    return EXIT_DONE;
}

/* What follows "--" are arguments of the program. */
static int harness_exec(struct cmd_env *env, const struct replay_harness *h, int argc, char **argv,
                        char **rest, int n_rest)
{
    struct replay_harness all = *h;
    struct strv args = {0};
    int code;

    if (optind >= argc)
        return cmd_fail(&cmd_replay, EXIT_USAGE, "--harness %s: name files or folders of inputs",
                        h->program);
    for (int i = 0; i < n_rest; i++)
        strv_add(&args, rest[i]);
    all.args = &args;
    all.paths = argv + optind;
    all.n_paths = argc - optind;
    code = replay_harness(env, &all);
    strv_clear(&args);
    return code;
}

static int replay_exec(struct cmd_env *env, int argc, char **argv)
{
    struct replay r = {.env = env};
    struct replay_harness h = {.engine = "auto"};
    cleanup_free char *path = NULL;
    int ours = 1, code;

    while (ours < argc && strcmp(argv[ours], "--") != 0)
        ours++;
    code = options_parse(&r, &h, ours, argv);
    if (code == EXIT_DONE && h.program != NULL)
        return harness_exec(env, &h, ours, argv, argv + ours + 1, argc - ours - 1);
    if (code == EXIT_DONE && ours < argc)
        code = cmd_fail(&cmd_replay, EXIT_USAGE, "-- goes with --harness");
    if (code != EXIT_DONE)
        return code;
    if (optind < argc)
        path = spec_word(argv[optind]);
    if (path != NULL)
        optind++;
    r.names = argv + optind;
    r.n_names = (size_t)(argc - optind);
    r.met = xcalloc(r.n_names + 1, sizeof(*r.met));
    r.targets = json_array();
    manyrun_catch();
    code = replay_all(&r, path);
    if (code == EXIT_DONE && !r.bad_spec)
        code = check_names(&r, path);
    if (code == EXIT_DONE) {
        replay_share_reach(r.targets);
        code = conclude(&r);
    }
    json_decref(r.targets);
    strv_clear(&r.done);
    strv_clear(&r.known);
    free(r.met);
    return code;
}

const struct cmd_entry cmd_replay = {
    .name = "replay",
    .usage = "[SPEC] [TARGET...] [--timeout TIME] [--junit FILE] [--json]\n"
             "       fuzzctl replay --harness PROGRAM [--engine auto|fork|batch|native] [--jobs N] "
             "[--timeout TIME]\n"
             "                      [--memory SIZE] [--json] PATH... [-- ARGUMENTS]",
    .help = "run the committed seeds through the invariants of their targets, or any inputs",
    .exec = replay_exec,
    .stateless = true,
};
