/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is made beside its place and gets its name when it is whole and on the disk, unless
 * somebody else took the name meanwhile.
 */
#include "corpus/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/tarout.h"
#include "corpus/packed.h"

#define LEVEL 3
#define MODE  0644

struct item {
    const char *name;
    size_t index;
};

int pack_check(const char *path, struct err *err)
{
    cleanup_free char *parent = path_dirname(path);
    struct stat st;

    if (!packed_name(path))
        return err_set(err, -EINVAL, "%s: allowed is a name that ends in .tar or .tar.zst", path);
    if (lstat(path, &st) == 0)
        return err_set(err, -EEXIST, "%s: is there already; name a new file", path);
    if (errno != ENOENT)
        return err_sys(err, -errno, "%s", path);
    if (stat(parent, &st) < 0)
        return err_sys(err, -errno, "%s: no file can be made there", path);
    if (!S_ISDIR(st.st_mode))
        return err_sys(err, -ENOTDIR, "%s: no file can be made there", path);
    if (access(parent, W_OK | X_OK) < 0)
        return err_sys(err, -errno, "%s: no file can be made there", path);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const int c = packed_compare(x->name, y->name);

    return c != 0 ? c : x->index < y->index ? -1 : x->index > y->index;
}

/* In their order. 0, or what is wrong with a name. Caller frees *ret. */
static int order(const char *const *names, size_t n, struct item **ret, struct err *err)
{
    cleanup_free struct item *items = xcalloc(n + 1, sizeof(*items));

    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){names[i], i};
    array_sort(items, n, sizeof(*items), by_name);
    for (size_t i = 0; i < n; i++) {
        if (!packed_takes(items[i].name))
            return err_set(err, -EINVAL, "%s: a name that is passed over when it is read",
                           items[i].name);
        if (i > 0 && strcmp(items[i].name, items[i - 1].name) == 0)
            return err_set(err, -EEXIST, "%s: the name of two inputs", items[i].name);
    }
    *ret = steal_ptr(&items);
    return 0;
}

static int write_one(struct tarout *t, const struct inputs *inputs, const struct item *item,
                     uint64_t *bytes, struct err *err)
{
    cleanup_free uint8_t *data = NULL;
    size_t size = 0;
    int rc = inputs_read(inputs, item->index, PACK_INPUT_MAX, &data, &size);

    if (rc < 0 && rc != -EFBIG)
        return err_set(err, rc, "%s: %s", inputs->v[item->index], inputs_why(rc));
    if (rc < 0)
        return err_sys(err, rc, "%s", inputs->v[item->index]);
    *bytes += size;
    if (*bytes > PACKED_BYTES_MAX)
        return err_set(err, -EFBIG, "the inputs have more than 1G together; distill them");
    return tarout_add(t, item->name, MODE, data, size, err);
}

static int write_all(int fd, bool zst, const struct inputs *inputs, const struct item *items,
                     const volatile sig_atomic_t *cancel, uint64_t *bytes, struct err *err)
{
    struct tarout *t;
    int rc = tarout_open(fd, zst ? LEVEL : 0, &t, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < inputs->n && rc == 0; i++) {
        rc = cancel != NULL && *cancel != 0
                 ? err_set(err, -ECANCELED, "interrupted; nothing was written")
                 : write_one(t, inputs, &items[i], bytes, err);
    }
    if (rc == 0)
        rc = tarout_finish(t, err);
    tarout_free(t);
    return rc;
}

/* Not every file system can tell that the name is taken in one step with the renaming. */
static int take_name(const char *tmp, const char *path)
{
    if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (link(tmp, path) < 0)
        return -errno;
    (void)unlink(tmp);
    return 0;
}

int pack_write(const char *path, const struct inputs *inputs, const char *const *names,
               const volatile sig_atomic_t *cancel, uint64_t *ret_bytes, struct err *err)
{
    struct beside tmp = {0};
    cleanup_free struct item *items = NULL;
    uint64_t bytes = 0;
    int rc = order(names, inputs->n, &items, err);

    if (rc < 0)
        return rc;
    rc = beside_make(path, BESIDE_FILE, MODE, &tmp);
    if (rc < 0)
        return err_sys(err, rc, "%s: no file can be made beside it", path);
    rc = write_all(tmp.fd, packed_is_zst(path), inputs, items, cancel, &bytes, err);
    if (rc == 0 && ((rc = beside_whole(&tmp)) < 0 || (rc = take_name(tmp.path, path)) < 0))
        (void)err_sys(err, rc, "%s", path);
    if (rc < 0) {
        beside_clear(&tmp);
        return rc;
    }
    beside_placed(&tmp);
    (void)file_sync_parent(AT_FDCWD, path);
    *ret_bytes = bytes;
    return 0;
}
