/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BUNDLE_BUNDLE_INTERNAL_H
#define BUNDLE_BUNDLE_INTERNAL_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bundle/manifest.h"

/* Between the files of bundle/: what is written, and how it is read. */

/* A file to write: its bytes in memory, or a path to read them from. */
struct bundle_file {
    struct member m;
    char *data; /* owned; NULL: read path */
    char *path; /* owned */
    unsigned mode;
};

/* Writes the files, sorted by name, as a tar in a zstd frame to fd. Changes nothing else. 0 or -errno. */
int bundle_write(int fd, struct bundle_file *files, size_t n, struct err *err);

/*
 * Reads a bundle from start to end, distrusting it. For each member begin is called (may be NULL; a negative answer ends it), then data for its
 * bytes, then end. The manifest's text is kept. On success *ret_members (caller frees) holds all, manifest included, and *ret_manifest the parsed
 * manifest. match: also holds members and manifest against each other. 0, -EBADMSG with the reason, -errno.
 */
struct bundle_sink {
    int (*begin)(void *ctx, const char *name, struct err *err);
    int (*data)(void *ctx, const void *data, size_t n, struct err *err);
    int (*end)(void *ctx, struct err *err);
    void *ctx;
};
int bundle_scan(const char *path, const struct bundle_sink *sink, bool match,
                struct member **ret_members, size_t *ret_n, json_t **ret_manifest, struct err *err);

/* The text of repro.sh for a manifest (its replay, expect, programs and inputs). Caller frees. */
char *bundle_script(const json_t *manifest);

#endif
