/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_LAUNCHER_H
#define SYS_LAUNCHER_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sys/proc_child.h"

/*
 * A process between us and a program that is run again and again. It starts the program, is its
 * parent, and takes away what it leaves behind, so a program that kills or stops its parent does
 * that to the launcher, and we hear of it. It leads a session of its own, in which its programs are
 * groups, and ends with the thread that opened it.
 */
enum launcher_word {
    LAUNCHER_STARTED, /* value: the program's pid */
    LAUNCHER_FAILED,  /* value: -errno, of step */
    LAUNCHER_ENDED    /* value: as waitpid says it; what it used is in usage */
};

struct launcher_said {
    enum launcher_word word;
    int32_t value;
    char step[24];
    struct rusage usage;
};

/*
 * Forks it, to start what pc says (no keep_fds; new_session and subreaper are its own affair). It keeps
 * a copy of pc and its descriptors. Its pid, which the caller reaps, and the caller's end of the talk
 * in *ret_fd, closed by him; or -errno.
 */
pid_t launcher_open(const struct proc_child *pc, int *ret_fd);
/* One more run, once it has told of the end of the last. 0, or -EPIPE: it is gone. */
int launcher_go(int fd);
/* What it says next; waits for it unless fd was polled. 0, or -EPIPE: it is gone. */
int launcher_hear(int fd, struct launcher_said *ret);

#endif
