/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that could differ between two makings of the same content is fixed: times, owners,
 * compression, one thread. libarchive frames, our callback compresses, as its own zstd filter cannot
 * write a checksum.
 */
#include "base/tarout.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/file.h"

struct tarout {
    int fd;
    int code; /* first failure of a write, negative errno */
    struct archive *archive;
    struct archive_entry *entry;
    ZSTD_CCtx *zstd; /* NULL: plain */
    char *buf;
    size_t size;
};

static int compress(struct tarout *t, const void *data, size_t n, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {data, n, 0};
    size_t left;

    do {
        ZSTD_outBuffer o = {t->buf, t->size, 0};

        left = ZSTD_compressStream2(t->zstd, &o, &in, end);
        if (ZSTD_isError(left))
            return -EIO;
        if (o.pos > 0) {
            int r = file_write_all(t->fd, t->buf, o.pos);

            if (r < 0)
                return r;
        }
    } while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return 0;
}

static la_ssize_t on_write(struct archive *a, void *ctx, const void *data, size_t n)
{
    struct tarout *t = ctx;

    if (t->code == 0)
        t->code = t->zstd != NULL ? compress(t, data, n, ZSTD_e_continue)
                                  : file_write_all(t->fd, data, n);
    if (t->code < 0) {
        archive_set_error(a, -t->code, "write failed");
        return -1;
    }
    return (la_ssize_t)n;
}

static int failed(const struct tarout *t, const char *what, struct err *err)
{
    const char *why = archive_error_string(t->archive);

    if (t->code < 0)
        return err_sys(err, t->code, "%s", what);
    return err_set(err, -EIO, "%s: %s", what, why != NULL ? why : "cannot be written");
}

static int use_zstd(struct tarout *t, int level)
{
    t->zstd = ZSTD_createCCtx();
    t->size = ZSTD_CStreamOutSize();
    t->buf = xmalloc(t->size);
    return t->zstd == NULL ||
                   ZSTD_isError(ZSTD_CCtx_setParameter(t->zstd, ZSTD_c_compressionLevel, level)) ||
                   ZSTD_isError(ZSTD_CCtx_setParameter(t->zstd, ZSTD_c_checksumFlag, 1))
               ? -ENOMEM
               : 0;
}

int tarout_open(int fd, int level, struct tarout **ret, struct err *err)
{
    struct tarout *t = xcalloc(1, sizeof(*t));
    int rc = 0;

    t->fd = fd;
    t->archive = archive_write_new();
    t->entry = archive_entry_new();
    if (t->archive == NULL || t->entry == NULL || (level > 0 && use_zstd(t, level) < 0))
        rc = err_set(err, -ENOMEM, "no memory to compress");
    else if (archive_write_set_format_pax_restricted(t->archive) != ARCHIVE_OK ||
             archive_write_add_filter_none(t->archive) != ARCHIVE_OK ||
             archive_write_set_bytes_in_last_block(t->archive, 1) != ARCHIVE_OK ||
             archive_write_open(t->archive, t, NULL, on_write, NULL) != ARCHIVE_OK)
        rc = failed(t, "tar", err);
    if (rc < 0) {
        tarout_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}

int tarout_add(struct tarout *t, const char *name, unsigned mode, const void *data, size_t size,
               struct err *err)
{
    struct archive_entry *e = t->entry;

    if (strstr(name, "//") != NULL)
        return err_set(err, -EINVAL, "%s: a name with an empty component", name);
    archive_entry_clear(e);
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, (__LA_MODE_T)mode);
    archive_entry_set_size(e, (la_int64_t)size);
    archive_entry_set_mtime(e, 0, 0);
    archive_entry_set_uid(e, 0);
    archive_entry_set_gid(e, 0);
    /* A name that is not of the locale's characters is a warning, and is written as it is. */
    if (archive_write_header(t->archive, e) < ARCHIVE_WARN ||
        (size > 0 && archive_write_data(t->archive, data, size) != (la_ssize_t)size))
        return failed(t, name, err);
    return 0;
}

int tarout_finish(struct tarout *t, struct err *err)
{
    if (archive_write_close(t->archive) != ARCHIVE_OK)
        return failed(t, "tar", err);
    if (t->zstd != NULL)
        t->code = compress(t, NULL, 0, ZSTD_e_end);
    return t->code < 0 ? failed(t, "tar", err) : 0;
}

void tarout_free(struct tarout *t)
{
    if (t == NULL)
        return;
    (void)archive_write_free(t->archive);
    archive_entry_free(t->entry);
    (void)ZSTD_freeCCtx(t->zstd);
    free(t->buf);
    free(t);
}
