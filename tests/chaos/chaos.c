/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program under test that attacks whoever runs it, for tests of containment. FZ_CHAOS names the
 * fault; an input that starts with '!' sets it off, any other is harmless. Each fault has a fuse in
 * the program itself (bytes, processes, number of times): where containment fails it does no more
 * than that, and leaves a file that says so. It never signals or changes a process outside its own
 * instance but the one it is given, and deletes nothing outside FZ_CHAOS_DIR and its working directory.
 *
 *   FZ_CHAOS       the fault, a name of the table below
 *   FZ_CHAOS_DIR   folder for the marks NAME.N (the fault was set off) and NAME.fuse (too far)
 *   FZ_CHAOS_MAX   how often the fault is set off at most; more is harmless
 *   FZ_CHAOS_STRANGER  the pid of a process of the test's own that groups are changed of
 */
#include "chaos.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS    1000000u
#define MARKS_MAX 16

/* The macros of AFL++ cast string literals. */
#pragma GCC diagnostic ignored "-Wcast-qual"

__AFL_FUZZ_INIT();

const char *chaos_dir;
static const char *fault_name;
static volatile char sink;

/* ---- Marks and fuses ---------------------------------------------------------------------- */

int chaos_mark(const char *what)
{
    char path[512];
    int fd;

    if (chaos_dir == NULL)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/%s.%s", chaos_dir, fault_name, what);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 ? 0 : -1;
}

/* Counts over all processes and restarts: by the marks themselves. */
static int fault_allowed(void)
{
    const char *max = getenv("FZ_CHAOS_MAX");
    long n = max != NULL ? strtol(max, NULL, 10) : 0;
    char number[16];
    long i;

    for (i = 0; i < (n > 0 ? n : MARKS_MAX); i++) {
        (void)snprintf(number, sizeof(number), "%ld", i);
        if (chaos_mark(number) == 0)
            return 1;
    }
    return n == 0;
}

/* ---- Main --------------------------------------------------------------------------------- */

static const struct fault {
    const char *name;
    void (*run)(void);
} faults[] = {
    {"oom", chaos_oom},         {"leak", chaos_leak},         {"devshm", chaos_devshm},
    {"sysv", chaos_sysv},       {"sleepers", chaos_sleepers}, {"forkbomb", chaos_forkbomb},
    {"escape", chaos_escape},   {"loop", chaos_loop},         {"stop", chaos_stop},
    {"parent", chaos_parent},   {"aflfuzz", chaos_aflfuzz},   {"keeper", chaos_keeper},
    {"oomadj", chaos_oomadj},   {"fill", chaos_fill},         {"fds", chaos_fds},
    {"flood", chaos_flood},     {"delete", chaos_delete},     {"cgleave", chaos_cgleave},
    {"cgkill", chaos_cgkill},   {"cgfreeze", chaos_cgfreeze}, {"cglimits", chaos_cglimits},
    {"cgmount", chaos_cgmount}, {"cgns", chaos_cgns},         {"cgfds", chaos_cgfds},
};

static const struct fault *fault_find(const char *name)
{
    size_t i;

    for (i = 0; name != NULL && i < sizeof(faults) / sizeof(faults[0]); i++)
        if (strcmp(faults[i].name, name) == 0)
            return &faults[i];
    return NULL;
}

int main(void)
{
    const struct fault *fault = fault_find(getenv("FZ_CHAOS"));
    const unsigned char *d;

    fault_name = fault != NULL ? fault->name : "";
    chaos_dir = getenv("FZ_CHAOS_DIR");
    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(ROUNDS)) {
        ptrdiff_t n = __AFL_FUZZ_TESTCASE_LEN;

        if (n > 1 && d[1] == 'x')
            sink = 1;
        if (n > 0 && d[0] == '!' && fault != NULL && fault_allowed())
            fault->run();
    }
    return 0;
}
