/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is written beside the folder and moved into it, as afl-fuzz takes whatever it finds there.
 * It tells new files by their time in whole seconds, so each gets one later than any before it; a
 * clock that was set back, and several files in a second, make no difference.
 */
#include "farm/additions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "sys/drop.h"

#define PART ".part"

bool additions_read(const struct plan *plan, const struct plan_target *t)
{
    cleanup_free char *dir = plan_additions_dir(plan->run_dir, t->name);

    for (size_t i = 0; i < t->n_instances; i++) {
        const struct plan_instance *inst = &t->instances[i];

        for (size_t k = 0; inst->is_main && k + 1 < inst->argv.n; k++) {
            if (strcmp(inst->argv.v[k], "--") == 0)
                break;
            if (strcmp(inst->argv.v[k], "-F") == 0 && strcmp(inst->argv.v[k + 1], dir) == 0)
                return true;
        }
    }
    return false;
}

const char *additions_out(const struct plan_target *t)
{
    for (size_t i = 0; i < t->n_instances; i++) {
        if (t->instances[i].is_main)
            return t->instances[i].out_dir;
    }
    return NULL;
}

int additions_open(const struct plan *plan, const struct plan_target *t, char **ret_dir,
                   struct err *err)
{
    cleanup_free char *dir = plan_additions_dir(plan->run_dir, t->name);
    cleanup_close int fd = path_open_below(plan->run_dir, dir, 0700);

    struct drop user;
    int r = fd < 0 ? fd : 0;

    /* The files in it may be read by all who may enter it. */
    if (r == 0 && plan->user != NULL) {
        r = drop_find(plan->user, &user, err);
        if (r < 0)
            return r;
        r = drop_folder(plan->run_dir, dir, &user);
    }
    if (r < 0)
        return err_sys(err, r, "%s", dir);
    *ret_dir = steal_ptr(&dir);
    return 0;
}

/* Number of files, and the time of the newest. */
static int look(int fd, long *ret_n, time_t *ret_newest)
{
    cleanup_close int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *de;

    if (d == NULL)
        return -errno;
    (void)steal_fd(&copy);
    *ret_n = 0;
    *ret_newest = 0;
    while ((de = readdir(d)) != NULL) {
        struct stat st;

        if (de->d_name[0] == '.' || fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        ++*ret_n;
        if (st.st_mtime > *ret_newest)
            *ret_newest = st.st_mtime;
    }
    return 0;
}

static int write_part(int fd, const char *part, const void *data, size_t size, time_t at)
{
    const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};
    cleanup_close int out =
        openat(fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = out < 0 || fchmod(out, 0644) < 0 ? -errno : file_write_all(out, data, size);

    return r == 0 && futimens(out, times) < 0 ? -errno : r;
}

static int put(int parent, int dir, const char *name, const void *data, size_t size)
{
    cleanup_free char *part = xasprintf("%s" PART, name);
    time_t now = time(NULL), newest = 0;
    long n = 0;
    int r = look(dir, &n, &newest);

    if (r == 0 && n >= ADDITIONS_MAX)
        r = -EDQUOT;
    if (r == 0)
        r = write_part(parent, part, data, size, now > newest ? now : newest + 1);
    if (r == 0 && renameat(parent, part, dir, name) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(parent, part, 0);
    return r;
}

int additions_put(const struct plan *plan, const struct plan_target *t, const void *data,
                  size_t size, char ret_sha256[65], bool *ret_present, struct err *err)
{
    cleanup_free char *path = NULL, *above = NULL;
    cleanup_close int dir = -1, parent = -1;
    struct stat st;
    int r;

    if (size == 0)
        return err_set(err, -EINVAL, "is empty, which AFL++ passes over");
    if (size > ADDITIONS_FILE_BYTES)
        return err_set(err, -EFBIG, "is larger than AFL++ takes (1 MiB)");
    r = additions_open(plan, t, &path, err);
    if (r < 0)
        return r;
    above = path_dirname(path);
    dir = path_open_below(plan->run_dir, path, 0);
    parent = path_open_below(plan->run_dir, above, 0);
    if (dir < 0 || parent < 0)
        return err_sys(err, dir < 0 ? dir : parent, "%s", path);
    hash_sha256_hex(data, size, ret_sha256);
    *ret_present = fstatat(dir, ret_sha256, &st, AT_SYMLINK_NOFOLLOW) == 0;
    r = *ret_present ? 0 : put(parent, dir, ret_sha256, data, size);
    if (r == -EDQUOT)
        return err_set(err, -ENOSPC, "%d inputs were added to this target already", ADDITIONS_MAX);
    return r < 0 ? err_sys(err, r, "%s", path) : 0;
}
