/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_FORKSERVER_INTERNAL_H
#define ENGINE_FORKSERVER_INTERNAL_H

#include <sys/types.h>

#include "engine/forkserver.h"
#include "engine/ring.h"

/*
 * One program under test, shared by forkserver.c, batch.c and native.c, which run inputs in it, and by forkserver_spawn.c and
 * forkserver_start.c, which start and end it. A harness in batch mode is a server with another greeting; a native program has a launcher for a server.
 */
enum forkserver_kind { FORKSERVER_KIND_FORK, FORKSERVER_KIND_BATCH, FORKSERVER_KIND_NATIVE };

struct forkserver {
    enum forkserver_kind kind;
    struct forkserver_opts opts; /* what it points to is ours, below */
    char *path, *preload;
    int scratch_fd;     /* opts.scratch, or -1 */
    char folder[16];    /* in it, the program's own */
    char *work;         /* its path; NULL: the program works where we do */
    char *input_path;   /* in it */
    bool input_is_file; /* by that name; else it is standard input only */
    struct strv args, env, procs;
    struct handshake greeting;
    uint8_t *map;      /* map_room bytes of shared memory */
    uint8_t *testcase; /* size, then FORKSERVER_INPUT_BYTES */
    size_t map_room;
    int map_id, testcase_id;
    struct ring ring;          /* of batch mode, instead of the test case */
    int control_fd, status_fd; /* ends of ours, -1 while there is no server */
    int control_end_fd;        /* the server's end, held by us too */
    unsigned char words[8];    /* heard and not used yet */
    size_t heard;
    int input_fd; /* standard input of the program, or the file of "@@" */
    int text_fd;
    int greet_pidfd; /* of the server, -1 but for the time of its greeting */
    pid_t server, child;
    bool child_waits; /* it is done with its input and stopped */
    uint32_t was_killed;
    long starts;
    bool answered;  /* it has run something */
    long lost_runs; /* until then */
    char *text;
};

/* All but the start: nothing runs yet. */
struct forkserver *forkserver_new(const struct forkserver_opts *opts, enum forkserver_kind kind);
/* The map, with room for so many bytes, and the test case or the ring, in shared memory. */
int forkserver_room_make(struct forkserver *fs, size_t bytes, struct err *err);
/* The files of what is printed and of the input, and the program's folder: made once, and put in order again before each start. */
int forkserver_files_open(struct forkserver *fs, struct err *err);
/* The program's folder in the caller's, empty, once; all of it goes again when it is closed. Nothing without opts.scratch. */
int forkserver_folder_open(struct forkserver *fs, struct err *err);
void forkserver_folder_close(struct forkserver *fs);
/* Empties it where something lies in it, or makes it again, and ends the server then: it is of the folder that was, and may have made what is in it. */
int forkserver_folder_tidy(struct forkserver *fs, struct err *err);
/* The input's file where it has a name: made again when the program removed, replaced, closed or linked it. */
int forkserver_input_ready(struct forkserver *fs, struct err *err);
/* Starts the program with keep[0..n) seen as at[0..n); fs->server is its pid. Of a native one the launcher alone, heard by control_fd. */
int forkserver_spawn(struct forkserver *fs, const int *keep, const int *at, int n, struct err *err);
int forkserver_input_put(struct forkserver *fs, const void *data, size_t size, struct err *err);
/* A wait status of the program. False for a word that no server of AFL++'s says. killed: by us. */
bool forkserver_judge(struct forkserver *fs, uint32_t word, bool killed,
                      struct forkserver_run *ret);
/* Starts program and server and greets it. 0, or -errno; then there is none. */
int forkserver_start(struct forkserver *fs, struct err *err);
/* Ends the child and the server, if there is one. How it ended, as waitpid says, in *ret_status (0: was still running); may be NULL. */
void forkserver_stop(struct forkserver *fs, int *ret_status);
/* Kills the child that the server told us of, or, when that is somebody else's pid, those that it has. False when there is no server. */
bool forkserver_kill_child(const struct forkserver *fs);
bool forkserver_cancelled(const struct forkserver *fs);
/* The same words for every -ECANCELED, and the server is gone. */
int forkserver_give_up(struct forkserver *fs, struct err *err);
/* A word, by a deadline of clock_now_ms. 0, -ETIMEDOUT, -EPIPE (closed), -ECANCELED, -errno. */
int forkserver_word(struct forkserver *fs, int64_t deadline_ms, uint32_t *ret);
/* What an answer of it means for the server: 0, it was heard and was the wrong word. */
enum forkserver_loss forkserver_loss_of(int rc);

#endif
