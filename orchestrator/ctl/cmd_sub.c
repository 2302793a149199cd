/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs that consist of subcommands: found by name, listed and run from the verb's own table, so that help, usage and what is run
 * cannot differ.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "ctl/cmd.h"

static const char *blank(const struct cmd_sub *sub)
{
    return sub->usage[0] == '\0' ? "" : " ";
}

int cmd_sub_usage(const struct cmd_entry *e, const struct cmd_sub *sub)
{
    (void)fprintf(stderr, "usage: fuzzctl %s %s%s%s\n", e->name, sub->name, blank(sub), sub->usage);
    return EXIT_USAGE;
}

int cmd_misuse(const struct cmd_entry *e, const struct cmd_sub *sub, const char *fmt, ...)
{
    cleanup_free char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = xstrdup("wrong usage");
    va_end(ap);
    (void)cmd_fail(e, EXIT_USAGE, "%s%s%s", sub != NULL ? sub->name : "", sub != NULL ? ": " : "",
                   text);
    return sub != NULL ? cmd_sub_usage(e, sub) : cmd_usage(e);
}

const struct cmd_sub *cmd_sub_find(const struct cmd_entry *e, const char *name)
{
    for (size_t i = 0; e->subs != NULL && e->subs[i] != NULL; i++) {
        if (strcmp(e->subs[i]->name, name) == 0)
            return e->subs[i];
    }
    return NULL;
}

void cmd_sub_list(const struct cmd_entry *e, FILE *out)
{
    for (size_t i = 0; e->subs[i] != NULL; i++)
        (void)fprintf(out, "  %s%s%s\n      %s\n", e->subs[i]->name, blank(e->subs[i]),
                      e->subs[i]->usage, e->subs[i]->help);
}

int cmd_sub_run(const struct cmd_entry *e, struct cmd_env *env, int argc, char **argv)
{
    const struct cmd_sub *sub = argc > 1 ? cmd_sub_find(e, argv[1]) : NULL;

    if (sub != NULL) {
        cleanup_free char *title = xasprintf("fuzzctl %s %s", e->name, sub->name);
        char *name = argv[1];
        int code;

        argv[1] = title; /* how getopt names it in what it says */
        code = sub->exec(env, argc - 1, argv + 1);
        argv[1] = name;
        return code;
    }
    if (argc > 1)
        (void)cmd_fail(e, EXIT_USAGE, "no subcommand \"%s\"", argv[1]);
    else
        (void)cmd_fail(e, EXIT_USAGE, "no subcommand is named");
    (void)fprintf(stderr, "usage: fuzzctl %s %s\n\n", e->name, e->usage);
    cmd_sub_list(e, stderr);
    return EXIT_USAGE;
}
