/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an input fails. The class is told twice: in one line on stderr for whoever
 * replays, and as a signal, which is all that afl-fuzz records (in the name of
 * the crash file). The line is written by one write(2), so it is never torn.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdk/fz_kit.h"

#define LINE_MAX_BYTES 512

static const struct {
    const char *name;
    int signo;
} classes[FZ_CLASS_COUNT] = {
    [FZ_INVARIANT] = {"invariant", SIGABRT},
    [FZ_DETERMINISM] = {"determinism", SIGUSR1},
    [FZ_OOM] = {"oom", SIGUSR2},
    [FZ_INTERNAL] = {"internal", SIGTRAP},
    [FZ_MEMORY] = {"memory", SIGSEGV},
};

void (*fz_die_hook)(int signo);
void (*fz_line_hook)(const char *line, size_t n);

const char *fz_class_find(const char *text, size_t n)
{
    for (size_t i = 0; i < FZ_CLASS_COUNT; i++) {
        size_t len = strlen(classes[i].name);

        if (n > len && memcmp(text, classes[i].name, len) == 0 && text[len] == ' ')
            return classes[i].name;
    }
    return NULL;
}

/* Ends the process by the signal even if the library blocked or caught it. */
_Noreturn static void die(int signo)
{
    sigset_t set;

    if (fz_die_hook != NULL)
        fz_die_hook(signo);
    signal(signo, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, signo);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signo);
    _exit(128 + signo);
}

void fz_fail(enum fz_class class, const char *id, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    size_t len;
    int n;
    va_list ap;

    fz_cell_mark_failure(id);
    n = snprintf(line, sizeof(line), "FZ-FAIL target=%s class=%s inv=%s detail=", fz_target.name,
                 classes[class].name, id);
    len = n < 0 ? 0 : (size_t)n;
    if (len < sizeof(line) - 1) {
        va_start(ap, fmt);
        n = vsnprintf(line + len, sizeof(line) - len, fmt, ap);
        va_end(ap);
        len += n < 0 ? 0 : (size_t)n;
    }
    if (len > sizeof(line) - 1)
        len = sizeof(line) - 1;
    for (size_t i = 0; i < len; i++) {
        if (line[i] < 0x20 || line[i] > 0x7e)
            line[i] = '?';
    }
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0) {
        /* The signal still tells the class. */
    }
    if (fz_line_hook != NULL)
        fz_line_hook(line, len);
    die(classes[class].signo);
}
