/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the command line are exit code 2, a corpus of nothing is 11; none of it runs anything. */
#include "ctl/given.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/input_paths.h"
#include "engine/runner.h"

#define LINKS_MAX 40 /* as the kernel follows */

static const char *colon(const char *sub)
{
    return sub != NULL ? ": " : "";
}

static const char *name_of(const char *sub)
{
    return sub != NULL ? sub : "";
}

int given_program(const struct cmd_entry *e, const char *sub, const char *label, const char *path,
                  bool server, struct elfprobe *ret)
{
    struct err err = {0};

    if (elfprobe_read(path, ret, &err) < 0)
        return cmd_fail(e, EXIT_USAGE, "%s%s%s %s", name_of(sub), colon(sub), label, err.msg);
    if (server && runner_engine_check(RUNNER_FORK, ret, &err) < 0)
        return cmd_fail(e, EXIT_USAGE, "%s%s%s %s %s", name_of(sub), colon(sub), label, path,
                        err.msg);
    return EXIT_DONE;
}

char *given_known(const char *const *known, size_t n, const char *name)
{
    char *list = xasprintf("no target named %s; there are:%s", name, n > 0 ? "" : " none");

    for (size_t i = 0; i < n; i++) {
        char *more = xasprintf("%s %s", list, known[i]);

        free(list);
        list = more;
    }
    return list;
}

char *given_known_targets(const struct spec *spec, const char *name)
{
    cleanup_free const char **known = xcalloc(spec->n_targets + 1, sizeof(*known));

    for (size_t i = 0; i < spec->n_targets; i++)
        known[i] = spec->targets[i].name;
    return given_known(known, spec->n_targets, name);
}

int given_no_target_of(const struct cmd_entry *e, const char *sub, const char *path,
                       const char *const *known, size_t n, const char *name)
{
    cleanup_free char *words = given_known(known, n, name);

    return cmd_fail(e, EXIT_USAGE, "%s%s%s%s%s", name_of(sub), colon(sub), path != NULL ? path : "",
                    path != NULL ? ": " : "", words);
}

int given_no_target(const struct cmd_entry *e, const char *sub, const struct spec *spec,
                    const char *name)
{
    cleanup_free char *words = given_known_targets(spec, name);

    return cmd_fail(e, EXIT_USAGE, "%s%s%s: %s", name_of(sub), colon(sub), spec->path, words);
}

int given_inputs_add(const struct cmd_entry *e, const char *sub, struct inputs *list,
                     const char *path)
{
    struct err err = {0};

    return input_paths_add(list, path, &err) == 0
               ? EXIT_DONE
               : cmd_fail(e, EXIT_USAGE, "%s%s%s", name_of(sub), colon(sub), err.msg);
}

char *given_no_inputs(const struct inputs *list)
{
    if (list->passed_over == 0)
        return xstrdup("there are no inputs");
    return xasprintf(
        "there are no inputs: %zu link%s or the like in folders, which are not followed",
        list->passed_over, text_plural((int64_t)list->passed_over));
}

int given_inputs_check(const struct cmd_entry *e, const char *sub, const struct inputs *list)
{
    cleanup_free char *why = NULL;

    if (list->n > 0)
        return EXIT_DONE;
    why = given_no_inputs(list);
    return cmd_fail(e, EXIT_VACUOUS, "%s%s%s", name_of(sub), colon(sub), why);
}

/* Where a link leads to, whether or not something is there. Caller frees. */
static char *link_end(const char *path)
{
    char *end = xstrdup(path), target[PATH_MAX];

    for (int i = 0; i < LINKS_MAX; i++) {
        ssize_t n = readlink(end, target, sizeof(target) - 1);

        if (n <= 0)
            break;
        target[n] = '\0';
        cleanup_free char *dir = path_dirname(end);
        free(end);
        end = target[0] == '/' ? xstrdup(target) : path_join(dir, target);
    }
    return end;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat sa, sb;

    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && S_ISREG(sa.st_mode) &&
           sa.st_ino == sb.st_ino && sa.st_dev == sb.st_dev;
}

int given_output_check(const struct cmd_entry *e, const char *sub, const char *label,
                       const char *out, char *const *paths, size_t n)
{
    cleanup_free char *end = link_end(out); /* a link is written through */

    for (size_t i = 0; i < n; i++) {
        if (inputs_takes(paths[i], out) || inputs_takes(paths[i], end))
            return cmd_fail(e, EXIT_USAGE,
                            "%s%s%s%s: would be among the inputs in %s from then on; name a place "
                            "outside of it",
                            name_of(sub), colon(sub), label, out, paths[i]);
        if (is_same_file(paths[i], out))
            return cmd_fail(e, EXIT_USAGE, "%s%s%s%s: is itself an input; name another",
                            name_of(sub), colon(sub), label, out);
    }
    return EXIT_DONE;
}

int given_output_keeps(const struct cmd_entry *e, const char *sub, const char *label,
                       const char *out, const char *const *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (files[i] != NULL && is_same_file(files[i], out))
            return cmd_fail(e, EXIT_USAGE, "%s%s%s%s: is %s, which is read; name another",
                            name_of(sub), colon(sub), label, out, files[i]);
    }
    return EXIT_DONE;
}

int given_output_check_spec(const struct cmd_entry *e, const char *sub, const char *label,
                            const char *out, const struct spec *spec)
{
    const char *const own = spec->path;
    int code = given_output_keeps(e, sub, label, out, &own, 1);

    for (size_t i = 0; i < spec->n_targets && code == EXIT_DONE; i++) {
        const struct spec_target *t = &spec->targets[i];
        const char *const files[] = {t->harness, t->cmplog,   t->sanitizer, t->replay,
                                     t->laf,     t->coverage, t->mutator,   t->dictionary};

        code = given_output_keeps(e, sub, label, out, files, sizeof(files) / sizeof(*files));
        if (code == EXIT_DONE)
            code =
                given_output_keeps(e, sub, label, out, (const char *const *)t->watch.v, t->watch.n);
        if (code == EXIT_DONE)
            code = given_output_check(e, sub, label, out, t->regressions.v, t->regressions.n);
        if (code == EXIT_DONE && t->seeds != NULL)
            code = given_output_check(e, sub, label, out, &t->seeds, 1);
    }
    return code;
}
