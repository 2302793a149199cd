/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CORPUS_H
#define CTL_CORPUS_H

#include "ctl/cmd.h"
#include "spec/spec.h"

/* What the subcommands of "fuzzctl corpus" share: finding a target and an input by what a person types. */

/* Rows of the table in cmd_corpus.c. */
extern const struct cmd_sub corpus_promote, corpus_add, corpus_merge, corpus_pack, corpus_stats;

/*
 * The target that word means: in the spec file spec_path when that is not NULL; else word is a spec of one target, or the name of a target
 * in a spec below ./conf/campaigns or in the current folder, or in the newest run that has one. Specs that disagree on its seeds are an
 * error. 0 with *ret_spec (spec_free) and *ret (in it), or -errno.
 */
int corpus_target_find(const struct cmd_env *env, const char *spec_path, const char *word,
                       struct spec **ret_spec, const struct spec_target **ret, struct err *err);

/* An input a person named, with what is known of where it came from. Unknown is NULL. */
struct corpus_source {
    char *path; /* of its bytes */
    char *campaign, *run, *instance, *file;
    char *was; /* class and kind triage gave it */
};
void corpus_source_clear(struct corpus_source *s);
/*
 * word is a path, a bucket's id or the beginning of one, or that of an artifact's SHA-256 (4 digits or more). A path below the state
 * directory, and bytes that the index knows, have an origin; of any other path only the name is kept. 0, -ENOENT, -ENOTUNIQ, -errno.
 */
int corpus_source_find(const struct cmd_env *env, const char *word, struct corpus_source *ret,
                       struct err *err);

#endif
