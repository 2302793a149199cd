/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a dictionary, judged as afl-fuzz reads them: blanks at both ends do not count, the last quote of the line ends the
 * value, and one inside need not be escaped. What is wrong is told once, for the first such line: a file that is no dictionary
 * is wrong in all of them.
 */
#include "plan/dictfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

#define FILE_MAX_BYTES (16 << 20)
#define LINE_MAX_BYTES 8190 /* without its newline */

static bool is_blank(char c)
{
    return c != '\0' && strchr(" \t\v\f\r", c) != NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* What stands before the opening quote: a name, a level, an index, then blanks and equals signs. */
static const char *skip_name(const char *p, const char *end)
{
    while (p < end && is_word(*p))
        p++;
    if (p < end && *p == '@')
        for (p++; p < end && is_digit(*p);)
            p++;
    if (p < end && *p == '[') {
        for (p++; p < end && is_digit(*p);)
            p++;
        if (p < end && *p == ']')
            p++;
    }
    while (p < end && (is_blank(*p) || *p == '='))
        p++;
    return p;
}

/* What is wrong with the bytes between the quotes, NULL nothing. */
static const char *value_fault(const char *p, const char *end)
{
    if (p == end)
        return "an empty value";
    while (p < end) {
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x80)
            return "a byte that must be written as \\xNN";
        if (*p++ != '\\')
            continue;
        if (p < end && (*p == '\\' || *p == '"'))
            p++;
        else if (end - p >= 3 && *p == 'x' && is_hex(p[1]) && is_hex(p[2]))
            p += 3;
        else
            return "a backslash before something else";
    }
    return NULL;
}

/* NULL for a line that is as it should be; *tokens counts those with one. */
static const char *line_fault(const char *p, const char *end, size_t *tokens)
{
    const char *fault;

    if (end - p > LINE_MAX_BYTES)
        return "a line that is too long";
    while (p < end && is_blank(*p))
        p++;
    while (end > p && is_blank(end[-1]))
        end--;
    if (p == end || *p == '#')
        return NULL;
    if (memchr(p, '\0', (size_t)(end - p)) != NULL)
        return "no text";
    if (*--end != '"')
        return "no value in quotes at its end";
    p = skip_name(p, end);
    if (p == end || *p != '"')
        return "no value in quotes behind a name";
    fault = value_fault(p + 1, end);
    if (fault == NULL)
        ++*tokens;
    return fault;
}

int dictfile_check(const char *path, size_t *ret_tokens, struct err *err)
{
    cleanup_free char *text = NULL;
    size_t size = 0, tokens = 0;
    unsigned long number = 1;
    int r = file_read_follow(AT_FDCWD, path, FILE_MAX_BYTES, &text, &size);

    if (r == -EFBIG)
        return err_set(err, r, "%s is larger than %d bytes", path, FILE_MAX_BYTES);
    if (r < 0)
        return err_sys(err, r, "%s", path);
    for (const char *p = text, *next; p < text + size; p = next + 1, number++) {
        const char *fault;

        next = memchr(p, '\n', (size_t)(text + size - p));
        if (next == NULL)
            next = text + size;
        fault = line_fault(p, next, &tokens);
        if (fault != NULL)
            return err_set(err, -EINVAL,
                           "%s line %lu: %s; allowed: empty lines, # comments, and "
                           "[name[@level]=]\"value\", where \\\\ \\\" and \\xNN stand for bytes",
                           path, number, fault);
    }
    *ret_tokens = tokens;
    return 0;
}
