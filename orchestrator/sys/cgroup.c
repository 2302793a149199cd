/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one view of cgroups the rest of the program has; the mechanisms are behind cgroup_ops.
 * Everything we make is below PREFIX, and nothing outside PREFIX is ever killed or removed.
 */
#include "sys/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "sys/cgroup_internal.h"

#define NAME_BYTES_MAX      240
#define NAME_COMPONENTS_MAX 4
#define WAIT_STEP_NS        (5 * 1000 * 1000)

static const char *const leaf_names[CGROUP_LEAVES] = {
    [CGROUP_KEEP] = "keep", [CGROUP_AFL] = "afl", [CGROUP_T] = "t"};

static const char *place_of(const struct cgroup *cg, enum cgroup_hierarchy h)
{
    return cg->place != NULL ? cg->place : cg->root->dir[h];
}

char *cgroup_dir(const struct cgroup *cg, enum cgroup_hierarchy h)
{
    return xasprintf("%s/%s/%s", place_of(cg, h), cg->root->prefix, cg->name);
}

char *cgroup_leaf_dir(const struct cgroup *cg, enum cgroup_hierarchy h, enum cgroup_leaf leaf)
{
    return xasprintf("%s/%s/%s/%s", place_of(cg, h), cg->root->prefix, cg->name, leaf_names[leaf]);
}

int cgroup_prefix(const char *state_dir, char *buf, size_t size)
{
    struct stat st;
    uint64_t x;

    if (stat(state_dir, &st) < 0)
        return -errno;
    /* Mixed (Fibonacci hashing), so that neighbouring inodes on different devices do not meet. */
    x = ((uint64_t)st.st_dev << 32 ^ (uint64_t)st.st_ino) * 0x9e3779b97f4a7c15ULL;
    if (snprintf(buf, size, "fuzzd-%08x", (unsigned)(x >> 32)) >= (int)size)
        return -ENAMETOOLONG;
    return 0;
}

static bool component_ok(const char *s, size_t n)
{
    size_t i;

    if (n == 0 || s[0] == '.' || s[0] == '-')
        return false;
    for (i = 0; i < n; i++) {
        if ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
            (s[i] >= '0' && s[i] <= '9') || s[i] == '.' || s[i] == '_' || s[i] == '-')
            continue;
        return false;
    }
    return true;
}

