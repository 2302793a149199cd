/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ROTATION_H
#define STORE_ROTATION_H

#include <stdbool.h>

/*
 * The folders of one instance. afl-fuzz saves no more than some number of crashes and hangs in one folder, so that an instance that comes
 * near goes on in another: "main", "main_r2", "main_r3". The newest has the queue; the others keep what was found. The disk is the only
 * record of it: whoever comes later finds the newest folder, as one is made only when nothing works in the one before.
 */
#define ROTATION_MAX 9999 /* so that NAME_rN fits into 50 characters with names of 44 */

/* Folder or name number n of one whose first is first; 1 is first itself. Caller frees. */
char *rotation_of(const char *first, int n);
/* The number of the newest folder there is, at least 1. */
int rotation_last(const char *out_dir);
/* The first number from n on whose name nothing has, folder or not; 0: none up to ROTATION_MAX. */
int rotation_free(const char *out_dir, int n);
/* The number of the newest folder that is older than number n, at least 1. */
int rotation_before(const char *out_dir, int n);
/* Whether number n is a folder: others may put what they like in the place of one. Always of 1. */
bool rotation_is_folder(const char *out_dir, int n);
/* The newest folder: where the queue is. Caller frees. */
char *rotation_newest(const char *out_dir);

#endif
