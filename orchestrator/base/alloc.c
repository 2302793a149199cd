/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation that cannot fail, and the list of strings used for argv, environments
 * and key lists. Only for objects whose size the caller has bounded. A list is
 * NULL-terminated whenever it holds anything, so that it can go to execve as it is.
 */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
    if (p == NULL) {
        static const char text[] = "out of memory\n";
        (void)fwrite(text, 1, sizeof(text) - 1, stderr);
        abort();
    }
    return p;
}

void *xmalloc(size_t size)
{
    return checked(malloc(size > 0 ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
    return checked(calloc(n > 0 ? n : 1, size > 0 ? size : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
    return checked(reallocarray(p, n > 0 ? n : 1, size > 0 ? size : 1));
}

char *xstrdup(const char *s)
{
    return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
    return checked(strndup(s, n));
}

__attribute__((format(printf, 1, 0))) static char *format_new(const char *fmt, va_list ap)
{
    char *s = NULL;
    return vasprintf(&s, fmt, ap) < 0 ? checked(NULL) : s;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = format_new(fmt, ap);
    va_end(ap);
    return s;
}

void str_set(char **dst, const char *s)
{
    char *copy = s != NULL ? xstrdup(s) : NULL; /* s may be part of *dst */
    free(*dst);
    *dst = copy;
}

void strv_take(struct strv *sv, char *s)
{
    sv->v = xreallocarray(sv->v, sv->n + 2, sizeof(*sv->v));
    sv->v[sv->n++] = s;
    sv->v[sv->n] = NULL;
}

void strv_add(struct strv *sv, const char *s)
{
    strv_take(sv, xstrdup(s));
}

void strv_addf(struct strv *sv, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strv_take(sv, format_new(fmt, ap));
    va_end(ap);
}

void strv_copy(struct strv *dst, const struct strv *src)
{
    if (dst == src)
        return;
    strv_clear(dst);
    for (size_t i = 0; i < src->n; i++)
        strv_add(dst, src->v[i]);
}

void strv_clear(struct strv *sv)
{
    for (size_t i = 0; i < sv->n; i++)
        free(sv->v[i]);
    free(sv->v);
    sv->v = NULL;
    sv->n = 0;
}

/* Index of NAME=... in the list, or its length. */
static size_t env_index(const struct strv *sv, const char *name)
{
    size_t len = strlen(name), i;
    for (i = 0; i < sv->n; i++) {
        if (strncmp(sv->v[i], name, len) == 0 && sv->v[i][len] == '=')
            break;
    }
    return i;
}

const char *strv_env(const struct strv *sv, const char *name)
{
    size_t i = env_index(sv, name);
    return i < sv->n ? sv->v[i] + strlen(name) + 1 : NULL;
}

void strv_env_set(struct strv *sv, const char *name, const char *value)
{
    char *item = xasprintf("%s=%s", name, value);
    size_t i = env_index(sv, name);
    if (i == sv->n) {
        strv_take(sv, item);
        return;
    }
    free(sv->v[i]);
    sv->v[i] = item;
}
