/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libFuzzer main: its two entry points. libFuzzer takes SIGUSR1 and SIGUSR2
 * for a request to stop, so here every class ends by abort(); the line on stderr
 * still tells which it was.
 */
#include <stdlib.h>

#include "sdk/fz_kit.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n);

static void die_by_abort(int signo)
{
    (void)signo;
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fz_die_hook = die_by_abort;
    fz_start();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n)
{
    fz_run(d, n);
    return 0;
}
