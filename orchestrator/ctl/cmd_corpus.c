/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl corpus: what is done with inputs by hand. Alone it lists its subcommands; each is a row here and a file corpus_NAME.c. */
#include <stdio.h>

#include "base/exitcode.h"
#include "ctl/corpus.h"

static const struct cmd_sub *const subs[] = {&corpus_stats, &corpus_merge,   &corpus_pack,
                                             &corpus_add,   &corpus_promote, NULL};

static int corpus_exec(struct cmd_env *env, int argc, char **argv)
{
    if (argc > 1)
        return cmd_sub_run(&cmd_corpus, env, argc, argv);
    (void)fputs("usage: fuzzctl corpus SUBCOMMAND ...\n\n", stdout);
    cmd_sub_list(&cmd_corpus, stdout);
    return EXIT_DONE;
}

const struct cmd_entry cmd_corpus = {
    .name = "corpus",
    .usage = "[SUBCOMMAND ...]",
    .help =
        "look at corpora, merge or pack them, add to a campaign or to the seeds; alone: list these",
    .exec = corpus_exec,
    .subs = subs,
};
