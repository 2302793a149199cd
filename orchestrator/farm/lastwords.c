/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last words of afl-fuzz, from its log. A log may hold anything a target prints, so only the two forms that
 * AFL++ uses at a line's start count, and what is shown is made printable.
 */
#include "farm/lastwords.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define LASTWORDS_TAIL (16 << 10)

/*
 * Drops "ESC [ ... letter", "ESC ( X", SO and SI. Returns the new length; works in place. A sequence that is cut ends
 * with its line: what stands on the next one is not part of it.
 */
static size_t strip_colours(char *s, size_t n)
{
    size_t o = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\033' && i + 1 < n && s[i + 1] == '[') {
            for (i += 2; i < n && s[i] >= ' ' && s[i] <= '?'; i++)
                ;
            if (i >= n || s[i] < '@' || s[i] > '~')
                i--;
        } else if (s[i] == '\033' && i + 1 < n && (s[i + 1] == '(' || s[i + 1] == ')')) {
            i += i + 2 < n && s[i + 2] != '\n' ? 2 : 1;
        } else if (s[i] == '\016' || s[i] == '\017') {
            if (i + 2 < n && s[i + 1] == ')' && s[i + 2] != '\n') /* bSTOP: SI ")B" */
                i += 2;
        } else {
            s[o++] = s[i];
        }
    }
    return o;
}

/* The text after the first colon when the line starts, blanks aside, with "[-] PROGRAM ABORT" and the like. */
static const char *after_label(const char *line, const char *label)
{
    while (*line == ' ')
        line++;
    if (strncmp(line, "[-]", 3) == 0)
        line += 3;
    while (*line == ' ')
        line++;
    if (strncmp(line, label, strlen(label)) != 0)
        return NULL;
    line = strchr(line, ':');
    if (line == NULL)
        return NULL;
    for (line++; *line == ' '; line++)
        ;
    return line;
}

char *lastwords_parse(const char *text, size_t size, char *out, size_t out_size)
{
    char buf[LASTWORDS_TAIL + 1], found[512] = "", raw[512];
    bool system_error = false;
    char *p;
    size_t n;

    if (size > LASTWORDS_TAIL) {
        text += size - LASTWORDS_TAIL;
        size = LASTWORDS_TAIL;
    }
    memcpy(buf, text, size);
    n = strip_colours(buf, size);
    for (size_t i = 0; i < n; i++)
        if (buf[i] == '\0')
            buf[i] = '?';
    buf[n] = '\0';

    p = buf;
    while (p != NULL) {
        char *line = strsep(&p, "\n");
        const char *words;

        if ((words = after_label(line, "PROGRAM ABORT")) != NULL) {
            (void)strlcpy(found, words, sizeof(found));
            system_error = false;
        } else if ((words = after_label(line, "SYSTEM ERROR")) != NULL) {
            (void)strlcpy(found, words, sizeof(found));
            system_error = true;
        } else if (system_error && (words = after_label(line, "OS message")) != NULL) {
            (void)snprintf(raw, sizeof(raw), "%.300s: %.150s", found, words);
            (void)strlcpy(found, raw, sizeof(found));
            system_error = false;
        }
    }
    return text_printable(out, out_size, found);
}

char *lastwords_read(const char *log_path, int64_t from, char *out, size_t out_size)
{
    char buf[LASTWORDS_TAIL];
    cleanup_close int fd = -1;
    struct stat st;
    ssize_t n;

    out[0] = '\0';
    fd = open(log_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return out;
    if (from > st.st_size)
        from = 0;
    if (st.st_size - from > (off_t)sizeof(buf))
        from = st.st_size - (off_t)sizeof(buf);
    n = pread(fd, buf, sizeof(buf), from);
    if (n > 0)
        (void)lastwords_parse(buf, (size_t)n, out, out_size);
    return out;
}
