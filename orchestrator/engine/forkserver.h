/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_FORKSERVER_H
#define ENGINE_FORKSERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "engine/handshake.h"

/*
 * A client of the fork server that AFL++ builds into a program: starts the program once, then runs inputs in it, one at a time, and
 * tells of each how it ended and which edges it took. Speaks with every AFL++ and with AFL. One object is one server and belongs to
 * the thread that opened it: the kernel ends the server when that thread ends.
 *
 *     struct forkserver_opts o = {.path = "./harness", .persistent = true, .run_ms = 1000};
 *     if (forkserver_open(&o, &fs, &err) == 0 && forkserver_run(fs, data, size, &run, &err) == 0)
 *         edges = map_edges(forkserver_map(fs), forkserver_map_bytes(fs));
 *     forkserver_close(fs);
 *
 * A server that dies costs the input it died of and is started again for the next. Client and server are fastest on one core: a pinned
 * thread pins the server too. Memory is limited by the cgroup of procs, or by as_bytes.
 * Source: AFL++ docs/, src/afl-forkserver.c; instrumentation/README.persistent_mode.md.
 */
struct forkserver_opts {
    const char *path;        /* of the program */
    const struct strv *args; /* behind it, "@@" is the input's file; may be NULL */
    const struct strv *env;  /* NAME=VALUE, over our own variables; may be NULL */
    const char *
        scratch; /* a folder of the caller's, in which the program has its own, its cwd and TMPDIR; emptied before each start. NULL: ours, and no "@@" */
    bool persistent,
        deferred; /* what the file says of itself, see elfprobe_read; a wrong word hangs */
    const struct strv
        *procs;          /* cgroup.procs files the program enters before it starts; may be NULL */
    struct guard *guard; /* ends it and its children when we are killed; sys/guard.h; may be NULL */
    const char *preload; /* fuzz-preload.so, for the ladder below; may be NULL */
    int64_t start_ms;    /* for the greeting; 0: FORKSERVER_START_MS */
    int64_t run_ms;      /* of wall time, for one input; 0: FORKSERVER_RUN_MS */
    int64_t as_bytes;    /* RLIMIT_AS; 0 none. Not for sanitizer builds */
    int64_t fsize_bytes; /* RLIMIT_FSIZE; 0 none */
    size_t map_bytes;    /* at least; 0: FORKSERVER_MAP_BYTES, and more once the server asks */
    const volatile sig_atomic_t
        *cancel; /* not 0: what waits for the program ends with -ECANCELED, soon; may be NULL */
};
#define FORKSERVER_START_MS    10000
#define FORKSERVER_RUN_MS      1000
#define FORKSERVER_MAP_BYTES   (8U << 20)
#define FORKSERVER_INPUT_BYTES (1U << 20) /* AFL++'s largest test case */
#define FORKSERVER_LOST_MAX    16    /* runs that a server may lose before it has run anything */
#define FORKSERVER_TEXT_BYTES  65536 /* kept of what one input's run printed */

enum forkserver_end {
    FORKSERVER_OK,      /* returned, or exited with any code */
    FORKSERVER_CRASH,   /* by a signal, or a sanitizer's exit code */
    FORKSERVER_TIMEOUT, /* by us, after run_ms */
    FORKSERVER_LOST /* the server died of it, fell silent or babbled; nothing is known of the run */
};

/* How the server was lost; it was alive, and was ended by us, but for the first. */
enum forkserver_loss { FORKSERVER_DIED, FORKSERVER_SILENT, FORKSERVER_BABBLED };

struct forkserver_run {
    enum forkserver_end end;
    enum forkserver_loss loss; /* of FORKSERVER_LOST */
    int signo;                 /* of FORKSERVER_CRASH, 0 when by exit code */
    int exit_code;             /* where the program exited, else -1 */
    int64_t wall_us;           /* between asking and hearing */
};

struct forkserver;

/* 0, or -errno with words for the person who built the program. Nothing is left behind on failure. Blocks for start_ms at most, and some more to end a program. */
int forkserver_open(const struct forkserver_opts *opts, struct forkserver **ret, struct err *err);
/*
 * Runs one input; data is copied. 0 with *ret filled; -EFBIG (over FORKSERVER_INPUT_BYTES; nothing was run), or -errno when the server could not be
 * started again, -EPROTO when it has never run anything; -ECANCELED, and the server is gone. Blocks for run_ms, a grace of a second, and what a start takes.
 */
int forkserver_run(struct forkserver *fs, const void *data, size_t size, struct forkserver_run *ret,
                   struct err *err);
/*
 * The next run is the first of a new child. Without it a persistent program keeps its child, and what its inputs leave behind, from run
 * to run.
 */
void forkserver_fresh(struct forkserver *fs);
/* Whether its child is done with one input and waits for the next: what it does only once, it has done. */
bool forkserver_waits(const struct forkserver *fs);
/*
 * Whether a run ended by SIGKILL, which is the kernel's way to end what takes too much memory, with files in the program's folder, which
 * may be what took it, of this input or of others before. Then the server has been ended, too, and the next starts in an empty folder.
 */
bool forkserver_littered(struct forkserver *fs, const struct forkserver_run *run);
/* Counts of the last run, one byte an edge; valid and writable until the next. */
uint8_t *forkserver_map(struct forkserver *fs);
size_t forkserver_map_bytes(const struct forkserver *fs);
/* What the last run printed, at most FORKSERVER_TEXT_BYTES, for whoever wants it; size in *ret_size. Valid until the next call. */
const char *forkserver_text(struct forkserver *fs, size_t *ret_size);
const struct handshake *forkserver_greeting(const struct forkserver *fs);
/* How often the server was started, the first time included. */
long forkserver_starts(const struct forkserver *fs);
/* Ends program and server. NULL is fine. */
void forkserver_close(struct forkserver *fs);

#endif
