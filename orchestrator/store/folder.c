/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that opens files below an instance's folder. The program under test
 * runs with our uid and can put anything there, so every step is openat with
 * O_NOFOLLOW, nothing but a regular file is read, and nothing blocks.
 */
#include "store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/sort.h"

#define FOLDER_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FOLDER_YOUNG_MS  2000
#define FOLDER_WINDOW    4096 /* names listed in one step */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool folder_kind(const char *name, enum artifact_kind *ret)
{
    size_t n = strcspn(name, ".");

    if (n == strlen("crashes") && strncmp(name, "crashes", n) == 0)
        *ret = ARTIFACT_CRASH;
    else if (n == strlen("hangs") && strncmp(name, "hangs", n) == 0)
        *ret = ARTIFACT_HANG;
    else
        return false;
    return true;
}

/* One folder that is being listed: names come in windows, each in name order. */
struct listing {
    DIR *dir;
    struct strv names;
    size_t at;
    bool done; /* nothing more to list; what is left of names is still to be served */
};

struct folder_walk {
    char *out_dir;
    struct listing out, in; /* the instance's folder, and one of its folders (dir NULL: none) */
    char *folder;           /* the name of the latter */
    enum artifact_kind kind;
};

/* Takes ownership of fd. */
static int listing_open(struct listing *l, int fd)
{
    *l = (struct listing){.dir = fdopendir(fd)};
    if (l->dir == NULL) {
        int r = -errno;

        (void)close(fd);
        return r;
    }
    return 0;
}

static void listing_close(struct listing *l)
{
    if (l->dir != NULL)
        (void)closedir(l->dir);
    strv_clear(&l->names);
    *l = (struct listing){0};
}

/* The next name, NULL when the window is served: then listing_fill, unless done. */
static const char *listing_next(struct listing *l)
{
    return l->at < l->names.n ? l->names.v[l->at++] : NULL;
}

static int listing_fill(struct listing *l, bool kinds_only)
{
    const struct dirent *de = NULL;

    strv_clear(&l->names);
    l->at = 0;
    for (int i = 0; i < FOLDER_WINDOW && (errno = 0, de = readdir(l->dir)) != NULL; i++) {
        enum artifact_kind kind;

        if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0 &&
            (!kinds_only || folder_kind(de->d_name, &kind)))
            strv_add(&l->names, de->d_name);
    }
    if (de == NULL && errno != 0)
        return -errno;
    l->done = de == NULL;
    if (l->names.n > 1)
        array_sort(l->names.v, l->names.n, sizeof(l->names.v[0]), by_name);
    return 0;
}

int folder_walk_open(const char *state_dir, const char *out_dir, struct folder_walk **ret,
                     struct err *err)
{
    struct folder_walk *w;
    int r, fd = path_open_below(state_dir, out_dir, 0);

    if (fd == -ELOOP)
        return err_set(err, fd, "cannot open %s: there is a symbolic link in it", out_dir);
    if (fd < 0 && fd != -ENOENT)
        return err_sys(err, fd, "cannot open %s", out_dir);
    if (fd < 0) {
        *ret = NULL;
        return 0;
    }
    w = xcalloc(1, sizeof(*w));
    w->out_dir = xstrdup(out_dir);
    r = listing_open(&w->out, fd);
    if (r < 0) {
        folder_walk_free(w);
        return err_sys(err, r, "cannot list %s", out_dir);
    }
    *ret = w;
    return 0;
}

void folder_walk_free(struct folder_walk *w)
{
    if (w == NULL)
        return;
    listing_close(&w->in);
    listing_close(&w->out);
    free(w->folder);
    free(w->out_dir);
    free(w);
}

/* Goes into the folder of that name. 1: it is none, which ret tells. */
static int enter(struct folder_walk *w, const char *name, struct folder_file *ret, struct err *err)
{
    int r, fd = openat(dirfd(w->out.dir), name, FOLDER_DIR_FLAGS);

    str_set(&w->folder, name);
    (void)folder_kind(name, &w->kind);
    if (fd < 0) {
        if (errno == ENOENT) /* renamed this very moment */
            return FOLDER_LISTED;
        if (errno != ENOTDIR && errno != ELOOP)
            return err_sys(err, -errno, "cannot open %s", name);
        *ret = (struct folder_file){
            .folder_fd = -1, .folder = w->folder, .kind = w->kind, .name = "", .skipped = true};
        return 1;
    }
    r = listing_open(&w->in, fd);
    return r < 0 ? err_sys(err, r, "cannot list %s", name) : FOLDER_LISTED;
}

