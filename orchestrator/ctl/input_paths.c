/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle is a tar like a packed corpus and is told from it by two of its members. Its own distrusting
 * reader has the last word on it then, and only its folder of reproducers counts.
 */
#include "ctl/input_paths.h"

#include <errno.h>
#include <stdbool.h>

#include "bundle/bundle.h"
#include "bundle/manifest.h"
#include "corpus/packed.h"

#define BUNDLE_SCRIPT "repro.sh"
#define BUNDLE_INPUTS "inputs/"

static bool is_bundle(const struct packed *p)
{
    return packed_has(p, MANIFEST_NAME) && packed_has(p, BUNDLE_SCRIPT);
}

int input_paths_add(struct inputs *list, const char *path, struct err *err)
{
    struct packed *p = NULL;
    bool bundle;
    int rc;

    if (!packed_is(path))
        return inputs_add(list, path, err);
    rc = packed_read(path, &p, err);
    if (rc < 0)
        return rc;
    bundle = is_bundle(p);
    if (bundle)
        rc = bundle_verify(path, err);
    if (rc == 0)
        rc = packed_choose(p, path, bundle ? BUNDLE_INPUTS : NULL, err);
    if (rc == 0 && bundle && p->n == 0)
        rc = err_set(err, -ENOENT, "%s: holds no inputs", path);
    if (rc == 0)
        return inputs_add_packed(list, p, path, err);
    packed_free(p);
    return rc;
}
