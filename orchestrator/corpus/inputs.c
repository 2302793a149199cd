/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks what was named, in the order of names, so that a run over the same files is the same run.
 * Folders of a campaign may grow meanwhile; what is gone when it is read is its reader's to tell.
 */
#include "corpus/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

#define SETUP  "fuzzer_setup"
#define QUEUE  "queue"
#define README "README.txt"

static bool is_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool holds(const char *dir, const char *name)
{
    cleanup_free char *path = path_join(dir, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static int wanted(const struct dirent *de)
{
    return de->d_name[0] != '.' && strcmp(de->d_name, README) != 0;
}

/* By bytes: the same on every machine. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* DT_DIR, DT_REG or another. Few file systems do not tell it with the name. */
static int kind_of(const struct dirent *de, const char *path)
{
    struct stat st;

    if (de->d_type != DT_UNKNOWN)
        return de->d_type;
    return lstat(path, &st) == 0 ? IFTODT(st.st_mode) : DT_UNKNOWN;
}

static int list_folder(const char *dir, struct dirent ***ret)
{
    int n = scandir(dir, ret, wanted, by_name);

    return n < 0 ? -errno : n;
}

static int add_tree(struct strv *list, const char *dir, int depth, struct err *err)
{
    struct dirent **names = NULL;
    int n = depth < INPUTS_DEPTH_MAX ? list_folder(dir, &names) : -ELOOP, rc = n < 0 ? n : 0;

    if (rc < 0)
        return err_sys(err, rc, "%s", dir);
    for (int i = 0; i < n; i++) {
        cleanup_free char *path = path_join(dir, names[i]->d_name);
        const int kind = kind_of(names[i], path);

        free(names[i]);
        if (rc < 0)
            continue;
        if (kind == DT_DIR)
            rc = add_tree(list, path, depth + 1, err);
        else if (kind == DT_REG && list->n >= INPUTS_MAX)
            rc = err_set(err, -E2BIG, "%s: over %d inputs", dir, INPUTS_MAX);
        else if (kind == DT_REG)
            strv_take(list, steal_ptr(&path));
    }
    free(names);
    return rc;
}

/* Of dir, when it is AFL++ output. -ENOTDIR when it is none. */
static int add_queues(struct strv *list, const char *dir, struct err *err)
{
    struct dirent **names = NULL;
    bool found = false;
    int n, rc = 0;

    if (holds(dir, SETUP)) {
        cleanup_free char *queue = path_join(dir, QUEUE);

        return is_folder(queue) ? add_tree(list, queue, 0, err) : 0;
    }
    n = list_folder(dir, &names);
    for (int i = 0; i < n; i++) {
        cleanup_free char *instance = path_join(dir, names[i]->d_name);

        free(names[i]);
        if (rc < 0 || !is_folder(instance) || !holds(instance, SETUP))
            continue;
        found = true;
        rc = add_queues(list, instance, err);
    }
    free(names);
    return rc == 0 && !found ? -ENOTDIR : rc;
}

int inputs_add(struct strv *list, const char *path, struct err *err)
{
    const size_t before = list->n;
    struct stat st;
    int rc;

    if (stat(path, &st) < 0)
        return err_sys(err, -errno, "%s", path);
    if (!S_ISDIR(st.st_mode)) {
        strv_add(list, path);
        return 0;
    }
    rc = add_queues(list, path, err);
    if (rc == -ENOTDIR)
        rc = add_tree(list, path, 0, err);
    while (rc < 0 && list->n > before) {
        free(list->v[--list->n]);
        list->v[list->n] = NULL;
    }
    return rc;
}

int inputs_read(const char *path, size_t max_bytes, uint8_t **ret_data, size_t *ret_size)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    cleanup_free uint8_t *data = NULL;
    size_t n = 0, room;
    struct stat st;
    ssize_t got;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if ((uint64_t)st.st_size > max_bytes)
        return -EFBIG;
    /* What fstat says is what is taken: one call, and a file that grows meanwhile is as it was. */
    room = (size_t)st.st_size;
    data = xmalloc(room + 1);
    while (n < room && (got = read(fd, data + n, room - n)) != 0) {
        if (got < 0 && errno != EINTR)
            return -errno;
        n += got > 0 ? (size_t)got : 0;
    }
    *ret_data = steal_ptr(&data);
    *ret_size = n;
    return 0;
}
