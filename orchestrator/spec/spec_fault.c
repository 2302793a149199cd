/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults of a spec: gathered while it is read, shown in the order of its lines.
 * Their text may quote the file, so control bytes are spelt out. The number kept is
 * bounded; a file of nothing but faults says how many were left out.
 */
#include "base/sort.h"
#include "spec/spec.h"

#include <bsd/string.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_MAX 200

void spec_faults_clear(struct spec_faults *f)
{
    free(f->v);
    f->v = NULL;
    f->n = 0;
}

/* strlcpy that does not cut a character in two. s is UTF-8. */
static void copy_cut(char *buf, size_t size, const char *s)
{
    size_t n = strlen(s);
    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
            n--;
    }
    memcpy(buf, s, n);
    buf[n] = '\0';
}

void spec_faults_add(struct spec_faults *f, int line, const char *section, const char *key,
                     bool warning, const char *fmt, ...)
{
    if (f->n > FAULTS_MAX)
        return;
    f->v = xreallocarray(f->v, f->n + 1, sizeof(*f->v));
    struct spec_fault *ft = &f->v[f->n++];
    *ft = (struct spec_fault){.line = line, .warning = warning};
    if (f->n == FAULTS_MAX + 1) {
        ft->line = 0;
        (void)strlcpy(ft->msg, "more faults than are listed here", sizeof(ft->msg));
        return;
    }
    struct err text; /* spells control bytes out */
    va_list ap;
    char msg[sizeof(ft->msg)];
    va_start(ap, fmt);
    (void)vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    (void)err_set(&text, 0, "%s", msg);
    copy_cut(ft->msg, sizeof(ft->msg), text.msg);
    (void)err_set(&text, 0, "%s", section != NULL ? section : "");
    copy_cut(ft->section, sizeof(ft->section), text.msg);
    (void)err_set(&text, 0, "%s", key != NULL ? key : "");
    copy_cut(ft->key, sizeof(ft->key), text.msg);
}

void spec_faults_in_file(struct spec_faults *f, size_t n, const char *file)
{
    struct err shown;

    (void)err_set(&shown, 0, "%s", file);
    for (; n < f->n; n++)
        copy_cut(f->v[n].file, sizeof(f->v[n].file), shown.msg);
}

size_t spec_faults_errors(const struct spec_faults *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += !f->v[i].warning;
    return n;
}

static int compare_lines(const void *a, const void *b)
{
    const struct spec_fault *x = *(const struct spec_fault *const *)a;
    const struct spec_fault *y = *(const struct spec_fault *const *)b;
    if (strcmp(x->file, y->file) != 0)
        return strcmp(x->file, y->file);
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x < y ? -1 : x > y; /* as they were found */
}

void spec_faults_print(const struct spec_faults *f, const char *path, FILE *out)
{
    struct err shown;
    (void)err_set(&shown, 0, "%s", path);
    if (f->n == 0)
        return;
    const struct spec_fault **order = xreallocarray(NULL, f->n, sizeof(struct spec_fault *));
    for (size_t i = 0; i < f->n; i++)
        order[i] = &f->v[i];
    array_sort(order, f->n, sizeof(struct spec_fault *), compare_lines);
    for (size_t i = 0; i < f->n; i++) {
        const struct spec_fault *ft = order[i];
        (void)fputs(ft->file[0] != '\0' ? ft->file : shown.msg, out);
        if (ft->line > 0)
            (void)fprintf(out, ":%d", ft->line);
        (void)fprintf(out, ": %s", ft->warning ? "warning: " : "");
        if (ft->section[0] != '\0')
            (void)fprintf(out, "[%s]%s", ft->section, ft->key[0] != '\0' ? " " : ": ");
        if (ft->key[0] != '\0')
            (void)fprintf(out, "%s: ", ft->key);
        (void)fprintf(out, "%s\n", ft->msg);
    }
    free(order);
}
