/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of both exchanges. Nothing is kept of what the server says but numbers within bounds;
 * an option that we do not know changes nothing, as newer AFL++ adds them without a new version.
 */
#include "engine/handshake.h"

#include <errno.h>
#include <string.h>

/* The old word of options. */
#define OLD_ENABLED  0x80000001U
#define OLD_MAPSIZE  0x40000000U
#define OLD_SHM      0x01000000U
#define OLD_RESERVED 0x0f000000U /* all set: a map of over 2^23 bytes, none of these options */
#define OLD_ERROR    0xf800008fU
#define OLD_MAP_MASK 0x00fffffeU

/* The new exchange. */
#define NEW_HELLO      0x41464c00U /* "AFL" and the version */
#define NEW_HELLO_MASK 0xffffff00U
#define NEW_VERSION    1U
#define NEW_MAPSIZE    0x00000001U
#define NEW_SHM        0x00000002U
#define NEW_AUTODICT   0x00000800U
#define NEW_ERROR      0xeffe0000U

enum state { FIRST, NEW_OPTIONS, NEW_MAP, NEW_DICT_SIZE, NEW_DICT, NEW_TRAILER, FINISHED };

static const struct {
    uint32_t code;
    const char *text;
} error_words[] = {
    {1, "its coverage map is larger than the one it was given"},
    {2, "the address it wants for its coverage map is taken"},
    {4, "it cannot open the shared memory of the coverage map"},
    {8, "it cannot attach the shared memory of the coverage map"},
    {16, "it cannot map the shared memory of the coverage map"},
    {32, "its CmpLog is of an older AFL++"},
    {64, "its CmpLog for QEMU is of an older AFL++"},
};

static int server_error(uint32_t code, struct err *err)
{
    size_t i;

    for (i = 0; i < sizeof(error_words) / sizeof(*error_words); i++) {
        if (error_words[i].code == code)
            return err_set(err, -EPROTO, "the program's fork server gave up: %s",
                           error_words[i].text);
    }
    return err_set(err, -EPROTO, "the program's fork server gave up with error %u", code);
}

bool handshake_is_error(const struct handshake *h, uint32_t word, struct err *err)
{
    if (h->protocol == HANDSHAKE_NEW && (word & NEW_ERROR) == NEW_ERROR)
        (void)server_error(word & 0xffffU, err);
    else if (h->protocol == HANDSHAKE_OLD && (word & OLD_ERROR) == OLD_ERROR)
        (void)server_error((word >> 8) & 0xffffU, err);
    else
        return false;
    return true;
}

void handshake_init(struct handshake *h)
{
    *h = (struct handshake){.map_bytes = HANDSHAKE_MAP_DEFAULT, .state = FIRST};
}

static int done(struct handshake *h)
{
    h->state = FINISHED;
    return HANDSHAKE_DONE;
}

static int first_old(struct handshake *h, uint32_t word, bool *ret_has_reply, uint32_t *ret_reply)
{
    h->protocol = HANDSHAKE_OLD;
    h->options = word;
    if ((word & OLD_RESERVED) == OLD_RESERVED)
        word &= ~OLD_RESERVED;
    if ((word & OLD_MAPSIZE) != 0)
        h->map_bytes = ((word & OLD_MAP_MASK) >> 1) + 1;
    h->shm_testcase = (word & OLD_SHM) != 0;
    /*
     * Only who shares test cases is answered, and a dictionary is declined by silence: a server that offers nothing else takes
     * any answer but a wish for it as the first run.
     */
    if (h->shm_testcase) {
        *ret_has_reply = true;
        *ret_reply = OLD_ENABLED | OLD_SHM;
    }
    return done(h);
}

static int first_new(struct handshake *h, uint32_t word, bool *ret_has_reply, uint32_t *ret_reply,
                     struct err *err)
{
    h->protocol = HANDSHAKE_NEW;
    h->version = word & ~NEW_HELLO_MASK;
    h->hello = word;
    if (h->version != NEW_VERSION)
        return err_set(err, -EPROTO,
                       "the program's fork server speaks version %u of the protocol; version %u is "
                       "known here",
                       h->version, NEW_VERSION);
    *ret_has_reply = true;
    *ret_reply = ~word;
    h->state = NEW_OPTIONS;
    return HANDSHAKE_WORD;
}

