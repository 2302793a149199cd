/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl init: a commented spec for one program. The text is loaded again before it gets its name, so that a path a spec
 * cannot hold is told here and not at the first run; an existing file is only replaced with --force.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/shell.h"
#include "ctl/cmd.h"
#include "ctl/given.h"
#include "plan/draft.h"
#include "spec/spec.h"

struct init {
    const char *out, *name, *seeds, *dict;
    bool force;
};

/* The faults of a spec that has no seeds yet; they were told in other words. */
static bool fault_expected(const struct spec_fault *f, const struct draft *d)
{
    return f->warning || (!d->seeds_there && strcmp(f->key, "seeds") == 0);
}

/* Whether the text says what the draft meant. 0, or an exit code with the reason printed. */
static int read_back(const char *tmp, const struct draft *d)
{
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    const struct draft_build *h = &d->builds[DRAFT_HARNESS];
    int code = EXIT_DONE;

    if (spec_read(tmp, NULL, &spec, &faults, &err) < 0) {
        code = cmd_fail(&cmd_init, EXIT_ERROR, "%s", err.msg);
    } else if (spec->n_targets == 1 && (spec->targets[0].harness == NULL ||
                                        strcmp(spec->targets[0].harness, h->path) != 0)) {
        code =
            cmd_fail(&cmd_init, EXIT_USAGE, "%s: a spec cannot hold this path; rename it", h->path);
    }
    for (size_t i = 0; i < faults.n && code == EXIT_DONE; i++) {
        if (!fault_expected(&faults.v[i], d))
            code = cmd_fail(&cmd_init, EXIT_USAGE, "[%s] %s: %s", faults.v[i].section,
                            faults.v[i].key, faults.v[i].msg);
    }
    spec_free(spec);
    spec_faults_clear(&faults);
    return code;
}

