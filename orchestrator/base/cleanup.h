/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Attributes for locals: the value is released when the scope is left. steal_ptr and steal_fd hand it over instead. */
static inline void cleanup_free_fn(void *p)
{
    free(*(void **)p);
}
static inline void cleanup_close_fn(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}
static inline void cleanup_fclose_fn(FILE **f)
{
    if (*f != NULL)
        (void)fclose(*f);
}
static inline void cleanup_dir_fn(DIR **d)
{
    if (*d != NULL)
        (void)closedir(*d);
}
#define cleanup_free   __attribute__((cleanup(cleanup_free_fn)))
#define cleanup_close  __attribute__((cleanup(cleanup_close_fn)))
#define cleanup_fclose __attribute__((cleanup(cleanup_fclose_fn)))
#define cleanup_dir    __attribute__((cleanup(cleanup_dir_fn)))

static inline void *steal_ptr_fn(void *pp)
{
    void *p = *(void **)pp;
    *(void **)pp = NULL;
    return p;
}
#define steal_ptr(pp) ((__typeof__(*(pp)))steal_ptr_fn(pp))
static inline int steal_fd(int *fd)
{
    int f = *fd;
    *fd = -1;
    return f;
}

#endif
