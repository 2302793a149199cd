/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this host gives us: which back-end, which hierarchies, and in plain words what does not hold
 * without the rest. Looking changes nothing on the host. Also the daemon's own group.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup_internal.h"
#include "sys/seal.h"

#define SELF_BYTES_MAX (64 * 1024)

enum kind { KIND_V2, KIND_V1, KIND_NONE };
static const struct cgroup_ops *const kind_ops[] = {
    [KIND_V2] = &cgroup_ops_v2, [KIND_V1] = &cgroup_ops_v1, [KIND_NONE] = &cgroup_ops_none};

static const struct hierarchy {
    const char *folder;
    const char *file; /* every group of it has this one */
    const char *self; /* its name in /proc/self/cgroup */
    const char *lost; /* what does not hold without it */
} hierarchies[CGROUP_H_COUNT] = {
    [CGROUP_H_MEMORY] = {"memory", "memory.limit_in_bytes", "memory",
                         "targets have no memory limit and out-of-memory kills are not counted"},
    [CGROUP_H_PIDS] = {"pids", "cgroup.procs", "pids", "a fork bomb in a target is not contained"},
    [CGROUP_H_CPU] = {"cpu", "cpu.shares", "cpu",
                      "cpu limits and the low weight of triage do not hold"},
    [CGROUP_H_UNIFIED] = {"unified", "cgroup.subtree_control", "",
                          "processes are killed one by one and a pause only stops afl-fuzz"},
};

void cgroup_root_lacks(struct cgroup_root *root, const char *text)
{
    char *old = root->why;

    root->why = xasprintf("%s%s%s", old, *old != '\0' ? "\n" : "", text);
    free(old);
}

const char *cgroup_lost(unsigned what)
{
    return hierarchies[what == CGROUP_HOLDS_MEMORY ? CGROUP_H_MEMORY
                       : what == CGROUP_HOLDS_PIDS ? CGROUP_H_PIDS
                       : what == CGROUP_HOLDS_CPU  ? CGROUP_H_CPU
                                                   : CGROUP_H_UNIFIED]
        .lost;
}

/* The mount folder of one hierarchy when it is there and we may make groups in it; caller frees, else NULL. */
static char *hierarchy_find(struct cgroup_root *root, const char *fs, const struct hierarchy *hi)
{
    cleanup_free char *dir = path_join(fs, hi->folder);
    cleanup_free char *text = NULL;
    const char *problem = NULL;

    if (!cgroup_fs_has(dir, hi->file))
        problem = "not there";
    else if (access(dir, W_OK | X_OK) < 0)
        problem = errno == EROFS ? "read-only" : "not writable";
    if (problem == NULL)
        return steal_ptr(&dir);
    text = xasprintf("%s %s: %s", dir, problem, hi->lost);
    cgroup_root_lacks(root, text);
    return NULL;
}

static void why_swap(struct cgroup_root *root)
{
    struct sysinfo si;

    if (root->dir[CGROUP_H_MEMORY] != NULL && sysinfo(&si) == 0 && si.totalswap > 0 &&
        !cgroup_fs_has(root->dir[CGROUP_H_MEMORY], "memory.memsw.limit_in_bytes"))
        cgroup_root_lacks(
            root, "no swap accounting: a target that swaps may use more than its memory limit");
}

/* The folder this process is in now: "4:memory:/a/b" in /proc/self/cgroup. NULL when not told; caller frees. */
static char *self_dir(const char *mount, const char *controller)
{
    cleanup_free char *data = NULL;
    char *rest, *line;

    if (file_read_proc("/proc/self/cgroup", SELF_BYTES_MAX, &data) < 0)
        return NULL;
    for (rest = data; (line = strsep(&rest, "\n")) != NULL;) {
        char *names, *one, *path = line;

        if (strsep(&path, ":") == NULL || path == NULL)
            continue;
        names = strsep(&path, ":");
        if (path == NULL || path[0] != '/')
            continue;
        if (*names == '\0' && *controller == '\0')
            return xasprintf("%s%s", mount, path);
        while (*controller != '\0' && (one = strsep(&names, ",")) != NULL)
            if (strcmp(one, controller) == 0)
                return xasprintf("%s%s", mount, path);
    }
    return NULL;
}

/* This process's group in the v2 tree, caller frees; NULL when it is not told. */
static char *self_v2(void)
{
    return self_dir("", "");
}