/* A step within the folder: as folder_walk_next, 0 when it is at its end. */
static int step_in(struct folder_walk *w, struct folder_file *ret, struct err *err)
{
    const char *name;
    int r;

    while ((name = listing_next(&w->in)) != NULL) {
        *ret = (struct folder_file){
            .folder_fd = dirfd(w->in.dir), .folder = w->folder, .name = name, .kind = w->kind};
        if (strcmp(name, "README.txt") == 0 ||
            fstatat(ret->folder_fd, name, &ret->sb, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        ret->skipped = !S_ISREG(ret->sb.st_mode);
        return 1;
    }
    if (w->in.done)
        return 0;
    r = listing_fill(&w->in, false);
    return r < 0 ? err_sys(err, r, "cannot list %s", w->folder) : FOLDER_LISTED;
}

int folder_walk_next(struct folder_walk *w, struct folder_file *ret, struct err *err)
{
    const char *name;
    int r;

    if (w->in.dir != NULL) {
        if ((r = step_in(w, ret, err)) != 0)
            return r;
        listing_close(&w->in);
    }
    name = listing_next(&w->out);
    if (name != NULL)
        return enter(w, name, ret, err);
    if (w->out.done)
        return 0;
    r = listing_fill(&w->out, true);
    return r < 0 ? err_sys(err, r, "cannot list %s", w->out_dir) : FOLDER_LISTED;
}

int folder_each(const char *state_dir, const char *out_dir, folder_fn *fn, void *ctx,
                struct err *err)
{
    struct folder_walk *w = NULL;
    struct folder_file file = {0};
    int r = folder_walk_open(state_dir, out_dir, &w, err);

    while (r == 0 && w != NULL) {
        r = folder_walk_next(w, &file, err);
        if (r == 0)
            break;
        if (r == 1)
            r = fn(ctx, &file, err);
        else if (r == FOLDER_LISTED)
            r = 0;
    }
    folder_walk_free(w);
    return r;
}

/*
 * afl-fuzz opens the final name, writes and closes: a scan can meet a file half-way. The kernel knows: a read lease is
 * refused with EAGAIN while any descriptor is open for writing. It is given back at once; a writer that comes in that
 * instant would make the kernel signal us, so the signal is one that is ignored by default. Where there are no leases, a young file waits.
 * Source: fcntl(2), "Leases".
 */
static bool being_written(int fd, const struct stat *sb)
{
    struct timespec now;

    (void)fcntl(fd, F_SETSIG, SIGURG);
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        (void)fcntl(fd, F_SETLEASE, F_UNLCK);
        return false;
    }
    if (errno == EAGAIN)
        return true;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0)
        return false;
    return (now.tv_sec - sb->st_mtim.tv_sec) * 1000 < FOLDER_YOUNG_MS;
}

static int read_all(int fd, char *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = pread(fd, data + at, size - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EBUSY; /* cut while we read: look again later */
        at += (size_t)n;
    }
    return 0;
}

int folder_read(const struct folder_file *file, int64_t max_bytes, char **ret_data,
                struct stat *ret_sb)
{
    cleanup_free char *data = NULL;
    struct stat before, after;
    int r;
    cleanup_close int fd =
        openat(file->folder_fd, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &before) < 0)
        return -errno;
    if (!S_ISREG(before.st_mode))
        return -EINVAL;
    if (being_written(fd, &before))
        return -EBUSY;
    if (before.st_size > max_bytes)
        return -EFBIG;
    data = malloc((size_t)before.st_size + 1);
    if (data == NULL)
        return -ENOMEM;
    if ((r = read_all(fd, data, (size_t)before.st_size)) < 0)
        return r;
    if (fstat(fd, &after) < 0)
        return -errno;
    if (after.st_size != before.st_size || folder_mtime_ns(&after) != folder_mtime_ns(&before))
        return -EBUSY;
    data[before.st_size] = '\0';
    *ret_data = steal_ptr(&data);
    *ret_sb = after;
    return 0;
}

bool folder_has_twin(const struct folder_file *file, const char *folder, const char *sha256)
{
    cleanup_close int out = openat(file->folder_fd, "..", FOLDER_DIR_FLAGS);
    cleanup_close int fd =
        out >= 0 && path_component_ok(folder) ? openat(out, folder, FOLDER_DIR_FLAGS) : -1;
    const struct folder_file twin = {.folder_fd = fd, .folder = folder, .name = file->name};
    cleanup_free char *data = NULL;
    struct stat sb;
    char hex[65];

    if (fd < 0 || fstatat(fd, file->name, &sb, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(sb.st_mode))
        return false;
    if (sha256 == NULL || sha256[0] == '\0')
        return true;
    if (folder_read(&twin, ARTIFACT_MAX_BYTES, &data, &sb) < 0)
        return false;
    hash_sha256_hex(data, (size_t)sb.st_size, hex);
    return strcmp(hex, sha256) == 0;
}
