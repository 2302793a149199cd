/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a bundle that anybody may have made. libarchive only takes the tar
 * frame apart; which members are taken, how many and how large is decided here,
 * and no byte is given on before its member has passed. The zstd frame must be
 * one, whole, with a right checksum, and nothing may follow the archive in it.
 */
#include "bundle/bundle_internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <sha2.h>

#include "base/alloc.h"
#include "base/unzstd.h"
#include "bundle/bundle.h"

#define TAR_MAX_BYTES ((uint64_t)BUNDLE_MAX_BYTES + (16ULL << 20)) /* members and their headers */
#define DRAIN_MAX     (64 << 10)                                   /* zeros behind the end mark */

static la_ssize_t on_read(struct archive *a, void *ctx, const void **ret)
{
    ssize_t n = unzstd_next(ctx, ret);

    if (n < 0) {
        archive_set_error(a, (int)-n, "read failed");
        return -1;
    }
    return n;
}

struct scan {
    const char *path;
    struct unzstd *in;
    struct archive *a;
    const struct bundle_sink *sink;
    struct member *members;
    size_t n;
    uint64_t bytes;
    char *manifest;
    size_t manifest_size;
};

static int bad(const struct scan *sc, struct err *err, const char *name, const char *why)
{
    return err_set(err, -EBADMSG, "%s: %s%s%s", sc->path, name != NULL ? name : "",
                   name != NULL ? ": " : "", why);
}

/* What libarchive or our own reader had to say. */
static int bad_archive(const struct scan *sc, struct err *err)
{
    const char *why = archive_error_string(sc->a);

    if (unzstd_why(sc->in)[0] != '\0')
        why = unzstd_why(sc->in);
    return bad(sc, err, NULL, why != NULL ? why : "no tar archive");
}

/* True when one name is the other, or a folder of it: both cannot be files. */
static bool names_clash(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b), n = na < nb ? na : nb;

    return strncmp(a, b, n) == 0 && (na == nb || (na < nb ? b : a)[n] == '/');
}

/* Judges the header alone. 0 a file, 1 a folder (skipped), -EBADMSG. */
static int entry_check(struct scan *sc, struct archive_entry *e, struct err *err)
{
    const char *raw = archive_entry_pathname(e);
    char name[MEMBER_NAME_MAX + 2];
    size_t len;

    if (raw == NULL || strlen(raw) >= sizeof(name))
        return bad(sc, err, NULL, "a member's name is missing or too long");
    strlcpy(name, raw, sizeof(name));
    len = strlen(name);
    if (archive_entry_hardlink(e) != NULL || archive_entry_symlink(e) != NULL)
        return bad(sc, err, name, "links are not allowed");
    if (archive_entry_filetype(e) == AE_IFDIR) {
        if (len > 1 && name[len - 1] == '/')
            name[len - 1] = '\0';
        return member_name_ok(name) ? 1 : bad(sc, err, name, "the name is not allowed");
    }
    if (archive_entry_filetype(e) != AE_IFREG)
        return bad(sc, err, name, "only regular files and folders are allowed");
    if (!member_name_ok(name))
        return bad(sc, err, name, "the name is not allowed");
    if (archive_entry_sparse_count(e) > 0)
        return bad(sc, err, name, "sparse files are not allowed");
    if (!archive_entry_size_is_set(e) || archive_entry_size(e) < 0 ||
        archive_entry_size(e) > BUNDLE_MAX_BYTES ||
        sc->bytes + (uint64_t)archive_entry_size(e) > (uint64_t)BUNDLE_MAX_BYTES)
        return bad(sc, err, name, "it is larger than 1G together with those before");
    for (size_t i = 0; i < sc->n; i++) {
        if (names_clash(sc->members[i].name, name))
            return bad(sc, err, name, "it is there twice, or as a file and a folder");
    }
    return 0;
}

/* Room for the next member; the array grows with what is really there. */
static struct member *member_new(struct scan *sc)
{
    if (sc->n % 64 == 0)
        sc->members = xreallocarray(sc->members, sc->n + 64, sizeof(*sc->members));
    memset(&sc->members[sc->n], 0, sizeof(*sc->members));
    return &sc->members[sc->n++];
}

static int manifest_keep(struct scan *sc, const void *data, size_t n, struct err *err)
{
    if (sc->manifest_size + n > MANIFEST_MAX_BYTES)
        return bad(sc, err, MANIFEST_NAME, "it is too large");
    sc->manifest = xreallocarray(sc->manifest, sc->manifest_size + n + 1, 1);
    memcpy(sc->manifest + sc->manifest_size, data, n);
    sc->manifest_size += n;
    return 0;
}

