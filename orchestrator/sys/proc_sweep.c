/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program that was run leaves behind: daemons of its own session whose parents are gone.
 * They become children of ours, and a child of ours that was none before is killed and reaped.
 * The kernel's list is that of one thread, so other threads may start programs meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "sys/proc_child.h"

#define ROUNDS   200
#define PAUSE_US 5000

/* Children of the main thread, at most max; -1 when they cannot be told. *ret_more: there are others. */
static int children(pid_t *ret, int max, bool *ret_more)
{
    char path[64], buf[4096];
    char *p = buf, *word;
    cleanup_close int fd = -1;
    uint64_t child;
    ssize_t len;
    int n = 0;

    *ret_more = false;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    len = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
    if (len < 0)
        return -1;
    buf[len] = '\0';
    /* What is cut off is no pid. */
    *ret_more = len == (ssize_t)sizeof(buf) - 1;
    if (*ret_more)
        *(char *)memrchr(buf, ' ', (size_t)len) = '\0';
    while ((word = strsep(&p, " ")) != NULL) {
        if (*word == '\0' || parse_u64(word, INT32_MAX, &child) < 0)
            continue;
        if (n == max) {
            *ret_more = true;
            break;
        }
        ret[n++] = (pid_t)child;
    }
    return n;
}

void proc_sweep_begin(struct proc_sweep *s)
{
    bool more;

    s->n = -1;
    s->was_subreaper = 0;
    if (gettid() != getpid() || prctl(PR_GET_CHILD_SUBREAPER, &s->was_subreaper) < 0)
        return;
    s->n = children(s->before, (int)(sizeof(s->before) / sizeof(s->before[0])), &more);
    if (more)
        s->n = -1;
    if (s->n >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        s->n = -1;
}

static bool was_there(const struct proc_sweep *s, pid_t pid)
{
    for (int i = 0; i < s->n; i++)
        if (s->before[i] == pid)
            return true;
    return false;
}

/* Kills and reaps the new ones; how many there were. The pid of a child is ours until it is reaped. */
static int round_of(const struct proc_sweep *s)
{
    pid_t now[256];
    bool more;
    int n = children(now, (int)(sizeof(now) / sizeof(now[0])), &more), found = 0;

    for (int i = 0; i < n; i++) {
        if (was_there(s, now[i]))
            continue;
        found++;
        (void)kill(now[i], SIGSTOP);
        proc_child_kill_tree(now[i]);
        (void)kill(now[i], SIGKILL);
        (void)waitpid(now[i], NULL, WNOHANG);
    }
    return found;
}

void proc_sweep_end(struct proc_sweep *s)
{
    int rounds = ROUNDS;

    if (s->n < 0)
        return;
    /* A child of a child comes to us when its parent is dead, so until a round finds none. */
    while (rounds-- > 0 && round_of(s) > 0)
        (void)usleep(PAUSE_US);
    if (s->was_subreaper == 0)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    s->n = -1;
}
