/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program under test for the fork-server client: its first byte says what it does, the others are
 * branches. Built persistent with the test case in shared memory, as a plain program that
 * reads standard input, and as one that reads the file of its first argument.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The macros of AFL++ cast constants. */
#pragma clang diagnostic ignored "-Wcast-qual"

#ifdef TARGET_PERSISTENT
__AFL_FUZZ_INIT();
#endif

static void branches(const unsigned char *d, size_t n)
{
    volatile unsigned sum = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        if (d[i] > 200)
            sum += 2;
        else if (d[i] > 100)
            sum ^= d[i];
        else if (d[i] == 'z')
            sum = 0;
        else
            sum++;
    }
    if (sum == 7)
        sum = 1;
}

static int one(const unsigned char *d, size_t n)
{
    static int sleeper;

    if (n == 0)
        return 0;
    switch (d[0]) {
    case 'A':
        fputs("about to abort\n", stderr);
        abort();
    case 'S':
        raise(SIGSEGV);
        break;
    case '9':
        raise(SIGKILL);
        break;
    case 'L':
        for (;;)
            usleep(1000);
    case 'E':
        exit(3);
    case 'M':
        exit(86);
    case 'K':
        kill(getppid(), SIGKILL);
        usleep(200000);
        break;
    case 'F':
        if (sleeper == 0 && (sleeper = fork()) == 0) {
            sleep(60);
            _exit(0);
        }
        break;
    case 'W': {
        char junk[100000];

        memset(junk, 'w', sizeof(junk));
        if (write(2, junk, sizeof(junk)) < 0)
            return 1;
        break;
    }
    default:
        branches(d, n);
    }
    return 0;
}

int main(int argc, char **argv)
{
#ifdef TARGET_PERSISTENT
    unsigned char *d;

    (void)argc;
    (void)argv;
    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        size_t n = (size_t)__AFL_FUZZ_TESTCASE_LEN;

        one(d, n);
    }
    return 0;
#else
    static unsigned char buf[2 << 20];
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : stdin;

    if (in == NULL)
        return 2;
    return one(buf, fread(buf, 1, sizeof(buf), in));
#endif
}
