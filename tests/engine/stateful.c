/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A persistent program that keeps state from input to input, each kind behind another first byte: what fuzzctl
 * stability has to find, and what it must not take for that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* The macros of AFL++ cast constants. */
#pragma clang diagnostic ignored "-Wcast-qual"

__AFL_FUZZ_INIT();

static volatile unsigned sum;

static unsigned chance(unsigned n)
{
    unsigned v = 0;

    return getrandom(&v, sizeof(v), 0) == (ssize_t)sizeof(v) ? v % n : 0;
}

static void work(const unsigned char *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (d[i] > 'm')
            sum += d[i];
        else
            sum ^= d[i];
    }
}

/* Set up once, the parts when they are first asked for: no state to speak of. */
static void lazy(const unsigned char *d, size_t n)
{
    static unsigned table[8];

    for (size_t i = 0; i < n; i++) {
        unsigned *slot = &table[d[i] % 8];

        if (*slot == 0) {
            for (unsigned k = 0; k < 4U * (d[i] % 8U + 1U); k++)
                *slot += k + 1;
        }
        sum += *slot;
    }
}

static void one(const unsigned char *d, size_t n)
{
    static unsigned counter;
    static int flag, primed, first, second;

    if (n == 0)
        return;
    switch (d[0]) {
    case 'c': /* by how often it is run */
        if (++counter % 3 == 0)
            sum += 5;
        break;
    case 's':
        flag = 1;
        break;
    case 'r': /* another branch, once s was there */
        if (flag != 0)
            sum ^= 77;
        break;
    case 'p':
        primed = 1;
        break;
    case 'x': /* dies, once p was there */
        if (primed != 0)
            abort();
        break;
    case '1':
        first = 1;
        break;
    case '2':
        second = first;
        break;
    case 'y': /* dies, once 1 and then 2 were there */
        if (second != 0)
            abort();
        break;
    case 'i':
        lazy(d + 1, n - 1);
        break;
    case '?': /* by chance */
        if (chance(2) != 0)
            sum += 9;
        break;
    case 'f':
        if (chance(2) != 0)
            abort();
        break;
    case 'A':
        abort();
    case 'L':
        for (;;)
            usleep(1000);
    default:
        work(d, n);
    }
}

int main(void)
{
    unsigned char *d;

    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        size_t n = (size_t)__AFL_FUZZ_TESTCASE_LEN;

        one(d, n);
    }
    return 0;
}
