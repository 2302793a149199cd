/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a bundle that anybody may have made. base/tarin only takes the tar
 * apart; which members are taken, how many and how large is decided here,
 * and no byte is given on before its member has passed. The zstd frame must be
 * one, whole, with a right checksum, and nothing may follow the archive in it.
 */
#include "bundle/bundle_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <sha2.h>

#include "base/alloc.h"
#include "base/tarin.h"
#include "bundle/bundle.h"

#define TAR_MAX_BYTES ((uint64_t)BUNDLE_MAX_BYTES + (16ULL << 20)) /* members and their headers */

struct scan {
    const char *path;
    struct tarin *t;
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

/* True when one name is the other, or a folder of it: both cannot be files. */
static bool names_clash(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b), n = na < nb ? na : nb;

    return strncmp(a, b, n) == 0 && (na == nb || (na < nb ? b : a)[n] == '/');
}

/* Judges the header alone. 0 a file, 1 a folder (skipped), -EBADMSG. */
static int entry_check(struct scan *sc, const struct tarin_member *in, struct err *err)
{
    char name[MEMBER_NAME_MAX + 2];
    size_t len;

    if (strlcpy(name, in->name, sizeof(name)) >= sizeof(name))
        return bad(sc, err, NULL, "a member's name is too long");
    len = strlen(name);
    if (in->kind == TARIN_HARDLINK || in->kind == TARIN_SYMLINK)
        return bad(sc, err, name, "links are not allowed");
    if (in->kind == TARIN_FOLDER) {
        if (len > 1 && name[len - 1] == '/')
            name[len - 1] = '\0';
        return member_name_ok(name) ? 1 : bad(sc, err, name, "the name is not allowed");
    }
    if (in->kind != TARIN_FILE)
        return bad(sc, err, name, "only regular files and folders are allowed");
    if (!member_name_ok(name))
        return bad(sc, err, name, "the name is not allowed");
    if (in->size > BUNDLE_MAX_BYTES || sc->bytes + in->size > (uint64_t)BUNDLE_MAX_BYTES)
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
    while (m->size < size) {
        const size_t n = size - m->size < sizeof(buf) ? (size_t)(size - m->size) : sizeof(buf);

        r = tarin_data(sc->t, buf, n, err);
        if (r < 0)
            return r;
        m->size += n;
        SHA256Update(&sha, (const uint8_t *)buf, n);
        if (strcmp(m->name, MANIFEST_NAME) == 0)
            r = manifest_keep(sc, buf, n, err);
        if (r == 0 && sc->sink != NULL && sc->sink->data != NULL)
            r = sc->sink->data(sc->sink->ctx, buf, n, err);
        if (r < 0)
            return r;
    }
    sc->bytes += m->size;
    SHA256Final(digest, &sha);
    for (size_t i = 0; i < sizeof(digest); i++) {
        m->sha256[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        m->sha256[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    return 0;
}

static int entry_read(struct scan *sc, const struct tarin_member *in, struct err *err)
{
    struct member *m;
    int r = entry_check(sc, in, err);

    if (r != 0)
        return r < 0 ? r : 0;
    m = member_new(sc);
    strlcpy(m->name, in->name, sizeof(m->name));
    if (sc->sink != NULL && sc->sink->begin != NULL)
        r = sc->sink->begin(sc->sink->ctx, m->name, err);
    if (r == 0)
        r = entry_data(sc, m, in->size, err);
    if (r == 0 && sc->sink != NULL && sc->sink->end != NULL)
        r = sc->sink->end(sc->sink->ctx, err);
    return r;
}

static int scan_all(struct scan *sc, struct err *err)
{
    struct tarin_member in;
    size_t headers = 0;
    int r;

    while ((r = tarin_next(sc->t, &in, err)) == 1) {
        if (++headers > BUNDLE_MAX_MEMBERS)
            return bad(sc, err, NULL, "it has too many members");
        r = entry_read(sc, &in, err);
        if (r < 0)
            return r;
    }
    return r == 0 && sc->n == 0 ? bad(sc, err, NULL, "it has no member") : r;
}

int bundle_scan(const char *path, const struct bundle_sink *sink, bool match,
                struct member **ret_members, size_t *ret_n, json_t **ret_manifest, struct err *err)
{
    struct scan sc = {.path = path, .sink = sink};
    json_t *manifest = NULL;
    int r = tarin_open(path, true, TAR_MAX_BYTES, &sc.t, err);

    if (r == 0)
        r = scan_all(&sc, err);
    if (r == 0 && sc.manifest == NULL)
        r = bad(&sc, err, NULL, "it has no " MANIFEST_NAME);
    if (r == 0) {
        r = manifest_parse(sc.manifest, sc.manifest_size, &manifest, err);
        if (r == 0 && match)
            r = manifest_match(manifest, sc.members, sc.n, err);
        if (r < 0)
            err_wrap(err, "%s", path);
    }
    tarin_close(sc.t);
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
