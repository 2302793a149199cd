/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does something only once in a process, and one thing by turns: what it covers depends on
 * who was before. Bytes above 'f' are branches; I does again what is done once; r does every other time what
 * x always does, by the same way; after S everybody does something more.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The macros of AFL++ cast constants. */
#pragma clang diagnostic ignored "-Wcast-qual"

__AFL_FUZZ_INIT();

static volatile unsigned sum;
static int is_set_up;

__attribute__((noinline)) static void set_up(void)
{
    for (int i = 0; i < 3; i++)
        sum += 2;
    is_set_up = 1;
}

__attribute__((noinline)) static void after_s(unsigned c)
{
    for (unsigned i = 0; i < c % 7; i++)
        sum ^= c;
}

__attribute__((noinline)) static void rare(void)
{
    for (int i = 0; i < 3; i++)
        sum ^= 5;
}

static void one(const unsigned char *d, size_t n)
{
    /* By turns, without a branch. */
    static const unsigned char turns[256] = {['x'] = 3, ['r'] = 1};
    static volatile unsigned turn;
    static volatile int seen_s;

    if (!is_set_up)
        set_up();
    if (n == 0)
        return;
    if (d[0] == 'S')
        seen_s = 1;
    if (seen_s != 0)
        after_s(d[n - 1]);
    turn = turn + 1;
    if ((turns[d[0]] >> (turn & 1) & 1) != 0)
        rare();
    if (n > 6 && d[0] == 'I')
        set_up();
    for (size_t i = 1; i < n; i++) {
        if (d[i] > 'w')
            sum += 2;
        else if (d[i] > 'p')
            sum ^= 3;
        else if (d[i] > 'f')
            sum -= 1;
    }
}

int main(void)
{
    unsigned char *d;

    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(100))
        one(d, (size_t)__AFL_FUZZ_TESTCASE_LEN);
    return 0;
}
