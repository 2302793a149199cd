/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of inputs come from anywhere: a name is one component, cut to what a file system takes, and two contents never share
 * one. An existing folder gives way only when rename(2) finds it empty.
 */
#include "corpus/outfolder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "corpus/inputs.h"
#include "engine/forkserver.h"

#define FILE_MODE 0644

static bool is_empty_folder(const char *path)
{
    cleanup_dir DIR *dir = opendir(path);
    const struct dirent *de;
    int n = 0;

    while (dir != NULL && (de = readdir(dir)) != NULL)
        n += strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
    return dir != NULL && n == 0;
}

int outfolder_check(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(err, -errno, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "%s: is there and no folder", path);
    return is_empty_folder(path)
               ? 0
               : err_set(err, -EEXIST, "%s: is there and not empty; name a new folder", path);
}

static int copy_one(int dir, const struct outfolder_file *f, size_t *ret_size, struct err *err)
{
    const char *slash = strrchr(f->path, '/'), *name = f->name != NULL ? f->name
                                                       : slash != NULL ? slash + 1
                                                                       : f->path;
    cleanup_free uint8_t *data = NULL;
    cleanup_free char *other = NULL;
    struct stat st;
    char hex[65];
    int rc = inputs_read(f->path, FORKSERVER_INPUT_BYTES, &data, ret_size);

    if (rc < 0)
        return err_sys(err, rc, "%s", f->path);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        hash_sha256_hex(data, *ret_size, hex);
        other = xasprintf("%.200s-%.12s", name, hex);
        name = other;
    }
    rc = file_write_atomic(dir, name, data, *ret_size, FILE_MODE);
    return rc < 0 ? err_sys(err, rc, "%s", name) : 0;
}

int outfolder_write(const char *path, const struct outfolder_file *files, size_t n,
                    uint64_t *ret_bytes, struct err *err)
{
    cleanup_free char *tmp = xasprintf("%s.tmp-%d", path, (int)getpid());
    cleanup_close int dir = -1;
    uint64_t bytes = 0;
    int rc = 0;

    if (mkdir(tmp, 0755) < 0)
        return err_sys(err, -errno, "%s", tmp);
    dir = open(tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        rc = err_sys(err, -errno, "%s", tmp);
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t size = 0;

        rc = copy_one(dir, &files[i], &size, err);
        bytes += size;
    }
    if (rc == 0 && rename(tmp, path) < 0)
        rc = err_sys(err, -errno, "%s", path);
    if (rc < 0)
        (void)path_remove_tree(tmp);
    else
        *ret_bytes = bytes;
    return rc;
}
