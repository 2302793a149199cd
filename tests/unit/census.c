/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a test of the engine may not leave behind, as a setup and a teardown of cmocka.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "census.h"

#define GRACE_MS 2000 /* who was killed may still be on its way out */

struct census {
    int fds, segments;
};

static struct census census(void)
{
    struct shmid_ds ds;
    struct shm_info info;
    struct census c = {0, 0};
    DIR *d = opendir("/proc/self/fd");
    int i, top = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);

    assert_non_null(d);
    while (readdir(d) != NULL)
        c.fds++;
    closedir(d);
    for (i = 0; i <= top; i++) {
        if (shmctl(i, SHM_STAT, &ds) >= 0 && ds.shm_cpid == getpid())
            c.segments++;
    }
    return c;
}

int census_begin(void **state)
{
    struct census *c = xmalloc(sizeof(*c));

    *c = census();
    *state = c;
    return 0;
}

int census_end(void **state)
{
    struct census *before = *state, after = census();
    int64_t until_ms = clock_now_ms() + GRACE_MS;
    bool same, child;

    while (after.segments > before->segments && clock_now_ms() < until_ms) {
        usleep(10000);
        after = census();
    }
    same = before->fds == after.fds && before->segments == after.segments;
    child = waitpid(-1, NULL, WNOHANG) != -1;
    if (!same || child)
        fprintf(stderr, "left: %d descriptors, %d segments, %s\n", after.fds - before->fds,
                after.segments - before->segments, child ? "a child" : "no child");
    free(before);
    return same && !child ? 0 : -1;
}