static enum kind detect(struct cgroup_root *root, const char *fs, const char *self)
{
    int h;

    if (cgroup_fs_has(fs, "cgroup.controllers")) {
        cleanup_free char *mine = self == NULL ? self_v2() : NULL;

        return cgroup_v2_open(root, fs, self != NULL ? self : mine, geteuid()) ? KIND_V2
                                                                               : KIND_NONE;
    }
    for (h = 0; h < CGROUP_H_COUNT; h++)
        root->dir[h] = hierarchy_find(root, fs, &hierarchies[h]);
    /* Without one of these nobody could say who belongs to an instance. */
    if (root->dir[CGROUP_H_MEMORY] == NULL && root->dir[CGROUP_H_PIDS] == NULL &&
        root->dir[CGROUP_H_UNIFIED] == NULL)
        return KIND_NONE;
    why_swap(root);
    return KIND_V1;
}

static void dirs_clear(char **dirs)
{
    int h;

    for (h = 0; h < CGROUP_H_COUNT; h++)
        str_set(&dirs[h], NULL);
}

struct cgroup_root *cgroup_root_open(const char *fs, const char *prefix, const char *force)
{
    return cgroup_root_open_from(fs, prefix, force, NULL);
}

struct cgroup_root *cgroup_root_open_from(const char *fs, const char *prefix, const char *force,
                                          const char *self)
{
    struct cgroup_root *root = xcalloc(1, sizeof(*root));
    enum kind kind = KIND_NONE;

    root->fs = xstrdup(fs);
    root->prefix = xstrdup(prefix);
    root->why = xstrdup("");
    root->ops = &cgroup_ops_none;
    if (!path_component_ok(prefix)) {
        cgroup_root_lacks(root, "no usable name for our cgroups");
    } else if (force != NULL && strcmp(force, cgroup_ops_none.name) == 0) {
        cgroup_root_lacks(root, "cgroups are turned off");
    } else {
        kind = detect(root, fs, self);
        if (force != NULL && strcmp(force, kind_ops[kind]->name) != 0)
            cgroup_root_lacks(root, "the back-end that was asked for is not what this host has");
        else
            root->ops = kind_ops[kind];
    }
    if (root->ops != &cgroup_ops_none) {
        const char *lacks = seal_lacks(seal_try());

        if (lacks != NULL)
            cgroup_root_lacks(root, lacks);
    }
    if (root->ops == &cgroup_ops_none) {
        dirs_clear(root->dir);
        cgroup_root_lacks(
            root,
            "no limits of memory, processes and cpu hold, a pause only stops afl-fuzz, and only "
            "the keeper can find what a target leaves behind");
    }
    return root;
}

const char *cgroup_root_name(const struct cgroup_root *root)
{
    return root->ops->name;
}

const char *cgroup_root_why(const struct cgroup_root *root)
{
    return root->why;
}

unsigned cgroup_root_holds(const struct cgroup_root *root)
{
    if (root->ops == &cgroup_ops_none)
        return 0;
    if (root->ops == &cgroup_ops_v2)
        return root->controllers | CGROUP_HOLDS_TREE;
    return (root->dir[CGROUP_H_MEMORY] != NULL ? CGROUP_HOLDS_MEMORY : 0) |
           (root->dir[CGROUP_H_PIDS] != NULL ? CGROUP_HOLDS_PIDS : 0) |
           (root->dir[CGROUP_H_CPU] != NULL ? CGROUP_HOLDS_CPU : 0) |
           (root->dir[CGROUP_H_UNIFIED] != NULL ? CGROUP_HOLDS_TREE : 0);
}

const char *cgroup_root_place(const struct cgroup_root *root)
{
    if (root->ops == &cgroup_ops_none)
        return "";
    return root->ops == &cgroup_ops_v2 ? root->dir[CGROUP_H_UNIFIED] : root->fs;
}

const char *cgroup_root_source(const struct cgroup_root *root)
{
    const char *place = cgroup_root_place(root);
    size_t n = strlen(place), m = strlen(".scope");

    if (root->ops == &cgroup_ops_none)
        return "none";
    if (root->ops != &cgroup_ops_v2 || !root->delegated)
        return "tree";
    return n > m && strcmp(place + n - m, ".scope") == 0 ? "scope" : "unit";
}

