/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bundle says of itself, held against what it holds. A manifest comes from
 * whoever made the bundle: it proves that nothing changed on the way, never that
 * the maker was honest.
 */
#include "bundle/manifest.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "bundle/bundle.h"

#define DEPTH_MAX 4

bool member_name_ok(const char *name)
{
    size_t n = strlen(name), depth = 1;
    const char *part = name;

    if (n == 0 || n > MEMBER_NAME_MAX)
        return false;
    for (const char *p = name;; p++) {
        if (*p == '/' || *p == '\0') {
            size_t len = (size_t)(p - part);

            if (len == 0 || (len == 1 && part[0] == '.') ||
                (len == 2 && part[0] == '.' && part[1] == '.'))
                return false;
            if (*p == '\0')
                return depth <= DEPTH_MAX;
            part = p + 1;
            depth++;
        } else if (*p <= 0x20 || *p > 0x7e || *p == '\\') {
            return false;
        }
    }
}

int manifest_parse(const char *text, size_t size, json_t **ret, struct err *err)
{
    json_error_t jerr;
    json_t *j = json_loadb(text, size, JSON_REJECT_DUPLICATES, &jerr);
    const json_t *version;

    if (j == NULL)
        return err_set(err, -EBADMSG, MANIFEST_NAME ": line %d: %s", jerr.line, jerr.text);
    version = json_object_get(j, "version");
    if (!json_is_integer(version) || json_integer_value(version) != BUNDLE_VERSION) {
        json_decref(j);
        return err_set(err, -EBADMSG, MANIFEST_NAME ": version is not %d", BUNDLE_VERSION);
    }
    *ret = j;
    return 0;
}

/* The member of that name; at most one, as the reader refuses doubles. n: there is none. */
static size_t member_find(const struct member *members, size_t n, const char *name)
{
    size_t i = 0;

    while (i < n && strcmp(members[i].name, name) != 0)
        i++;
    return i;
}

/* listed: which members an entry before named. */
static int entry_match(const json_t *entry, const struct member *members, size_t n, bool *listed,
                       struct err *err)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *sha256 = json_string_value(json_object_get(entry, "sha256"));
    const json_t *size = json_object_get(entry, "size");
    const struct member *m;
    size_t at;

    if (name == NULL || sha256 == NULL || !json_is_integer(size) || !member_name_ok(name) ||
        strcmp(name, MANIFEST_NAME) == 0)
        return err_set(err, -EBADMSG, MANIFEST_NAME ": a member is not described as it must be");
    at = member_find(members, n, name);
    if (at == n)
        return err_set(err, -EBADMSG, "%s: listed in the manifest, but not there", name);
    if (listed[at])
        return err_set(err, -EBADMSG, "%s: listed twice in the manifest", name);
    listed[at] = true;
    m = &members[at];
    if (json_integer_value(size) < 0 || (uint64_t)json_integer_value(size) != m->size)
        return err_set(err, -EBADMSG, "%s: size is %llu, the manifest says %lld", name,
                       (unsigned long long)m->size, (long long)json_integer_value(size));
    if (!hash_hex_ok(sha256) || strcmp(sha256, m->sha256) != 0)
        return err_set(err, -EBADMSG, "%s: SHA-256 differs from the manifest's", name);
    return 0;
}

int manifest_match(const json_t *manifest, const struct member *members, size_t n, struct err *err)
{
    const json_t *list = json_object_get(manifest, "members"), *entry;
    cleanup_free bool *listed = xcalloc(n, sizeof(*listed));
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > BUNDLE_MAX_MEMBERS)
        return err_set(err, -EBADMSG, MANIFEST_NAME ": members is not a list of at most %d",
                       BUNDLE_MAX_MEMBERS);
    json_array_foreach (list, i, entry) {
        int r = entry_match(entry, members, n, listed, err);

        if (r < 0)
            return r;
    }
    for (i = 0; i < n; i++) {
        if (!listed[i] && strcmp(members[i].name, MANIFEST_NAME) != 0)
            return err_set(err, -EBADMSG, "%s: not listed in the manifest", members[i].name);
    }
    return 0;
}
