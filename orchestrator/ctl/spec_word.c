/* SPDX-License-Identifier: Apache-2.0 */
/* A word with a slash or the ending of a campaign file is always a path, so that a misspelt one is told as such. */
#include "ctl/spec_word.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static bool is_there(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

char *spec_word(const char *word)
{
    const size_t n = strlen(word), ext = strlen(SPEC_WORD_EXT);
    cleanup_free char *usual = xasprintf("%s/%s%s", SPEC_WORD_DIR, word, SPEC_WORD_EXT);

    if (strchr(word, '/') != NULL || (n > ext && strcmp(word + n - ext, SPEC_WORD_EXT) == 0))
        return xstrdup(word);
    if (is_there(usual))
        return steal_ptr(&usual);
    return is_there(word) ? xstrdup(word) : NULL;
}
