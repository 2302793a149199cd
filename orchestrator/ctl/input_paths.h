/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_INPUT_PATHS_H
#define CTL_INPUT_PATHS_H

#include "base/alloc.h"
#include "base/err.h"
#include "ctl/private_dir.h"

/*
 * Inputs as a person names them: what corpus/inputs.h takes, and bundles (named FILE.tar.zst), whose reproducers are unpacked into a
 * private folder. A file that is called so and is no good bundle is an error, not an input.
 */
struct input_paths {
    struct private_dir dir;
    struct strv bundles; /* by number, which is also the name of their folder */
};

/* Appends to list. 0, or -errno with the list as it was. */
int input_paths_add(struct input_paths *p, struct strv *list, const char *path, struct err *err);
/* path as it is told: "B.tar.zst/inputs/..." for what was in a bundle. Caller frees. */
char *input_paths_shown(const struct input_paths *p, const char *path);
/* The unpacked files are gone after this. */
void input_paths_clear(struct input_paths *p);

#endif
