/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A persistent target for the kill matrix: it runs some hundred times a second, and every input that
 * begins with '!' crashes, each second byte on an edge of its own, so that new crash files keep coming.
 * '?' spins, for hang files. "~afl" crashes, but only where afl-fuzz runs it: as a seed it passes all runs before fuzzing,
 * and leaves afl-fuzz none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__AFL_FUZZ_INIT();

static volatile int sink;
static int under_afl_fuzz;

#define DIE(n)                                                                                     \
    case n:                                                                                        \
        sink = n;                                                                                  \
        abort();
#define DIE8(n) DIE(n) DIE(n + 1) DIE(n + 2) DIE(n + 3) DIE(n + 4) DIE(n + 5) DIE(n + 6) DIE(n + 7)

static void run(const unsigned char *data, int size)
{
    (void)usleep(300);
    if (size < 2)
        return;
    if (data[0] == '!') {
        switch (data[1] & 31) {
            DIE8(0)
            DIE8(8)
            DIE8(16)
            DIE8(24)
        }
    }
    if (size >= 4 && memcmp(data, "~afl", 4) == 0 && under_afl_fuzz)
        abort();
    if (data[0] == '?' && data[1] > 0xfb)
        for (;;)
            sink++;
}

/* Asked by the fork server, of its parent. */
static int parent_is_afl_fuzz(void)
{
    char path[64], comm[32] = "";
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
    f = fopen(path, "r");
    if (f == NULL)
        return 0;
    if (fgets(comm, sizeof(comm), f) == NULL)
        comm[0] = '\0';
    (void)fclose(f);
    return strcmp(comm, "afl-fuzz\n") == 0;
}

int main(void)
{
    const unsigned char *data;

    under_afl_fuzz = parent_is_afl_fuzz();
    __AFL_INIT();
    data = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000))
        run(data, __AFL_FUZZ_TESTCASE_LEN);
    return 0;
}
