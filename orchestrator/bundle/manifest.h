/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BUNDLE_MANIFEST_H
#define BUNDLE_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * manifest.json of a bundle:
 *   {"version":1,"campaign","run","target","bucket","class","kind","signature","why","severity",
 *    "reproduced","runs","count","inputs":["inputs/<sha12>",...],"inputs_known":n,
 *    "programs":[{"role","path","sha256","build_id"}],"replay":{...},"expect":{...},
 *    "afl":{"path","version","sha256"},"fuzzd":{"version","git"},"git":{"commit","dirty"},
 *    "members":[{"name","size","sha256"}]}
 * members names every file of the bundle but the manifest itself.
 */
#define MANIFEST_NAME      "manifest.json"
#define MANIFEST_MAX_BYTES (8 << 20)
#define MEMBER_NAME_MAX    200

/* One member as it was read or is to be written. */
struct member {
    char name[MEMBER_NAME_MAX + 1];
    uint64_t size;
    char sha256[65];
};

/*
 * True for a name that may stand in a bundle: printable ASCII, relative, no empty, "." or ".." component, at most 4 components,
 * no backslash.
 */
bool member_name_ok(const char *name);

/* The text of a manifest as an object of a version we read. 0 or -EBADMSG. New reference in *ret. */
int manifest_parse(const char *text, size_t size, json_t **ret, struct err *err);

/* Every member but the manifest is listed with its size and hash, each once, and nothing else is. 0 or -EBADMSG. */
int manifest_match(const json_t *manifest, const struct member *members, size_t n, struct err *err);

#endif
