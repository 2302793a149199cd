/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BUNDLE_BUNDLE_H
#define BUNDLE_BUNDLE_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

/*
 * One .tar.zst a bucket: reproducers, report, signature and why, occurrences, spec and plan, argv and environment of the replay, build-id
 * and sha256 of the target, versions, repro.sh, manifest.json with the SHA-256 of each member. Byte-identical when made twice from the same
 * state. Source: libarchive pax_restricted; zstd frame with content checksum.
 */
#define BUNDLE_VERSION     1
#define BUNDLE_MAX_MEMBERS 4096
#define BUNDLE_MAX_BYTES   (1LL << 30) /* unpacked, all members */

/* Makes STATE/bundles/BUCKET.tar.zst (temporary, fsync, rename) from state.db (read-only) and the run's folder. ret_path: caller frees. Blocking: never in fuzzd. */
int bundle_make(const char *state_dir, const char *run, const char *bucket, char **ret_path,
                struct err *err);

/* Members with sizes, in order, as JSON: {"manifest":{...},"members":[{"name","size"}]}. Verifies nothing but bounds. */
int bundle_list(const char *path, json_t **ret, struct err *err);
/* The manifest only. */
int bundle_show(const char *path, json_t **ret, struct err *err);
/*
 * Distrusts the file: regular files and folders only, no absolute path, no "..", no link or device, bounded count and sizes, every member in the
 * manifest with its SHA-256 and nothing else. 0, -EBADMSG with the reason, -errno.
 */
int bundle_verify(const char *path, struct err *err);
/* Verifies while unpacking into dir (made; must not exist or be empty). On failure what was written is removed. */
int bundle_unpack(const char *path, const char *dir, struct err *err);

#endif
