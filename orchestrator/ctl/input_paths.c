/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle is unpacked by its own distrusting reader; only its folder of reproducers is looked into
 * then. Its files are told under the bundle's name, since the private folder means nothing to
 * anybody.
 */
#include "ctl/input_paths.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/path.h"
#include "bundle/bundle.h"
#include "corpus/inputs.h"

#define BUNDLE_EXT    ".tar.zst"
#define BUNDLE_INPUTS "inputs"

static bool is_bundle(const char *path)
{
    const size_t n = strlen(path), ext = strlen(BUNDLE_EXT);
    struct stat st;

    return n > ext && strcmp(path + n - ext, BUNDLE_EXT) == 0 && stat(path, &st) == 0 &&
           S_ISREG(st.st_mode);
}

static int add_bundle(struct input_paths *p, struct strv *list, const char *path, struct err *err)
{
    cleanup_free char *dir = NULL, *inputs = NULL;
    struct stat st;
    int rc;

    if (p->dir.path == NULL && (rc = private_dir_open(&p->dir, err)) < 0)
        return rc;
    dir = xasprintf("%s/%zu", p->dir.path, p->bundles.n);
    strv_add(&p->bundles, path);
    rc = bundle_unpack(path, dir, err);
    if (rc < 0)
        return rc;
    inputs = path_join(dir, BUNDLE_INPUTS);
    return lstat(inputs, &st) == 0 ? inputs_add(list, inputs, err)
                                   : err_set(err, -ENOENT, "%s: holds no inputs", path);
}

int input_paths_add(struct input_paths *p, struct strv *list, const char *path, struct err *err)
{
    return is_bundle(path) ? add_bundle(p, list, path, err) : inputs_add(list, path, err);
}

char *input_paths_shown(const struct input_paths *p, const char *path)
{
    const size_t n = p->dir.path != NULL ? strlen(p->dir.path) : 0;
    char number[24];
    const char *rest;
    uint64_t which;

    if (n == 0 || strncmp(path, p->dir.path, n) != 0 || path[n] != '/')
        return xstrdup(path);
    rest = strchr(path + n + 1, '/');
    if (rest == NULL || (size_t)(rest - path) - n - 1 >= sizeof(number))
        return xstrdup(path);
    (void)snprintf(number, sizeof(number), "%.*s", (int)(rest - path - (ptrdiff_t)n - 1),
                   path + n + 1);
    if (parse_u64(number, UINT32_MAX, &which) < 0 || which >= p->bundles.n)
        return xstrdup(path);
    return xasprintf("%s%s", p->bundles.v[which], rest);
}

void input_paths_clear(struct input_paths *p)
{
    private_dir_close(&p->dir);
    strv_clear(&p->bundles);
}
