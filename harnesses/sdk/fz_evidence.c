/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stderr and signal to a class. The line that fz_fail wrote is worth more
 * than a sanitizer's report, that more than glibc's text, that more than the bare
 * signal: an abort alone says nothing of its cause.
 */
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "sdk/fz_evidence.h"
#include "sdk/fz_kit.h"

static const struct {
    const char *text;
    const char *class;
    const char *inv;
} reports[] = {
    /* ==12==ERROR: AddressSanitizer: heap-buffer-overflow on address ... */
    {"ERROR: AddressSanitizer: requested allocation size", "oom", "ASAN"},
    {"ERROR: AddressSanitizer: out of memory", "oom", "ASAN"},
    {"ERROR: AddressSanitizer:", "memory", "ASAN"},
    {"ERROR: LeakSanitizer:", "invariant", "INV-LEAK"},
    {"WARNING: MemorySanitizer:", "memory", "MSAN"},
    /* chunk.c:12:5: runtime error: signed integer overflow: ... */
    {": runtime error: ", "arithmetic", "UBSAN"},
    /* Source: glibc 2.36 malloc/malloc.c (malloc_printerr) and debug/stack_chk_fail.c. */
    {"*** stack smashing detected ***", "memory", "GLIBC"},
    {"*** buffer overflow detected ***", "memory", "GLIBC"},
    {"double free or corruption", "memory", "GLIBC"},
    {"corrupted size vs. prev_size", "memory", "GLIBC"},
    {"corrupted double-linked list", "memory", "GLIBC"},
    {"free(): invalid", "memory", "GLIBC"},
    {"malloc(): ", "memory", "GLIBC"},
    {"realloc(): invalid", "memory", "GLIBC"},
};

static const struct {
    int signo;
    const char *class;
} signals[] = {
    {SIGABRT, "invariant"}, {SIGUSR1, "determinism"}, {SIGUSR2, "oom"},       {SIGTRAP, "internal"},
    {SIGSEGV, "memory"},    {SIGBUS, "memory"},       {SIGFPE, "arithmetic"}, {SIGILL, "trap"},
    {SIGKILL, "hard-kill"}, {SIGALRM, "timeout"},     {SIGXCPU, "limit"},     {SIGXFSZ, "limit"},
};

static const char *find(const char *text, size_t n, const char *what)
{
    return memmem(text, n, what, strlen(what));
}

/* The line that holds p, from p on, printable. */
static void take_detail(const char *p, const char *end, struct fz_verdict *v)
{
    size_t n = 0;

    while (p + n < end && p[n] != '\n' && n < sizeof(v->detail) - 1) {
        v->detail[n] = p[n] >= 0x20 && p[n] <= 0x7e ? p[n] : '?';
        n++;
    }
    v->detail[n] = '\0';
}

/* FZ-FAIL target=chunk_frame class=invariant inv=C3 detail=... */
static bool judge_line(const char *text, size_t n, struct fz_verdict *v)
{
    static const char start[] = "FZ-FAIL ";
    const char *end = text + n;
    const char *p = text;

    while ((p = memmem(p, (size_t)(end - p), start, sizeof(start) - 1)) != NULL) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        const char *class;
        const char *inv;
        const char *detail;
        size_t len;

        if (line_end == NULL)
            line_end = end;
        if (p != text && p[-1] != '\n') {
            p = line_end;
            continue;
        }
        class = find(p, (size_t)(line_end - p), " class=");
        inv = find(p, (size_t)(line_end - p), " inv=");
        detail = find(p, (size_t)(line_end - p), " detail=");
        p = line_end;
        if (class == NULL || inv == NULL)
            continue;
        class += strlen(" class=");
        inv += strlen(" inv=");
        len = 0;
        while (inv + len < line_end && inv[len] != ' ')
            len++;
        v->class = fz_class_find(class, (size_t)(line_end - class));
        if (v->class == NULL || len >= sizeof(v->inv))
            continue;
        memcpy(v->inv, inv, len);
        v->inv[len] = '\0';
        if (detail != NULL)
            take_detail(detail + strlen(" detail="), line_end, v);
        return true;
    }
    return false;
}

void fz_evidence_judge(const char *text, size_t n, int signo, struct fz_verdict *v)
{
    v->signo = signo;
    v->inv[0] = '\0';
    v->detail[0] = '\0';
    if (judge_line(text, n, v))
        return;
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        const char *p = find(text, n, reports[i].text);

        if (p != NULL) {
            take_detail(p, text + n, v);
            v->class = reports[i].class;
            memcpy(v->inv, reports[i].inv, strlen(reports[i].inv) + 1);
            return;
        }
    }
    v->class = "internal"; /* ended by itself, or by a signal of no class */
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (signals[i].signo == signo)
            v->class = signals[i].class;
    }
}
