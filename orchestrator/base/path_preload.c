/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-preload.so by a name that the loader takes. Where its own does not do, a link to it does, in a folder that
 * only we write to: who can put another file in its place could run what he likes in every target.
 */
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"

#define LIBRARY      "fuzz-preload.so"
#define LINK_PREFIX  LIBRARY "."
#define LINK_HEX     16
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define ALL_PASS     (S_IXUSR | S_IXGRP | S_IXOTH)
#define MODE_OF_ROOT 0755 /* for targets that run as another user */
#define MODE_OF_USER 0700
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define SEARCH_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

bool path_preloadable(const char *path)
{
    static const char *const tokens[] = {"ORIGIN", "LIB", "PLATFORM"};

    if (strpbrk(path, " :") != NULL)
        return false;
    for (const char *p = path; (p = strchr(p, '$')) != NULL;) {
        p += p[1] == '{' ? 2 : 1;
        for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
            if (strncmp(p, tokens[i], strlen(tokens[i])) == 0)
                return false;
    }
    return true;
}

/* Whether nobody else can put another folder in the place of one of ours in it. */
static bool is_safe_parent(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
           ((st.st_mode & OTHERS_WRITE) == 0 || (st.st_mode & S_ISVTX) != 0);
}

/* The folder, made when it is missing: ours, and written by us alone. Descriptor or -errno. */
static int open_place(const char *dir)
{
    const mode_t mode = geteuid() == 0 ? MODE_OF_ROOT : MODE_OF_USER;
    const char *name = strrchr(dir, '/');
    cleanup_free char *above = path_dirname(dir);
    cleanup_close int parent = open(above, SEARCH_FLAGS), fd = -1;
    struct stat st;

    if (parent < 0)
        return -errno;
    if (name == NULL || !path_component_ok(name + 1) || !is_safe_parent(parent))
        return -EPERM;
    if (mkdirat(parent, name + 1, mode) < 0 && errno != EEXIST)
        return -errno;
    fd = openat(parent, name + 1, FOLDER_FLAGS);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & OTHERS_WRITE) != 0)
        return -EPERM;
    /* As made under a umask. */
    if (mode == MODE_OF_ROOT && (st.st_mode & ALL_PASS) != ALL_PASS && fchmod(fd, mode) < 0)
        return -errno;
    return steal_fd(&fd);
}

static bool leads_to(int dirfd, const char *name, const char *path)
{
    char to[PATH_MAX];
    ssize_t n = readlinkat(dirfd, name, to, sizeof(to));

    return n >= 0 && (size_t)n == strlen(path) && memcmp(to, path, (size_t)n) == 0;
}

/* Links of ours to what is gone, as of a removed checkout. */
static void sweep_dead(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *de;
    struct stat st;

    if (dir == NULL && copy >= 0)
        (void)close(copy);
    while (dir != NULL && (de = readdir(dir)) != NULL)
        if (strncmp(de->d_name, LINK_PREFIX, strlen(LINK_PREFIX)) == 0 &&
            fstatat(folder, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) &&
            fstatat(folder, de->d_name, &st, 0) < 0 && errno == ENOENT)
            (void)unlinkat(folder, de->d_name, 0);
}

/* Made beside its place, so that others who make the same see it whole or not at all. */
static int make_link(int dirfd, const char *name, const char *path)
{
    cleanup_free char *tmp = xasprintf("%s.tmp-%ld", name, (long)getpid());

    sweep_dead(dirfd);
    if (unlinkat(dirfd, tmp, 0) < 0 && errno != ENOENT)
        return -errno;
    if (symlinkat(path, dirfd, tmp) < 0)
        return -errno;
    if (renameat(dirfd, tmp, dirfd, name) < 0) {
        int r = -errno;

        (void)unlinkat(dirfd, tmp, 0);
        return r;
    }
    return 0;
}

char *path_preload_link(const char *dir, const char *path)
{
    struct stat own, there;
    char hex[65];

    if (dir[0] != '/' || !path_preloadable(dir) || stat(path, &own) < 0)
        return NULL;
    cleanup_close int fd = open_place(dir);
    if (fd < 0)
        return NULL;
    hash_sha256_hex(path, strlen(path), hex);
    cleanup_free char *name = xasprintf(LINK_PREFIX "%.*s", LINK_HEX, hex);
    cleanup_free char *link = path_join(dir, name);
    if (!leads_to(fd, name, path) && make_link(fd, name, path) < 0)
        return NULL;
    /* By the whole name, as the loader goes. */
    if (!leads_to(fd, name, path) || stat(link, &there) < 0 || there.st_dev != own.st_dev ||
        there.st_ino != own.st_ino)
        return NULL;
    return steal_ptr(&link);
}

void path_preload_places(struct strv *ret)
{
    const char *session = getenv("XDG_RUNTIME_DIR");

    /* Root's are for all to pass, which his session's folder is not. */
    if (geteuid() == 0)
        strv_add(ret, "/run/fuzzd");
    else if (session != NULL && session[0] == '/')
        strv_take(ret, path_resolve(session, "fuzzd"));
    strv_addf(ret, "/tmp/fuzzd-%ld", (long)geteuid());
}

char *path_find_preload(void)
{
    cleanup_free char *path = path_find_program(LIBRARY);
    struct strv places = {0};
    char *link = NULL;

    if (path == NULL || path_preloadable(path))
        return steal_ptr(&path);
    path_preload_places(&places);
    for (size_t i = 0; i < places.n && link == NULL; i++)
        link = path_preload_link(places.v[i], path);
    strv_clear(&places);
    return link;
}
