/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program under test for the fork-server client: its first byte says what it does, the others are
 * branches. TARGET_PERSISTENT: a loop with the test case in shared memory; TARGET_LOOP: a loop that
 * reads standard input; TARGET_DEFERRED: no loop, but a late fork server; else a plain program. Those without
 * a loop read standard input or the file of their first argument.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    /* What becomes a dictionary in the program. */
    if (n > 8 && memcmp(d, "sum:", 4) == 0 && memcmp(d + n - 4, "last", 4) == 0)
        sum = 2;
}

/* Leaves a process behind. It writes to the same map: what it does before it sleeps is of this input, not of the next. */
static int leave_one(void)
{
    int fds[2];
    char c = 0;
    int pid;

    if (pipe(fds) < 0)
        return 0;
    pid = fork();
    if (pid == 0) {
        (void)!write(fds[1], &c, 1);
        sleep(60);
        _exit(0);
    }
    (void)!read(fds[0], &c, 1);
    (void)close(fds[0]);
    (void)close(fds[1]);
    return pid;
}

/* A file in the folder that it works in, which stays; only where that is asked for, as others run it in any folder. */
static void litter(void)
{
    FILE *f = getenv("LITTER") != NULL ? fopen("litter", "we") : NULL;

    if (f != NULL)
        fclose(f);
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
    case 'H': /* its parent stops, and it does not end */
        kill(getppid(), SIGSTOP);
        for (;;)
            pause();
    case 'F':
        if (sleeper == 0)
            sleeper = leave_one();
        break;
    case 'I':
        litter();
        break;
    case 'Q': /* what others left took too much */
        if (getenv("LITTER") != NULL && access("litter", F_OK) == 0)
            raise(SIGKILL);
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

#ifndef TARGET_PERSISTENT
static unsigned char buf[2 << 20];

static int from_file(FILE *in)
{
    return one(buf, fread(buf, 1, sizeof(buf), in));
}
#endif

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
#elif defined(TARGET_LOOP)
    (void)argc;
    (void)argv;
    while (__AFL_LOOP(1000)) {
        clearerr(stdin);
        rewind(stdin);
        from_file(stdin);
    }
    return 0;
#else
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : stdin;

#ifdef TARGET_DEFERRED
    if (argc > 1 && in != NULL) /* its name is what stays */
        fclose(in);
    __AFL_INIT();
    if (argc > 1)
        in = fopen(argv[1], "rb");
#endif
    if (in == NULL)
        return 2;
    if (argc > 1 && fgetc(in) == 'U') { /* what gzip does, and worse */
        const int how = fgetc(in);

        (void)snprintf((char *)buf, sizeof(buf), "%s.other", argv[1]);
        if (how == 'l' && link(argv[1], (char *)buf) < 0)
            return 3;
        if (how == 'm')
            return chmod(argv[1], 0) < 0;
        if (unlink(argv[1]) < 0 || (how == 's' && symlink("/nonexistent/file", argv[1]) < 0) ||
            (how == 'd' && mkdir(argv[1], 0700) < 0))
            return 4;
        if (how == 'r' && (getcwd((char *)buf, sizeof(buf)) == NULL || rmdir((char *)buf) < 0))
            return 5;
        return 0;
    }
    rewind(in);
    return from_file(in);
#endif
}
