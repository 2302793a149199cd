/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_SPEC_WORD_H
#define CTL_SPEC_WORD_H

/* Which campaign file a word means, for verbs whose first word may be a file or a target. */
#define SPEC_WORD_DIR  "conf/campaigns"
#define SPEC_WORD_EXT  ".ini"
#define SPEC_WORD_GATE SPEC_WORD_DIR "/prerelease" SPEC_WORD_EXT /* where none is named */

/*
 * The campaign file or folder that word names, or NULL when it names a target: a path, the name of a file in conf/campaigns, or whatever is
 * there. Caller frees.
 */
char *spec_word(const char *word);

#endif