int cgroup_enter_ctl(struct cgroup_root *root)
{
    int h, rc = 0;

    for (h = 0; h < CGROUP_H_COUNT && rc == 0; h++) {
        cleanup_free char *dir = NULL;

        if (root->dir[h] == NULL)
            continue;
        dir = xasprintf("%s/%s/%s", root->dir[h], root->prefix, CGROUP_CTL);
        if (!root->in_ctl) {
            free(root->origin[h]);
            root->origin[h] = self_dir(root->ops == &cgroup_ops_v2 ? root->fs : root->dir[h],
                                       hierarchies[h].self);
        }
        rc = path_mkdirs(dir, 0755);
        if (rc == 0)
            rc = cgroup_fs_write(dir, "cgroup.procs", "0");
    }
    root->in_ctl = true;
    if (rc == 0 && root->ops->ctl_entered != NULL)
        root->ops->ctl_entered(root);
    return rc;
}

/* Nobody can remove the group it is in: back to where we came from, or to the top when that is gone. */
static void leave_ctl(struct cgroup_root *root)
{
    int h;

    if (root->ops->ctl_leaving != NULL)
        root->ops->ctl_leaving(root);
    for (h = 0; h < CGROUP_H_COUNT; h++) {
        cleanup_free char *ctl = NULL;

        if (root->dir[h] == NULL)
            continue;
        ctl = xasprintf("%s/%s/%s", root->dir[h], root->prefix, CGROUP_CTL);
        if (root->origin[h] == NULL || strcmp(root->origin[h], ctl) == 0 ||
            cgroup_fs_write(root->origin[h], "cgroup.procs", "0") < 0)
            (void)cgroup_fs_write(root->dir[h], "cgroup.procs", "0");
        (void)rmdir(ctl);
    }
    cgroup_prune(root);
}

static bool holds(const struct strv *sv, const char *s)
{
    for (size_t i = 0; i < sv->n; i++) {
        if (strcmp(sv->v[i], s) == 0)
            return true;
    }
    return false;
}

/* Adds the folders in dir to ret, each once; the daemon's own is not a campaign's. */
static void list_dirs(const char *dir, struct strv *ret)
{
    cleanup_dir DIR *d = opendir(dir);
    struct dirent *de;

    while (d != NULL && (de = readdir(d)) != NULL) {
        if (de->d_type == DT_DIR && de->d_name[0] != '.' && strcmp(de->d_name, CGROUP_CTL) != 0 &&
            !holds(ret, de->d_name))
            strv_add(ret, de->d_name);
    }
}

void cgroup_campaigns(const struct cgroup_root *root, struct strv *ret)
{
    for (int h = 0; h < CGROUP_H_COUNT; h++) {
        if (root->dir[h] != NULL) {
            cleanup_free char *dir = path_join(root->dir[h], root->prefix);

            list_dirs(dir, ret);
        }
    }
}

void cgroup_sweep(struct cgroup_root *root, const char *campaign, int64_t timeout_ms)
{
    struct strv names = {0};

    for (int h = 0; h < CGROUP_H_COUNT; h++) {
        if (root->dir[h] != NULL) {
            cleanup_free char *top = path_join(root->dir[h], root->prefix);
            cleanup_free char *dir = path_join(top, campaign);

            list_dirs(dir, &names);
        }
    }
    for (size_t i = 0; i < names.n; i++) {
        cleanup_free char *name = xasprintf("%s/%s", campaign, names.v[i]);
        struct cgroup *cg = cgroup_attach(root, name);

        (void)cgroup_destroy(cg, timeout_ms);
        cgroup_free(cg);
    }
    strv_clear(&names);
}

int cgroup_hold(const struct cgroup_root *root, const char *campaign, bool wait)
{
    /* In the first hierarchy that has it, the same one for all who ask. */
    for (int h = 0; h < CGROUP_H_COUNT; h++) {
        cleanup_free char *dir = NULL;
        cleanup_close int fd = -1;

        if (root->dir[h] == NULL)
            continue;
        dir = xasprintf("%s/%s/%s", root->dir[h], root->prefix, campaign);
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0 || flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0)
            return -errno;
        return steal_fd(&fd);
    }
    return -ENOENT;
}

void cgroup_root_free(struct cgroup_root *root)
{
    if (root == NULL)
        return;
    if (root->in_ctl)
        leave_ctl(root);
    dirs_clear(root->dir);
    dirs_clear(root->origin);
    free(root->fs);
    free(root->prefix);
    free(root->why);
    free(root);
}
