/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session asks of the thing it runs: a process, or whatever a backend
 * makes of it. Everything is polled. A handle gives each of its five parts once,
 * and kills what it stands for when it is freed before an exit was observed.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sdk/fz_lib.h"

/* The parts of a handle. They belong to the backend and end with the handle. */
enum be_slot { BE_STDIN, BE_STDOUT, BE_STDERR, BE_CONTROL, BE_EXIT, BE_SLOT_COUNT };

/* Takes every byte at once: a backend's stdin is never full. */
struct be_stdin {
    void (*write)(struct be_stdin *in, const uint8_t *d, size_t n);
    void (*close)(struct be_stdin *in);
};

#define BE_EOF (-1)

/* read returns how many bytes came, 0 when there are none now, BE_EOF at the end. */
struct be_output {
    ptrdiff_t (*read)(struct be_output *out, uint8_t *d, size_t n);
};

struct be_control {
    void (*resize)(struct be_control *c, uint16_t cols, uint16_t rows);
    void (*signal)(struct be_control *c, int signo);
    void (*eof)(struct be_control *c);
};

/* How waiting ended. It is told once; later polls give BE_WAIT_DROPPED. */
enum be_wait { BE_WAIT_PENDING, BE_WAIT_EXITED, BE_WAIT_FAILED, BE_WAIT_DROPPED };
struct be_waiter {
    enum be_wait (*poll)(struct be_waiter *w, int32_t *ret_code); /* code only when EXITED */
};

struct be_handle;
struct be_handle_ops {
    void *(*take)(struct be_handle *h, enum be_slot slot); /* asked once a slot */
    void (*kill)(struct be_handle *h);
    void (*release)(struct be_handle *h); /* frees the handle and its parts */
};

/* Embedded in what a backend allocates; the members below ops are the library's. */
struct be_handle {
    const struct be_handle_ops *ops;
    unsigned taken; /* bit: slot */
    bool exit_observed;
};

struct backend {
    /* Starts what the session is about. Returns 0 or a negative errno. */
    int (*allocate)(struct backend *b, const fz_allocator *mem, struct be_handle **ret_h);
};

/* Gives a part the first time it is asked for, and NULL afterwards. */
void *be_handle_take(struct be_handle *h, enum be_slot slot);

/* Frees a handle, NULL accepted; kills first if no exit was observed. */
void be_handle_free(struct be_handle *h);

#endif
