/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants N1-N15 of the negotiation. The input is used three times: as a
 * stream of frames, as the JSON body of one frame, and, where its first byte is
 * 0xf0..0xf3, as the detail of an error response. Violations are noted as they
 * are seen and the lowest specific id is reported, the catch-all N1 last.
 */
#include "neg_checks.h"

#define HASHED_MAX 256u /* bytes of the input that choose what is sampled */

static const char *const ids[] = {"N1", "N2",  "N3",  "N4",  "N5",  "N6",  "N7",  "N8",
                                  "N9", "N10", "N11", "N12", "N13", "N14", "N15", NULL};

static const char *const required[] = {
    "frame_ok",    "frame_zero",  "e_large",     "e_trunc",  "json_ok",        "json_ok_tty",
    "json_ok_env", "json_err",    "depth_err",   "utf8_err", "trailing_probe", "errframe_k0",
    "errframe_k1", "errframe_k2", "errframe_k3", NULL};

int fz_one(const uint8_t *d, size_t n)
{
    const uint8_t *data = fz_guarded_copy(d, n);
    uint64_t h = fz_hash(data, n < HASHED_MAX ? n : HASHED_MAX) + n;

    h ^= h >> 32;
    neg_check_stream(data, n, h);
    neg_check_body(data, n, h);
    if (n > 0 && data[0] >= 0xf0 && data[0] <= 0xf3)
        neg_check_error(data, n, h);
    fz_report();
    return 0;
}

const struct fz_target fz_target = {
    .name = "negotiation_frame",
    .alloc_limit = 0x01000000u + 16,
    .invariants = ids,
    .reach = required,
    .self_test = neg_self_test,
};
