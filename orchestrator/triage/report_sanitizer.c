/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the reports of ASan, UBSan, MSan, TSan, LSan and HWASan. Only the first
 * stack below the headline is taken: those that follow tell where memory came
 * from or who else touched it. Text in, values out; any bytes are allowed.
 */
#include "triage/report_sanitizer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "triage/text.h"

#define NEAR_NULL 4096u

struct word {
    const char *text, *kind;
};

/* What a headline says, where its first word is not the name of the fault. */
static const struct word headline_words[] = {
    {"attempting double-free", "double-free"},
    {"attempting free on address which was not malloc", "bad-free"},
    {"attempting to call malloc_usable_size", "bad-malloc_usable_size"},
    {"requested allocation size", "allocation-size-too-big"},
    {"out of memory: allocator is trying", "out-of-memory"},
    {"hard rss limit exhausted", "rss-limit-exceeded"},
    {"specified RSS limit exceeded", "rss-limit-exceeded"},
    {"calloc parameters overflow", "calloc-overflow"},
    {"reallocarray parameters overflow", "reallocarray-overflow"},
    {"detected memory leaks", "leak"},
    {"unexpected format specifier", "bad-format"},
    {"failed to allocate", "out-of-memory"},
};

/* UBSan messages, most telling words first. */
static const struct word ubsan_words[] = {
    {"unsigned integer overflow", "unsigned-integer-overflow"},
    {"signed integer overflow", "signed-integer-overflow"},
    {"negation of", "negation-overflow"},
    {"out of bounds for type", "index-out-of-bounds"},
    {"shift exponent", "shift-exponent"},
    {"left shift of", "shift-base"},
    {"division by zero", "divide-by-zero"},
    {"null pointer passed as argument", "nonnull-argument"},
    {"null pointer returned from function", "nonnull-return"},
    {"null pointer of type", "null-pointer-use"},
    {"misaligned address", "misaligned-pointer"},
    {"with insufficient space", "object-size"},
    {"address space overflow", "object-size"},
    {"not a valid value for type", "invalid-value"},
    {"unreachable program point", "unreachable"},
    {"reached the end of a value-returning function", "missing-return"},
    {"outside the range of representable values", "float-cast-overflow"},
    {"variable length array bound", "vla-bound"},
    {"incorrect function type", "function-type"},
    {"does not point to an object of type", "vptr"},
    {"passing zero to", "invalid-builtin"},
    {"to null pointer", "pointer-overflow"},
    {"to non-null pointer", "pointer-overflow"},
    {"pointer index expression", "pointer-overflow"},
    {"addition of unsigned offset", "pointer-overflow"},
    {"subtraction of unsigned offset", "pointer-overflow"},
    {"implicit conversion", "implicit-conversion"},
    {"assumption of", "alignment-assumption"},
    {"control flow integrity check", "cfi"},
};

static const struct word tools[] = {
    {"HWAddressSanitizer", "hwasan"}, {"AddressSanitizer", "asan"},
    {"MemorySanitizer", "msan"},      {"UndefinedBehaviorSanitizer", "ubsan"},
    {"ThreadSanitizer", "tsan"},      {"LeakSanitizer", "lsan"},
};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const struct word *word_find(const struct word *w, size_t n, const struct text_line *l)
{
    for (size_t i = 0; i < n; i++) {
        if (text_find(l, w[i].text) != NULL)
            return &w[i];
    }
    return NULL;
}

/* Copies what stands there as it is, up to a byte that a marker cannot hold: a marker is searched in the text. */
static void marker_copy(struct report *r, const char *s, size_t n)
{
    size_t len = 0;

    while (len < n && len + 1 < sizeof(r->marker) && s[len] >= 0x20 && s[len] <= 0x7e)
        len++;
    text_copy(r->marker, sizeof(r->marker), s, len);
}

/* "heap-buffer-overflow on address", "data race (pid=1)": words up to " on ", " (" or ':'. Returns where they end. */
static const char *headline_kind(const char *s, const char *end, char *buf, size_t size)
{
    size_t n = 0;

    while (s < end && *s == ' ')
        s++;
    for (; s < end && n + 1 < size; s++) {
        if (*s == '(' || *s == ':' || *s == ',')
            break;
        if (*s == ' ') {
            struct text_line rest = {s, (size_t)(end - s)};

            if (text_starts(&rest, " on ") || text_starts(&rest, " in ") ||
                text_starts(&rest, " (") || s + 1 == end)
                break;
            buf[n++] = '-';
            continue;
        }
        buf[n++] = isalnum((unsigned char)*s) || *s == '-' || *s == '_' ? *s : '?';
    }
    buf[n] = '\0';
    return s;
}

