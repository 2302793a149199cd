/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a command line: what is missing or too much is said in one line, by every verb in the same way. Options are
 * getopt's, which says itself what is wrong with them.
 */
#include <getopt.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/cmd.h"

int cmd_words(const struct cmd_entry *e, const struct cmd_sub *sub, char *const *words,
              const char *const *names, size_t needed)
{
    size_t n = 0;

    for (; words[n] != NULL && names[n] != NULL; n++) {
        if (strcmp(names[n], CMD_MORE) == 0)
            return EXIT_DONE;
    }
    if (n < needed)
        return cmd_misuse(e, sub, "no %s is named", names[n]);
    if (words[n] == NULL)
        return EXIT_DONE;
    if (n == 0)
        return cmd_misuse(e, sub, "%s is one too many: there is nothing to name", words[n]);
    if (n == 1)
        return cmd_misuse(e, sub, "one %s at a time: %s is one too many", names[0], words[n]);
    return cmd_misuse(e, sub, "%s is one too many", words[n]);
}

int cmd_plain(const struct cmd_entry *e, const struct cmd_sub *sub, int argc, char **argv,
              const char *const *names, size_t needed)
{
    static const struct option none[] = {{0}};

    optind = 1;
    if (getopt_long(argc, argv, "", none, NULL) != -1)
        return sub != NULL ? cmd_sub_usage(e, sub) : cmd_usage(e);
    return cmd_words(e, sub, argv + optind, names, needed);
}
