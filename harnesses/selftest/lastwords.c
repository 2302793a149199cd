/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of an instance's log, in which a target may print what it likes. The
 * input is the log. The words shown are one printable line that fits its buffer; a
 * shorter buffer gives a beginning of them; the last abort counts.
 */
#include "farm/lastwords.h"
#include "selftest/check.h"

#define TAIL_BYTES (16u << 10) /* of a log that are looked at */

static const char *const ids[] = {"L1", "L2", "L3", "L4", NULL};
static const char *const reach[] = {"words", "none", NULL};
const struct fz_target fz_target = {"selftest-lastwords", 256u << 20, ids, reach, NULL};

int fz_one(const uint8_t *d, size_t n)
{
    static const char abort_line[] = "\n[-] PROGRAM ABORT : out of luck\n";
    static uint8_t text[FZ_INPUT_MAX + sizeof(abort_line)];
    char out[1024], small[24], last[64];
    size_t len;

    lastwords_parse((const char *)fz_guarded_copy(d, n), n, out, sizeof(out));
    len = strnlen(out, sizeof(out));
    MUST(is_printable(out, sizeof(out)), "L1", "the words are not a printable line");
    if (len > 0)
        FZ_REACH(words);
    else
        FZ_REACH(none);
    lastwords_parse((const char *)fz_guarded_copy(d, n), n, small, sizeof(small));
    MUST(is_printable(small, sizeof(small)) && strncmp(out, small, strlen(small)) == 0 &&
             strlen(small) <= len && (len >= sizeof(small) || strcmp(out, small) == 0),
         "L2", "in a small buffer they read %s", small);
    if (n > TAIL_BYTES) {
        char end[sizeof(out)];

        lastwords_parse((const char *)d + n - TAIL_BYTES, TAIL_BYTES, end, sizeof(end));
        MUST(strcmp(out, end) == 0, "L3", "what lies before the tail counts");
    }
    memcpy(text, d, n);
    memcpy(text + n, abort_line, sizeof(abort_line) - 1);
    lastwords_parse((const char *)text, n + sizeof(abort_line) - 1, last, sizeof(last));
    MUST(strcmp(last, "out of luck") == 0, "L4", "after an abort they read %s", last);
    fz_trace(out, len);
    return 0;
}
