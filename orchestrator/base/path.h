/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/err.h"

/* True for one safe path component: 1..255 bytes, not "." or "..", no '/', no control byte. */
bool path_component_ok(const char *s);

/* Whether a component of the path is "..". */
bool path_goes_up(const char *path);

/*
 * An absolute path as one without "..": what is before one is taken for where it leads, if it is there, so that it names the
 * same file. Takes path; caller frees.
 */
char *path_without_up(char *path);

/* True for a name that AFL++ takes for an instance and we take for campaigns and targets: 1..max of [A-Za-z0-9_-], not starting with '-'. */
bool path_name_ok(const char *s, size_t max);

/* dir/name, or name itself when it is absolute; "." components and doubled slashes are folded, ".." is kept. Caller frees. */
char *path_resolve(const char *dir, const char *name);
/* Formats "a/b/c"; caller frees. */
char *path_join(const char *dir, const char *rest);
/* The last component without a final extension: "/a/b.ini" -> "b". Caller frees. */
char *path_stem(const char *path);
/* The folder part, "." when none. Caller frees. */
char *path_dirname(const char *path);

/* Makes path and its missing parents with mode. An existing folder is fine; a symlink or file in the last place is -ENOTDIR. 0 or -errno. */
int path_mkdirs(const char *path, mode_t mode);

/* Removes a tree below (and with) path without following symlinks or crossing mounts. Missing is success. 0 or the first -errno. */
int path_remove_tree(const char *path);
/* The same for an entry of an open folder. */
int path_remove_tree_at(int dirfd, const char *name);

/*
 * The folder path, which must be top or lie below it, opened without following a link from top on (above it links are
 * fine, so the spelling may differ); missing ones are made when mode is not 0. Descriptor, or -ELOOP (a link), -ENOTDIR, -EXDEV
 * (not below top), -ENOENT, another -errno.
 */
int path_open_below(const char *top, const char *path, mode_t mode);
/* The folder that path is in, the same way; *ret_name is path's last component. */
int path_open_parent_below(const char *top, const char *path, const char **ret_name);
int path_mkdirs_below(const char *top, const char *path, mode_t mode);
/* Nothing outside of top is touched, whatever is a link. Missing is success. */
int path_remove_tree_below(const char *top, const char *path);
/* One file or link, the same way. 0 or -errno. */
int path_unlink_below(const char *top, const char *path);

/* Sum of st_blocks*512 of the tree in bytes; stops after max_files entries. -errno on failure. */
long long path_tree_bytes(const char *path, long max_files);

/*
 * The state directory: arg (--state) if not NULL, else $FUZZ_STATE, else /var/lib/fuzzd for root, else
 * $XDG_STATE_HOME/fuzzd or ~/.local/state/fuzzd. Always absolute and without "..". Caller frees; NULL only when there is no home (err is filled).
 */
char *path_state_dir(const char *arg, struct err *err);

/*
 * Whether dir may be used: a folder, not a link to one, of the effective user or root, and written by nobody else, as ssh asks of
 * its own files. It holds what a state directory holds, or nothing but files with a dot and lost+found: else -ENOTEMPTY.
 * One that is missing may be used. 0, or -errno with what to do.
 */
int path_state_check(const char *dir, struct err *err);

/* The folder of the running program (from /proc/self/exe). Caller frees; NULL on failure. */
char *path_self_dir(void);
/*
 * Finds one of our own programs ("fuzzd", "fuzz-keeper", "fuzz-triage"): beside the running one (build folder), else
 * in the installed places (SBINDIR, LIBEXECDIR, BINDIR as compiled in). Caller frees; NULL when nowhere.
 */
char *path_find_program(const char *name);
/*
 * Whether LD_PRELOAD can name path: the loader takes a blank or a colon in it for the end of a name, puts others for $ORIGIN, $LIB
 * and $PLATFORM, and knows no escape. Source: ld.so(8), LD_PRELOAD and "Dynamic string tokens".
 */
bool path_preloadable(const char *path);
/*
 * fuzz-preload.so by a name that can be loaded: its own, or a link in the first of the places that will do, made when it is not
 * there. NULL where none does, for targets that then share the group of afl-fuzz. Caller frees.
 */
char *path_find_preload(void);
/* Where such links may be, best first: for root /run/fuzzd, else $XDG_RUNTIME_DIR/fuzzd, and /tmp/fuzzd-UID. */
void path_preload_places(struct strv *ret);
/*
 * The link to path in the folder dir, made with it when missing, in root's for all to go through. NULL when dir cannot be made, is a link,
 * is somebody else's or written by others, could be exchanged by others, or cannot be named itself. Caller frees.
 */
char *path_preload_link(const char *dir, const char *path);

#endif
