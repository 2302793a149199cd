/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_PROMOTE_H
#define CORPUS_PROMOTE_H

#include "corpus/seedset.h"
#include "spec/spec.h"

/*
 * Inputs into the committed seeds of a target, each replayed first in the target's sanitizer and plain builds: a seed that fails
 * would only be dropped by afl-fuzz, and the gate would be red for good.
 */
struct promote;

struct promote_input {
    const char *path;             /* of the bytes; a link is followed */
    struct seedset_origin origin; /* borrowed */
    const char *was;              /* what triage called it once, "invariant C3"; NULL: nothing */
    const char *slug;             /* given by a person; NULL: made of what it shows */
};
struct promote_result {
    char sha256[65];
    char *name;          /* of the new seed, or of the one that is equal */
    char class_[24];     /* of a failing one */
    char kind[96];       /* the same */
    char program[16];    /* "replay": the build it failed in */
    struct strv reaches; /* ids that no seed reached before */
};
void promote_result_clear(struct promote_result *r);

/* t is borrowed. Opens and locks its seeds. 0 with *ret, -EINVAL (no seeds folder or no build to replay in), -EAGAIN, -errno. */
int promote_open(const struct spec_target *t, struct promote **ret, struct err *err);
void promote_close(struct promote *p);

/*
 * Adds one input. 0 with *ret; -EEXIST with *ret naming the seed that is equal; -EBADMSG with *ret saying how it fails;
 * -EFBIG, or -errno with nothing changed. May take seconds.
 */
int promote_add(struct promote *p, const struct promote_input *in, struct promote_result *ret,
                struct err *err);

/* A slug of text: lower case, others than [a-z0-9] as one '-', at most 64. Caller frees; "" when nothing is left. */
char *promote_slug(const char *text);

#endif
