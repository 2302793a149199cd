/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, joined paths, and the places of our own state and programs. Nothing resolves ".." but where that is
 * asked for: what a person wrote is what is shown and opened.
 */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#ifndef FZ_BINDIR
#define FZ_BINDIR "/usr/local/bin"
#endif
#ifndef FZ_SBINDIR
#define FZ_SBINDIR "/usr/local/sbin"
#endif
#ifndef FZ_LIBEXECDIR
#define FZ_LIBEXECDIR "/usr/local/libexec/fuzzd"
#endif

bool path_component_ok(const char *s)
{
    size_t n = 0;
    if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0)
        return false;
    for (; s[n] != '\0'; n++) {
        unsigned char c = (unsigned char)s[n];
        if (c == '/' || c < 0x20 || c == 0x7f)
            return false;
    }
    return n >= 1 && n <= NAME_MAX;
}

bool path_name_ok(const char *s, size_t max)
{
    static const char ok[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t n = strlen(s);
    return n >= 1 && n <= max && s[0] != '-' && strspn(s, ok) == n;
}

/* Folds "//" and "." components in place. */
static void fold(char *path)
{
    char *out = path;
    const char *p = path;
    bool absolute = *p == '/';
    while (*p != '\0') {
        while (*p == '/')
            p++;
        size_t len = strcspn(p, "/");
        if (len == 0 || (len == 1 && *p == '.')) {
            p += len;
            continue;
        }
        if (absolute || out != path)
            *out++ = '/';
        memmove(out, p, len);
        out += len;
        p += len;
    }
    if (out == path)
        *out++ = absolute ? '/' : '.';
    *out = '\0';
}

char *path_resolve(const char *dir, const char *name)
{
    char *path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
    char *room = xmalloc(strlen(path) + 2); /* "" folds to "." */
    memcpy(room, path, strlen(path) + 1);
    free(path);
    fold(room);
    return room;
}

char *path_join(const char *dir, const char *rest)
{
    /* Called for each of millions of names. */
    const size_t n = strlen(dir), rest_bytes = strlen(rest) + 1;
    const size_t slash = n == 0 || dir[n - 1] != '/';
    char *path = xmalloc(n + slash + rest_bytes);

    memcpy(path, dir, n);
    path[n] = '/';
    memcpy(path + n + slash, rest, rest_bytes);
    return path;
}

char *path_stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? xstrndup(base, (size_t)(dot - base)) : xstrdup(base);
}

char *path_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash != NULL && slash > path && slash[-1] == '/')
        slash--;
    if (slash == NULL)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

int path_mkdirs(const char *path, mode_t mode)
{
    cleanup_free char *copy = path_resolve("/", path);
    if (path[0] != '/') {
        free(copy);
        copy = path_resolve(".", path);
    }
    struct stat st;
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char at = *p;
        *p = '\0';
        if (mkdir(copy, mode) < 0) {
            int r = -errno;
            /* The parents may lie behind a link; the last place may not. */
            if ((at == '\0' ? lstat(copy, &st) : stat(copy, &st)) < 0)
                return r;
            if (!S_ISDIR(st.st_mode))
                return -ENOTDIR;
        }
        if (at == '\0')
            return 0;
        *p = at;
    }
}

bool path_goes_up(const char *path)
{
    for (const char *p = path; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
            return true;
    }
    return false;
}

char *path_without_up(char *path)
{
    cleanup_free char *whole = path;
    char *out = xstrdup(""), *next;

    if (!path_goes_up(path)) {
        free(out);
        return steal_ptr(&whole);
    }
    for (char *at = path + 1; at != NULL; at = next) {
        if ((next = strchr(at, '/')) != NULL)
            *next++ = '\0';
        if (strcmp(at, "..") != 0) {
            char *longer = xasprintf("%s/%s", out, at);

            free(out);
            out = longer;
            continue;
        }
        char *real = realpath(out[0] != '\0' ? out : "/", NULL);

        if (real != NULL) {
            free(out);
            out = real;
        }
        if (out[0] != '\0')
            *strrchr(out, '/') = '\0';
    }
    if (out[0] == '\0') {
        free(out);
        return xstrdup("/");
    }
    return out;
}

char *path_state_dir(const char *arg, struct err *err)
{
    const char *env = getenv("FUZZ_STATE"), *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    cleanup_free char *cwd = NULL;
    const char *dir = arg != NULL ? arg : env;
    if (dir != NULL && *dir != '\0') {
        if (dir[0] != '/' && (cwd = getcwd(NULL, 0)) == NULL) {
            (void)err_sys(err, -errno, "the working directory");
            return NULL;
        }
        return path_without_up(path_resolve(cwd != NULL ? cwd : "/", dir));
    }
    if (arg != NULL) {
        (void)err_set(err, -EINVAL, "the state directory is an empty name");
        return NULL;
    }
    if (geteuid() == 0)
        return xstrdup("/var/lib/fuzzd");
    if (xdg != NULL && xdg[0] == '/')
        return path_without_up(path_resolve(xdg, "fuzzd"));
    if (home != NULL && home[0] == '/')
        return path_without_up(path_resolve(home, ".local/state/fuzzd"));
    (void)err_set(err, -ENOENT,
                  "no state directory: set FUZZ_STATE or HOME to an absolute path, or use --state");
    return NULL;
}

char *path_self_dir(void)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n <= 0)
        return NULL;
    exe[n] = '\0';
    return path_dirname(exe);
}

/* dir/name if it is a file of ours to run (or, a library, to load). Caller frees. */
static char *program_in(const char *dir, const char *name)
{
    size_t len = strlen(name);
    int mode = len > 3 && strcmp(name + len - 3, ".so") == 0 ? R_OK : X_OK;
    cleanup_free char *path = path_join(dir, name);
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, mode) < 0)
        return NULL;
    return steal_ptr(&path);
}

char *path_find_program(const char *name)
{
    cleanup_free char *self = path_self_dir();
    const char *const dirs[] = {self, FZ_SBINDIR, FZ_LIBEXECDIR, FZ_BINDIR};
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        char *path = dirs[i] != NULL ? program_in(dirs[i], name) : NULL;
        if (path != NULL)
            return path;
    }
    return NULL;
}
