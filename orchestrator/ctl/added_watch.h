/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_ADDED_WATCH_H
#define CTL_ADDED_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * What afl-fuzz does with inputs in its foreign folder. It opens a file, runs it, saves what it is good for and closes it, one file at a time: so
 * what appears in its queue, crashes or hangs between those two is of that file, and a file that was closed with nothing between has nothing
 * new. Source: AFL++ src/afl-fuzz-init.c, read_foreign_testcases; inotify(7).
 */
enum added_state { ADDED_UNSEEN, ADDED_TAKEN, ADDED_NOTHING_NEW, ADDED_CRASH, ADDED_HANG };
/* "unseen", "taken", "nothing new", "crash", "hang" */
const char *added_state_name(enum added_state state);

struct added_file {
    char sha256[65]; /* which is its name in the folder; "" : not there */
    enum added_state state;
    char entry[256]; /* of the queue, when it was taken */
};

struct added_watch;

/* dir: the foreign folder, there already; out: the first folder of the instance, whose newest is looked into; may come later. 0 or -errno. */
int added_watch_open(const char *dir, const char *out, struct added_watch **ret, struct err *err);
/* Waits at most timeout_ms and fills in what has happened. Returns how many files are still unseen. */
size_t added_watch_wait(struct added_watch *w, struct added_file *files, size_t n,
                        int64_t timeout_ms);
/* For what happened while nobody looked: an unseen file with the content of an imported entry was taken. Reads the whole queue. */
void added_watch_compare(const struct added_watch *w, struct added_file *files, size_t n);
void added_watch_close(struct added_watch *w);

#endif
