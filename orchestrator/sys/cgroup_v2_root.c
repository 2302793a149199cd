/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a cgroup v2 tree our groups may be made, and how controllers come there. A group that
 * hands controllers on may hold no process itself, so the order is: make PREFIX/ctl, move there,
 * then enable. Places, best first: a scope that systemd delegated to us, the group of a service
 * with DelegateSubgroup=, the slice of any other service, the top of the tree for root.
 * Source: Linux Documentation/admin-guide/cgroup-v2.rst "No Internal Process Constraint",
 * "Delegation"; systemd docs/CGROUP_DELEGATION.md (the xattr "delegate").
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup_internal.h"

#define LIST_BYTES_MAX 4096

static const struct controller {
    const char *name;
    unsigned bit;
} controllers[] = {
    {"memory", CGROUP_HOLDS_MEMORY}, {"pids", CGROUP_HOLDS_PIDS}, {"cpu", CGROUP_HOLDS_CPU}};

#define CONTROLLERS (sizeof(controllers) / sizeof(controllers[0]))

/* "cpuset cpu io memory pids" */
static unsigned list_read(const char *dir, const char *file)
{
    cleanup_free char *path = path_join(dir, file);
    cleanup_free char *data = NULL;
    char *rest, *word;
    unsigned found = 0;
    size_t i;

    if (file_read_proc(path, LIST_BYTES_MAX, &data) < 0)
        return 0;
    for (rest = data; (word = strsep(&rest, " \n")) != NULL;)
        for (i = 0; i < CONTROLLERS; i++)
            if (strcmp(word, controllers[i].name) == 0)
                found |= controllers[i].bit;
    return found;
}

/* Writes "+memory +pids" (sign '+') or takes back. 0 or -errno; the kernel takes all or nothing. */
static int list_write(const char *dir, unsigned set, char sign)
{
    char text[64];
    size_t i, n = 0;

    for (i = 0; i < CONTROLLERS; i++)
        if ((set & controllers[i].bit) != 0)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c%s", n > 0 ? " " : "", sign,
                                  controllers[i].name);
    return n > 0 ? cgroup_fs_write(dir, "cgroup.subtree_control", text) : 0;
}

unsigned cgroup_v2_hand_on(const char *dir, unsigned want, int *ret_error)
{
    unsigned have = list_read(dir, "cgroup.subtree_control") & want;
    unsigned add = want & list_read(dir, "cgroup.controllers") & ~have;
    size_t i;
    int rc;

    *ret_error = 0;
    if (list_write(dir, add, '+') == 0)
        return have | add;
    for (i = 0; i < CONTROLLERS; i++) {
        if ((add & controllers[i].bit) == 0)
            continue;
        rc = list_write(dir, controllers[i].bit, '+');
        if (rc == 0)
            have |= controllers[i].bit;
        else
            *ret_error = rc;
    }
    return have;
}

/* Of self, what is before "/fuzzd-XXXXXXXX/ctl": a daemon that was here before, or our starter's. */
static char *outer_group(const char *self)
{
    char *copy = xstrdup(self);
    size_t n = strlen(copy);
    char *p;

    if (n > strlen("/" CGROUP_CTL) &&
        strcmp(copy + n - strlen("/" CGROUP_CTL), "/" CGROUP_CTL) == 0) {
        copy[n - strlen("/" CGROUP_CTL)] = '\0';
        p = strrchr(copy, '/');
        if (p != NULL && strncmp(p + 1, "fuzzd-", 6) == 0)
            *p = '\0';
        else
            copy[n - strlen("/" CGROUP_CTL)] = '/';
    }
    n = strlen(copy);
    while (n > 0 && copy[n - 1] == '/')
        copy[--n] = '\0';
    return copy;
}

static bool is_delegated(const char *dir)
{
    static const char *const names[] = {"trusted.delegate", "user.delegate"};
    char value[2];
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getxattr(dir, names[i], value, sizeof(value)) == 1 && value[0] == '1')
            return true;
    return false;
}

static bool is_writable(const char *dir)
{
    static const char *const files[] = {"", "cgroup.procs", "cgroup.subtree_control"};
    size_t i;

    for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        cleanup_free char *path = path_join(dir, files[i]);

        if (access(path, W_OK) < 0)
            return false;
    }
    return true;
}

static bool ends_in(const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);

    return n >= m && strcmp(s + n - m, tail) == 0;
}

bool cgroup_v2_is_given(const char *fs, const char *self)
{
    cleanup_free char *outer = outer_group(self);
    cleanup_free char *own = xasprintf("%s%s", fs, outer);
    cleanup_free char *around = path_dirname(own);

    if (*outer == '\0')
        return false;
    if (is_writable(own) && is_delegated(own))
        return !ends_in(own, ".service");
    return strlen(around) > strlen(fs) && is_delegated(around) && is_writable(around);
}

