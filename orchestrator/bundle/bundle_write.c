/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a bundle. Everything that could differ between two makings of the
 * same content is fixed: order, times, owners, modes, compression level, one
 * thread. libarchive frames, our callback compresses, as its own zstd filter
 * cannot write a checksum.
 * Source: libarchive archive_write(3), pax_restricted; zstd.h ZSTD_c_checksumFlag.
 */
#include "base/sort.h"
#include "bundle/bundle_internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/artifact.h"

#define LEVEL 9

struct out {
    int fd;
    int code; /* first failure, negative errno */
    ZSTD_CCtx *zstd;
    char *buf;
    size_t size;
};

static int compress(struct out *out, const void *data, size_t n, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {data, n, 0};
    size_t left;

    do {
        ZSTD_outBuffer o = {out->buf, out->size, 0};

        left = ZSTD_compressStream2(out->zstd, &o, &in, end);
        if (ZSTD_isError(left))
            return -EIO;
        if (o.pos > 0) {
            int r = file_write_all(out->fd, out->buf, o.pos);

            if (r < 0)
                return r;
        }
    } while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return 0;
}

static la_ssize_t on_write(struct archive *a, void *ctx, const void *data, size_t n)
{
    struct out *out = ctx;

    if (out->code == 0)
        out->code = compress(out, data, n, ZSTD_e_continue);
    if (out->code < 0) {
        archive_set_error(a, -out->code, "write failed");
        return -1;
    }
    return (la_ssize_t)n;
}

static int compare_files(const void *a, const void *b)
{
    const struct bundle_file *x = a, *y = b;

    return strcmp(x->m.name, y->m.name);
}

static int write_file(struct archive *a, struct archive_entry *e, const struct bundle_file *f,
                      struct err *err)
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
    archive_entry_clear(e);
    archive_entry_set_pathname(e, f->m.name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, (__LA_MODE_T)f->mode);
    archive_entry_set_size(e, (la_int64_t)size);
    archive_entry_set_mtime(e, 0, 0);
    archive_entry_set_uid(e, 0);
    archive_entry_set_gid(e, 0);
    if (archive_write_header(a, e) != ARCHIVE_OK ||
        (size > 0 && archive_write_data(a, data, size) != (la_ssize_t)size))
        return err_set(err, -EIO, "%s: %s", f->m.name, archive_error_string(a));
    return 0;
}

static int write_all(struct archive *a, struct out *out, const struct bundle_file *files, size_t n,
                     struct err *err)
{
    struct archive_entry *e = archive_entry_new();
    int r = 0;

    if (e == NULL || archive_write_set_format_pax_restricted(a) != ARCHIVE_OK ||
        archive_write_add_filter_none(a) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(a, 1) != ARCHIVE_OK ||
        archive_write_open(a, out, NULL, on_write, NULL) != ARCHIVE_OK)
        r = err_set(err, -EIO, "tar: %s", archive_error_string(a));
    for (size_t i = 0; i < n && r == 0; i++)
        r = write_file(a, e, &files[i], err);
    if (r == 0 && archive_write_close(a) != ARCHIVE_OK)
        r = err_set(err, -EIO, "tar: %s", archive_error_string(a));
    archive_entry_free(e);
    return r;
}

int bundle_write(int fd, struct bundle_file *files, size_t n, struct err *err)
{
    struct out out = {.fd = fd, .zstd = ZSTD_createCCtx(), .size = ZSTD_CStreamOutSize()};
    struct archive *a = archive_write_new();
    int r;

    array_sort(files, n, sizeof(*files), compare_files);
    out.buf = xmalloc(out.size);
    if (a == NULL || out.zstd == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(out.zstd, ZSTD_c_compressionLevel, LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(out.zstd, ZSTD_c_checksumFlag, 1)))
        r = err_set(err, -ENOMEM, "no memory to compress");
    else
        r = write_all(a, &out, files, n, err);
    if (r == 0)
        out.code = compress(&out, NULL, 0, ZSTD_e_end);
    if (out.code < 0)
        r = err_sys(err, out.code, "bundle");
    archive_write_free(a);
    ZSTD_freeCCtx(out.zstd);
    free(out.buf);
    return r;
}
