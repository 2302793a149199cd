/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triage's result against the verdicts that a plant allows. The two vocabularies differ
 * where a bug has no id of its own: the kit names the class of fault, triage the tool
 * that saw it and what that called it.
 */
#include "ctl/selftest_match.h"

#include <bsd/string.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *text_at(const json_t *j, const char *outer, const char *key)
{
    const char *s =
        json_string_value(json_object_get(outer != NULL ? json_object_get(j, outer) : j, key));

    return s != NULL ? s : "";
}

static void set(struct selftest_word *w, const char *class_, const char *id)
{
    (void)strlcpy(w->class_, class_, sizeof(w->class_));
    (void)strlcpy(w->id, id, sizeof(w->id));
}

static bool is_one_of(const char *s, const char *a, const char *b)
{
    return strcmp(s, a) == 0 || strcmp(s, b) == 0;
}

/* What triage calls a crash. */
static void set_crash(struct selftest_word *w, const struct result_row *r, const char *evidence)
{
    const char *report = r->report != NULL ? r->report : "";

    w->crash = true;
    if (strcmp(evidence, "kit") == 0) {
        const char *mark = strstr(report, "FZ-FAIL ");
        const char *class_ = mark != NULL ? strstr(mark, " class=") : NULL;

        /* The kit's own class is in its line; triage has one word for them all. */
        set(w, "memory", w->kind);
        if (class_ != NULL)
            (void)snprintf(w->class_, sizeof(w->class_), "%.*s",
                           (int)strcspn(class_ + strlen(" class="), " \n"),
                           class_ + strlen(" class="));
    } else if (strcmp(evidence, "sanitizer") == 0) {
        bool ubsan = strstr(report, "Sanitizer: ") == NULL;
        const char *tool = ubsan                                 ? "UBSAN"
                           : strstr(report, "MemorySanitizer: ") ? "MSAN"
                           : strstr(report, "ThreadSanitizer: ") ? "TSAN"
                           : strstr(report, "LeakSanitizer: ")   ? "LSAN"
                                                                 : "ASAN";

        set(w,
            ubsan || strncmp(w->kind, "FPE", 3) == 0 ? "arithmetic"
            : strncmp(w->kind, "ILL", 3) == 0        ? "trap"
                                                     : "memory",
            tool);
    } else if (strcmp(evidence, "libc") == 0) {
        set(w, "memory", "GLIBC");
    } else if (is_one_of(w->kind, "SIGSEGV", "SIGBUS")) {
        set(w, "memory", "");
    } else if (strcmp(w->kind, "SIGFPE") == 0) {
        set(w, "arithmetic", "");
    } else if (strcmp(w->kind, "SIGILL") == 0) {
        set(w, "trap", "");
    } else {
        set(w, "crash", "");
    }
}

void selftest_word_of(const struct result_row *r, struct selftest_word *ret)
{
    json_t *detail = json_loads(r->detail != NULL ? r->detail : "{}", 0, NULL);
    const char *class_ = r->class_;

    memset(ret, 0, sizeof(*ret));
    (void)strlcpy(ret->kind, r->kind != NULL ? r->kind : "", sizeof(ret->kind));
    if (strcmp(class_, "flaky") == 0)
        class_ = text_at(detail, NULL, "class");
    if (strcmp(class_, "crash") == 0)
        set_crash(ret, r, text_at(detail, "expect", "evidence"));
    else if (is_one_of(class_, "timeout", "unreproduced"))
        set(ret, class_, "");
    else
        set(ret, class_, ret->kind);
    json_decref(detail);
}

bool selftest_word_allowed(const struct selftest_word *w, const struct strv *allow)
{
    for (size_t i = 0; i < allow->n; i++) {
        const char *word = allow->v[i], *id = strchr(word, ':');
        size_t n = id != NULL ? (size_t)(id - word) : strlen(word);
        bool class_ok = (strlen(w->class_) == n && memcmp(w->class_, word, n) == 0) ||
                        (w->crash && n == 5 && memcmp(word, "crash", 5) == 0);

        if (class_ok && (id == NULL || is_one_of(id + 1, w->id, w->kind)))
            return true;
    }
    return false;
}

char *selftest_word_text(const struct selftest_word *w, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s%s%s", w->class_, w->id[0] != '\0' ? ":" : "", w->id);
    return buf;
}

bool selftest_unreproduced_allowed(const struct result_row *r, const struct strv *allow)
{
    static const struct {
        const char *class_, *kinds;
    } ends[] = {
        {"invariant", "SIGABRT"},
        {"determinism", "SIGUSR1"},
        {"oom", "SIGUSR2 SIGKILL"},
        {"internal", "SIGTRAP"},
        {"memory", "SIGSEGV SIGBUS SIGABRT"},
        {"arithmetic", "SIGFPE SIGABRT"},
        {"trap", "SIGILL SIGTRAP"},
        {"crash", "SIGABRT SIGSEGV SIGBUS SIGFPE SIGILL SIGTRAP"},
    };

    if (strcmp(r->class_, "unreproduced") != 0 || r->kind == NULL)
        return false;
    for (size_t i = 0; i < allow->n; i++) {
        size_t n = strcspn(allow->v[i], ":");

        for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
            if (strlen(ends[k].class_) == n && memcmp(ends[k].class_, allow->v[i], n) == 0 &&
                strncmp(r->kind, "SIG", 3) == 0 && strstr(ends[k].kinds, r->kind) != NULL)
                return true;
    }
    return false;
}

static int64_t number_after(const char *file, const char *key)
{
    const char *at = strstr(file, key);
    int64_t n = 0;
    int digits = 0;

    if (at == NULL)
        return -1;
    for (at += strlen(key); *at >= '0' && *at <= '9' && digits < 18; at++, digits++)
        n = n * 10 + (*at - '0');
    return digits > 0 ? n : -1;
}

void selftest_file_cost(const char *file, int64_t *ret_execs, int64_t *ret_ms)
{
    *ret_execs = number_after(file, ",execs:");
    *ret_ms = number_after(file, ",time:");
}
