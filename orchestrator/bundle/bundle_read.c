/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people do with a bundle: look at it, verify it, unpack it. Unpacking writes
 * into a folder of its own beside the wanted one, which takes the name only when
 * every member was proven; until then nothing of a bundle is where it was asked.
 */
#include "bundle/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "bundle/bundle_internal.h"

int bundle_list(const char *path, json_t **ret, struct err *err)
{
    struct member *members;
    json_t *manifest, *list;
    size_t n;
    int r = bundle_scan(path, NULL, false, &members, &n, &manifest, err);

    if (r < 0)
        return r;
    list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:I}", "name", members[i].name, "size",
                                              (json_int_t)members[i].size));
    free(members);
    *ret = json_pack("{s:o, s:o}", "manifest", manifest, "members", list);
    return 0;
}

int bundle_show(const char *path, json_t **ret, struct err *err)
{
    struct member *members;
    size_t n;
    int r = bundle_scan(path, NULL, false, &members, &n, ret, err);

    if (r == 0)
        free(members);
    return r;
}

int bundle_verify(const char *path, struct err *err)
{
    struct member *members;
    json_t *manifest;
    size_t n;
    int r = bundle_scan(path, NULL, true, &members, &n, &manifest, err);

    if (r < 0)
        return r;
    free(members);
    json_decref(manifest);
    return 0;
}

struct unpack {
    int dirfd; /* of the temporary folder */
    int fd;    /* of the member being written, -1 none */
};

/* Makes the folders of a name that member_name_ok has passed, below dirfd, following no link. */
static int parents_make(int dirfd, const char *name, struct err *err)
{
    for (const char *p = strchr(name, '/'); p != NULL; p = strchr(p + 1, '/')) {
        cleanup_free char *part = xstrndup(name, (size_t)(p - name));

        if (mkdirat(dirfd, part, 0755) != 0 && errno != EEXIST)
            return err_sys(err, -errno, "%s", part);
    }
    return 0;
}

static int unpack_begin(void *ctx, const char *name, struct err *err)
{
    struct unpack *u = ctx;
    int r = parents_make(u->dirfd, name, err);

    if (r < 0)
        return r;
    u->fd = openat(u->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   strcmp(name, "repro.sh") == 0 ? 0755 : 0644);
    return u->fd < 0 ? err_sys(err, -errno, "%s", name) : 0;
}

static int unpack_data(void *ctx, const void *data, size_t n, struct err *err)
{
    struct unpack *u = ctx;
    int r = file_write_all(u->fd, data, n);

    return r < 0 ? err_sys(err, r, "unpacking") : 0;
}

static int unpack_end(void *ctx, struct err *err)
{
    struct unpack *u = ctx;

    return close(steal_fd(&u->fd)) != 0 ? err_sys(err, -errno, "unpacking") : 0;
}

int bundle_unpack(const char *path, const char *dir, struct err *err)
{
    struct unpack u = {.dirfd = -1, .fd = -1};
    const struct bundle_sink sink = {unpack_begin, unpack_data, unpack_end, &u};
    cleanup_free char *parent = NULL, *tmp = NULL;
    struct member *members = NULL;
    json_t *manifest = NULL;
    size_t n;
    int r;

    parent = path_dirname(dir);
    r = path_mkdirs(parent, 0755);
    if (r < 0)
        return err_sys(err, r, "%s", parent);
    tmp = xasprintf("%s/.unpack-XXXXXX", parent);
    if (mkdtemp(tmp) == NULL)
        return err_sys(err, -errno, "%s", parent);
    u.dirfd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = u.dirfd < 0 ? err_sys(err, -errno, "%s", tmp) : 0;
    if (r == 0)
        r = bundle_scan(path, &sink, true, &members, &n, &manifest, err);
    if (u.fd >= 0)
        (void)close(u.fd);
    if (u.dirfd >= 0) {
        if (r == 0 && fchmod(u.dirfd, 0755) != 0)
            r = err_sys(err, -errno, "%s", tmp);
        (void)close(u.dirfd);
    }
    /* Onto nothing or an empty folder; anything else stays as it is. */
    if (r == 0 && rename(tmp, dir) != 0)
        r = err_sys(err, -errno, "%s", dir);
    if (r < 0)
        (void)path_remove_tree(tmp);
    free(members);
    json_decref(manifest);
    return r;
}
