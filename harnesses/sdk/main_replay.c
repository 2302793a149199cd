/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain main: built by any C compiler, needs no AFL++. Everything it does is
 * in fz_replay.c, which the AFL++ main shares.
 */
#include "sdk/fz_replay.h"

int main(int argc, char **argv)
{
    return fz_replay_main(argc, argv);
}
