/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The soft limit that this process came with is kept for its children. It is the only state, set once before there are any.
 */
#include "sys/nofile.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

static rlim_t first_soft;
static bool raised;

int nofile_raise(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
        return -errno;
    if (rl.rlim_cur == rl.rlim_max)
        return 0;
    if (!raised)
        first_soft = rl.rlim_cur;
    rl.rlim_cur = rl.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
        return -errno;
    raised = true;
    return 0;
}

int64_t nofile_limit(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur > INT64_MAX)
        return INT64_MAX;
    return (int64_t)rl.rlim_cur;
}

void nofile_restore(void)
{
    struct rlimit rl;

    if (!raised || getrlimit(RLIMIT_NOFILE, &rl) < 0)
        return;
    rl.rlim_cur = first_soft < rl.rlim_max ? first_soft : rl.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &rl);
}
