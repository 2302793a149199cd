/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the folders of one instance. What is read here is the folder of a target, which has one entry an instance; an
 * entry that is no folder, or has an odd number, is none of ours.
 */
#include "store/rotation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/path.h"

#define MARK "_r"

char *rotation_of(const char *first, int n)
{
    return n > 1 ? xasprintf("%s" MARK "%d", first, n) : xstrdup(first);
}

/* N of an entry NAME_rN, else 0. */
static int number_of(const char *entry, const char *name)
{
    size_t n = strlen(name);
    uint64_t number;

    if (strncmp(entry, name, n) != 0 || strncmp(entry + n, MARK, strlen(MARK)) != 0)
        return 0;
    entry += n + strlen(MARK);
    if (*entry == '0' || parse_u64(entry, ROTATION_MAX, &number) < 0)
        return 0;
    return (int)number;
}

/* The newest below limit. */
static int newest_below(const char *out_dir, int limit)
{
    cleanup_free char *parent = path_dirname(out_dir);
    const char *slash = strrchr(out_dir, '/'), *name = slash != NULL ? slash + 1 : out_dir;
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), last = 1;
    cleanup_dir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;
    struct stat st;

    if (d == NULL && fd >= 0)
        (void)close(fd);
    while (d != NULL && (de = readdir(d)) != NULL) {
        int n = number_of(de->d_name, name);

        if (n > last && n < limit && fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
            last = n;
    }
    return last;
}

int rotation_last(const char *out_dir)
{
    return newest_below(out_dir, ROTATION_MAX + 1);
}

int rotation_before(const char *out_dir, int n)
{
    return newest_below(out_dir, n);
}

int rotation_free(const char *out_dir, int n)
{
    for (; n <= ROTATION_MAX; n++) {
        cleanup_free char *path = rotation_of(out_dir, n);
        struct stat st;

        if (lstat(path, &st) < 0 && errno == ENOENT)
            return n;
    }
    return 0;
}

bool rotation_is_folder(const char *out_dir, int n)
{
    struct stat st;

    if (n <= 1)
        return true;
    cleanup_free char *path = rotation_of(out_dir, n);
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *rotation_newest(const char *out_dir)
{
    return rotation_of(out_dir, rotation_last(out_dir));
}
