/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_COVER_H
#define CORPUS_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The fewest and smallest candidates that together have what all of them have. A candidate is a set of tuples (an edge and a bucket
 * of its count, as one number); candidates come in any number, each once. Deterministic: what is chosen depends on the candidates and on
 * their order only where nothing else tells them apart.
 *
 * Weighted set cover by the greedy rule (most new tuples per cost, a candidate's cost being its size and a constant for being one more),
 * then without those that the rest makes superfluous. Source: Chvatal 1979; lazy evaluation: Minoux 1978.
 *
 * Above a cap of memory a candidate is kept only while it is among the k smallest of one of its tuples; k starts at COVER_SMALLEST and is
 * halved when that does not suffice, down to 1. Nothing that is covered is lost by that, only a better choice.
 */
#define COVER_SMALLEST 16

struct cover;

/* tuples: numbers below tuples_max. cap_bytes of candidates' tuples, 0: none. Never NULL; cover_free. */
struct cover *cover_new(uint32_t tuples_max, size_t cap_bytes);
void cover_free(struct cover *c);

/* What is covered already and needs nobody. */
void cover_have(struct cover *c, const uint32_t *tuples, size_t n);
/* A candidate: id is the caller's, sha its content's hash (32 bytes), which decides between equals. must: it is chosen in any case. */
void cover_add(struct cover *c, size_t id, uint64_t size, const uint8_t sha[32],
               const uint32_t *tuples, size_t n, bool must);
/* Chooses. *ret_ids: those chosen, ascending; the caller frees. Returns their number. May be called again. */
size_t cover_solve(struct cover *c, size_t **ret_ids);
/* Takes a candidate back: it is not chosen by the next cover_solve, nor is what only it had asked for. */
void cover_drop(struct cover *c, size_t id);

size_t cover_candidates(const struct cover *c); /* kept of those added */
size_t cover_tuples(const struct cover *c);     /* that any candidate kept has, or that were had */
size_t cover_bytes(const struct cover *c);      /* of memory for tuples, now */
/* Candidates were let go for want of memory; their k, 0 when none was. */
int cover_smallest(const struct cover *c);

#endif
