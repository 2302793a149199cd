/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl help: the verbs, from the table. */
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/cmd.h"

static int help_verb(const struct cmd_entry *e, const char *sub_name)
{
    const struct cmd_sub *sub = sub_name != NULL ? cmd_sub_find(e, sub_name) : NULL;

    if (sub != NULL) {
        printf("usage: fuzzctl %s %s%s%s\n\n%s\n", e->name, sub->name,
               sub->usage[0] == '\0' ? "" : " ", sub->usage, sub->help);
        return EXIT_DONE;
    }
    if (sub_name != NULL)
        return cmd_fail(&cmd_help, EXIT_USAGE, "%s has no subcommand \"%s\"", e->name, sub_name);
    printf("usage: fuzzctl %s%s%s\n\n%s\n", e->name, e->usage[0] == '\0' ? "" : " ", e->usage,
           e->help);
    if (e->subs != NULL) {
        putchar('\n');
        cmd_sub_list(e, stdout);
    }
    return EXIT_DONE;
}

static int help_exec(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"verb", "subcommand", NULL};
    const int code = cmd_plain(&cmd_help, NULL, argc, argv, names, 0);
    char *const *words = argv + optind;

    (void)env;
    if (code != EXIT_DONE)
        return code;
    for (size_t i = 0; words[0] != NULL && cmd_table[i] != NULL; i++) {
        if (strcmp(cmd_table[i]->name, words[0]) == 0)
            return help_verb(cmd_table[i], words[1]);
    }
    if (words[0] != NULL)
        return cmd_fail(&cmd_help, EXIT_USAGE, "no verb \"%s\"", words[0]);
    puts("usage: fuzzctl [--state DIR] [--json] [-q|--quiet] [--no-color] VERB ...\n");
    for (size_t i = 0; cmd_table[i] != NULL; i++)
        printf("  %-10s %s\n", cmd_table[i]->name, cmd_table[i]->help);
    puts("\n  --state DIR    the state directory, as FUZZ_STATE; these may also follow the verb\n"
         "  --json         one JSON document instead of text, where the verb has one\n"
         "  -q, --quiet    nothing on success; of verbs that only show, less or the same\n"
         "  --no-color     no colours and no redrawing, as NO_COLOR\n\n"
         "`fuzzctl help VERB` or `fuzzctl VERB --help` tells of one verb, also of a subcommand.\n"
         "The manual is fuzzctl(1); campaign files are described in fuzzd-campaign(5).");
    return EXIT_DONE;
}

const struct cmd_entry cmd_help = {
    .name = "help",
    .usage = "[VERB [SUBCOMMAND]]",
    .help = "the verbs, or the usage of one",
    .exec = help_exec,
    .stateless = true,
};
