/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one run says. The evidence is asked in a fixed order, best first: what the
 * harness itself says, a sanitizer's report, words of glibc and language run
 * times, and only then the bare signal. A later abort never overrides the cause
 * that was printed before it.
 */
#include "triage/classify.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "triage/report_sanitizer.h"
#include "triage/signature.h"
#include "triage/text.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

const char *evidence_name(enum evidence e)
{
    static const char *const names[] = {"none",   "limit", "exit",      "parent",
                                        "signal", "libc",  "sanitizer", "kit"};

    return names[e];
}

static bool word_ok(const char *s)
{
    if (*s == '\0')
        return false;
    for (; *s != '\0'; s++) {
        if (!isalnum((unsigned char)*s) && strchr("_-.:", *s) == NULL)
            return false;
    }
    return true;
}

static int kit_severity(const char *class_)
{
    static const struct {
        const char *class_;
        int severity;
    } table[] = {{"invariant", 3}, {"determinism", 2}, {"oom", 2}, {"internal", 4}, {"crash", 4}};

    for (size_t i = 0; i < LENGTH(table); i++) {
        if (strcmp(class_, table[i].class_) == 0)
            return table[i].severity;
    }
    return 3;
}

/* "FZ-FAIL target=chunk_frame class=invariant inv=C3 detail=...": the last complete line counts, as the process died by it. */
static bool by_kit(const struct replay_run *run, const char *target, struct verdict_of_run *v)
{
    char line_target[64], class_[24], inv[48];
    const char *pos = run->err_text != NULL ? run->err_text : "";
    struct text_line l;
    bool found = false;

    while (text_next(&pos, &l)) {
        char t[sizeof(line_target)] = "", c[sizeof(class_)] = "", i[sizeof(inv)] = "";
        char mark[sizeof(v->marker)];

        if (!text_starts(&l, "FZ-FAIL ") || !text_value(&l, "target=", t, sizeof(t)) ||
            !text_value(&l, "class=", c, sizeof(c)) || !text_value(&l, "inv=", i, sizeof(i)))
            continue;
        if (!word_ok(c) || !word_ok(i))
            continue;
        /* Without the blank the line was torn, maybe within the id. */
        snprintf(mark, sizeof(mark), " inv=%s ", i);
        if (text_find(&l, mark) == NULL)
            continue;
        strlcpy(v->marker, mark, sizeof(v->marker));
        strlcpy(line_target, word_ok(t) ? t : target, sizeof(line_target));
        strlcpy(class_, strcmp(c, "memory") == 0 ? "crash" : c, sizeof(class_));
        strlcpy(inv, i, sizeof(inv));
        found = true;
    }
    if (!found)
        return false;
    if (strcmp(class_, "invariant") != 0 && strcmp(class_, "determinism") != 0 &&
        strcmp(class_, "oom") != 0 && strcmp(class_, "internal") != 0 &&
        strcmp(class_, "crash") != 0)
        strlcpy(class_, "invariant", sizeof(class_));
    strlcpy(v->class_, class_, sizeof(v->class_));
    strlcpy(v->kind, inv, sizeof(v->kind));
    snprintf(v->signature, sizeof(v->signature), "%s %s %s", class_, line_target, inv);
    strlcpy(v->why, "harness: id of the check that failed", sizeof(v->why));
    v->severity = kit_severity(class_);
    v->evidence = EVIDENCE_KIT;
    return true;
}

static int report_severity(const struct report *r)
{
    static const struct {
        const char *kind;
        int severity;
    } table[] = {
        {"double-free", 5},
        {"bad-free", 5},
        {"negative-size-param", 5},
        {"calloc-overflow", 4},
        {"alloc-dealloc-mismatch", 3},
        {"stack-overflow", 3},
        {"FPE", 2},
        {"ABRT", 3},
        {"ILL", 3},
        {"BUS", 3},
        {"TRAP", 3},
        {"leak", 2},
        {"data-race", 3},
        {"use-of-uninitialized-value", 3},
        {"index-out-of-bounds", 4},
        {"object-size", 4},
        {"vla-bound", 3},
        {"function-type", 4},
        {"vptr", 4},
        {"null-pointer-use", 3},
    };

    for (size_t i = 0; i < LENGTH(table); i++) {
        if (strcmp(r->kind, table[i].kind) == 0)
            return table[i].severity;
    }
    if (strcmp(r->kind, "SEGV") == 0)
        return r->near_null ? 3 : strcmp(r->access, "WRITE") == 0 ? 5 : 4;
    if (strcmp(r->tool, "ubsan") == 0)
        return 2;
    return strcmp(r->access, "WRITE") == 0 ? 5 : 4;
}

