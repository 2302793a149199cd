/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process an input, by the means of the fork-server client. The server is a launcher of ours
 * (sys/launcher.h), which a program may kill as it may a server of AFL++'s; so each input ends in
 * one of the same ways.
 */
#include "engine/native.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/deadline.h"
#include "engine/forkserver_internal.h"
#include "sys/launcher.h"
#include "sys/proc.h"
#include "sys/proc_child.h"

#define GRACE_MS 2000 /* for what a program left behind to go */

struct native {
    struct forkserver *fs;
};

int native_open(const struct forkserver_opts *opts, struct native **ret, struct err *err)
{
    struct forkserver *fs = forkserver_new(opts, FORKSERVER_KIND_NATIVE);
    int rc = forkserver_files_open(fs, err);

    if (rc < 0) {
        forkserver_close(fs);
        return rc;
    }
    *ret = xcalloc(1, sizeof(**ret));
    (*ret)->fs = fs;
    return 0;
}

/*
 * Whatever the launcher says before the deadline, by pid's clock where there is one; before stopped_ms, if it is stopped then.
 * 0, -ETIMEDOUT, -ECANCELED, -EPIPE: it is gone.
 */
static int hear(const struct forkserver *fs, pid_t pid, int64_t ms, int64_t stopped_ms,
                struct launcher_said *ret)
{
    struct pollfd p = {.fd = fs->control_fd, .events = POLLIN};
    struct deadline d;
    int left_ms;

    deadline_begin(&d, pid, ms);
    while ((left_ms = deadline_left_ms(&d)) > 0) {
        if (poll(&p, 1, left_ms < PROC_CANCEL_MS ? left_ms : PROC_CANCEL_MS) > 0)
            return launcher_hear(fs->control_fd, ret);
        if (forkserver_cancelled(fs))
            return -ECANCELED;
        if (deadline_now_us() - d.began_us >= stopped_ms * 1000 && proc_child_stopped(fs->server))
            break;
    }
    return -ETIMEDOUT;
}

/* The launcher is of no use any more; by what its program did to it, as nobody else knows of it. */
static int lost(struct forkserver *fs, int rc, struct forkserver_run *ret, struct err *err)
{
    int status = 0;

    if (rc == -ECANCELED)
        return forkserver_give_up(fs, err);
    forkserver_stop(fs, rc == -EPIPE ? &status : NULL);
    *ret = (struct forkserver_run){.end = FORKSERVER_LOST,
                                   .loss = forkserver_loss_of(rc),
                                   .signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                   .exit_code = -1};
    return 0;
}

/* The program runs and is fs->child: 0; or -errno as of native_run, and what hear says. */
static int start(struct forkserver *fs, struct err *err)
{
    struct launcher_said s;
    int rc;

    rc = fs->server > 0 ? 0 : forkserver_spawn(fs, NULL, NULL, 0, err);
    if (rc < 0)
        return rc;
    rc = launcher_go(fs->control_fd);
    /* A program that is quick stops it before it has said that it runs. */
    if (rc == 0)
        rc = hear(fs, fs->server, fs->opts.start_ms, fs->opts.run_ms, &s);
    if (rc < 0)
        return rc;
    if (s.word == LAUNCHER_FAILED)
        return err_sys(err, s.value, "%s: %s", fs->path, s.step);
    fs->child = s.value;
    return 0;
}

int native_run(struct native *n, const void *data, size_t size, struct forkserver_run *ret,
               struct err *err)
{
    struct forkserver_run run = {.end = FORKSERVER_OK, .exit_code = -1};
    struct forkserver *fs = n->fs;
    struct launcher_said s;
    bool killed = false;
    int64_t began_us;
    int rc;

    if (size > FORKSERVER_INPUT_BYTES)
        return err_set(err, -EFBIG, "an input of %zu bytes; %u is the most", size,
                       FORKSERVER_INPUT_BYTES);
    rc = forkserver_folder_tidy(fs, err);
    if (rc == 0)
        rc = forkserver_input_put(fs, data, size, err);
    if (rc < 0)
        return rc;
    (void)lseek(fs->text_fd, 0, SEEK_SET);
    began_us = deadline_now_us();
    fs->child = 0;
    rc = start(fs, err);
    if (rc == -EPIPE || rc == -ETIMEDOUT || rc == -ECANCELED)
        return lost(fs, rc, ret, err);
    if (rc < 0)
        return rc;
    rc = hear(fs, fs->child, fs->opts.run_ms, fs->opts.run_ms, &s);
    if (rc == -ETIMEDOUT) {
        killed = true;
        (void)forkserver_kill_child(fs);
        rc = hear(fs, fs->server, GRACE_MS, 0, &s);
    }
    if (rc < 0)
        return lost(fs, rc, ret, err);
    fs->child = 0;
    run.wall_us = deadline_now_us() - began_us;
    (void)forkserver_judge(fs, (uint32_t)s.value, killed, &run);
    *ret = run;
    return 0;
}

const char *native_text(struct native *n, size_t *ret_size)
{
    return forkserver_text(n->fs, ret_size);
}

void native_close(struct native *n)
{
    if (n != NULL)
        forkserver_close(n->fs);
    free(n);
}
