/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and reads inputs. A directory counts as its regular files, in an order
 * that does not depend on the file system, so that two replays of one directory
 * print the same lines.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/fz_inputs.h"

static int add_path(struct fz_inputs *in, char *path)
{
    char **grown = reallocarray(in->paths, in->count + 1, sizeof(*grown));

    if (grown == NULL) {
        free(path);
        return -ENOMEM;
    }
    in->paths = grown;
    in->paths[in->count++] = path;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *join(const char *dir, const char *name)
{
    size_t dir_len = strlen(dir);
    size_t name_len = strlen(name);
    bool slash = dir_len > 0 && dir[dir_len - 1] != '/';
    char *path = malloc(dir_len + slash + name_len + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, dir, dir_len);
    if (slash)
        path[dir_len] = '/';
    memcpy(path + dir_len + slash, name, name_len + 1);
    return path;
}

static int add_directory(struct fz_inputs *in, const char *dir)
{
    size_t first = in->count;
    struct dirent *e;
    DIR *d = opendir(dir);
    int rc = 0;

    if (d == NULL)
        return -errno;
    while (rc == 0 && (errno = 0, e = readdir(d)) != NULL) {
        struct stat st;

        if (e->d_name[0] == '.' || strcmp(e->d_name, "README.txt") == 0)
            continue;
        if (fstatat(dirfd(d), e->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode))
            continue;
        char *path = join(dir, e->d_name);

        rc = path == NULL ? -ENOMEM : add_path(in, path);
    }
    if (rc == 0)
        rc = -errno;
    closedir(d);
    if (in->count > first)
        qsort(in->paths + first, in->count - first, sizeof(in->paths[0]), by_name);
    return rc;
}

int fz_inputs_add(struct fz_inputs *in, const char *path)
{
    struct stat st;
    char *copy;

    if (strcmp(path, "-") != 0) {
        if (stat(path, &st) != 0)
            return -errno;
        if (S_ISDIR(st.st_mode))
            return add_directory(in, path);
        if (!S_ISREG(st.st_mode))
            return -EINVAL;
    }
    copy = strdup(path);
    return copy == NULL ? -ENOMEM : add_path(in, copy);
}

void fz_inputs_clear(struct fz_inputs *in)
{
    for (size_t i = 0; i < in->count; i++)
        free(in->paths[i]);
    free(in->paths);
    *in = (struct fz_inputs){0};
}

static int read_all(int fd, uint8_t *buf, size_t cap, size_t *ret_n)
{
    size_t got = 0;

    while (got < cap) {
        ssize_t k = read(fd, buf + got, cap - got);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -errno;
        if (k == 0)
            break;
        got += (size_t)k;
    }
    *ret_n = got;
    return 0;
}

int fz_input_read(const char *path, uint8_t *buf, size_t cap, size_t *ret_n)
{
    struct stat st;
    int fd;
    int rc;

    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, buf, cap, ret_n);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) != 0)
        rc = -errno;
    else if (!S_ISREG(st.st_mode))
        rc = -EINVAL;
    else
        rc = read_all(fd, buf, cap, ret_n);
    close(fd);
    return rc;
}