static bool by_sanitizer(const struct replay_run *run, const char *target, const char *build_id,
                         struct verdict_of_run *v)
{
    struct report *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return false;
    if (run->err_text == NULL || !report_sanitizer_parse(run->err_text, r)) {
        free(r);
        return false;
    }
    snprintf(v->kind, sizeof(v->kind), "%s%s%s", r->kind, r->access[0] != '\0' ? " " : "",
             r->access);
    strlcpy(v->marker, r->marker, sizeof(v->marker));
    v->evidence = EVIDENCE_SANITIZER;
    if (r->oom) {
        strlcpy(v->class_, "oom", sizeof(v->class_));
        v->severity = 2;
        if (strcmp(r->kind, "allocation-size-too-big") == 0) {
            signature_report(v->signature, sizeof(v->signature), r, build_id, v->why,
                             sizeof(v->why));
        } else {
            /* Whoever asked for the last byte is chance. */
            snprintf(v->signature, sizeof(v->signature), "oom %s", target);
            strlcpy(v->why, "memory limit: one bucket a target", sizeof(v->why));
        }
    } else {
        strlcpy(v->class_, "crash", sizeof(v->class_));
        v->severity = report_severity(r);
        signature_report(v->signature, sizeof(v->signature), r, build_id, v->why, sizeof(v->why));
    }
    free(r);
    return true;
}

static void set_libc(struct verdict_of_run *v, const char *kind, int severity, const char *sig,
                     const char *why, const char *marker)
{
    strlcpy(v->marker, marker, sizeof(v->marker));
    strlcpy(v->class_, "crash", sizeof(v->class_));
    strlcpy(v->kind, kind, sizeof(v->kind));
    strlcpy(v->signature, sig, sizeof(v->signature));
    strlcpy(v->why, why, sizeof(v->why));
    v->severity = severity;
    v->evidence = EVIDENCE_LIBC;
}

/* "prog: src/x.c:12: parse: Assertion `n > 0' failed." Source: glibc assert/assert.c. */
static bool assertion(const struct text_line *l, struct verdict_of_run *v)
{
    const char *mark = text_find(l, ": Assertion `"), *p, *q, *end;
    char func[128] = "", name[128], expr[256], sig[512], marker[192];
    size_t n = 0;

    if (mark == NULL)
        return false;
    /* Back over "func" to the blank behind "12:". */
    for (p = mark; p > l->s && !(p[-1] == ' ' && p - 1 > l->s && p[-2] == ':'); p--)
        ;
    text_copy(func, sizeof(func), p, (size_t)(mark - p));
    q = mark + strlen(": Assertion `");
    end = memmem(q, (size_t)(l->s + l->n - q), "' failed", strlen("' failed"));
    if (end == NULL)
        end = l->s + l->n;
    text_copy(expr, sizeof(expr), q, (size_t)(end - q));
    /* As it stands there: up to a byte that is shown as another. */
    while (n < 160 && q + n < end && q[n] >= 0x20 && q[n] <= 0x7e)
        n++;
    snprintf(marker, sizeof(marker), "Assertion `%.*s", (int)n, q);
    /* C++ prints a whole declaration: keep the name. */
    signature_function(name, sizeof(name), func);
    p = strrchr(name, ' ');
    snprintf(sig, sizeof(sig), "assertion in %s: %s", p != NULL ? p + 1 : name, expr);
    set_libc(v, "assertion", 3, sig, "assert(): function and expression, without the line", marker);
    return true;
}

/* Rust: "thread 'main' panicked at 'msg', src/x.rs:1:2" and, since 1.73, "... panicked at src/x.rs:1:2:" + a line. */
static bool panic(const struct text_line *l, const char *next, struct verdict_of_run *v)
{
    const char *mark = text_find(l, "panicked at "), *p, *end = l->s + l->n;
    struct text_line msg;
    char text[256], sig[512];

    if (mark == NULL || text_find(l, "thread '") == NULL)
        return false;
    p = mark + strlen("panicked at ");
    if (p < end && *p != '\'' && text_next(&next, &msg)) {
        p = msg.s;
        end = msg.s + msg.n;
    } else {
        const char *comma = memrchr(p, ',', (size_t)(end - p));

        if (comma != NULL)
            end = comma;
    }
    text_no_numbers(text, sizeof(text), p, (size_t)(end - p));
    snprintf(sig, sizeof(sig), "panic: %s", text);
    set_libc(v, "panic", 3, sig, "panic: message, numbers left out", "panicked at ");
    return true;
}

