/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content-addressed files. The invariant: a file under its final name holds exactly
 * the bytes of that name, because it was complete and on the disk before the rename.
 * A crash leaves at most a .tmp, or a whole blob that no row speaks of yet.
 */
#include "store/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "store/artifact.h"

#define BLOB_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

char *artifact_blob_path(const char *state_dir, const char *sha256)
{
    return xasprintf("%s/store/%.2s/%s", state_dir, sha256, sha256);
}

int blob_batch_open(struct blob_batch *b, const char *state_dir, struct err *err)
{
    cleanup_free char *path = path_join(state_dir, "store");
    int r;

    memset(b, 0, sizeof(*b));
    b->store_fd = -1;
    r = path_open_below(state_dir, path, 0700);
    if (r < 0)
        return err_sys(err, r, "cannot open %s", path);
    b->store_fd = r;
    return 0;
}

void blob_batch_close(struct blob_batch *b)
{
    if (b->store_fd >= 0)
        (void)close(b->store_fd);
    b->store_fd = -1;
}

static int prefix_value(const char *sha256)
{
    static const char digits[] = "0123456789abcdef";
    const char *hi = strchr(digits, sha256[0]);
    const char *lo = hi != NULL && *hi != '\0' ? strchr(digits, sha256[1]) : NULL;

    return lo != NULL && *lo != '\0' ? (int)((hi - digits) * 16 + (lo - digits)) : -1;
}

/* True when the blob is there and is what its name says. */
static bool blob_intact(int dir_fd, const char *sha256, size_t size)
{
    char hex[65];
    uint64_t found = 0;

    return file_sha256(dir_fd, sha256, size, hex, &found) == 0 && found == size &&
           strcmp(hex, sha256) == 0;
}

static int write_temporary(int dir_fd, const char *name, const void *data, size_t size)
{
    int r;
    cleanup_close int fd = -1;

    (void)unlinkat(dir_fd, name, 0); /* of a crash; ours alone, fuzzd holds the lock */
    fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    if (fd < 0)
        return -errno;
    if ((r = file_write_all(fd, data, size)) < 0)
        return r;
    return fsync(fd) < 0 ? -errno : 0;
}

int blob_batch_put(struct blob_batch *b, const char *sha256, const void *data, size_t size,
                   struct err *err)
{
    char prefix[3], temporary[72];
    int which = prefix_value(sha256);
    int r;
    cleanup_close int dir_fd = -1;

    if (which < 0)
        return err_set(err, -EINVAL, "\"%s\" is not a SHA-256", sha256);
    (void)snprintf(prefix, sizeof(prefix), "%.2s", sha256);
    (void)snprintf(temporary, sizeof(temporary), "%.64s.tmp", sha256);
    if (mkdirat(b->store_fd, prefix, 0700) == 0)
        b->touched_root = true;
    else if (errno != EEXIST)
        return err_sys(err, -errno, "cannot make store/%s", prefix);
    dir_fd = openat(b->store_fd, prefix, BLOB_DIR_FLAGS);
    if (dir_fd < 0)
        return err_sys(err, -errno, "cannot open store/%s", prefix);
    if (!blob_intact(dir_fd, sha256, size)) {
        r = write_temporary(dir_fd, temporary, data, size);
        if (r == 0 && renameat(dir_fd, temporary, dir_fd, sha256) < 0)
            r = -errno;
        if (r < 0) {
            (void)unlinkat(dir_fd, temporary, 0);
            return err_sys(err, r, "cannot write store/%s/%s", prefix, sha256);
        }
    }
    /* Also for one that was there: whoever renamed it may not have lived to sync the folder. */
    b->touched[which] = true;
    return 0;
}

int blob_batch_sync(struct blob_batch *b, struct err *err)
{
    for (int i = 0; i < 256; i++) {
        char prefix[3];
        cleanup_close int fd = -1;

        if (!b->touched[i])
            continue;
        (void)snprintf(prefix, sizeof(prefix), "%02x", (unsigned)i);
        fd = openat(b->store_fd, prefix, BLOB_DIR_FLAGS);
        if (fd < 0 || fsync(fd) < 0)
            return err_sys(err, -errno, "cannot sync store/%s", prefix);
        b->touched[i] = false;
    }
    if (b->touched_root && fsync(b->store_fd) < 0)
        return err_sys(err, -errno, "cannot sync store");
    b->touched_root = false;
    return 0;
}
