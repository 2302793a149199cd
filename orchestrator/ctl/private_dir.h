/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PRIVATE_DIR_H
#define CTL_PRIVATE_DIR_H

#include "base/err.h"

/*
 * A folder of this process alone, below TMPDIR: mode 0700, locked as long as we live. It goes with private_dir_close; of a fuzzctl that
 * was killed, with the next one's private_dir_open.
 */
struct private_dir {
    char *path; /* NULL: not open */
    int lock_fd;
};

/* 0 or -errno, then *d is not open. */
int private_dir_open(struct private_dir *d, struct err *err);
/* One that is not open, and all zero, is fine. */
void private_dir_close(struct private_dir *d);

#endif
