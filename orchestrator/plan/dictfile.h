/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_DICTFILE_H
#define PLAN_DICTFILE_H

#include <stddef.h>

#include "base/err.h"

/*
 * Whether each line of a dictionary is one that afl-fuzz takes a token from, or passes over as meant: it only warns of others,
 * in the log of each instance. A token that is too long for it is no fault. 0 with the number of tokens; -EINVAL with the first
 * line that is none and what is allowed; -EFBIG; another -errno when the file cannot be read. Source: AFL++
 * src/afl-fuzz-extras.c load_extras_file, include/config.h MAX_LINE.
 */
int dictfile_check(const char *path, size_t *ret_tokens, struct err *err);

#endif
