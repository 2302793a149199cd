/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl corpus: what is done with inputs by hand. Alone it lists its subcommands; each is a row here and a file corpus_NAME.c. */
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/corpus.h"

static const struct corpus_sub *const subs[] = {&corpus_stats, &corpus_merge, &corpus_add,
                                                &corpus_promote};
#define SUBS (sizeof(subs) / sizeof(subs[0]))

int corpus_usage(const struct corpus_sub *sub)
{
    (void)fprintf(stderr, "usage: fuzzctl corpus %s %s\n", sub->name, sub->usage);
    return EXIT_USAGE;
}

static void list(FILE *out)
{
    (void)fputs("usage: fuzzctl corpus SUBCOMMAND ...\n\n", out);
    for (size_t i = 0; i < SUBS; i++)
        (void)fprintf(out, "  %s %s\n      %s\n", subs[i]->name, subs[i]->usage, subs[i]->help);
}

static int corpus_exec(struct cmd_env *env, int argc, char **argv)
{
    if (argc < 2) {
        list(stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < SUBS; i++) {
        if (strcmp(subs[i]->name, argv[1]) == 0)
            return subs[i]->exec(env, argc - 1, argv + 1);
    }
    (void)cmd_fail(&cmd_corpus, EXIT_USAGE, "no subcommand \"%s\"", argv[1]);
    list(stderr);
    return EXIT_USAGE;
}

const struct cmd_entry cmd_corpus = {
    .name = "corpus",
    .usage = "[stats|merge|add|promote ...]",
    .help = "look at corpora, merge them, add to a campaign or to the seeds; alone: list these",
    .exec = corpus_exec,
};