/* The bytes of one member: hashed, counted, given on. */
static int entry_data(struct scan *sc, struct member *m, uint64_t size, struct err *err)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char buf[32768];
    SHA2_CTX sha;
    int r = 0;

    SHA256Init(&sha);
    for (;;) {
        la_ssize_t n = archive_read_data(sc->a, buf, sizeof(buf));

        if (n < 0)
            return bad_archive(sc, err);
        if (n == 0)
            break;
        m->size += (uint64_t)n;
        if (m->size > size)
            return bad(sc, err, m->name, "it holds more than its header says");
        SHA256Update(&sha, (const uint8_t *)buf, (size_t)n);
        if (strcmp(m->name, MANIFEST_NAME) == 0)
            r = manifest_keep(sc, buf, (size_t)n, err);
        if (r == 0 && sc->sink != NULL && sc->sink->data != NULL)
            r = sc->sink->data(sc->sink->ctx, buf, (size_t)n, err);
        if (r < 0)
            return r;
    }
    if (m->size != size)
        return bad(sc, err, m->name, "it holds less than its header says");
    sc->bytes += m->size;
    SHA256Final(digest, &sha);
    for (size_t i = 0; i < sizeof(digest); i++) {
        m->sha256[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        m->sha256[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    return 0;
}

static int entry_read(struct scan *sc, struct archive_entry *e, struct err *err)
{
    struct member *m;
    int r = entry_check(sc, e, err);

    if (r != 0)
        return r < 0 ? r : 0;
    m = member_new(sc);
    strlcpy(m->name, archive_entry_pathname(e), sizeof(m->name));
    if (sc->sink != NULL && sc->sink->begin != NULL)
        r = sc->sink->begin(sc->sink->ctx, m->name, err);
    if (r == 0)
        r = entry_data(sc, m, (uint64_t)archive_entry_size(e), err);
    if (r == 0 && sc->sink != NULL && sc->sink->end != NULL)
        r = sc->sink->end(sc->sink->ctx, err);
    return r;
}

/* Behind the end mark only zeros, as many as a block may need. */
static int drain(struct scan *sc, struct err *err)
{
    uint64_t n_zero = 0;
    const void *data;
    ssize_t n;

    while ((n = unzstd_next(sc->in, &data)) > 0) {
        const char *p = data;

        n_zero += (uint64_t)n;
        for (ssize_t i = 0; i < n; i++) {
            if (p[i] != 0)
                return bad(sc, err, NULL, "something follows the archive");
        }
        if (n_zero > DRAIN_MAX)
            return bad(sc, err, NULL, "too much follows the archive");
    }
    if (n < 0)
        return n == -EBADMSG ? bad(sc, err, NULL, unzstd_why(sc->in))
                             : err_sys(err, (int)n, "%s", sc->path);
    return 0;
}

static int scan_all(struct scan *sc, struct err *err)
{
    struct archive_entry *e;
    size_t headers = 0;
    int r;

    if (archive_read_support_format_tar(sc->a) != ARCHIVE_OK ||
        archive_read_support_filter_none(sc->a) != ARCHIVE_OK ||
        archive_read_open(sc->a, sc->in, NULL, on_read, NULL) != ARCHIVE_OK)
        return bad_archive(sc, err);
    while ((r = archive_read_next_header(sc->a, &e)) == ARCHIVE_OK) {
        if (++headers > BUNDLE_MAX_MEMBERS)
            return bad(sc, err, NULL, "it has too many members");
        r = entry_read(sc, e, err);
        if (r < 0)
            return r;
    }
    if (r != ARCHIVE_EOF)
        return bad_archive(sc, err);
    if (sc->n == 0)
        return bad(sc, err, NULL, "it has no member");
    return drain(sc, err);
}

int bundle_scan(const char *path, const struct bundle_sink *sink, bool match,
                struct member **ret_members, size_t *ret_n, json_t **ret_manifest, struct err *err)
{
    struct scan sc = {.path = path, .sink = sink};
    json_t *manifest = NULL;
    int r = unzstd_open(path, true, TAR_MAX_BYTES, &sc.in, err);

    if (r == 0) {
        sc.a = archive_read_new();
        r = sc.a != NULL ? scan_all(&sc, err) : err_set(err, -ENOMEM, "%s: no memory", path);
    }
    if (r == 0 && sc.manifest == NULL)
        r = bad(&sc, err, NULL, "it has no " MANIFEST_NAME);
    if (r == 0) {
        r = manifest_parse(sc.manifest, sc.manifest_size, &manifest, err);
        if (r == 0 && match)
            r = manifest_match(manifest, sc.members, sc.n, err);
        if (r < 0)
            err_wrap(err, "%s", path);
    }
    archive_read_free(sc.a);
    unzstd_close(sc.in);
    free(sc.manifest);
    if (r < 0) {
        json_decref(manifest);
        free(sc.members);
        return r;
    }
    *ret_members = sc.members;
    *ret_n = sc.n;
    *ret_manifest = manifest;
    return 0;
}
