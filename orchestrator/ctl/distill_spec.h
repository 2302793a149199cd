/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_DISTILL_SPEC_H
#define CTL_DISTILL_SPEC_H

#include <stdint.h>

#include "base/alloc.h"

/*
 * What distill takes of a target of a campaign file: its program and arguments, its seeds as what is kept, its limits where ret_timeout_ms and
 * ret_memory_bytes are not NULL. EXIT_DONE, or an exit code with the reason printed.
 */
int distill_spec_read(const char *path, const char *target, char **ret_harness,
                      struct strv *ret_args, struct strv *ret_keep, int64_t *ret_timeout_ms,
                      int64_t *ret_memory_bytes);

#endif
