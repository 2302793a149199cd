/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inih behind a reader of our own.
 *
 * Debian's libinih has a line buffer of 200 bytes, cuts names at 49, tells no line
 * numbers, and turns the tail of a long line into a key of its own. So each line is
 * classified here first; inih gets only lines it reads right, and an empty one for
 * every other. One line makes at most one call of the handler, which is why the
 * reader's idea of the current line holds in the handler.
 */
#include "spec/ini.h"

#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"

struct reader {
    const char *next, *end;
    ini_fn *fn;
    void *arg;
    int line;
    char text[INI_LINE_MAX + 1]; /* the current line */
    const char *value;           /* in text; NULL: take the one inih found */
    char section[INI_NAME_MAX + 1];
    bool has_section;
    bool skip_section; /* its line was faulty */
    bool has_key;      /* a key was seen in this section: indented lines continue it */
    bool skip_more;    /* ...but it was faulty */
    bool is_more;
};

static void emit(struct reader *rd, enum ini_kind kind, const char *key, const char *value)
{
    struct ini_event ev = {.kind = kind,
                           .line = rd->line,
                           .section = rd->has_section ? rd->section : NULL,
                           .key = key,
                           .value = value};
    rd->fn(rd->arg, &ev);
}

static void fault(struct reader *rd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fault(struct reader *rd, const char *fmt, ...)
{
    char msg[256];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    emit(rd, INI_FAULT, NULL, msg);
}

bool ini_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The first byte of set in s, or where a comment begins, or the end. */
static char *find_or_comment(char *s, const char *set)
{
    bool after_blank = false;
    while (*s != '\0' && strchr(set, *s) == NULL && !(after_blank && *s == ';')) {
        after_blank = ini_is_blank(*s);
        s++;
    }
    return s;
}

static void strip_end(char *s)
{
    size_t n = strlen(s);
    while (n > 0 && ini_is_blank(s[n - 1]))
        s[--n] = '\0';
}

/* Takes the next line into rd->text, or tells why it cannot be one. */
static bool take_line(struct reader *rd)
{
    const char *start = rd->next;
    const char *nl = memchr(start, '\n', (size_t)(rd->end - start));
    const char *stop = nl != NULL ? nl : rd->end;
    rd->next = nl != NULL ? nl + 1 : rd->end;
    rd->line++;
    if (rd->line == 1 && stop - start >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0)
        start += 3;
    if (stop > start && stop[-1] == '\r')
        stop--;
    size_t n = (size_t)(stop - start);
    rd->text[0] = '\0';
    if (memchr(start, '\0', n) != NULL) {
        fault(rd, "the line holds a NUL byte; allowed: text");
        return false;
    }
    if (n > INI_LINE_MAX) {
        fault(rd,
              "the line is %zu bytes long; allowed: %d bytes, a list takes one item an indented "
              "line",
              n, INI_LINE_MAX);
        return false;
    }
    if (!text_utf8_ok(start, n)) {
        fault(rd, "the line is not UTF-8; allowed: UTF-8 text");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)start[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            fault(rd, "the line holds the control byte 0x%02x; allowed: text and tabs", c);
            return false;
        }
    }
    memcpy(rd->text, start, n);
    rd->text[n] = '\0';
    strip_end(rd->text);
    return true;
}

/* "[name]" with nothing but a comment after it. */
static bool section_line(struct reader *rd)
{
    char *name = rd->text + 1, *close = find_or_comment(name, "]");
    const char *rest = close;
    if (*close != ']') {
        fault(rd,
              "a section without ']'; allowed: [campaign], [limits], [target NAME], [plant NAME]");
        return false;
    }
    *close = '\0';
    for (rest = close + 1; ini_is_blank(*rest); rest++) {
    }
    if (*rest != '\0' && *rest != ';' && *rest != '#') {
        fault(rd, "text after ']'; allowed: nothing, or a comment that starts with ; or #");
        return false;
    }
    if (*name == '\0' || strlen(name) > INI_NAME_MAX) {
        fault(rd, "a section name of %zu bytes; allowed: 1 to %d bytes", strlen(name),
              INI_NAME_MAX);
        return false;
    }
    memcpy(rd->section, name, strlen(name) + 1);
    return true;
}

