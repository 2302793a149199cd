/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_ENDING_H
#define FARM_ENDING_H

#include <stdbool.h>
#include <stddef.h>

#include "sys/keeper.h"

/*
 * What an end that nobody asked for means: from the keeper's record and the last words of afl-fuzz to one outcome with
 * words for people. Pure.
 */
enum ending {
    ENDING_OTHER,        /* afl-fuzz's own words, or its exit code */
    ENDING_ITSELF,       /* exit code 0 */
    ENDING_KILLED,       /* by a signal, or as a shell tells it: 128 + signal */
    ENDING_OOM,          /* afl-fuzz itself, by the kernel, for memory */
    ENDING_SERVER_GONE,  /* the fork server died under it: "(OOM?)" */
    ENDING_SERVER_NEVER, /* the fork server never came up */
    ENDING_NO_CORE,
    ENDING_IN_USE, /* another afl-fuzz works in its folder */
    ENDING_NO_HARNESS,
    ENDING_FOLDER, /* it refuses a file in its own folder */
    ENDING_DISK_FULL,
    ENDING_NO_RECORD, /* the keeper died */
    ENDING_NO_START,  /* the keeper could not start it */
};

/*
 * program is afl-fuzz's path; loaded is what keeper_exit_load gave, ex unused when < 0; last are afl-fuzz's last words, "" for
 * none. Writes words to out.
 */
enum ending ending_judge(const char *program, int loaded, const struct keeper_exit *ex,
                         const char *last, char *out, size_t out_size);

/*
 * Caused outside of the instance and over when that is: a full disk, a taken core or folder. One that has fuzzed before waits for it
 * and is never given up for it.
 */
bool ending_outside(enum ending e);

#endif
