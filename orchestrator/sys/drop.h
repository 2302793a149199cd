/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_DROP_H
#define SYS_DROP_H

#include <sys/types.h>

#include "base/err.h"

/*
 * Programs under test as another user than root, who started us. Files stay readable to both: root reads everything, and the
 * user has the folders that his programs write to, reached by folders that all may pass (0711) and only we may list.
 */
struct drop {
    uid_t uid;
    gid_t gid;
};

/* The user of that name. 0; -EPERM (we are not root), -ENOENT (no such user), -EINVAL (it is root), with err in one line. */
int drop_find(const char *user, struct drop *ret, struct err *err);

/*
 * In a child before exec: becomes that user, in his first group only, without capabilities and without a way to gain any,
 * set-user-ID programs included. The parent-death signal and what needs root come before, the signal once more after it.
 * Does not allocate. 0 or -errno.
 */
int drop_self(const struct drop *d);

/* Every program that this process starts from now on (proc_run, proc_start) is started as that user. NULL: as we are. */
void drop_children(const struct drop *d);
const struct drop *drop_of_children(void); /* NULL: none */

/* mkdtemp, open files and SysV segments for those programs: theirs when they are another user's. 0 or -errno (and errno). */
int drop_mkdtemp(char *template);
int drop_give(int fd);
int drop_give_segment(int id);

/*
 * Makes path, a folder below top that exists, the user's (0700), and those from top on above it passable for all; where it was
 * another user's, not root's, all of that one's in it goes with it. No link is followed. 0, -ELOOP, -EXDEV (it is not below top), -errno.
 */
int drop_folder(const char *top, const char *path, const struct drop *d);

/*
 * The same with the files in it, which nobody but us has written to so far; the folder it is in may be listed, as afl-fuzz
 * wants of the one above its seeds. Source: AFL++ src/afl-fuzz.c, "Unable to access '%s/..'".
 */
int drop_folder_and_files(const char *top, const char *path, const struct drop *d);

/*
 * Whether the user may read the file, or list the folder, of that absolute path: by its mode bits or ACL, and those of all folders above it.
 * 0, or -EACCES with what is in the way, and the command that mends it, in err; -errno.
 */
int drop_may_read(const struct drop *d, const char *path, struct err *err);

/* The same of a program that he is to read and start. */
int drop_may_run(const struct drop *d, const char *path, struct err *err);

/*
 * The same of a folder of seeds and of all that afl-fuzz takes for a seed in it or below: nothing whose name begins with a dot, no README.txt;
 * a link is one when it leads to a regular file. Several faults are told as one, with their number and the first by name.
 */
int drop_may_read_seeds(const struct drop *d, const char *path, struct err *err);

/* Whether he may pass all folders above path, which need not be there yet itself. */
int drop_may_reach(const struct drop *d, const char *path, struct err *err);

#endif
