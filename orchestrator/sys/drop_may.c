/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another user may reach and read, before anything is started as him: by mode bits, and by the ACL where there is one,
 * as the kernel would decide. The kernel itself cannot be asked without becoming that user.
 */
#include "sys/drop.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/shell.h"

#define ACL_NAME      "system.posix_acl_access"
#define ACL_MAX_BYTES 65536 /* the most of an attribute. Source: linux/limits.h, XATTR_SIZE_MAX */
#define BY_ACL        'a'
#define README        "README.txt" /* Source: AFL++ src/afl-fuzz-init.c, read_testcases */
#define SEEDS_MAX     1000000      /* more are refused elsewhere */
#define SEEDS_DEPTH   16

/* To read a file or list a folder; run: to start a program, too. */
static mode_t wanted(const struct stat *st, bool run)
{
    return S_ISDIR(st->st_mode) || run ? S_IROTH | S_IXOTH : S_IROTH;
}

/* What decides: the bits of the owner, of the group or of all others (u, g, o), or entries of the ACL. */
struct rights {
    mode_t bits; /* 0 to 7 */
    char by;
};

/*
 * By the ACL of path, as the kernel reads it: the owner's entry, one of the user's name, any of his group, or that of all
 * others. of: what the mode bits say. Source: acl(5), ACCESS CHECK ALGORITHM.
 */
static struct rights acl_rights(const struct drop *d, const uint8_t *acl, size_t size,
                                struct rights of)
{
    const struct posix_acl_xattr_header *header = (const void *)acl;
    const struct posix_acl_xattr_entry *e = (const void *)(header + 1);
    size_t n = size < sizeof(*header) ? 0 : (size - sizeof(*header)) / sizeof(*e);
    mode_t mask = 7, named = 0, group = 0;
    bool is_named = false, is_group = of.by == 'g';

    if (n == 0 || le32toh(header->a_version) != POSIX_ACL_XATTR_VERSION || of.by == 'u')
        return of;
    for (size_t i = 0; i < n; i++) {
        const mode_t perm = le16toh(e[i].e_perm) & 7;
        const uint32_t id = le32toh(e[i].e_id);

        switch (le16toh(e[i].e_tag)) {
        case ACL_USER:
            if (id == d->uid) {
                is_named = true;
                named = perm;
            }
            break;
        case ACL_GROUP_OBJ:
            group |= of.by == 'g' ? perm : 0;
            break;
        case ACL_GROUP:
            if (id == d->gid) {
                is_group = true;
                group |= perm;
            }
            break;
        case ACL_MASK:
            mask = perm;
            break;
        default:
            break;
        }
    }
    if (!is_named && !is_group)
        return of;
    return (struct rights){.bits = (is_named ? named : group) & mask, .by = BY_ACL};
}

static struct rights rights_of(const struct drop *d, const struct stat *st, const char *path)
{
    const char by = st->st_uid == d->uid ? 'u' : st->st_gid == d->gid ? 'g' : 'o';
    const int shift = by == 'u' ? 6 : by == 'g' ? 3 : 0;
    const struct rights r = {.bits = (st->st_mode >> shift) & 7, .by = by};
    _Alignas(4) uint8_t acl[ACL_MAX_BYTES];
    ssize_t n;

    /* The bits of the group are the mask of an ACL; without any the kernel does not look at it. */
    if (by == 'u' || (st->st_mode & S_IRWXG) == 0)
        return r;
    n = getxattr(path, ACL_NAME, acl, sizeof(acl));
    return n > 0 ? acl_rights(d, acl, (size_t)n, r) : r;
}

/* The command that gives the user bits of path, and with all of what is below. */
static void print_cure(FILE *out, const struct drop *d, const char *by, const char *bits,
                       const char *path, bool all)
{
    if (strchr(by, BY_ACL) != NULL)
        (void)fprintf(out, "setfacl %s-m u:%u:%s ", all ? "-R " : "", (unsigned)d->uid, bits);
    else
        (void)fprintf(out, "chmod %s%s+%s ", all ? "-R " : "", by, bits);
    shell_quote(out, path);
}

/* -EACCES: what he may not do to path, where the bits are missing, and the command that gives them. */
static int denied(const struct drop *d, char by, const char *path, const char *what,
                  const char *where, const char *bits, struct err *err)
{
    cleanup_free char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);

    if (out == NULL)
        return err_set(err, -EACCES, "%s: the user may not %s %s", path, what, where);
    print_cure(out, d, (const char[]){by, '\0'}, bits, where, false);
    (void)fclose(out);
    return err_set(err, -EACCES, "%s: the user may not %s %s: %s", path, what,
                   path == where ? "it" : where, words);
}

static int may_enter(const struct drop *d, const char *path, const char *folder, struct err *err)
{
    struct rights r;
    struct stat st;

    if (stat(folder, &st) < 0)
        return err_sys(err, -errno, "%s", folder);
    r = rights_of(d, &st, folder);
    return (r.bits & S_IXOTH) != 0 ? 0 : denied(d, r.by, path, "enter", folder, "x", err);
}

/* Of the folders above real, each. path: as it was named. */
static int may_pass(const struct drop *d, const char *path, const char *real, struct err *err)
{
    int rc = 0;

    for (const char *p = real; p != NULL && rc == 0; p = strchr(p + 1, '/')) {
        cleanup_free char *part = p == real ? xstrdup("/") : xstrndup(real, (size_t)(p - real));

        rc = may_enter(d, path, part, err);
    }
    return rc;
}

