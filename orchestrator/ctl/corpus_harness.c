/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a campaign file do not matter here, as long as it names the harness of the target. */
#include "ctl/corpus_harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/given.h"

int corpus_harness_spec(struct corpus_harness *h, const char *sub, const char *path,
                        const char *target)
{
    struct spec_faults faults = {0};
    struct err err = {0};
    int rc = spec_read(path, NULL, &h->spec, &faults, &err);

    spec_faults_clear(&faults);
    if (rc < 0)
        return cmd_fail(&cmd_corpus, EXIT_USAGE, "%s: %s", sub, err.msg);
    for (size_t i = 0; i < h->spec->n_targets; i++) {
        if (target != NULL ? strcmp(h->spec->targets[i].name, target) == 0
                           : h->spec->n_targets == 1)
            h->t = &h->spec->targets[i];
    }
    if (h->t == NULL && target != NULL)
        return given_no_target(&cmd_corpus, sub, h->spec, target);
    if (h->t == NULL)
        return cmd_fail(&cmd_corpus, EXIT_USAGE, "%s: %s has %zu targets: name one", sub, path,
                        h->spec->n_targets);
    str_set(&h->path, h->t->harness);
    strv_copy(&h->args, &h->t->args);
    strv_copy(&h->env, &h->t->env);
    if (h->limits.timeout_ms == 0)
        h->limits.timeout_ms = h->t->limits.hang_timeout_ms;
    if (h->limits.memory_bytes == 0)
        h->limits.memory_bytes = h->t->limits.memory_bytes;
    return EXIT_DONE;
}

int corpus_harness_check(const struct corpus_harness *h, const char *sub)
{
    struct elfprobe elf;

    return h->path == NULL ? EXIT_DONE
                           : given_program(&cmd_corpus, sub, h->t != NULL ? "harness" : "--harness",
                                           h->path, true, &elf);
}

struct edge_count corpus_harness_count(const struct corpus_harness *h, const struct cmd_env *env,
                                       const struct inputs *inputs)
{
    struct edge_count c = {.harness = h->path,
                           .args = &h->args,
                           .env = &h->env,
                           .inputs = inputs,
                           .limits = h->limits,
                           .cmd_env = env};

    manyrun_defaults(&c.limits);
    return c;
}

void corpus_harness_clear(struct corpus_harness *h)
{
    free(h->path);
    strv_clear(&h->args);
    strv_clear(&h->env);
    spec_free(h->spec);
    *h = (struct corpus_harness){0};
}