/* Caller frees; NULL: nowhere. */
static char *find_place(struct cgroup_root *root, const char *fs, const char *self, uid_t user)
{
    cleanup_free char *outer = self != NULL ? outer_group(self) : xstrdup("");
    cleanup_free char *own = xasprintf("%s%s", fs, outer);
    cleanup_free char *around = path_dirname(own);
    bool inner = *outer != '\0' && is_writable(own);

    /* What a user may write to was delegated to him; his systemd leaves no mark on it. */
    root->delegated = inner && (user != 0 || is_delegated(own));
    if (root->delegated && ends_in(own, ".service")) {
        /*
         * systemd cannot start a service again in a group that hands controllers on, and
         * fuzzd may be killed while its instances live. A slice never holds processes.
         */
        root->delegated = false;
        if (strlen(around) > strlen(fs) && is_writable(around))
            return steal_ptr(&around);
    } else if (root->delegated) {
        return steal_ptr(&own);
    } else if (strlen(around) > strlen(fs) && is_delegated(around) && is_writable(around)) {
        /* DelegateSubgroup=: the service's group is ours, and we are in one below it. */
        root->delegated = true;
        return steal_ptr(&around);
    }
    if (user == 0 && is_writable(fs))
        return xstrdup(fs);
    return inner ? steal_ptr(&own) : NULL;
}

/* True when somebody other than us sits in a group that may not have processes and hand controllers on. */
static bool is_crowded(const char *dir)
{
    cleanup_free pid_t *pids = NULL;
    int i, n;

    /* The top of the whole tree has no type and no such rule. */
    if (!cgroup_fs_has(dir, "cgroup.type"))
        return false;
    pids = xcalloc(CGROUP_PIDS_MAX, sizeof(*pids));
    n = cgroup_fs_listed(dir, pids, CGROUP_PIDS_MAX);
    for (i = 0; i < n; i++)
        if (pids[i] != getpid())
            return true;
    return false;
}

static void lack(struct cgroup_root *root, unsigned missing, const char *dir, const char *because)
{
    size_t i;

    for (i = 0; i < CONTROLLERS; i++) {
        if ((missing & controllers[i].bit) != 0) {
            cleanup_free char *text = xasprintf("%s %s %s: %s", dir, because, controllers[i].name,
                                                cgroup_lost(controllers[i].bit));

            cgroup_root_lacks(root, text);
        }
    }
}

bool cgroup_v2_open(struct cgroup_root *root, const char *fs, const char *self, uid_t user)
{
    const unsigned all = CGROUP_HOLDS_MEMORY | CGROUP_HOLDS_PIDS | CGROUP_HOLDS_CPU;
    char *place = find_place(root, fs, self, user);
    unsigned offered, on;

    root->dir[CGROUP_H_UNIFIED] = place;
    if (place == NULL) {
        cleanup_free char *text = xasprintf(
            "%s: no group here is ours to divide; start it by \"systemd-run --user --scope "
            "-p Delegate=yes fuzzctl ...\", or as root",
            fs);

        cgroup_root_lacks(root, text);
        return false;
    }
    offered = list_read(place, "cgroup.controllers") & all;
    on = list_read(place, "cgroup.subtree_control") & all;
    lack(root, all & ~offered, place, "has no controller");
    root->controllers = offered;
    if ((offered & ~on) != 0 && !root->delegated && is_crowded(place)) {
        lack(root, offered & ~on, place, "has other processes in it and cannot hand on");
        root->controllers = on;
    }
    return true;
}

/* All who sit in a group that was delegated to us go where we went: they are our starter and its kin. */
static void gather_in(const char *place, const char *ctl)
{
    cleanup_free pid_t *pids = xcalloc(CGROUP_PIDS_MAX, sizeof(*pids));
    int i, n = cgroup_fs_listed(place, pids, CGROUP_PIDS_MAX);

    for (i = 0; i < n; i++)
        (void)cgroup_fs_write_number(ctl, "cgroup.procs", pids[i]);
}

void cgroup_v2_ctl_entered(struct cgroup_root *root)
{
    const char *place = root->dir[CGROUP_H_UNIFIED];
    cleanup_free char *ctl = xasprintf("%s/%s/%s", place, root->prefix, CGROUP_CTL);
    unsigned before = list_read(place, "cgroup.subtree_control"), now;
    int error = 0;

    if (root->delegated)
        gather_in(place, ctl);
    now = cgroup_v2_hand_on(place, root->controllers, &error);
    root->handed_on |= now & ~before;
    if (now != root->controllers) {
        cleanup_free char *because =
            xasprintf("cannot hand on (%s)", error < 0 ? strerror(-error) : "no longer there");

        lack(root, root->controllers & ~now, place, because);
        root->controllers = now;
    }
}

void cgroup_v2_ctl_leaving(struct cgroup_root *root)
{
    const char *place = root->dir[CGROUP_H_UNIFIED];
    cleanup_free char *prefix = path_join(place, root->prefix);
    cleanup_free char *ctl = path_join(prefix, CGROUP_CTL);
    cleanup_free pid_t *pids = NULL;
    size_t i;
    int k, n;

    cgroup_prune(root);
    /* Refused while an instance, or another daemon, needs them; then the place stays as it is. */
    for (i = 0; i < CONTROLLERS; i++)
        (void)list_write(prefix, controllers[i].bit, '-');
    for (i = 0; i < CONTROLLERS; i++)
        if ((root->handed_on & controllers[i].bit) != 0)
            (void)list_write(place, controllers[i].bit, '-');
    root->handed_on = 0;
    if (!root->delegated)
        return;
    pids = xcalloc(CGROUP_PIDS_MAX, sizeof(*pids));
    n = cgroup_fs_listed(ctl, pids, CGROUP_PIDS_MAX);
    for (k = 0; k < n; k++)
        if (pids[k] != getpid())
            (void)cgroup_fs_write_number(place, "cgroup.procs", pids[k]);
}
