/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a bundle: its files in the order of their names. What it is made of in the state
 * directory is proven to be what it is named by before it goes in.
 */
#include "bundle/bundle_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sort.h"
#include "base/tarout.h"
#include "store/artifact.h"

#define LEVEL 9

static int compare_files(const void *a, const void *b)
{
    const struct bundle_file *x = a, *y = b;

    return strcmp(x->m.name, y->m.name);
}

static int write_file(struct tarout *t, const struct bundle_file *f, struct err *err)
{
    cleanup_free char *read = NULL;
    const char *data = f->data;
    size_t size = (size_t)f->m.size;
    char hex[65];
    int r;

    if (data == NULL) {
        r = file_read(AT_FDCWD, f->path, ARTIFACT_MAX_BYTES, &read, &size);
        if (r < 0)
            return err_sys(err, r, "%s", f->path);
        hash_sha256_hex(read, size, hex);
        if (size != f->m.size || strcmp(hex, f->m.sha256) != 0)
            return err_set(err, -EIO, "%s: its bytes are not those it is named by", f->path);
        data = read;
    }
    return tarout_add(t, f->m.name, f->mode, data, size, err);
}

int bundle_write(int fd, struct bundle_file *files, size_t n, struct err *err)
{
    struct tarout *t;
    int r = tarout_open(fd, LEVEL, &t, err);

    if (r < 0)
        return r;
    array_sort(files, n, sizeof(*files), compare_files);
    for (size_t i = 0; i < n && r == 0; i++)
        r = write_file(t, &files[i], err);
    if (r == 0)
        r = tarout_finish(t, err);
    tarout_free(t);
    return r;
}
