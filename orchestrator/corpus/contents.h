/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_CONTENTS_H
#define CORPUS_CONTENTS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/inputs.h"

/* Inputs by content: the first of each is kept, the others are copies of it. */
enum contents_kind { CONTENTS_FIRST, CONTENTS_COPY, CONTENTS_UNREAD };
struct contents {
    uint8_t *kind; /* enum contents_kind, one an input */
    int *code;     /* of those UNREAD: why, as inputs_read says */
    size_t count[3];
};

/*
 * Reads them all, one after the other. What is larger than an input can be, or cannot be read, is UNREAD. 0; -ECANCELED with nothing found when
 * *cancel, which may be NULL, is not 0.
 */
int contents_find(const struct inputs *inputs, const volatile sig_atomic_t *cancel,
                  struct contents *ret);
void contents_clear(struct contents *c);

/*
 * A name for an input among those of others, which tells where it is from: the instance whose queue it lies in, else the folder root that was
 * named, and its own name. One component of printable ASCII, at most 200 bytes, without a dot or dash in front. Caller frees.
 */
char *contents_name(const char *root, const char *path);
/* The instance whose queue path lies in ("main" of ".../main/queue/id:..."), or NULL. Caller frees. */
char *contents_instance(const char *path);

#endif
