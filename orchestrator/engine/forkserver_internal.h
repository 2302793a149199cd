/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_FORKSERVER_INTERNAL_H
#define ENGINE_FORKSERVER_INTERNAL_H

#include <sys/types.h>

#include "engine/forkserver.h"

/* Shared by forkserver.c, which runs inputs, and forkserver_start.c, which starts and ends the server. */
struct forkserver {
    struct forkserver_opts opts; /* what it points to is ours, below */
    char *path, *scratch, *preload, *input_path;
    struct strv args, env, procs;
    struct handshake greeting;
    uint8_t *map;      /* map_room bytes of shared memory */
    uint8_t *testcase; /* size, then FORKSERVER_INPUT_BYTES */
    size_t map_room;
    int map_id, testcase_id;
    int control_fd, status_fd; /* ends of ours, -1 while there is no server */
    int control_end_fd;        /* the server's end, held by us too */
    unsigned char words[8];    /* heard and not used yet */
    size_t heard;
    int input_fd; /* standard input of the program, or the file of "@@" */
    int text_fd;
    pid_t server, child;
    uint32_t was_killed;
    long starts;
    char *text;
};

/* Starts program and server and greets it. 0, or -errno; then there is none. */
int forkserver_start(struct forkserver *fs, struct err *err);
/* Ends the child and the server, if there is one. How it ended, as waitpid says, in *ret_status (0: was still running); may be NULL. */
void forkserver_stop(struct forkserver *fs, int *ret_status);
/* Kills the child that the server told us of, or, when that is somebody else's pid, those that it has. False when there is no server. */
bool forkserver_kill_child(const struct forkserver *fs);
/* A word, by a deadline of clock_now_ms. 0, -ETIMEDOUT, -EPIPE (closed), -errno. */
int forkserver_word(struct forkserver *fs, int64_t deadline_ms, uint32_t *ret);

#endif