static bool out_of_memory_text(const struct text_line *l)
{
    static const char *const words[] = {"Cannot allocate memory", "out of memory", "Out of memory",
                                        "std::bad_alloc", "memory allocation of "};

    for (size_t i = 0; i < LENGTH(words); i++) {
        if (text_find(l, words[i]) != NULL)
            return true;
    }
    return false;
}

/* Source: glibc 2.36 malloc/malloc.c (malloc_printerr), debug/fortify_fail.c, debug/stack_chk_fail.c. */
static bool glibc_line(const struct text_line *l, struct verdict_of_run *v)
{
    static const struct {
        const char *text, *kind;
        int severity;
    } words[] = {
        {"*** stack smashing detected ***", "stack-smashing", 5},
        {"*** buffer overflow detected ***", "fortify-overflow", 5},
        {"*** %n in writable segment", "fortify-format", 5},
        {"*** longjmp causes uninitialized", "fortify-longjmp", 4},
        {"double free or corruption", "double-free", 5},
        {"double free detected", "double-free", 5},
        {"free(): ", "heap-corruption", 5},
        {"malloc(): ", "heap-corruption", 5},
        {"realloc(): ", "heap-corruption", 5},
        {"calloc(): ", "heap-corruption", 5},
        {"munmap_chunk(): ", "heap-corruption", 5},
        {"mremap_chunk(): ", "heap-corruption", 5},
        {"malloc_consolidate(): ", "heap-corruption", 5},
        {"corrupted size vs. prev_size", "heap-corruption", 5},
        {"corrupted double-linked list", "heap-corruption", 5},
        {"invalid fastbin entry", "heap-corruption", 5},
        {"terminate called after throwing", "uncaught-exception", 3},
    };

    for (size_t i = 0; i < LENGTH(words); i++) {
        const char *p = text_find(l, words[i].text);
        char text[192], sig[512];

        if (p == NULL)
            continue;
        text_no_numbers(text, sizeof(text), p, (size_t)(l->s + l->n - p));
        snprintf(sig, sizeof(sig), "%s: %s", words[i].kind, text);
        set_libc(v, words[i].kind, words[i].severity, sig, "glibc: its message", words[i].text);
        return true;
    }
    return false;
}

static bool by_libc(const struct replay_run *run, const char *target, struct verdict_of_run *v)
{
    const char *pos = run->err_text != NULL ? run->err_text : "";
    struct text_line l;

    /* Each of them ends by abort(); a panic may also end by exit code 101. */
    if (!(run->end == REPLAY_SIGNAL && run->code == SIGABRT) &&
        !(run->end == REPLAY_EXIT && run->code == 101))
        return false;
    while (text_next(&pos, &l)) {
        if (run->end == REPLAY_SIGNAL && out_of_memory_text(&l)) {
            strlcpy(v->class_, "oom", sizeof(v->class_));
            strlcpy(v->kind, "abort on ENOMEM", sizeof(v->kind));
            snprintf(v->signature, sizeof(v->signature), "oom %s", target);
            strlcpy(v->why, "the program's words before abort()", sizeof(v->why));
            v->severity = 2;
            v->evidence = EVIDENCE_LIBC;
            return true;
        }
        if (panic(&l, pos, v))
            return true;
        if (run->end == REPLAY_SIGNAL && (assertion(&l, v) || glibc_line(&l, v)))
            return true;
    }
    return false;
}

static int signal_severity(int sig)
{
    switch (sig) {
    case SIGSEGV:
        return 4;
    case SIGFPE:
        return 2;
    default:
        return 3;
    }
}

static void by_signal(const struct replay_run *run, const char *target, const char *build_id,
                      struct verdict_of_run *v)
{
    const char *abbrev = sigabbrev_np(run->code);
    char name[32];

