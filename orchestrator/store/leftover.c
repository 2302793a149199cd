/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where fuzzd and fuzzctl write files whole, and so where one that was killed leaves half of one. Runs that have
 * ended are not looked at but for the last of each campaign: a state directory holds thousands.
 */
#include "store/leftover.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/cleanup.h"
#include "base/path.h"

#define OUT_DEPTH 2 /* out/TARGET/INSTANCE */

/* The folder and, down to depth, those in it. Takes ownership of fd, which may be none. */
static void sweep_down(int fd, int depth)
{
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;

    if (dir == NULL && fd >= 0)
        (void)close(fd);
    if (dir == NULL)
        return;
    beside_sweep_writes(dirfd(dir));
    while (depth > 0 && (de = readdir(dir)) != NULL)
        if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
            sweep_down(
                openat(dirfd(dir), de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                depth - 1);
}

static void sweep(const char *state_dir, const char *dir, const char *name, int depth)
{
    cleanup_free char *path = path_join(dir, name);

    sweep_down(path_open_below(state_dir, path, 0), depth);
}

void leftover_sweep_run(const char *state_dir, const char *run_dir)
{
    sweep(state_dir, run_dir, "", 0);
    sweep(state_dir, run_dir, "report", 0);
    sweep(state_dir, run_dir, "out", OUT_DEPTH);
}

/* Its runs are named by the time they began, so the last name is the newest. Caller frees; NULL: none. */
static char *newest_run(int campaigns, const char *campaign)
{
    int fd = openat(campaigns, campaign, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;
    char *newest = NULL;

    if (dir == NULL && fd >= 0)
        (void)close(fd);
    while (dir != NULL && (de = readdir(dir)) != NULL)
        if (de->d_name[0] >= '0' && de->d_name[0] <= '9' &&
            (newest == NULL || strcmp(de->d_name, newest) > 0))
            str_set(&newest, de->d_name);
    return newest;
}

void leftover_sweep_state(const char *state_dir)
{
    cleanup_free char *path = path_join(state_dir, "campaigns");
    int fd = path_open_below(state_dir, path, 0);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;

    if (dir == NULL && fd >= 0)
        (void)close(fd);
    sweep(state_dir, state_dir, "cache", 0);
    while (dir != NULL && (de = readdir(dir)) != NULL) {
        cleanup_free char *newest =
            de->d_name[0] != '.' ? newest_run(dirfd(dir), de->d_name) : NULL;
        cleanup_free char *run =
            newest != NULL ? xasprintf("%s/%s/%s", path, de->d_name, newest) : NULL;

        if (run != NULL)
            leftover_sweep_run(state_dir, run);
    }
}
