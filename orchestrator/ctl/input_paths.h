/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_INPUT_PATHS_H
#define CTL_INPUT_PATHS_H

#include "corpus/inputs.h"

/*
 * Inputs as a person names them: what corpus/inputs.h takes, and bundles (named FILE.tar.zst), which are verified and of which the
 * reproducers are taken. An archive that is no good is an error, not an input. Appends to list. 0, or -errno with the list as it was.
 */
int input_paths_add(struct inputs *list, const char *path, struct err *err);

#endif
