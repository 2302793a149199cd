/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues as afl-fuzz keeps them, looked at while it writes them: a file that goes between listing and reading is no
 * fault. Source: AFL++ docs/fuzzing_in_depth.md (queue/); names that begin with a dot are its own.
 */
#include "triage/sweeplist.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sort.h"

static void add(struct sweeplist *l, const struct sweepbook *book, int dir, const char *name,
                const struct stat *st)
{
    const struct sweepbook_file f = {.instance = l->instances->v[dir],
                                     .name = name,
                                     .size_bytes = st->st_size,
                                     .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 +
                                                 st->st_mtim.tv_nsec};
    const uint64_t key = sweepbook_key(&f);

    l->total++;
    if (sweepbook_has_file(book, key))
        return;
    if ((l->n & (l->n - 1)) == 0)
        l->v = xreallocarray(l->v, l->n > 0 ? 2 * l->n : 1, sizeof(*l->v));
    l->v[l->n++] = (struct sweepentry){.dir = dir,
                                       .name = xstrdup(name),
                                       .size_bytes = f.size_bytes,
                                       .mtime_ns = f.mtime_ns,
                                       .key = key};
}

static int read_queue(struct sweeplist *l, const struct sweepbook *book, int number)
{
    int fd = fcntl(l->fds[number], F_DUPFD_CLOEXEC, 3);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;
    struct stat st;

    if (dir == NULL) {
        int r = -errno;

        if (fd >= 0)
            (void)close(fd);
        return r;
    }
    errno = 0;
    while ((de = readdir(dir)) != NULL) {
        if (de->d_name[0] != '.' && fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            add(l, book, number, de->d_name, &st);
        if (l->total > SWEEPLIST_MAX)
            return -E2BIG;
        errno = 0;
    }
    return -errno;
}

static int by_age(const void *a, const void *b)
{
    const struct sweepentry *x = a, *y = b;

    if (x->mtime_ns != y->mtime_ns)
        return x->mtime_ns < y->mtime_ns ? -1 : 1;
    if (x->dir != y->dir)
        return x->dir < y->dir ? -1 : 1;
    return strcmp(x->name, y->name);
}

int sweeplist_read(const char *top, const struct strv *queues, const struct strv *instances,
                   const struct sweepbook *book, struct sweeplist *ret, struct err *err)
{
    int r = 0;

    *ret = (struct sweeplist){.instances = instances};
    ret->fds = xcalloc(queues->n + 1, sizeof(*ret->fds));
    for (size_t i = 0; i < queues->n && i < instances->n && r == 0; i++) {
        ret->fds[ret->n_dirs++] = path_open_below(top, queues->v[i], 0);
        if (ret->fds[i] >= 0)
            r = read_queue(ret, book, (int)i);
        else if (ret->fds[i] != -ENOENT)
            r = ret->fds[i];
        if (r < 0)
            (void)err_sys(err, r, "%s", queues->v[i]);
    }
    if (ret->n > 1)
        array_sort(ret->v, ret->n, sizeof(*ret->v), by_age);
    return r;
}

void sweeplist_clear(struct sweeplist *l)
{
    for (size_t i = 0; i < l->n_dirs; i++) {
        if (l->fds[i] >= 0)
            (void)close(l->fds[i]);
    }
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->fds);
    free(l->v);
    *l = (struct sweeplist){0};
}

int sweeplist_load(const struct sweeplist *l, size_t i, size_t max_bytes, uint8_t **ret_data,
                   size_t *ret_size)
{
    char *data = NULL;
    int r = file_read(l->fds[l->v[i].dir], l->v[i].name, max_bytes, &data, ret_size);

    if (r == -ELOOP || r == -EINVAL)
        return -ENOENT;
    if (r < 0)
        return r;
    *ret_data = (uint8_t *)data;
    return 0;
}
