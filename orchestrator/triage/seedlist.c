/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding seeds. What cannot be read is listed with its reason instead of being
 * left out: a gate that passes over an input has not looked at it.
 * Source: AFL++ src/afl-fuzz-init.c, read_testcases; harnesses/sdk/fz_inputs.c.
 */
#include "triage/seedlist.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

static int add_file(struct seedlist *l, const char *path, size_t top, const struct stat *st,
                    int error, struct err *err)
{
    if (l->n >= SEEDLIST_MAX)
        return err_set(err, -E2BIG, "%s: more than %d inputs", path, SEEDLIST_MAX);
    if ((l->n & (l->n - 1)) == 0)
        l->v = xreallocarray(l->v, l->n > 0 ? 2 * l->n : 1, sizeof(*l->v));
    l->v[l->n++] =
        (struct seed){.path = xstrdup(path), .top = top, .size_bytes = st->st_size, .error = error};
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int wanted(const struct dirent *de)
{
    return de->d_name[0] != '.' && strcmp(de->d_name, "README.txt") != 0;
}

static int add_folder(struct seedlist *l, const char *path, size_t top, int depth, struct err *err);

static int add_entry(struct seedlist *l, const char *path, size_t top, int depth, struct err *err)
{
    struct stat st = {0};
    bool link;

    if (lstat(path, &st) < 0)
        return add_file(l, path, top, &st, -errno, err);
    link = S_ISLNK(st.st_mode);
    if (link && stat(path, &st) < 0)
        return add_file(l, path, top, &st, -errno, err);
    if (S_ISDIR(st.st_mode))
        return link ? 0 : add_folder(l, path, top, depth + 1, err);
    if (!S_ISREG(st.st_mode))
        return add_file(l, path, top, &st, -EINVAL, err);
    return add_file(l, path, top, &st, access(path, R_OK) < 0 ? -errno : 0, err);
}

static int add_folder(struct seedlist *l, const char *path, size_t top, int depth, struct err *err)
{
    struct dirent **names = NULL;
    int n, r = 0;

    if (depth > SEEDLIST_DEPTH)
        return err_set(err, -ELOOP, "%s: more than %d folders in one another", path,
                       SEEDLIST_DEPTH);
    n = scandir(path, &names, wanted, by_name);
    if (n < 0)
        return err_sys(err, -errno, "%s", path);
    for (int i = 0; i < n; i++) {
        cleanup_free char *entry = xasprintf("%s/%s", path, names[i]->d_name);

        if (r == 0)
            r = add_entry(l, entry, top, depth, err);
        free(names[i]);
    }
    free(names);
    return r;
}

int seedlist_add(struct seedlist *l, const char *path, struct err *err)
{
    size_t len = strlen(path);
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(err, -errno, "%s", path);
    if (S_ISDIR(st.st_mode))
        return add_folder(l, path, len + 1, 0, err);
    return add_file(l, path, slash != NULL ? (size_t)(slash - path) + 1 : 0, &st,
                    !S_ISREG(st.st_mode)     ? -EINVAL
                    : access(path, R_OK) < 0 ? -errno
                                             : 0,
                    err);
}

void seedlist_clear(struct seedlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
    *l = (struct seedlist){0};
}

const char *seedlist_why(const struct seed *seed)
{
    return seed->error == -EINVAL ? "is not a regular file" : strerror(-seed->error);
}
