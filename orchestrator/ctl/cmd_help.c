/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl help: the verbs, from the table. */
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/cmd.h"

static int help_exec(struct cmd_env *env, int argc, char **argv)
{
    (void)env;
    if (argc > 2)
        return cmd_usage(&cmd_help);
    for (size_t i = 0; argc == 2 && cmd_table[i] != NULL; i++) {
        if (strcmp(cmd_table[i]->name, argv[1]) != 0)
            continue;
        printf("usage: fuzzctl %s%s%s\n\n%s\n", argv[1], cmd_table[i]->usage[0] == '\0' ? "" : " ",
               cmd_table[i]->usage, cmd_table[i]->help);
        return EXIT_DONE;
    }
    if (argc == 2)
        return cmd_fail(&cmd_help, EXIT_USAGE, "no verb \"%s\"", argv[1]);
    puts("usage: fuzzctl [--state DIR] [--json] [--quiet] VERB ...\n");
    for (size_t i = 0; cmd_table[i] != NULL; i++)
        printf("  %-10s %s\n", cmd_table[i]->name, cmd_table[i]->help);
    puts("\nThe manual is fuzzctl(1); campaign files are described in fuzzd-campaign(5).");
    return EXIT_DONE;
}

const struct cmd_entry cmd_help = {
    .name = "help",
    .usage = "[VERB]",
    .help = "the verbs, or one verb's usage",
    .exec = help_exec,
};
