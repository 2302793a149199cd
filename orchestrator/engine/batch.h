/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/forkserver.h"

/*
 * Runs inputs in a harness of our kit through the ring of sdk/fz_ring.h: hundreds with one wake-up, in one process, each as AFL++'s
 * persistent loop would. One object belongs to the thread that opened it, as a fork server does.
 *
 * An input that ends badly behind others is run once more alone in a fresh process, and that is its verdict. One that does so there, never
 * ends, or takes the harness along costs itself only; the others go on behind it. The harness is hostile: what it writes into the ring is
 * checked, and a lie is FORKSERVER_LOST for the input it was told of.
 */
struct batch_input {
    const void *data;
    size_t size; /* at most FORKSERVER_INPUT_BYTES */
};

struct batch_result {
    struct forkserver_run run;
    int64_t cpu_us;     /* 0 where it was too short to look at */
    bool after_others;  /* ended badly behind others, and well alone: its program keeps state */
    const uint8_t *map; /* in buckets; of the call only, as is text */
    size_t edges;
    uint64_t map_hash;
    const char *text; /* of a run that did not end well; "" else */
    size_t text_bytes;
};

struct batch_calls {
    /* Once for each input, in order but for those that were run again. */
    void (*done)(void *ctx, size_t index, const struct batch_result *r);
    /* Before we wait for the harness; may be NULL. */
    void (*pause)(void *ctx);
    void *ctx;
};

struct batch;

/* As forkserver_open; the program must carry FZ_RING_MARK. max_attempts: of an input whose harness is lost; 0: 2. */
int batch_open(const struct forkserver_opts *opts, int max_attempts, struct batch **ret,
               struct err *err);
/* From now on a fresh process runs its first input twice, and the second run counts. */
void batch_warm(struct batch *b);
/* The next input is run in a fresh process. */
void batch_fresh(struct batch *b);
/* Runs all. 0, or -errno when the harness could not be started again, or -ECANCELED; done() was not called for some then. */
int batch_run(struct batch *b, const struct batch_input *in, size_t n,
              const struct batch_calls *calls, struct err *err);
size_t batch_map_bytes(const struct batch *b);
/* How often the harness was started, the first time included; how often a process was forked of it. */
long batch_starts(const struct batch *b);
long batch_children(const struct batch *b);
/* Ends the harness. NULL is fine. */
void batch_close(struct batch *b);

#endif