int drop_may_reach(const struct drop *d, const char *path, struct err *err)
{
    cleanup_free char *above = path_dirname(path);
    cleanup_free char *real = realpath(above, NULL);

    if (real != NULL) {
        int rc = may_pass(d, path, real, err);

        return rc < 0 ? rc : may_enter(d, path, real, err);
    }
    if (errno != ENOENT)
        return err_sys(err, -errno, "%s", above);
    return err_set(err, -EACCES,
                   "%s: %s is not there, and would be made so that the user may not enter it: "
                   "install -d -m 711 %s",
                   path, above, above);
}

/* run: a file must be a program that he may start, too. */
static int may_use(const struct drop *d, const char *path, bool run, struct err *err)
{
    cleanup_free char *real = realpath(path, NULL);
    struct rights r;
    struct stat st;
    mode_t want;
    int rc;

    if (real == NULL)
        return err_sys(err, -errno, "%s", path);
    rc = may_pass(d, path, real, err);
    if (rc < 0)
        return rc;
    if (stat(real, &st) < 0)
        return err_sys(err, -errno, "%s", real);
    want = wanted(&st, run);
    r = rights_of(d, &st, real);
    if ((r.bits & want) != want)
        return denied(d, r.by, path, run && (r.bits & S_IROTH) != 0 ? "run" : "read", path,
                      (want & S_IXOTH) != 0 ? "rx" : "r", err);
    return 0;
}

int drop_may_read(const struct drop *d, const char *path, struct err *err)
{
    return may_use(d, path, false, err);
}

int drop_may_run(const struct drop *d, const char *path, struct err *err)
{
    return may_use(d, path, true, err);
}

/* What a walk through seeds found. */
struct walk {
    const struct drop *d;
    size_t left; /* entries still to look at */
    size_t n;    /* that the user may not read; links are apart, chmod -R leaves them alone */
    char *first; /* of these by name, and what decides there */
    char first_by;
    bool is_folder;
    char by[8]; /* what decides at any of them, each once */
    struct err link;
};

static void note(struct walk *w, const char *path, bool is_folder, char by)
{
    size_t len = strlen(w->by);

    w->n++;
    if (strchr(w->by, by) == NULL && len + 1 < sizeof(w->by))
        w->by[len] = by;
    if (w->first != NULL && strcmp(path, w->first) >= 0)
        return;
    str_set(&w->first, path);
    w->first_by = by;
    w->is_folder = is_folder;
}

static void walk_folder(struct walk *w, int fd, const char *path, int depth);

static void walk_entry(struct walk *w, int parent, const char *name, const char *path, int depth)
{
    struct stat st, to;
    mode_t want;
    struct rights r;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISLNK(st.st_mode)) {
        if (w->link.code == 0 && fstatat(parent, name, &to, 0) == 0 && S_ISREG(to.st_mode))
            (void)drop_may_read(w->d, path, &w->link);
        return;
    }
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return;
    want = wanted(&st, false);
    r = rights_of(w->d, &st, path);
    if ((r.bits & want) != want)
        note(w, path, S_ISDIR(st.st_mode), r.by);
    if (S_ISDIR(st.st_mode) && depth < SEEDS_DEPTH)
        walk_folder(w, openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path,
                    depth + 1);
}

/* Takes ownership of fd. What we cannot read ourselves is told where the seeds are read. */
static void walk_folder(struct walk *w, int fd, const char *path, int depth)
{
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;

    if (dir == NULL && fd >= 0)
        (void)close(fd);
    while (dir != NULL && w->left > 0 && (de = readdir(dir)) != NULL) {
        cleanup_free char *entry = NULL;

        if (de->d_name[0] == '.' || strcmp(de->d_name, README) == 0)
            continue;
        w->left--;
        entry = path_join(path, de->d_name);
        walk_entry(w, dirfd(dir), de->d_name, entry, depth);
    }
}

static int told(const struct walk *w, const char *path, struct err *err)
{
    cleanup_free char *words = NULL;
    size_t size = 0;
    FILE *out;

    if (w->n == 1)
        return denied(w->d, w->first_by, w->first, "read", w->first, w->is_folder ? "rx" : "r",
                      err);
    out = open_memstream(&words, &size);
    if (out == NULL)
        return err_set(err, -EACCES, "%s: the user may not read %zu of what is in it", path, w->n);
    print_cure(out, w->d, w->by, "rX", path, true);
    (void)fclose(out);
    return err_set(
        err, -EACCES,
        "%s: the user may not read %zu of the files and folders in it, the first is %s: %s", path,
        w->n, w->first + strlen(path) + 1, words);
}

int drop_may_read_seeds(const struct drop *d, const char *path, struct err *err)
{
    struct walk w = {.d = d, .left = SEEDS_MAX};
    int r = drop_may_read(d, path, err);

    if (r < 0)
        return r;
    walk_folder(&w, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path, 0);
    if (w.n > 0)
        r = told(&w, path, err);
    else if (w.link.code == -EACCES)
        r = err_set(err, -EACCES, "%s", w.link.msg);
    free(w.first);
    return r;
}
