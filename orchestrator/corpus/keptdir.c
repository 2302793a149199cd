/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A corpus between two runs. The lock is the campaign's own: one run of a campaign at a time, in one state directory
 * with one fuzzd. What a writer that was killed has left beside the folder is removed by the next.
 */
#include "corpus/keptdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/sort.h"
#include "corpus/inputs.h"
#include "engine/forkserver.h"

#define NEW            ".new"
#define NAME_BYTES_MAX 200
#define COPY_BYTES_MAX (64 << 20)

char *keptdir_path(const char *state_dir, const char *campaign, const char *target)
{
    return xasprintf("%s/corpora/%s/%s", state_dir, campaign, target);
}

static bool is_whole(int dir, const char *name)
{
    cleanup_free char *data = NULL;
    size_t size = 0;
    char hex[65];

    if (!hash_hex_ok(name) || file_read(dir, name, FORKSERVER_INPUT_BYTES, &data, &size) < 0)
        return false;
    hash_sha256_hex(data, size, hex);
    return strcmp(hex, name) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int keptdir_list(const char *state_dir, const char *path, struct strv *list, size_t *ret_damaged,
                 struct err *err)
{
    const size_t before = list->n;
    int fd = path_open_below(state_dir, path, 0);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;

    *ret_damaged = 0;
    if (fd == -ENOENT)
        return 0;
    if (dir == NULL)
        return err_sys(err, fd < 0 ? fd : -ENOMEM, "%s", path);
    while ((de = readdir(dir)) != NULL && list->n - before < KEPTDIR_FILES_MAX) {
        if (de->d_name[0] == '.')
            continue;
        if (is_whole(fd, de->d_name))
            strv_addf(list, "%s/%s", path, de->d_name);
        else
            (*ret_damaged)++;
    }
    if (list->n - before > 1)
        array_sort(list->v + before, list->n - before, sizeof(list->v[0]), by_name);
    return 0;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

/* The folders below path, sorted; none when it is not there. */
static int list_folders(const char *state_dir, const char *path, struct strv *ret)
{
    int fd = path_open_below(state_dir, path, 0);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;
    struct stat st;

    if (dir == NULL)
        return fd == -ENOENT ? 0 : fd < 0 ? fd : -ENOMEM;
    while ((de = readdir(dir)) != NULL) {
        if (de->d_name[0] != '.' && !ends_with(de->d_name, NEW) &&
            fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
            strv_add(ret, de->d_name);
    }
    return 0;
}

static int sum_campaign(const char *state_dir, const char *campaign, struct keptdir_sum *ret,
                        struct err *err)
{
    cleanup_free char *path = xasprintf("%s/corpora/%s", state_dir, campaign);
    struct strv targets = {0};
    int r = list_folders(state_dir, path, &targets);

    if (r < 0)
        (void)err_sys(err, r, "%s", path);
    for (size_t i = 0; i < targets.n && r == 0; i++) {
        cleanup_free char *folder = path_join(path, targets.v[i]);
        struct strv files = {0};
        size_t damaged = 0;

        r = keptdir_list(state_dir, folder, &files, &damaged, err);
        ret->corpora++;
        ret->files += files.n;
        ret->damaged += damaged;
        strv_clear(&files);
    }
    strv_clear(&targets);
    return r;
}

int keptdir_sum(const char *state_dir, const char *campaign, struct keptdir_sum *ret,
                struct err *err)
{
    cleanup_free char *top = path_join(state_dir, "corpora");
    struct strv campaigns = {0};
    int r = 0;

    *ret = (struct keptdir_sum){0};
    if (campaign != NULL)
        strv_add(&campaigns, campaign);
    else
        r = list_folders(state_dir, top, &campaigns);
    if (r < 0)
        (void)err_sys(err, r, "%s", top);
    for (size_t i = 0; i < campaigns.n && r == 0; i++)
        r = sum_campaign(state_dir, campaigns.v[i], ret, err);
    strv_clear(&campaigns);
    return r;
}

static int put(int dir, const char *name, const void *data, size_t size)
{
    cleanup_close int fd =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    return fd < 0 ? -errno : file_write_all(fd, data, size);
}

/* 1 it is there, 0 it was there already or has gone, -errno. */
static int copy_by_hash(int dir, const char *file, size_t *ret_size)
{
    cleanup_free uint8_t *data = NULL;
    char hex[65];
    int r = inputs_read_file(file, FORKSERVER_INPUT_BYTES, &data, ret_size);

    if (r < 0)
        return r == -ENOENT || r == -EFBIG || r == -ELOOP || r == -EINVAL ? 0 : r;
    hash_sha256_hex(data, *ret_size, hex);
    r = put(dir, hex, data, *ret_size);
    return r == -EEXIST ? 0 : r < 0 ? r : 1;
}

static int copy_all(int dir, char *const *files, size_t n, size_t *ret_files, uint64_t *ret_bytes,
                    struct err *err)
{
    *ret_files = 0;
    *ret_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        size_t size = 0;
        int r = copy_by_hash(dir, files[i], &size);

        if (r < 0)
            return err_sys(err, r, "%s", files[i]);
        if (r == 1) {
            (*ret_files)++;
            *ret_bytes += size;
        }
    }
    return syncfs(dir) < 0 ? err_sys(err, -errno, "cannot bring it to the disk") : 0;
}

/* The new one into the place, the old one out of it, in one step. */
static int take_place(int parent, const char *fresh, const char *name)
{
    if (renameat2(parent, fresh, parent, name, RENAME_EXCHANGE) < 0 &&
        (errno != ENOENT || renameat2(parent, fresh, parent, name, RENAME_NOREPLACE) < 0))
        return -errno;
    return fsync(parent) < 0 ? -errno : 0;
}

int keptdir_write(const char *state_dir, const char *path, char *const *files, size_t n,
                  size_t *ret_files, uint64_t *ret_bytes, struct err *err)
{
    cleanup_free char *fresh = xasprintf("%s" NEW, path), *above = path_dirname(path);
    cleanup_close int parent = path_open_below(state_dir, above, 0700), dir = -1;
    const char *name = strrchr(path, '/') + 1, *fresh_name = strrchr(fresh, '/') + 1;
    uint64_t bytes = 0;
    size_t kept = 0;
    int r = parent < 0 ? parent : path_remove_tree_below(state_dir, fresh);

    if (r == 0)
        r = dir = path_open_below(state_dir, fresh, 0700);
    if (r < 0)
        return err_sys(err, r, "%s", fresh);
    r = copy_all(dir, files, n, &kept, &bytes, err);
    if (r == 0) {
        r = take_place(parent, fresh_name, name);
        if (r < 0)
            (void)err_sys(err, r, "%s", path);
    }
    (void)path_remove_tree_below(state_dir, fresh);
    if (r < 0)
        return r;
    *ret_files = kept;
    *ret_bytes = bytes;
    return 0;
}

int keptdir_copy(const char *state_dir, const char *path, char *const *files, size_t n,
                 struct err *err)
{
    cleanup_close int dir = path_open_below(state_dir, path, 0700);

    if (dir < 0)
        return err_sys(err, dir, "%s", path);
    for (size_t i = 0; i < n; i++) {
        cleanup_free uint8_t *data = NULL;
        const char *name = strrchr(files[i], '/') + 1;
        size_t size = 0;
        int r = inputs_read_file(files[i], COPY_BYTES_MAX, &data, &size);

        if (r == -ENOENT)
            continue;
        if (r == 0)
            r = strlen(name) <= NAME_BYTES_MAX ? put(dir, name, data, size) : -EEXIST;
        if (r == -EEXIST) {
            cleanup_free char *other = xasprintf("%zu-%.*s", i, NAME_BYTES_MAX, name);

            r = put(dir, other, data, size);
        }
        if (r < 0)
            return err_sys(err, r, "%s", files[i]);
    }
    return 0;
}
