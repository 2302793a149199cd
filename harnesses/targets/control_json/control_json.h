/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control messages of a session: one JSON object, tagged by its member `type`.
 *
 *     {"type":"resize","cols":80,"rows":24,"pixel_width":0,"pixel_height":0}
 *     {"type":"signal","name":"INT"}
 *     {"type":"eof"}
 *     {"type":"exit","code":0}
 *
 * Members come in any order. Those of another type, and any other, are ignored,
 * but their values must be JSON; one of the message's own may not come twice.
 */
#ifndef CONTROL_JSON_H
#define CONTROL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_lib.h"
#include "targets/json/json.h"

enum ctl_kind {
    CTL_NONE,
    CTL_RESIZE, /* client to server */
    CTL_SIGNAL, /* client to server */
    CTL_EOF,    /* client to server */
    CTL_EXIT    /* server to client */
};

/* What the kind does not use is zero. */
struct ctl_message {
    enum ctl_kind kind;
    uint16_t cols;         /* resize, as the three below */
    uint16_t rows;         /* */
    uint16_t pixel_width;  /* 0 when the text has none */
    uint16_t pixel_height; /* 0 when the text has none */
    struct json_str name;  /* signal; any UTF-8, freed by ctl_clear() */
    int32_t code;          /* exit */
};

/*
 * Parses n bytes at d. On success *ret is a message, to be given to ctl_clear().
 * Else *ret is all zero, nothing is allocated, and *err_at (which may be NULL) is
 * an offset, 0..n.
 */
enum json_err ctl_from_slice(const uint8_t *d, size_t n, const fz_allocator *mem,
                             struct ctl_message *ret, size_t *err_at);

/* Frees what a parsed message holds and makes it all zero. */
void ctl_clear(struct ctl_message *m, const fz_allocator *mem);

/*
 * The compact text of a message of kind 1..4, with every member of it, in the order
 * above; the caller frees *ret. False = out of memory.
 */
bool ctl_to_json(const struct ctl_message *m, const fz_allocator *mem, char **ret, size_t *ret_len);

/*
 * The number of one of the signals ABRT ALRM FPE HUP ILL INT KILL PIPE QUIT SEGV
 * TERM USR1 USR2: that name exactly. Of anything else false, *signo untouched.
 */
bool ctl_signal_from_name(const char *name, size_t n, int *signo);

#endif