/* "name = value". The text stays as it is but for long lines, whose value inih cannot take. */
static bool key_line(struct reader *rd, char *buf, size_t size)
{
    char *sep = find_or_comment(rd->text, "=:");
    size_t len = (size_t)(sep - rd->text);
    if (*sep != '=' && *sep != ':') {
        fault(rd, "a line without '='; allowed: key = value, [section], or a comment that starts "
                  "with ; or #");
        return false;
    }
    while (len > 0 && ini_is_blank(rd->text[len - 1]))
        len--;
    if (len == 0) {
        fault(rd, "a value without a key; allowed: key = value");
        return false;
    }
    if (len > INI_NAME_MAX) {
        fault(rd, "a key of %zu bytes; allowed: at most %d bytes", len, INI_NAME_MAX);
        return false;
    }
    if (strlen(rd->text) + 2 <= size) {
        (void)snprintf(buf, size, "%s\n", rd->text);
        return true;
    }
    (void)snprintf(buf, size, "%.*s = -\n", (int)len, rd->text);
    char *value = sep + 1;
    *find_or_comment(value, "") = '\0';
    strip_end(value);
    rd->value = value + strspn(value, " \t");
    return true;
}

/* One line for inih, in the form of fgets. */
static char *next_line(char *buf, int num, void *arg)
{
    struct reader *rd = arg;
    size_t size = (size_t)num;
    if (rd->next >= rd->end || num < 2 * INI_NAME_MAX)
        return NULL;
    rd->value = NULL;
    rd->is_more = false;
    bool indented = ini_is_blank(*rd->next);
    bool ok = take_line(rd);
    (void)snprintf(buf, size, "\n");
    const char *start = rd->text + strspn(rd->text, " \t");
    if (ok && (*start == '\0' || *start == ';' || *start == '#'))
        return buf;
    if (rd->skip_section && (indented || *start != '['))
        return buf;
    if (indented) {
        if (!ok || rd->skip_more)
            return buf;
        if (!rd->has_key) {
            rd->skip_more = true;
            fault(rd, "an indented line that continues no key; allowed: keys and sections start in "
                      "the first column");
            return buf;
        }
        rd->is_more = true;
        rd->value = *start == '\\' && strchr(";#\\", start[1]) != NULL && start[1] != '\0'
                        ? start + 1
                        : start;
        (void)snprintf(buf, size, " -\n");
        return buf;
    }
    rd->skip_more = true; /* until the line turns out to be good */
    if (ok && *start == '[') {
        rd->has_key = false;
        rd->skip_section = true;
        rd->has_section = false;
        if (section_line(rd)) {
            rd->skip_section = rd->skip_more = false;
            rd->has_section = true;
            emit(rd, INI_SECTION, NULL, NULL);
            (void)snprintf(buf, size, "[%s]\n", rd->section);
        }
    } else if (ok && key_line(rd, buf, size)) {
        rd->has_key = true;
        rd->skip_more = false;
    }
    return buf;
}

static int on_value(void *arg, const char *section, const char *key, const char *value)
{
    struct reader *rd = arg;
    (void)section;
    emit(rd, rd->is_more ? INI_MORE : INI_KEY, key, rd->value != NULL ? rd->value : value);
    return 1;
}

void ini_read(const char *text, size_t size, ini_fn *fn, void *arg)
{
    struct reader *rd = xcalloc(1, sizeof(*rd));
    rd->next = text;
    rd->end = text + size;
    rd->fn = fn;
    rd->arg = arg;
    (void)ini_parse_stream(next_line, rd, on_value, rd);
    free(rd);
}
