/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is taken from a header on trust: memory and output are bounded before a byte is unpacked.
 * Of a plain file bytes that nobody wants are not even read, as a file with holes has any number.
 */
#include "base/unzstd.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"

#define WINDOW_LOG_MAX 25 /* 32 MiB of memory at most */
#define MAGIC_BYTES    4
#define PLAIN_BYTES    ((size_t)256 << 10)

struct unzstd {
    int fd;
    ZSTD_DCtx *zstd; /* NULL: plain */
    char *in_buf, *out_buf;
    size_t in_size, out_size;
    ZSTD_inBuffer in;
    uint64_t total, max_bytes;
    const char *rest; /* unpacked, and asked for while it was skipped to */
    size_t rest_n;
    unsigned magic_n; /* bytes of the magic number that were there */
    bool frame_done;
    char why[128];
};

static int refuse(struct unzstd *u, const char *why)
{
    if (u->why[0] == '\0')
        (void)strlcpy(u->why, why, sizeof(u->why));
    return -EBADMSG;
}

static int use_zstd(struct unzstd *u)
{
    u->in_size = ZSTD_DStreamInSize();
    u->out_size = ZSTD_DStreamOutSize();
    u->out_buf = xmalloc(u->out_size);
    u->zstd = ZSTD_createDCtx();
    return u->zstd == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax,
                                                                  WINDOW_LOG_MAX))
               ? -ENOMEM
               : 0;
}

int unzstd_open(const char *path, bool packed, uint64_t max_bytes, struct unzstd **ret,
                struct err *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct unzstd *u;
    struct stat st;

    if (fd < 0)
        return err_sys(err, -errno, "%s", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "%s: not a regular file", path);
    u = xcalloc(1, sizeof(*u));
    u->fd = steal_fd(&fd);
    u->max_bytes = max_bytes;
    u->in_size = PLAIN_BYTES;
    if (packed && use_zstd(u) < 0) {
        unzstd_close(u);
        return err_set(err, -ENOMEM, "%s: no memory to decompress", path);
    }
    u->in_buf = xmalloc(u->in_size);
    *ret = u;
    return 0;
}

static ssize_t fill(struct unzstd *u)
{
    ssize_t n;

    do
        n = read(u->fd, u->in_buf, u->in_size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

/* libzstd takes frames of its formats before 1.0 as well, for which it knows no limit of memory. */
static bool magic_is_right(struct unzstd *u)
{
    for (size_t i = 0; i < u->in.size && u->magic_n < MAGIC_BYTES; i++, u->magic_n++) {
        if ((unsigned char)u->in_buf[i] != (unsigned char)(ZSTD_MAGICNUMBER >> 8 * u->magic_n))
            return false;
    }
    return true;
}

static ssize_t next_unpacked(struct unzstd *u, const void **ret)
{
    ZSTD_outBuffer out = {u->out_buf, u->out_size, 0};

    while (out.pos == 0) {
        size_t left;

        if (u->in.pos == u->in.size) {
            ssize_t n = fill(u);

            if (n < 0)
                return n;
            if (n == 0)
                return u->frame_done ? 0 : refuse(u, "the file is cut short");
            u->in = (ZSTD_inBuffer){u->in_buf, (size_t)n, 0};
            if (!magic_is_right(u))
                return refuse(u, "it does not begin with a zstd frame");
        }
        if (u->frame_done)
            return refuse(u, "something follows the compressed frame");
        left = ZSTD_decompressStream(u->zstd, &out, &u->in);
        if (ZSTD_isError(left)) {
            (void)snprintf(u->why, sizeof(u->why), "zstd: %s", ZSTD_getErrorName(left));
            return -EBADMSG;
        }
        u->frame_done = left == 0;
    }
    u->total += out.pos;
    if (u->total > u->max_bytes) {
        char size[32], why[64];

        (void)snprintf(why, sizeof(why), "it unpacks to more than %s",
                       format_size(size, sizeof(size), (int64_t)u->max_bytes));
        return refuse(u, why);
    }
    *ret = out.dst;
    return (ssize_t)out.pos;
}

ssize_t unzstd_next(struct unzstd *u, const void **ret)
{
    ssize_t n = (ssize_t)u->rest_n;

    if (n > 0) {
        *ret = u->rest;
        u->rest_n = 0;
        return n;
    }
    if (u->zstd != NULL)
        return next_unpacked(u, ret);
    n = fill(u);
    *ret = u->in_buf;
    return n;
}

int unzstd_skip(struct unzstd *u, uint64_t n)
{
    while (n > 0) {
        const void *data;
        ssize_t got;

        if (u->zstd == NULL && u->rest_n == 0)
            return n > INT64_MAX || lseek(u->fd, (off_t)n, SEEK_CUR) < 0
                       ? refuse(u, "the file is cut short")
                       : 0;
        got = unzstd_next(u, &data);
        if (got <= 0)
            return (int)got;
        if ((uint64_t)got > n) {
            u->rest = (const char *)data + n;
            u->rest_n = (size_t)((uint64_t)got - n);
            return 0;
        }
        n -= (uint64_t)got;
    }
    return 0;
}

const char *unzstd_why(const struct unzstd *u)
{
    return u->why;
}

void unzstd_close(struct unzstd *u)
{
    if (u == NULL)
        return;
    (void)close(u->fd);
    (void)ZSTD_freeDCtx(u->zstd);
    free(u->in_buf);
    free(u->out_buf);
    free(u);
}
