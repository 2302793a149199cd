/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The working folder of a job and its record.
 *
 * A record that cannot be written (a full disk) costs no job: that folder is then only removed by the daemon that made it.
 */
#include "triage/scratch.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"

#define PREFIX           "fz-job."
#define RANDOM_HEX       16
#define RECORD_MAX_BYTES 4096
#define TRIES            8

/* Not synced: it is about processes that die, not about hosts that do. */
static void record_write(const char *record, const char *dir)
{
    cleanup_close int fd = -1;

    if (record == NULL)
        return;
    fd = open(record, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (file_write_all(fd, dir, strlen(dir)) < 0 || file_write_all(fd, "\n", 1) < 0)
        (void)unlink(record);
}

int scratch_make(const char *record, char **ret_dir)
{
    const char *tmp = getenv("TMPDIR");
    int r = -EEXIST;

    for (int i = 0; i < TRIES && r == -EEXIST; i++) {
        cleanup_free char *dir = NULL;
        uint64_t n;

        arc4random_buf(&n, sizeof(n));
        dir = xasprintf("%s/" PREFIX "%016llx", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
                        (unsigned long long)n);
        record_write(record, dir);
        r = mkdir(dir, 0700) < 0 ? -errno : 0;
        if (r == 0)
            *ret_dir = steal_ptr(&dir);
    }
    if (r < 0 && record != NULL)
        (void)unlink(record);
    return r;
}

void scratch_remove(const char *record, const char *dir)
{
    if (dir == NULL)
        return;
    if (path_remove_tree(dir) == 0 && record != NULL)
        (void)unlink(record);
}

static bool is_our_name(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
           strlen(name) == strlen(PREFIX) + RANDOM_HEX &&
           strspn(name + strlen(PREFIX), "0123456789abcdef") == RANDOM_HEX;
}

static bool is_our_folder(int parent, const char *name)
{
    struct stat st;

    return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && (st.st_mode & 066) == 0;
}

void scratch_sweep(const char *record)
{
    cleanup_free char *text = NULL, *parent = NULL;
    cleanup_close int fd = -1;
    const char *name;
    size_t size;

    if (record == NULL || file_read(AT_FDCWD, record, RECORD_MAX_BYTES, &text, &size) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    name = strrchr(text, '/');
    if (text[0] == '/' && is_our_name(name + 1)) {
        parent = path_dirname(text);
        fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && is_our_folder(fd, name + 1) && path_remove_tree_at(fd, name + 1) < 0)
            return; /* tried again by the next one */
    }
    (void)unlink(record);
}

int scratch_open_way(void)
{
    const char *tmp = getenv("TMPDIR");
    const char *name = tmp != NULL ? strrchr(tmp, '/') : NULL;

    if (name == NULL || !is_our_name(name + 1))
        return 0;
    return chmod(tmp, 0711) < 0 ? -errno : 0;
}