static bool name_ok(const char *name)
{
    const char *p = name;
    int count;

    if (strnlen(name, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX)
        return false;
    for (count = 1;; count++) {
        size_t n = strcspn(p, "/");

        if (!component_ok(p, n) || count > NAME_COMPONENTS_MAX)
            return false;
        if (count == 1 && n == strlen(CGROUP_CTL) && strncmp(p, CGROUP_CTL, n) == 0)
            return false;
        if (p[n] == '\0')
            return true;
        p += n + 1;
    }
}

struct cgroup *cgroup_attach(struct cgroup_root *root, const char *name)
{
    struct cgroup *cg = xcalloc(1, sizeof(*cg));

    cg->root = root;
    cg->name = xstrdup(name);
    /* A name out of a damaged record reaches no folder. */
    cg->ops = name_ok(name) ? root->ops : &cgroup_ops_none;
    return cg;
}

struct cgroup *cgroup_attach_recorded(struct cgroup_root *root, const char *name,
                                      const struct strv *paths)
{
    struct cgroup *cg = cgroup_attach(root, name);
    cleanup_free char *tail = xasprintf("/%s/%s", root->prefix, name);
    size_t i, n, tail_len = strlen(tail);

    if (cg->ops != &cgroup_ops_v2)
        return cg;
    for (i = 0; i < paths->n; i++) {
        const char *p = paths->v[i];

        n = strlen(p);
        /* The record is a file: only what is below the tree we use, and ends as ours do. */
        if (n <= tail_len || strcmp(p + n - tail_len, tail) != 0 || strstr(p, "/../") != NULL ||
            strncmp(p, root->fs, strlen(root->fs)) != 0)
            continue;
        cg->place = xasprintf("%.*s", (int)(n - tail_len), p);
        break;
    }
    return cg;
}

void cgroup_free(struct cgroup *cg)
{
    if (cg == NULL)
        return;
    free(cg->place);
    free(cg->name);
    free(cg);
}

int cgroup_create(struct cgroup_root *root, const char *name, const struct cgroup_limits *lim,
                  struct cgroup **ret, struct err *err)
{
    struct cgroup *cg;
    int leaf, rc;

    if (!name_ok(name))
        return err_set(err, -EINVAL, "\"%s\" cannot name a cgroup", name);
    cg = cgroup_attach(root, name);
    cg->limits = *lim;
    for (leaf = 0; leaf < CGROUP_LEAVES; leaf++) {
        if (cg->ops->populated(cg, leaf) > 0) {
            cgroup_free(cg);
            return err_set(err, -EBUSY, "cgroup %s/%s/%s still has processes", root->prefix, name,
                           leaf_names[leaf]);
        }
    }
    rc = cg->ops->create(cg, lim, err);
    if (rc < 0) {
        (void)cgroup_destroy(cg, 0);
        cgroup_free(cg);
        return rc;
    }
    *ret = cg;
    return 0;
}

int cgroup_renew(struct cgroup *cg, struct err *err)
{
    return cg->ops->create(cg, &cg->limits, err);
}

void cgroup_procs_paths(const struct cgroup *cg, enum cgroup_leaf leaf, struct strv *ret)
{
    cg->ops->procs_paths(cg, leaf, ret);
}

void cgroup_watch_paths(const struct cgroup *cg, struct strv *ret_kill, struct strv *ret_events,
                        struct strv *ret_oom)
{
    cg->ops->watch_paths(cg, ret_kill, ret_events, ret_oom);
}

void cgroup_paths(const struct cgroup *cg, struct strv *ret)
{
    cg->ops->paths(cg, ret);
}

int cgroup_kill(struct cgroup *cg, enum cgroup_leaf leaf)
{
    return cg->ops->kill(cg, leaf);
}

int cgroup_populated(struct cgroup *cg, enum cgroup_leaf leaf)
{
    return cg->ops->populated(cg, leaf);
}

int cgroup_freeze(struct cgroup *cg, enum cgroup_leaf leaf, bool freeze)
{
    return cg->ops->freeze(cg, leaf, freeze);
}

int cgroup_limit_target(struct cgroup *cg, int64_t bytes)
{
    return cg->ops->limit_target(cg, bytes);
}

int64_t cgroup_oom_kills(struct cgroup *cg)
{
    return cg->ops->oom_kills(cg);
}

/* One round over all folders, deepest first. 0 when none is left, else the last -errno. */
static int remove_dirs(const struct strv *dirs)
{
    size_t i;
    int rc = 0;

    for (i = 0; i < dirs->n; i++)
        if (rmdir(dirs->v[i]) < 0 && errno != ENOENT)
            rc = errno == ENOTEMPTY ? -EBUSY : -errno;
    return rc;
}

#define EMPTY_DEPTH 6 /* PREFIX/CAMPAIGN/INSTANCE/LEAF, and what a program made below */

/* rmdir of a group with a process or a group in it fails: the kernel decides what is empty. */
static void remove_empty(const char *dir, int depth)
{
    cleanup_dir DIR *d = opendir(dir);
    struct dirent *de;

    while (d != NULL && depth > 0 && (de = readdir(d)) != NULL) {
        if (de->d_type == DT_DIR && de->d_name[0] != '.') {
            cleanup_free char *sub = path_join(dir, de->d_name);

            remove_empty(sub, depth - 1);
        }
    }
    (void)rmdir(dir);
}

/* Where a daemon before us had its groups, when no process is left there: nobody else ever removes them. */
static void remove_left_place(const struct cgroup *cg)
{
    const char *own = cg->root->dir[CGROUP_H_UNIFIED];
    cleanup_free char *dir = path_join(cg->place, cg->root->prefix);

    if ((own == NULL || strcmp(own, cg->place) != 0) && cgroup_fs_populated(dir) == 0)
        remove_empty(dir, EMPTY_DEPTH);
}

int cgroup_destroy(struct cgroup *cg, int64_t timeout_ms)
{
    const struct timespec step = {.tv_nsec = WAIT_STEP_NS};
    int64_t deadline_ms = clock_now_ms() + timeout_ms;
    struct strv dirs = {0};
    int rc;

    cgroup_paths(cg, &dirs);
    /*
     * The kernel refuses to remove a group while a process is in it, and for an instant after it
     * left; so killing and removing are both tried until they have nothing left to do.
     */
    while ((rc = remove_dirs(&dirs)) == -EBUSY) {
        (void)cg->ops->kill_all(cg);
        if (clock_now_ms() >= deadline_ms)
            break;
        (void)nanosleep(&step, NULL);
    }
    strv_clear(&dirs);
    if (rc == 0 && cg->place != NULL)
        remove_left_place(cg);
    return rc;
}

/* Removes the empty campaigns below dir and then dir; what is in use the kernel keeps. */
static void prune_dir(const char *dir)
{
    cleanup_dir DIR *d = opendir(dir);
    struct dirent *de;

    while (d != NULL && (de = readdir(d)) != NULL) {
        if (de->d_type == DT_DIR && de->d_name[0] != '.') {
            cleanup_free char *sub = path_join(dir, de->d_name);

            (void)rmdir(sub);
        }
    }
    (void)rmdir(dir);
}

void cgroup_remove_empty(struct cgroup_root *root)
{
    for (int h = 0; h < CGROUP_H_COUNT; h++) {
        if (root->dir[h] != NULL) {
            cleanup_free char *dir = path_join(root->dir[h], root->prefix);

            remove_empty(dir, EMPTY_DEPTH);
        }
    }
}

void cgroup_prune(struct cgroup_root *root)
{
    int h;

    for (h = 0; h < CGROUP_H_COUNT; h++) {
        if (root->dir[h] != NULL) {
            cleanup_free char *dir = path_join(root->dir[h], root->prefix);

            prune_dir(dir);
        }
    }
}
