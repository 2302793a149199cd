/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AFL++ main: persistent mode, deferred fork server, test cases in shared
 * memory. With arguments it is a replay program, so that every instrumented or
 * sanitizer build can also show what it does with a file; without arguments and
 * without a fork server it runs one input from stdin, as AFL++ programs do. Started
 * by the engine of fuzzctl it runs inputs in batches (sdk/fz_ring.h).
 * This file is on the denylist: the loop's own edges would cost the stability
 * figure its meaning.
 * Source: AFL++ instrumentation/README.persistent_mode.md.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sdk/fz_batch.h"
#include "sdk/fz_kit.h"
#include "sdk/fz_replay.h"
#include "sdk/fz_ring.h"

#define ROUNDS    FZ_RING_ROUNDS
#define STATUS_FD 199 /* of the fork server */

/* The macros of AFL++ cast string literals. */
#pragma GCC diagnostic ignored "-Wcast-qual"

__AFL_FUZZ_INIT();

/* Read from the file by whoever wants to know, as AFL++'s own marks are. */
__attribute__((used)) static const char batch_mark[] = FZ_RING_MARK;

/* A campaign may give its target arguments; served by afl-fuzz they mean nothing. */
static bool fork_server_present(void)
{
    return getenv("__AFL_SHM_ID") != NULL && fcntl(STATUS_FD, F_GETFD) >= 0;
}

int main(int argc, char **argv)
{
    const bool served = fork_server_present();
    const uint8_t *d;

    if (!served && fz_batch_wanted()) {
        fz_start();
        return fz_batch_main();
    }
    if (argc > 1 && !served)
        return fz_replay_main(argc, argv);
    fz_start();
    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(ROUNDS)) {
        ptrdiff_t n = __AFL_FUZZ_TESTCASE_LEN;

        fz_run(d, n > 0 ? (size_t)n : 0);
    }
    return 0;
}
