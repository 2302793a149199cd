/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another user may reach and read, before anything is started as him: by mode bits, and by the ACL where there is one,
 * as the kernel would decide. The kernel itself cannot be asked without becoming that user.
 */
#include "sys/drop.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/shell.h"

#define ACL_NAME      "system.posix_acl_access"
#define ACL_MAX_BYTES 65536 /* the most of an attribute. Source: linux/limits.h, XATTR_SIZE_MAX */
#define BY_ACL        'a'

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
    const struct rights r = {
        .bits = (st->st_mode >> (by == 'u'   ? 6
                                 : by == 'g' ? 3
                                             : 0)) &
                7,
        .by = by,
    };
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

/* The folders above real, and with self real as well. path: as it was named. */
static int may_enter(const struct drop *d, const char *path, const char *real, bool self,
                     struct err *err)
{
    struct rights r;
    struct stat st;

    for (const char *p = real; p != NULL; p = strchr(p + 1, '/')) {
        cleanup_free char *part = p == real ? xstrdup("/") : xstrndup(real, (size_t)(p - real));

        if (stat(part, &st) < 0)
            return err_sys(err, -errno, "%s", part);
        r = rights_of(d, &st, part);
        if ((r.bits & S_IXOTH) == 0)
            return denied(d, r.by, path, "enter", part, "x", err);
    }
    if (!self)
        return 0;
    if (stat(real, &st) < 0)
        return err_sys(err, -errno, "%s", real);
    r = rights_of(d, &st, real);
    return (r.bits & S_IXOTH) != 0 ? 0 : denied(d, r.by, path, "enter", real, "x", err);
}

int drop_may_reach(const struct drop *d, const char *path, struct err *err)
{
    cleanup_free char *above = path_dirname(path);
    cleanup_free char *real = realpath(above, NULL);

    if (real != NULL)
        return may_enter(d, path, real, true, err);
    if (errno != ENOENT)
        return err_sys(err, -errno, "%s", above);
    return err_set(err, -EACCES,
                   "%s: %s is not there, and would be made so that the user may not enter it: "
                   "install -d -m 711 %s",
                   path, above, above);
}

int drop_may_read(const struct drop *d, const char *path, struct err *err)
{
    cleanup_free char *real = realpath(path, NULL);
    struct rights r;
    struct stat st;
    mode_t want;
    int rc;

    if (real == NULL)
        return err_sys(err, -errno, "%s", path);
    rc = may_enter(d, path, real, false, err);
    if (rc < 0)
        return rc;
    if (stat(real, &st) < 0)
        return err_sys(err, -errno, "%s", real);
    want = S_ISDIR(st.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    r = rights_of(d, &st, real);
    if ((r.bits & want) != want)
        return denied(d, r.by, path, "read", path, S_ISDIR(st.st_mode) ? "rx" : "r", err);
    return 0;
}
