/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AFL++ main: persistent mode, deferred fork server, test cases in shared
 * memory. With arguments it is a replay program, so that every instrumented or
 * sanitizer build can also show what it does with a file; without arguments and
 * without a fork server it runs one input from stdin, as AFL++ programs do.
 * This file is on the denylist: the loop's own edges would cost the stability
 * figure its meaning.
 * Source: AFL++ instrumentation/README.persistent_mode.md.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sdk/fz_kit.h"
#include "sdk/fz_replay.h"

#define ROUNDS    10000u
#define STATUS_FD 199 /* of the fork server */

/* The macros of AFL++ cast string literals. */
#pragma GCC diagnostic ignored "-Wcast-qual"

__AFL_FUZZ_INIT();

/* A campaign may give its target arguments; served by afl-fuzz they mean nothing. */
static bool fork_server_present(void)
{
    return getenv("__AFL_SHM_ID") != NULL && fcntl(STATUS_FD, F_GETFD) >= 0;
}

int main(int argc, char **argv)
{
    const uint8_t *d;

    if (argc > 1 && !fork_server_present())
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
