/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

/*
 * Allocation of small, bounded objects: on failure these print one line to stderr and abort, as there is nothing
 * sensible left to do. Sizes that come from a file or a socket are bounded by the caller first.
 */
void *xmalloc(size_t size) __attribute__((returns_nonnull, malloc));
void *xcalloc(size_t n, size_t size) __attribute__((returns_nonnull, malloc));
void *xreallocarray(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((returns_nonnull, malloc));
char *xstrndup(const char *s, size_t n) __attribute__((returns_nonnull, malloc));
char *xasprintf(const char *fmt, ...)
    __attribute__((returns_nonnull, malloc, format(printf, 1, 2)));

/* Copies s over *dst, freeing what was there. s may be NULL (then *dst becomes NULL). */
void str_set(char **dst, const char *s);

/* A growing list of strings; owns them. Zero-initialise to make an empty one. v is always NULL-terminated once n > 0. */
struct strv {
    char **v;
    size_t n;
};
void strv_add(struct strv *sv, const char *s); /* copies s */
void strv_take(struct strv *sv, char *s);      /* takes ownership of s */
void strv_addf(struct strv *sv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strv_copy(struct strv *dst, const struct strv *src); /* replaces dst's content */
void strv_clear(struct strv *sv);                         /* frees all, leaves an empty list */
const char *strv_env(const struct strv *sv,
                     const char *name); /* value of NAME= in a list of NAME=VALUE, or NULL */
void strv_env_set(struct strv *sv, const char *name,
                  const char *value); /* replaces or appends NAME=VALUE */

#endif