/* "==12==ERROR: AddressSanitizer: SEGV on ...", "==12==AddressSanitizer: hard rss limit ...", "WARNING: ThreadSanitizer: ..." */
static bool headline_parse(const struct text_line *l, struct report *r)
{
    const char *p, *end = l->s + l->n;
    const struct word *kind;

    if (!text_starts(l, "==") && !text_starts(l, "WARNING: ThreadSanitizer:"))
        return false;
    for (size_t i = 0; i < LENGTH(tools); i++) {
        p = text_find(l, tools[i].text);
        if (p == NULL)
            continue;
        p += strlen(tools[i].text);
        if (p >= end || *p != ':')
            return false;
        p++;
        kind = word_find(headline_words, LENGTH(headline_words), l);
        /* Notes and warnings of the run time are no reports: only those named above lack ERROR. */
        if (text_find(l, "ERROR: ") == NULL && kind == NULL && strcmp(tools[i].kind, "msan") != 0 &&
            strcmp(tools[i].kind, "tsan") != 0)
            return false;
        if (text_find(l, "WARNING: ") != NULL && kind == NULL &&
            text_find(l, "use-of-uninitialized-value") == NULL &&
            strcmp(tools[i].kind, "tsan") != 0)
            return false;
        strlcpy(r->tool, tools[i].kind, sizeof(r->tool));
        if (kind != NULL) {
            strlcpy(r->kind, kind->kind, sizeof(r->kind));
            strlcpy(r->marker, kind->text, sizeof(r->marker));
        } else {
            while (p < end && *p == ' ')
                p++;
            marker_copy(r, p, (size_t)(headline_kind(p, end, r->kind, sizeof(r->kind)) - p));
        }
        return r->kind[0] != '\0';
    }
    return false;
}

/* "/src/x.c:12:5: runtime error: signed integer overflow: ..." */
static bool ubsan_parse(const struct text_line *l, struct report *r)
{
    const char *mark = text_find(l, "runtime error: "), *p, *slash;
    const struct word *kind;
    struct text_line msg;
    size_t n;

    if (mark == NULL)
        return false;
    msg.s = mark + strlen("runtime error: ");
    msg.n = l->n - (size_t)(msg.s - l->s);
    kind = word_find(ubsan_words, LENGTH(ubsan_words), &msg);
    strlcpy(r->tool, "ubsan", sizeof(r->tool));
    strlcpy(r->kind, kind != NULL ? kind->kind : "undefined-behavior", sizeof(r->kind));
    strlcpy(r->marker, kind != NULL ? kind->text : "runtime error: ", sizeof(r->marker));
    if (strcmp(r->kind, "null-pointer-use") == 0 || strcmp(r->kind, "misaligned-pointer") == 0 ||
        strcmp(r->kind, "object-size") == 0) {
        if (text_starts(&msg, "store to"))
            strlcpy(r->access, "WRITE", sizeof(r->access));
        else if (text_starts(&msg, "load of"))
            strlcpy(r->access, "READ", sizeof(r->access));
    }
    n = (size_t)(mark - l->s);
    slash = memrchr(l->s, '/', n);
    p = slash != NULL ? slash + 1 : l->s;
    n = (size_t)(mark - p);
    for (size_t i = 0; i < n; i++) {
        if (p[i] == ':') {
            n = i;
            break;
        }
    }
    text_copy(r->place, sizeof(r->place), p, n);
    return true;
}

/* "(/lib/x.so+0x12ab) (BuildId: ...)" at the end of a frame. */
static const char *frame_module(const char *s, const char *end, struct report_frame *f)
{
    const char *open = NULL, *plus = NULL;

    for (const char *p = s; p + 3 < end; p++) {
        if (*p == '(' && (p == s || p[-1] == ' '))
            open = p;
        if (open != NULL && plus == NULL && *p == '+' && p[1] == '0' && p[2] == 'x') {
            char num[24];
            size_t n = 0;

            plus = p;
            for (const char *q = p + 1;
                 q < end && n + 1 < sizeof(num) && (*q == 'x' || isxdigit((unsigned char)*q)); q++)
                num[n++] = *q;
            num[n] = '\0';
            f->offset = strtoull(num, NULL, 16);
            text_copy(f->module, sizeof(f->module), open + 1, (size_t)(plus - open - 1));
            break;
        }
    }
    return plus != NULL ? open : NULL;
}

/* Cuts ":12:5" off a file name and stores it. */
static void frame_file(const char *s, size_t n, struct report_frame *f)
{
    for (int i = 0; i < 2; i++) {
        size_t k = n;

        while (k > 0 && isdigit((unsigned char)s[k - 1]))
            k--;
        if (k == n || k == 0 || s[k - 1] != ':')
            break;
        n = k - 1;
    }
    text_copy(f->file, sizeof(f->file), s, n);
}

/*
 * Where the file begins in "func(int, char *) /a b/x.c:12:5" or "func x.c:12": at the first path outside of
 * parentheses, else at the last word that ends in a line number. NULL: there is none.
 */
