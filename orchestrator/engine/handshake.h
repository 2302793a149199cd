/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_HANDSHAKE_H
#define ENGINE_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * What a fork server and its client say to each other before the first run: AFL's bare word, AFL++'s word of options (up to 4.1x) and
 * the versioned exchange of 4.20c and later. Pure: words in, words out, so that a file can play the server. A server is
 * hostile input; whatever it says ends in HANDSHAKE_DONE or in one line of plain words.
 * Source: AFL++ include/types.h, src/afl-forkserver.c, instrumentation/afl-compiler-rt.o.c.
 */
enum handshake_protocol { HANDSHAKE_PLAIN, HANDSHAKE_OLD, HANDSHAKE_NEW };

enum handshake_next {
    HANDSHAKE_WORD, /* a word of 4 bytes, as the host orders them */
    HANDSHAKE_SKIP, /* skip_bytes that mean nothing to us (its dictionary), then handshake_skipped */
    HANDSHAKE_DONE
};

#define HANDSHAKE_MAP_DEFAULT 65536 /* of a server that does not tell */
#define HANDSHAKE_MAP_MAX     (256 << 20)
#define HANDSHAKE_DICT_MAX    0xffffff

struct handshake {
    enum handshake_protocol protocol;
    uint32_t version;    /* of the new protocol */
    uint32_t options;    /* as said; bits we do not know are let be */
    uint32_t map_bytes;  /* what the program writes of the coverage map */
    uint32_t skip_bytes; /* > 0 with HANDSHAKE_SKIP */
    bool shm_testcase;   /* the input goes through shared memory */
    /* private */
    int state;
    uint32_t hello;
};

void handshake_init(struct handshake *h);
/*
 * Takes a word of the server's. The next of enum handshake_next, with *ret_reply to be sent first when *ret_has_reply; or
 * -EPROTO with what is wrong with the program, in words for the person who built it.
 */
int handshake_word(struct handshake *h, uint32_t word, bool *ret_has_reply, uint32_t *ret_reply,
                   struct err *err);
/* After HANDSHAKE_SKIP. */
int handshake_skipped(struct handshake *h);
/* A word that stands where a child's pid should: whether it is an error of the server's, and then its words in err. */
bool handshake_is_error(const struct handshake *h, uint32_t word, struct err *err);
/* "AFL", "AFL++ up to 4.1x" or "AFL++ 4.20c and later". */
const char *handshake_protocol_text(enum handshake_protocol protocol);

#endif
