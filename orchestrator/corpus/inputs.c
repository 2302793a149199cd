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

#include "base/cleanup.h"
#include "base/file.h"
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
        struct stat st;

        free(names[i]);
        if (rc < 0 || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            rc = add_tree(list, path, depth + 1, err);
        else if (S_ISREG(st.st_mode) && list->n >= INPUTS_MAX)
            rc = err_set(err, -E2BIG, "%s: over %d inputs", dir, INPUTS_MAX);
        else if (S_ISREG(st.st_mode))
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
    char *data = NULL;
    int rc = file_read_follow(AT_FDCWD, path, max_bytes, &data, ret_size);

    if (rc == 0)
        *ret_data = (uint8_t *)data;
    return rc;
}
