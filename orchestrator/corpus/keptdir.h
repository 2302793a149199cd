/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_KEPTDIR_H
#define CORPUS_KEPTDIR_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * STATE/corpora/CAMPAIGN/TARGET: what a run leaves to the next one of the same campaign and target. Each file has the SHA-256 of its content for
 * a name. The folder is written beside its place, brought to the disk and put there by one rename: there is the old one or the new one,
 * whatever ends in between, and a file that is not what its name says does not count.
 */
#define KEPTDIR_FILES_MAX 1000000

/* Caller frees. */
char *keptdir_path(const char *state_dir, const char *campaign, const char *target);
/*
 * Appends the paths of the files that are whole; *ret_damaged counts the others. None when there is no folder. 0 or -errno. state_dir: no link is
 * followed from there on.
 */
int keptdir_list(const char *state_dir, const char *path, struct strv *list, size_t *ret_damaged,
                 struct err *err);
/* Over the kept corpora of a campaign (NULL: of all). */
struct keptdir_sum {
    size_t corpora, files, damaged; /* files: whole ones */
};
int keptdir_sum(const char *state_dir, const char *campaign, struct keptdir_sum *ret,
                struct err *err);
/* Copies files[0..n) there, once each content; those that have gone are passed over. 0 with *ret_files and *ret_bytes, or -errno with the folder as it was. */
int keptdir_write(const char *state_dir, const char *path, char *const *files, size_t n,
                  size_t *ret_files, uint64_t *ret_bytes, struct err *err);
/* Copies files into the folder path, made when missing, by their own names and with a number before one that is there already. 0 or -errno. */
int keptdir_copy(const char *state_dir, const char *path, char *const *files, size_t n,
                 struct err *err);

#endif
