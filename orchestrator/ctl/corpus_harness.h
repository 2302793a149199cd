/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CORPUS_HARNESS_H
#define CTL_CORPUS_HARNESS_H

#include "ctl/edge_count.h"
#include "spec/spec.h"

/* The program that subcommands of corpus measure with: one that was named, or a target's of a campaign file. */
struct corpus_harness {
    char *path; /* NULL: none */
    struct strv args, env;
    struct manyrun_limits limits;
    struct spec *spec; /* of a target, else NULL */
    const struct spec_target *t;
};

/* Takes the target (NULL: its only one) of the file. EXIT_DONE or an exit code, the reason printed after sub. */
int corpus_harness_spec(struct corpus_harness *h, const char *sub, const char *path,
                        const char *target);
/* Whether the program, where there is one, can be measured with. EXIT_DONE or an exit code, the reason printed. */
int corpus_harness_check(const struct corpus_harness *h, const char *sub);
/* As edge_count wants it. Borrows. */
struct edge_count corpus_harness_count(const struct corpus_harness *h, const struct cmd_env *env,
                                       const struct inputs *inputs);
void corpus_harness_clear(struct corpus_harness *h);

#endif
