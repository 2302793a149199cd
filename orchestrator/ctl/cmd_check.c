/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl check: every fault of one or many specs, one line each, and nothing started. What the file itself shows comes
 * first; then, for the paths that are fine, what the programs and this host show.
 */
#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/cmd.h"
#include "plan/admit.h"
#include "plan/host.h"

/* One run of the verb. */
struct check {
    const struct cmd_env *env;
    bool effective, json;
    struct aflprobe *afl; /* NULL: not installed, or it could not be asked */
    bool afl_asked;
    char afl_missing[300];
    json_t *files; /* with json */
    int code;
};

static void ask_afl(struct check *c)
{
    cleanup_free char *cache = path_join(c->env->state_dir, "cache");
    struct err err = {0};
    if (c->afl_asked)
        return;
    c->afl_asked = true;
    bool may_keep =
        access(c->env->state_dir, W_OK) == 0 && path_state_check(c->env->state_dir, &err) == 0;

    if (aflprobe_run(NULL, may_keep ? cache : NULL, &c->afl, &err) < 0)
        (void)snprintf(c->afl_missing, sizeof(c->afl_missing), "%.250s", err.msg);
}

/* Without afl-fuzz only what holds for any version is a fault; its own warnings mean nothing. */
static void admit_any_version(const struct spec *spec, const struct plan_host *host,
                              struct spec_faults *faults)
{
    char unknown[] = "?";
    const struct aflprobe any = {.version = unknown, .new_forkserver = true};
    struct spec_faults found = {0};
    for (size_t i = 0; i < spec->n_targets; i++)
        admit_target(spec, &spec->targets[i], &any, host, &found);
    for (size_t i = 0; i < found.n; i++) {
        const struct spec_fault *f = &found.v[i];
        if (!f->warning)
            spec_faults_add(faults, f->line, f->section, f->key, false, "%s", f->msg);
    }
    spec_faults_clear(&found);
}

/* What programs and host show. A spec with faults of its own is not planned, but its programs are looked at. */
static void check_programs(struct check *c, const struct spec *spec, struct spec_faults *faults)
{
    struct plan_host *host = NULL;
    struct plan *plan = NULL;
    struct err err = {0};
    size_t before = spec_faults_errors(faults);
    if (spec->n_targets == 0)
        return;
    ask_afl(c);
    if (plan_host_gather(spec, c->env->state_dir, true, &host, &err) < 0) {
        spec_faults_add(faults, 0, NULL, NULL, false, "%s", err.msg);
        return;
    }
    if (c->afl == NULL) {
        spec_faults_add(faults, 0, NULL, NULL, true, "%s; what it can drive is not checked",
                        c->afl_missing);
        admit_any_version(spec, host, faults);
    } else if (before > 0) {
        for (size_t i = 0; i < spec->n_targets; i++) {
            if (path_name_ok(spec->targets[i].name, PLAN_NAME_MAX))
                admit_target(spec, &spec->targets[i], c->afl, host, faults);
        }
    } else if (plan_build(spec, c->afl, host, &plan, faults, &err) < 0 &&
               spec_faults_errors(faults) == before) {
        spec_faults_add(faults, 0, NULL, NULL, false, "%s", err.msg);
    }
    plan_free(plan);
    plan_host_free(host);
}

static void add_json(struct check *c, const char *path, const struct spec *spec,
                     const struct spec_faults *faults)
{
    json_t *list = json_array();
    for (size_t i = 0; i < faults->n; i++) {
        const struct spec_fault *f = &faults->v[i];
        json_array_append_new(list, json_pack("{s:s*,s:i,s:s,s:s,s:s,s:b}", "file",
                                              f->file[0] != '\0' ? f->file : NULL, "line", f->line,
                                              "section", f->section, "key", f->key, "message",
                                              f->msg, "warning", (int)f->warning));
    }
    json_array_append_new(c->files, json_pack("{s:s,s:b,s:I,s:o}", "file", path, "ok",
                                              (int)(spec_faults_errors(faults) == 0), "targets",
                                              (json_int_t)(spec != NULL ? spec->n_targets : 0),
                                              "faults", list));
}

