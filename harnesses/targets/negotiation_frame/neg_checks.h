/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the invariants, one a way of using the input. Each notes what it
 * sees by fz_note(), whose numbers are those of the ids; fz_one() reports.
 */
#ifndef NEG_CHECKS_H
#define NEG_CHECKS_H

#include "neg_oracle.h"

/* The whole input, n bytes with an unreadable page behind them, as a stream of
 * frames, as one JSON body, as a selector with a detail. h depends on the input
 * alone and chooses what is sampled. */
void neg_check_stream(const uint8_t *d, size_t n, uint64_t h);
void neg_check_body(const uint8_t *d, size_t n, uint64_t h);
void neg_check_error(const uint8_t *d, size_t n, uint64_t h);

/*
 * Reads one frame the way a client does that does not know yet what it gets: a
 * chunk reader peeks, finds the byte 0 and hands it on (N10). The source holds
 * these n bytes only, and all of them are the frame (N5). Returns what the reader
 * did; starved says that an allocation may fail, so that the caller judges errors.
 */
enum neg_err neg_frame_take(const uint8_t *frame, size_t n, bool starved,
                            struct neg_body *ret_body);

/* Once at start; fails by fz_fail. */
void neg_self_test(void);

#endif
