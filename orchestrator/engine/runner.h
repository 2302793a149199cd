/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_RUNNER_H
#define ENGINE_RUNNER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/forkserver.h"
#include "plan/elfprobe.h"

/*
 * Runs many inputs in several servers of one program, each with a thread and a core of its own. Inputs are named by a number;
 * they are handed out in their order and end in any. An input that its server died of, and one that ended badly behind others, is run once
 * more in a fresh one, so that nobody is blamed for another's damage.
 */
enum runner_engine {
    RUNNER_FORK,  /* AFL++'s fork server; needs an instrumented program */
    RUNNER_BATCH, /* many inputs in one process; needs a harness of the kit, built for AFL++ */
    RUNNER_NATIVE /* a process an input, for any program; no map */
};
#define RUNNER_ENGINES 3
/* "fork", "batch" or "native" */
const char *runner_engine_name(enum runner_engine engine);
/* The fastest that a program can be run by. */
enum runner_engine runner_engine_best(const struct elfprobe *elf);
/* 0, or -EINVAL with one line for a person: what the program lacks for that engine. */
int runner_engine_check(enum runner_engine engine, const struct elfprobe *elf, struct err *err);

struct runner_result {
    size_t index;
    int code; /* 0; or -errno: the input could not be read or is too large, and nothing was run */
    struct forkserver_run run; /* from here on only with code 0 */
    int64_t cpu_us;            /* of batches, where it was long enough to look at; else 0 */
    bool after_others;         /* ended badly behind others; run is what it did alone, well */
    const uint8_t *data;       /* the input; of the call only */
    size_t size;
    const uint8_t *map;      /* in buckets; of the call only; NULL of a native run */
    size_t map_bytes, edges; /* 0 then */
    uint64_t map_hash;
    const char *
        text; /* printed by the program, of a run that did not end well; "" else; of the call only */
    size_t text_bytes;
};

struct runner_job {
    struct forkserver_opts program; /* scratch: each server makes an own folder below it */
    enum runner_engine engine;
    size_t inputs;
    int workers;      /* 0: one a core that we may use, and no more than there are inputs */
    int max_attempts; /* of one whose server is lost; 0: 2 */
    /*
     * What an input does depends on the inputs before it at most, and not on chance: each 256 of them in a row are run by one worker,
     * in their order and beginning in a fresh process, which runs its first one twice; the second run counts.
     */
    bool alike;
    /*
     * An input's bytes. Called by any worker, so it locks what it shares. 0, and *ret_data is freed with free(); or -errno, told as the code
     * of its result.
     */
    int (*read)(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size);
    bool read_keeps; /* what read gives stays its own until runner_run returns, and is not freed */
    /* Once for each input, by one worker at a time. */
    void (*done)(void *ctx, const struct runner_result *r);
    void *ctx;
    const volatile sig_atomic_t *
        cancel; /* not 0: no further inputs are begun, and those at hand are given up soon; may be NULL */
};

/*
 * Blocks until all is done. 0; -ECANCELED; or what was said of the first server that could not be started, when done() was not called for
 * some.
 */
int runner_run(const struct runner_job *job, struct err *err);

#endif