/* The spec is as it should be, and says what is to be done: told once a target. To run it is another matter. */
static void excuse_unbuilt(struct spec_faults *faults)
{
    size_t kept = 0;
    char section[sizeof(faults->v->section)] = "";

    for (size_t i = 0; i < faults->n; i++) {
        struct spec_fault *f = &faults->v[i];

        if (f->unbuilt && strcmp(f->section, section) == 0)
            continue;
        if (f->unbuilt)
            (void)strlcpy(section, f->section, sizeof(section));
        f->warning |= f->unbuilt;
        faults->v[kept++] = *f;
    }
    faults->n = kept;
}

static void check_file(struct check *c, const char *path)
{
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    if (spec_read(path, NULL, &spec, &faults, &err) < 0) {
        c->code = EXIT_USAGE;
        if (c->json) {
            spec_faults_add(&faults, 0, NULL, NULL, false, "%s", err.msg);
            add_json(c, path, NULL, &faults);
        } else {
            (void)fprintf(c->effective ? stderr : stdout, "%s\n", err.msg);
        }
        spec_faults_clear(&faults);
        return;
    }
    check_programs(c, spec, &faults);
    if (!c->effective)
        excuse_unbuilt(&faults);
    bool ok = spec_faults_errors(&faults) == 0;
    if (!ok)
        c->code = EXIT_USAGE;
    if (c->json) {
        add_json(c, path, spec, &faults);
    } else {
        spec_faults_print(&faults, path, c->effective ? stderr : stdout);
        if (ok && c->effective)
            spec_print_effective(spec, stdout);
        else if (ok && !c->env->quiet)
            (void)printf("%s: ok (%zu target%s)\n", path, spec->n_targets,
                         text_plural((int64_t)spec->n_targets));
    }
    spec_free(spec);
    spec_faults_clear(&faults);
}

static int is_spec_name(const struct dirent *de)
{
    size_t n = strlen(de->d_name);
    return de->d_name[0] != '.' && n > 4 && strcmp(de->d_name + n - 4, ".ini") == 0;
}

static int compare_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void check_folder(struct check *c, const char *path)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, is_spec_name, compare_bytes);
    if (n < 0)
        c->code = cmd_fail(&cmd_check, EXIT_USAGE, "%s: %s", path, strerror(errno));
    else if (n == 0)
        c->code = cmd_fail(&cmd_check, EXIT_USAGE, "%s: no *.ini in this folder", path);
    for (int i = 0; i < n; i++) {
        cleanup_free char *file = path_join(path, names[i]->d_name);
        check_file(c, file);
        free(names[i]);
    }
    free(names);
}

static int check_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {{"effective", no_argument, NULL, 'e'}, {0}};
    static const char *const names[] = {"campaign file or folder of them", CMD_MORE, NULL};
    struct check c = {.env = env, .json = env->json, .code = EXIT_DONE};
    int opt;
    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt != 'e')
            return cmd_usage(&cmd_check);
        c.effective = true;
    }
    opt = cmd_words(&cmd_check, NULL, argv + optind, names, 1);
    if (opt != EXIT_DONE)
        return opt;
    if (c.json && c.effective)
        return cmd_misuse(&cmd_check, NULL, "--effective and --json do not go together");
    if (env->state_dir == NULL)
        return cmd_state_check(env);
    if (c.json)
        c.files = json_array();
    for (int i = optind; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            check_folder(&c, argv[i]);
        else
            check_file(&c, argv[i]);
    }
    if (c.json) {
        json_t *j = json_pack("{s:i,s:o}", "version", 1, "files", c.files);
        cmd_print_json(j);
        json_decref(j);
    }
    aflprobe_free(c.afl);
    return c.code;
}

const struct cmd_entry cmd_check = {
    .name = "check",
    .usage = "FILE|DIR... [--effective | --json]",
    .help = "show every fault of specs, or (--effective) the values in force",
    .exec = check_exec,
    .stateless = true,
};
