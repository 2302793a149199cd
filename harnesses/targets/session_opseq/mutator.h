/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutator of operations, as afl-fuzz loads it and as its test takes it apart.
 * Nothing is shared between two mutators; one seed always makes the same outputs
 * of the same calls.
 * Source of the afl_custom_ functions: AFL++ docs/custom_mutators.md (4.04c).
 */
#ifndef MUTATOR_H
#define MUTATOR_H

#include "ops.h"

enum mutator_kind {
    MUTATOR_INSERT,
    MUTATOR_DELETE,
    MUTATOR_SWAP,
    MUTATOR_DUPLICATE,
    MUTATOR_SPLICE,
    MUTATOR_FIELDS,
    MUTATOR_HEADER,
    MUTATOR_KIND_COUNT
};

struct mutator;

/* A mutator whose choices all come from seed; NULL without memory. afl is not used. */
void *afl_custom_init(void *afl, unsigned int seed);

/*
 * Makes one output from buf and add_buf (which may be NULL), at most max_size
 * bytes. *out_buf is the mutator's, until its next call. Returns the length.
 */
size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t buf_size, uint8_t **out_buf,
                       uint8_t *add_buf, size_t add_buf_size, size_t max_size);
void afl_custom_deinit(void *data);

/* One change of the sequence; splice takes from the other one. A sequence that is
 * too short or too long for the change stays as it is. */
void mutator_change(struct mutator *m, enum mutator_kind kind);
struct opseq *mutator_seq(struct mutator *m);
struct opseq *mutator_other(struct mutator *m);

#endif
