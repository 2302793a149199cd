/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that a program works in: its cwd and TMPDIR, and where the input of "@@" lies. It is the program's, which may have
 * removed or replaced what is in it and the folder itself, so all is reached from the caller's folder, which was opened
 * before the program was started, and no link is followed. What inputs leave behind takes disk, or memory of the same
 * limit where the folder lies in memory: no process of the program begins with what another left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "engine/forkserver_internal.h"
#include "sys/drop.h"

#define FOLDERS_MAX 64 /* of servers in one folder of a caller's */
#define INPUT_NAME  ".cur_input"
#define FOLDER_MODE 0700
#define INPUT_MODE  0600

static int make_folder(struct forkserver *fs)
{
    cleanup_close int fd = -1;

    if (mkdirat(fs->scratch_fd, fs->folder, FOLDER_MODE) < 0)
        return -errno;
    fd = openat(fs->scratch_fd, fs->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : drop_give(fd);
}

int forkserver_folder_open(struct forkserver *fs, struct err *err)
{
    int r = -EEXIST;

    if (fs->opts.scratch == NULL || fs->work != NULL)
        return 0;
    if (fs->scratch_fd < 0)
        fs->scratch_fd = open(fs->opts.scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fs->scratch_fd < 0)
        return err_sys(err, -errno, "%s", fs->opts.scratch);
    for (int i = 0; i < FOLDERS_MAX && r == -EEXIST; i++) {
        (void)snprintf(fs->folder, sizeof(fs->folder), "work%d", i);
        r = make_folder(fs);
    }
    if (r < 0)
        return err_sys(err, r, "%s/%s", fs->opts.scratch, fs->folder);
    fs->work = path_join(fs->opts.scratch, fs->folder);
    fs->input_path = path_join(fs->work, INPUT_NAME);
    return 0;
}

void forkserver_folder_close(struct forkserver *fs)
{
    if (fs->work != NULL)
        (void)path_remove_tree_at(fs->scratch_fd, fs->folder);
    if (fs->scratch_fd >= 0)
        (void)close(fs->scratch_fd);
    free(fs->work);
    free(fs->input_path);
}

/* Whether it is there and has nothing in it but an input. */
static bool is_tidy(const struct forkserver *fs)
{
    int fd = openat(fs->scratch_fd, fs->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;

    if (fd >= 0 && dir == NULL)
        (void)close(fd);
    while (dir != NULL && (de = readdir(dir)) != NULL) {
        if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0 &&
            (strcmp(de->d_name, INPUT_NAME) != 0 || !fs->input_is_file))
            return false;
    }
    return dir != NULL;
}

int forkserver_folder_tidy(struct forkserver *fs, struct err *err)
{
    int r;

    if (fs->work == NULL || is_tidy(fs))
        return 0;
    forkserver_stop(fs, NULL);
    /* What cannot be removed stays, and the folder with it. */
    (void)path_remove_tree_at(fs->scratch_fd, fs->folder);
    r = make_folder(fs);
    return r < 0 && r != -EEXIST ? err_sys(err, r, "%s", fs->work) : 0;
}

bool forkserver_littered(struct forkserver *fs, const struct forkserver_run *run)
{
    if (run->end != FORKSERVER_CRASH || run->signo != SIGKILL || fs->work == NULL || is_tidy(fs))
        return false;
    forkserver_stop(fs, NULL);
    return true;
}

/* The file by that name is the one we have, and nobody else's name for it remains. */
static bool input_is_there(const struct forkserver *fs)
{
    char name[sizeof(fs->folder) + sizeof(INPUT_NAME) + 1];
    struct stat own, there;

    (void)snprintf(name, sizeof(name), "%s/" INPUT_NAME, fs->folder);
    return fs->input_fd >= 0 && fstat(fs->input_fd, &own) == 0 &&
           fstatat(fs->scratch_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino && own.st_nlink == 1 &&
           (own.st_mode & 07777) == INPUT_MODE;
}

static int make_input(struct forkserver *fs)
{
    cleanup_close int dir =
        openat(fs->scratch_fd, fs->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir < 0)
        return -errno;
    (void)path_remove_tree_at(dir, INPUT_NAME);
    if (fs->input_fd >= 0)
        (void)close(fs->input_fd);
    fs->input_fd =
        openat(dir, INPUT_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, INPUT_MODE);
    return fs->input_fd < 0 ? -errno : drop_give(fs->input_fd);
}

int forkserver_input_ready(struct forkserver *fs, struct err *err)
{
    int r;

    if (!fs->input_is_file || input_is_there(fs))
        return 0;
    r = make_input(fs);
    if (r < 0) {
        (void)path_remove_tree_at(fs->scratch_fd, fs->folder);
        r = make_folder(fs);
        r = r < 0 && r != -EEXIST ? r : make_input(fs);
    }
    return r < 0 ? err_sys(err, r, "%s", fs->input_path) : 0;
}