/* The text under its name: linked there, which fails when the name is taken, or renamed over it. */
static int put_file(const struct init *in, const char *out, const char *text, const struct draft *d)
{
    cleanup_free char *dir = path_dirname(out);
    cleanup_free char *tmp = xasprintf("%s/.fuzzctl-init.%d.ini", dir, (int)getpid());
    struct stat st;

    if (lstat(out, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return cmd_fail(&cmd_init, EXIT_ERROR, "%s is there and no plain file; name another", out);
    int r = file_write_atomic(AT_FDCWD, tmp, text, strlen(text), 0644);
    if (r < 0)
        return cmd_fail(&cmd_init, EXIT_ERROR, "%s: %s", out, strerror(-r));
    int code = read_back(tmp, d);
    if (code != EXIT_DONE) {
        (void)unlink(tmp);
        return code;
    }
    r = in->force ? rename(tmp, out) : link(tmp, out);
    r = r < 0 ? -errno : file_sync_parent(AT_FDCWD, out);
    (void)unlink(tmp);
    if (r == -EEXIST)
        return cmd_fail(&cmd_init, EXIT_ERROR, "%s is there already; --force replaces it", out);
    if (r < 0)
        return cmd_fail(&cmd_init, EXIT_ERROR, "%s: %s", out, strerror(-r));
    return EXIT_DONE;
}

static void tell(const struct cmd_env *env, const struct strv *lines, const char *what)
{
    for (size_t i = 0; i < lines->n && !env->quiet; i++) {
        size_t size = 4 * strlen(lines->v[i]) + 1;
        cleanup_free char *safe = xmalloc(size);

        (void)fprintf(stderr, "%s: %s\n", what, text_printable(safe, size, lines->v[i]));
    }
}

static void tell_next(const char *out)
{
    (void)fputs("next: fuzzctl check ", stdout);
    shell_quote(stdout, out);
    (void)fputs(" && fuzzctl run ", stdout);
    shell_quote(stdout, out);
    (void)putchar('\n');
}

/* Where the spec will lie, links resolved, as the spec's reader sees it. NULL with the reason printed. */
static char *spec_folder(const char *out)
{
    cleanup_free char *dir = path_dirname(out);
    char real[PATH_MAX];

    if (realpath(dir, real) != NULL)
        return xstrdup(real);
    (void)cmd_fail(&cmd_init, EXIT_ERROR, "%s: %s", dir, strerror(errno));
    return NULL;
}

/* -o, or the name that is taken by itself, must be no seed and nothing that the spec would name. */
static int check_out(const char *out, const char *program, const struct draft *d)
{
    const char *files[DRAFT_ROLES + 2] = {program, d->dict};
    int code = given_output_check(&cmd_init, NULL, "-o ", out, (char *const *)&d->seeds, 1);

    for (int i = 0; i < DRAFT_ROLES; i++)
        files[i + 2] = d->builds[i].path;
    return code == EXIT_DONE
               ? given_output_keeps(&cmd_init, NULL, "-o ", out, files, DRAFT_ROLES + 2)
               : code;
}

static int init_write(const struct cmd_env *env, const struct init *in, const char *program,
                      const struct strv *args)
{
    bool to_stdout = in->out != NULL && strcmp(in->out, "-") == 0;
    cleanup_free char *dir = spec_folder(in->out == NULL || to_stdout ? "./x" : in->out);
    struct draft d = {0};
    struct err err = {0};

    if (dir == NULL)
        return EXIT_ERROR;
    if (draft_gather(program, args, in->seeds, in->dict, dir, &d, &err) < 0)
        return cmd_fail(&cmd_init, EXIT_USAGE, "%s", err.msg);
    if (in->out != NULL && !to_stdout && check_out(in->out, program, &d) != EXIT_DONE) {
        draft_clear(&d);
        return EXIT_USAGE;
    }
    if (in->name != NULL)
        str_set(&d.name, in->name);
    cleanup_free char *text = draft_text(&d, dir);
    cleanup_free char *out = in->out != NULL ? xstrdup(in->out) : xasprintf("%s.ini", d.name);
    int code = EXIT_DONE;
    if (to_stdout)
        (void)fputs(text, stdout);
    else
        code = put_file(in, out, text, &d);
    if (code == EXIT_DONE) {
        tell(env, &d.beside, "passed over");
        tell(env, &d.missing, "note");
        if (!env->quiet && !env->json && !to_stdout)
            tell_next(out);
    }
    draft_clear(&d);
    return code;
}

static int init_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"name", required_argument, NULL, 'n'},
        {"seeds", required_argument, NULL, 's'},  {"dictionary", required_argument, NULL, 'x'},
        {"force", no_argument, NULL, 'f'},        {0}};
    static const char *const names[] = {"program", CMD_MORE, NULL};
    struct init in = {0};
    struct strv args = {0};
    int opt;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
        switch (opt) {
        case 'o':
            in.out = optarg;
            break;
        case 'n':
            in.name = optarg;
            break;
        case 's':
            in.seeds = optarg;
            break;
        case 'x':
            in.dict = optarg;
            break;
        case 'f':
            in.force = true;
            break;
        default:
            return cmd_usage(&cmd_init);
        }
    }
    opt = cmd_words(&cmd_init, NULL, argv + optind, names, 1);
    if (opt != EXIT_DONE)
        return opt;
    if (in.name != NULL && !path_name_ok(in.name, 40))
        return cmd_fail(&cmd_init, EXIT_USAGE,
                        "\"%s\" is no name; allowed: 1 to 40 of [A-Za-z0-9_-]", in.name);
    const char *program = argv[optind];
    for (int i = optind + 1; i < argc; i++)
        strv_add(&args, argv[i]);
    int code = init_write(env, &in, program, &args);
    strv_clear(&args);
    return code;
}

const struct cmd_entry cmd_init = {
    .name = "init",
    .usage = "PROGRAM [-o FILE] [--name NAME] [--seeds DIR] [--dictionary FILE] [--force] "
             "[-- ARG...]",
    .help = "write a commented spec for a program built by afl-cc",
    .exec = init_exec,
    .stateless = true,
};