static int first(struct handshake *h, uint32_t word, bool *ret_has_reply, uint32_t *ret_reply,
                 struct err *err)
{
    if ((word & NEW_HELLO_MASK) == NEW_HELLO)
        return first_new(h, word, ret_has_reply, ret_reply, err);
    if ((word & OLD_ERROR) == OLD_ERROR)
        return server_error((word >> 8) & 0xffffU, err);
    if ((word & NEW_ERROR) == NEW_ERROR)
        return server_error(word & 0xffffU, err);
    if ((word & OLD_ENABLED) == OLD_ENABLED)
        return first_old(h, word, ret_has_reply, ret_reply);
    if (word != 0)
        return err_set(err, -EPROTO,
                       "the program's first word is 0x%08x, which no fork server says: does the "
                       "program use file descriptor 199 itself?",
                       word);
    h->protocol = HANDSHAKE_PLAIN;
    return done(h);
}

static int dict_size(struct handshake *h, uint32_t word, struct err *err)
{
    if (word < 2 || word > HANDSHAKE_DICT_MAX)
        return err_set(err, -EPROTO,
                       "the program's dictionary is said to have %u bytes; 2 to %d "
                       "are possible",
                       word, HANDSHAKE_DICT_MAX);
    h->skip_bytes = word;
    h->state = NEW_DICT;
    return HANDSHAKE_SKIP;
}

static int map_size(struct handshake *h, uint32_t word, struct err *err)
{
    if (word == 0 || word > HANDSHAKE_MAP_MAX)
        return err_set(err, -EPROTO,
                       "the program's coverage map is said to have %u bytes; 1 to %d "
                       "are possible",
                       word, HANDSHAKE_MAP_MAX);
    h->map_bytes = word;
    h->state = (h->options & NEW_AUTODICT) != 0 ? NEW_DICT_SIZE : NEW_TRAILER;
    return HANDSHAKE_WORD;
}

int handshake_word(struct handshake *h, uint32_t word, bool *ret_has_reply, uint32_t *ret_reply,
                   struct err *err)
{
    *ret_has_reply = false;
    if (h->state == FIRST)
        return first(h, word, ret_has_reply, ret_reply, err);
    /* A map may have any size, so it is not taken for an error. */
    if (h->state != NEW_MAP && h->state != NEW_DICT_SIZE && handshake_is_error(h, word, err))
        return -EPROTO;
    switch (h->state) {
    case NEW_OPTIONS:
        h->options = word;
        h->shm_testcase = (word & NEW_SHM) != 0;
        h->state = (word & NEW_MAPSIZE) != 0    ? NEW_MAP
                   : (word & NEW_AUTODICT) != 0 ? NEW_DICT_SIZE
                                                : NEW_TRAILER;
        return HANDSHAKE_WORD;
    case NEW_MAP:
        return map_size(h, word, err);
    case NEW_DICT_SIZE:
        return dict_size(h, word, err);
    case NEW_TRAILER:
        if ((word & h->hello) != h->hello)
            return err_set(err, -EPROTO,
                           "the program's fork server ended its greeting with 0x%08x "
                           "instead of 0x%08x",
                           word, h->hello);
        return done(h);
    default:
        return err_set(err, -EPROTO, "the program's fork server said more than a greeting");
    }
}

int handshake_skipped(struct handshake *h)
{
    h->skip_bytes = 0;
    h->state = NEW_TRAILER;
    return HANDSHAKE_WORD;
}

const char *handshake_protocol_text(enum handshake_protocol protocol)
{
    static const char *const names[] = {[HANDSHAKE_PLAIN] = "AFL",
                                        [HANDSHAKE_OLD] = "AFL++ up to 4.1x",
                                        [HANDSHAKE_NEW] = "AFL++ 4.20c and later"};

    return names[protocol];
}
