/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of inputs come from anywhere: a name is one component, cut to what a file system takes, and two contents never share
 * one. An existing folder gives way only when rename(2) finds it empty. Files go to the disk all at once, before the folder has its
 * place: one by one that takes thirty times as long.
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
#include "base/beside.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "engine/forkserver.h"

#define FILE_MODE   0644
#define FOLDER_MODE 0755
#define NAME_TRIES  10000 /* inputs of one name and content that a corpus may be asked to keep */
#define NAME_CUT                                                                                   \
    200 /* a longer name leaves no room for what is put behind it while it is written */

/* path as it can be renamed to: without slashes behind it. */
static char *place_of(const char *path)
{
    char *place = xstrdup(path);
    size_t n = strlen(place);

    while (n > 1 && place[n - 1] == '/')
        place[--n] = '\0';
    return place;
}

/* Whether something can be made at place and renamed to it. 0 or -errno. */
static int can_be_made(const char *place)
{
    const char *slash = strrchr(place, '/'), *name = slash != NULL ? slash + 1 : place;
    cleanup_free char *parent = slash == NULL    ? xstrdup(".")
                                : slash == place ? xstrdup("/")
                                                 : xstrndup(place, (size_t)(slash - place));
    struct stat st;

    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -EINVAL;
    if (stat(parent, &st) < 0)
        return -errno;
    return !S_ISDIR(st.st_mode) ? -ENOTDIR : access(parent, W_OK | X_OK) < 0 ? -errno : 0;
}

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
    cleanup_free char *place = place_of(path);
    struct stat st;
    int rc = can_be_made(place);

    if (rc == -EINVAL)
        return err_set(err, rc, "%s: is no name that a new folder can have", path);
    if (rc < 0)
        return err_sys(err, rc, "%s: no folder can be made there", path);
    if (lstat(place, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(err, -errno, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "%s: is there and no folder", path);
    return is_empty_folder(path)
               ? 0
               : err_set(err, -EEXIST, "%s: is there and not empty; name a new folder", path);
}

static int write_new(int dir, const char *name, const void *data, size_t size)
{
    cleanup_close int fd =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);

    return fd < 0 ? -errno : file_write_all(fd, data, size);
}

static int copy_one(int dir, const struct inputs *inputs, const struct outfolder_file *f,
                    size_t *ret_size, struct err *err)
{
    const char *path = inputs->v[f->index];
    const char *slash = strrchr(path, '/'), *name = f->name != NULL ? f->name
                                                    : slash != NULL ? slash + 1
                                                                    : path;
    cleanup_free uint8_t *data = NULL;
    cleanup_free char *other = NULL;
    struct stat st;
    char hex[65];
    int rc = inputs_read(inputs, f->index, FORKSERVER_INPUT_BYTES, &data, ret_size);

    if (rc < 0)
        return err_sys(err, rc, "%s", path);
    if (strlen(name) > NAME_CUT || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        hash_sha256_hex(data, *ret_size, hex);
        other = xasprintf("%.*s-%.12s", NAME_CUT, name, hex);
        name = other;
    }
    rc = write_new(dir, name, data, *ret_size);
    /* The same again, or somebody's name for another. */
    for (int i = 2; rc == -EEXIST && i < NAME_TRIES; i++) {
        cleanup_free char *numbered = xasprintf("%s.%d", name, i);

        rc = write_new(dir, numbered, data, *ret_size);
    }
    return rc < 0 ? err_sys(err, rc, "%s", name) : 0;
}

int outfolder_write(const char *path, const struct inputs *inputs,
                    const struct outfolder_file *files, size_t n,
                    const volatile sig_atomic_t *cancel, uint64_t *ret_bytes, struct err *err)
{
    cleanup_free char *place = place_of(path);
    struct beside tmp = {0};
    uint64_t bytes = 0;
    int rc = beside_make(place, BESIDE_FOLDER, FOLDER_MODE, &tmp);

    if (rc < 0)
        return err_sys(err, rc, "%s: no folder can be made beside it", place);
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t size = 0;

        rc = cancel != NULL && *cancel != 0
                 ? err_set(err, -ECANCELED, "interrupted; nothing was written")
                 : copy_one(tmp.fd, inputs, &files[i], &size, err);
        bytes += size;
    }
    if (rc == 0 && (syncfs(tmp.fd) < 0 || beside_whole(&tmp) < 0 || rename(tmp.path, place) < 0))
        rc = err_sys(err, -errno, "%s", path);
    if (rc < 0) {
        beside_clear(&tmp);
        return rc;
    }
    beside_placed(&tmp);
    (void)file_sync_parent(AT_FDCWD, place);
    *ret_bytes = bytes;
    return 0;
}