    if (abbrev != NULL)
        snprintf(name, sizeof(name), "SIG%s", abbrev);
    else
        snprintf(name, sizeof(name), "signal %d", run->code);
    strlcpy(v->kind, name, sizeof(v->kind));
    v->evidence = EVIDENCE_SIGNAL;
    switch (run->code) {
    case SIGXFSZ:
    case SIGXCPU:
        strlcpy(v->class_, "limit", sizeof(v->class_));
        snprintf(v->signature, sizeof(v->signature), "limit %s %s", target, name);
        strlcpy(v->why, "a resource limit's signal", sizeof(v->why));
        v->severity = 1;
        v->evidence = EVIDENCE_LIMIT;
        return;
    case SIGUSR1:
        strlcpy(v->class_, "determinism", sizeof(v->class_));
        v->severity = 2;
        break;
    case SIGUSR2:
        strlcpy(v->class_, "oom", sizeof(v->class_));
        v->severity = 2;
        break;
    case SIGTRAP:
        strlcpy(v->class_, "internal", sizeof(v->class_));
        v->severity = 4;
        break;
    default:
        strlcpy(v->class_, "crash", sizeof(v->class_));
        v->severity = signal_severity(run->code);
        break;
    }
    if (run->pc_module[0] != '\0')
        snprintf(v->signature, sizeof(v->signature),
                 "signal %s at %s+0x%llx build-id %.16s unsymbolised", name, run->pc_module,
                 (unsigned long long)run->pc_offset, build_id[0] != '\0' ? build_id : "none");
    else
        snprintf(v->signature, sizeof(v->signature), "signal %s build-id %.16s unsymbolised", name,
                 build_id[0] != '\0' ? build_id : "none");
    strlcpy(v->why, "signal, as the run printed no cause", sizeof(v->why));
}

/* The target's own word for a failure that it survives to tell. */
static void by_exit(const struct replay_run *run, const char *target, struct verdict_of_run *v)
{
    strlcpy(v->class_, "crash", sizeof(v->class_));
    snprintf(v->kind, sizeof(v->kind), "exit %d", run->code);
    snprintf(v->signature, sizeof(v->signature), "exit %d %s", run->code, target);
    snprintf(v->marker, sizeof(v->marker), "%d", run->code);
    strlcpy(v->why, "the exit code that AFL_CRASH_EXITCODE names", sizeof(v->why));
    v->severity = 3;
    v->evidence = EVIDENCE_EXIT;
}

void classify_run(const struct replay_run *run, const char *target, const char *build_id,
                  struct verdict_of_run *ret)
{
    memset(ret, 0, sizeof(*ret));
    strlcpy(ret->class_, "none", sizeof(ret->class_));
    if (run->end == REPLAY_EXIT && run->code == 0)
        return;
    if (by_kit(run, target, ret) || by_sanitizer(run, target, build_id, ret))
        return;
    if (run->end == REPLAY_OOM) {
        strlcpy(ret->class_, "oom", sizeof(ret->class_));
        strlcpy(ret->kind, "SIGKILL", sizeof(ret->kind));
        snprintf(ret->signature, sizeof(ret->signature), "oom %s", target);
        strlcpy(ret->why, "killed at the memory limit", sizeof(ret->why));
        ret->severity = 2;
        ret->evidence = EVIDENCE_LIMIT;
        return;
    }
    if (run->end == REPLAY_TIMEOUT) {
        strlcpy(ret->class_, "timeout", sizeof(ret->class_));
        strlcpy(ret->kind, "timeout", sizeof(ret->kind));
        snprintf(ret->signature, sizeof(ret->signature), "timeout %s", target);
        strlcpy(ret->why, "over the time limit: one bucket a target", sizeof(ret->why));
        ret->severity = 2;
        ret->evidence = EVIDENCE_LIMIT;
        return;
    }
    if (run->end == REPLAY_PARENT) {
        strlcpy(ret->class_, "crash", sizeof(ret->class_));
        strlcpy(ret->kind, REPLAY_PARENT_WORDS, sizeof(ret->kind));
        snprintf(ret->signature, sizeof(ret->signature), REPLAY_PARENT_WORDS " %s", target);
        strlcpy(ret->why, "what ran it was killed or stopped: one bucket a target",
                sizeof(ret->why));
        ret->severity = 3;
        ret->evidence = EVIDENCE_PARENT;
        return;
    }
    if (by_libc(run, target, ret))
        return;
    if (run->end == REPLAY_SIGNAL)
        by_signal(run, target, build_id, ret);
    else if (run->exit_is_crash)
        by_exit(run, target, ret);
}
