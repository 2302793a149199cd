/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fork server says before the first run. The input is its words; a greeting ends in a map
 * within bounds or in one line of words, however long it is, and answers only where a
 * server reads.
 */
#include <errno.h>

#include "engine/handshake.h"
#include "selftest/check.h"

static const char *const ids[] = {"H1", "H2", "H3", "H4", NULL};
static const char *const reach[] = {"plain", "old",    "old_shm",   "new",       "new_shm",
                                    "dict",  "babble", "old_error", "new_error", NULL};
const struct fz_target fz_target = {"selftest-handshake", 256u << 20, ids, reach, NULL};

static uint32_t word_at(const uint8_t *d)
{
    uint32_t w;

    memcpy(&w, d, sizeof(w));
    return w;
}

static void check_done(const struct handshake *h, int replies)
{
    MUST(h->map_bytes > 0 && h->map_bytes <= HANDSHAKE_MAP_MAX, "H1", "a map of %u bytes",
         h->map_bytes);
    MUST(h->skip_bytes == 0, "H1", "%u bytes are still to be skipped", h->skip_bytes);
    switch (h->protocol) {
    case HANDSHAKE_PLAIN:
        FZ_REACH(plain);
        MUST(replies == 0 && !h->shm_testcase && h->map_bytes == HANDSHAKE_MAP_DEFAULT, "H2",
             "a plain server got %d words", replies);
        break;
    case HANDSHAKE_OLD:
        FZ_REACH(old);
        if (h->shm_testcase)
            FZ_REACH(old_shm);
        MUST(replies <= 1 && (!h->shm_testcase || replies == 1), "H2", "%d words for an old server",
             replies);
        break;
    case HANDSHAKE_NEW:
        FZ_REACH(new);
        if (h->shm_testcase)
            FZ_REACH(new_shm);
        MUST(replies == 1, "H2", "%d words for a new server", replies);
        break;
    }
}

static void check_refused(const struct err *err, int rc)
{
    MUST(rc == -EPROTO && err->code == rc, "H3", "refused with %d", rc);
    MUST(err->msg[0] != '\0' && is_text(err->msg, sizeof(err->msg)), "H3",
         "refused without a word");
}

/* An error in place of a pid is one only of a server that has such words. */
static void check_pid_word(const struct handshake *h, uint32_t word)
{
    struct err err = {0};

    if (!handshake_is_error(h, word, &err))
        return;
    if (h->protocol == HANDSHAKE_OLD)
        FZ_REACH(old_error);
    else
        FZ_REACH(new_error);
    MUST(h->protocol != HANDSHAKE_PLAIN && word > INT32_MAX, "H4", "0x%x is an error", word);
    check_refused(&err, err.code);
}

int fz_one(const uint8_t *d, size_t n)
{
    const uint8_t *p = fz_guarded_copy(d, n);
    int next = HANDSHAKE_WORD, replies = 0, words = 0;
    struct err err = {0};
    struct handshake h;
    size_t at = 0;

    handshake_init(&h);
    while (next != HANDSHAKE_DONE && n - at >= sizeof(uint32_t)) {
        uint32_t reply = 0;
        bool has_reply = false;

        if (next == HANDSHAKE_SKIP) {
            FZ_REACH(dict);
            MUST(h.skip_bytes > 0 && h.skip_bytes <= HANDSHAKE_DICT_MAX, "H1", "a dictionary of %u",
                 h.skip_bytes);
            if (n - at < h.skip_bytes)
                return 0;
            at += h.skip_bytes;
            next = handshake_skipped(&h);
            continue;
        }
        next = handshake_word(&h, word_at(p + at), &has_reply, &reply, &err);
        at += sizeof(uint32_t);
        replies += has_reply;
        fz_trace(&next, sizeof(next));
        fz_trace(&reply, sizeof(reply));
        MUST(++words <= 5, "H2", "a greeting of %d words", words);
        if (next < 0) {
            FZ_REACH(babble);
            check_refused(&err, next);
            return 0;
        }
    }
    if (next != HANDSHAKE_DONE)
        return 0;
    check_done(&h, replies);
    for (; n - at >= sizeof(uint32_t); at += sizeof(uint32_t))
        check_pid_word(&h, word_at(p + at));
    return 0;
}
