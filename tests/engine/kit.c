/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A harness of the kit whose inputs end in every way: the first byte says how, the others are branches.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sdk/fz.h"

static const char *const ids[] = {"ALL", "K1", NULL};
const struct fz_target fz_target = {.name = "kit", .alloc_limit = 1 << 20, .invariants = ids};

static void branches(const uint8_t *d, size_t n)
{
    volatile unsigned sum = 0;

    for (size_t i = 0; i < n; i++) {
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
        FZ_REACH(seven);
}

/* Leaves a process behind. It writes to the same map: what it does before it sleeps is of this input, not of the next. */
static void leave_one(void)
{
    int fds[2];
    char c = 0;

    if (pipe(fds) < 0)
        return;
    if (fork() == 0) {
        (void)!write(fds[1], &c, 1);
        sleep(60);
        _exit(0);
    }
    (void)!read(fds[0], &c, 1);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* A wild write over all that it can reach of what the engine reads; nothing where there is no such thing. */
static void write_over(uint8_t how)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512], perms[8];
    unsigned long from, to;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "fz-ring") == NULL ||
            sscanf(line, "%lx-%lx %7s", &from, &to, perms) != 3 || perms[1] != 'w')
            continue;
        for (unsigned long at = from; at < to; at++)
            *(volatile uint8_t *)at = how == 'n' ? (uint8_t)(at * 2654435761U >> 13) : how - '0';
    }
    if (maps != NULL)
        fclose(maps);
}

int fz_one(const uint8_t *d, size_t n)
{
    static bool armed;
    volatile unsigned spin = 1;

    if (n == 0)
        return 0;
    switch (d[0]) {
    case 'A':
        fz_fail(FZ_INVARIANT, "K1", "byte %u", n > 1 ? d[1] : 0U);
    case 'D':
        fz_fail(FZ_DETERMINISM, "K1", "differs");
    case 'C': /* closes what it can, and fails where nobody hears it */
        for (int fd = 0; fd < 256; fd++)
            close(fd);
        fz_fail(FZ_INVARIANT, "K1", "unheard");
    case 'S':
        raise(SIGSEGV);
        break;
    case '9':
        raise(SIGKILL);
        break;
    case 'G':
        fz_mem()->free(fz_mem()->ctx, fz_mem()->alloc(fz_mem()->ctx, (size_t)2 << 20));
        break;
    case 'R': { /* all memory that it can get */
        for (;;) {
            char *p =
                mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

            if (p == MAP_FAILED)
                raise(SIGKILL);
            memset(p, 1, 1 << 20);
        }
    }
    case 'L':
        while (spin != 0)
            spin |= 1;
        break;
    case 'P':
        for (;;)
            pause();
    case 'E':
        exit(3);
    case 'O':
        exit(0);
    case 'K':
        kill(getppid(), SIGKILL);
        usleep(200000);
        break;
    case 'H': /* its parent stops, and it does not end */
        kill(getppid(), SIGSTOP);
        for (;;)
            pause();
    case 'I': { /* leaves a file in the folder that it works in, where that is asked for */
        FILE *f = getenv("LITTER") != NULL ? fopen("litter", "we") : NULL;

        if (f != NULL)
            (void)fclose(f);
        break;
    }
    case 'Q': /* what others left took too much */
        if (getenv("LITTER") != NULL && access("litter", F_OK) == 0)
            raise(SIGKILL);
        break;
    case 'F':
        leave_one();
        break;
    case 'W': {
        char junk[100000];

        memset(junk, 'w', sizeof(junk));
        if (write(STDERR_FILENO, junk, sizeof(junk)) < 0)
            return 0;
        break;
    }
    case 'V': /* and then, by the third byte, fails, hangs or goes on */
        write_over(n > 1 ? d[1] : '0');
        if (n > 2 && d[2] == 'a')
            abort();
        while (n > 2 && d[2] == 'p')
            pause();
        break;
    case 'Z': /* slow, and well */
        usleep(20000);
        break;
    case 'x': /* what an X behind it in the same process dies of */
        armed = true;
        break;
    case 'X':
        if (armed)
            abort();
        break;
    default:
        branches(d, n);
    }
    return 0;
}
