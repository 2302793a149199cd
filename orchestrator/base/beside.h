/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BESIDE_H
#define BASE_BESIDE_H

#include <sys/types.h>

/*
 * A file or folder that is written beside the place it is to have, as PLACE.fuzz.tmp-PID, for
 * nobody else to read and locked as long as its writer lives. What a writer that was killed has left
 * goes with the next one's beside_make. No other name, mode or owner is touched, and nothing that is held.
 */
struct beside {
    char *path; /* NULL: none */
    int fd;     /* open and locked: a file for writing, a folder for reading */
    mode_t mode;
};
enum beside_kind { BESIDE_FILE, BESIDE_FOLDER };

/* Makes it, empty. mode: what it shall have in its place, less the umask. 0 or -errno. */
int beside_make(const char *place, enum beside_kind kind, mode_t mode, struct beside *ret);
/* It is whole: it gets its mode, and is on disk, of a folder not what is in it. The caller puts it in its place then, and calls beside_placed. 0 or -errno. */
int beside_whole(const struct beside *b);
void beside_placed(struct beside *b);
/* Takes it away, whatever is in it, unless it is in its place. */
void beside_clear(struct beside *b);

/*
 * Removes from a folder what file_write_atomic left there when its process was killed: regular files of ours and of nobody else,
 * NAME.tmp-PID with a PID that no process has, or that we have: the caller is writing none itself.
 */
void beside_sweep_writes(int dirfd);

#endif