static const char *frame_file_start(const char *s, const char *end)
{
    const char *last = NULL;
    int depth = 0;

    for (const char *p = s; p + 1 < end; p++) {
        if (*p == '(')
            depth++;
        else if (*p == ')')
            depth--;
        else if (*p == ' ' && depth <= 0) {
            if (p[1] == '/')
                return p + 1;
            last = p + 1;
        }
    }
    if (last != NULL && isdigit((unsigned char)end[-1]) &&
        memchr(last, ':', (size_t)(end - last)) != NULL &&
        memchr(last, '.', (size_t)(end - last)) != NULL)
        return last;
    return NULL;
}

/*
 * "    #0 0x55d0 in func(int) /src/x.c:12:5", "    #1 0x55d0  (/bin/x+0x12) (BuildId: 0a)",
 * "    #0 func /src/x.c:12 (x+0x12)" of TSan. True when it is frame number want.
 */
static bool frame_parse(const struct text_line *l, size_t want, struct report_frame *f)
{
    const char *p = l->s, *end = l->s + l->n, *mod, *file = NULL;
    size_t number = 0;
    bool has_in = false;

    memset(f, 0, sizeof(*f));
    while (p < end && *p == ' ')
        p++;
    if (p == l->s || p + 1 >= end || *p != '#' || !isdigit((unsigned char)p[1]))
        return false;
    for (p++; p < end && isdigit((unsigned char)*p) && number < 100000; p++)
        number = number * 10 + (size_t)(*p - '0');
    if (number != want)
        return false;
    while (p < end && *p == ' ')
        p++;
    if (p + 2 < end && p[0] == '0' && p[1] == 'x') {
        while (p < end && *p != ' ')
            p++;
        while (p < end && *p == ' ')
            p++;
        if (p + 3 < end && memcmp(p, "in ", 3) == 0) {
            p += 3;
            has_in = true;
        }
    } else {
        has_in = true; /* TSan prints no address and no "in" */
    }
    mod = frame_module(p, end, f);
    if (mod != NULL)
        end = mod;
    while (end > p && end[-1] == ' ')
        end--;
    if (!has_in || p >= end)
        return true;
    file = frame_file_start(p, end);
    if (file != NULL) {
        frame_file(file, (size_t)(end - file), f);
        end = file - 1;
    }
    text_copy(f->func, sizeof(f->func), p, (size_t)(end - p));
    if (strcmp(f->func, "<null>") == 0)
        f->func[0] = '\0';
    return true;
}

/* The lines between headline and stack tell direction and address. */
static void detail_parse(const struct text_line *l, struct report *r)
{
    const char *p;

    if (r->access[0] == '\0') {
        if (text_starts(l, "READ of size") || text_find(l, "caused by a READ") != NULL ||
            text_starts(l, "  Read of size"))
            strlcpy(r->access, "READ", sizeof(r->access));
        else if (text_starts(l, "WRITE of size") || text_find(l, "caused by a WRITE") != NULL ||
                 text_starts(l, "  Write of size") || text_starts(l, "  Atomic write"))
            strlcpy(r->access, "WRITE", sizeof(r->access));
    }
    p = text_find(l, "unknown address 0x");
    if (p != NULL) {
        char num[24];

        p += strlen("unknown address ");
        text_copy(num, sizeof(num), p, (size_t)(l->s + l->n - p));
        r->near_null = strtoull(num, NULL, 16) < NEAR_NULL;
    }
}

static bool kind_is_oom(const char *kind)
{
    return strcmp(kind, "allocation-size-too-big") == 0 || strcmp(kind, "out-of-memory") == 0 ||
           strcmp(kind, "rss-limit-exceeded") == 0;
}

static void body_parse(const char *pos, struct report *r)
{
    struct text_line l;

    /* The report ends at its SUMMARY, or where the next one begins. */
    while (text_next(&pos, &l) && r->n_frames < REPORT_FRAMES_MAX) {
        if (frame_parse(&l, r->n_frames, &r->frames[r->n_frames])) {
            r->n_frames++;
            continue;
        }
        if (r->n_frames > 0 || text_starts(&l, "SUMMARY: "))
            break;
        detail_parse(&l, r);
    }
}

bool report_sanitizer_parse(const char *text, struct report *ret)
{
    const char *pos = text, *ubsan_at = NULL;
    struct report *r = ret;
    struct text_line l, ubsan_line = {NULL, 0};

    memset(r, 0, sizeof(*r));
    while (text_next(&pos, &l)) {
        if (headline_parse(&l, r)) {
            detail_parse(&l, r);
            body_parse(pos, r);
            r->oom = kind_is_oom(r->kind);
            return true;
        }
        if (ubsan_at == NULL && text_find(&l, "runtime error: ") != NULL) {
            ubsan_at = pos;
            ubsan_line = l;
        }
    }
    if (ubsan_at == NULL || !ubsan_parse(&ubsan_line, r))
        return false;
    body_parse(ubsan_at, r);
    return true;
}
