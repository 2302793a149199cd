/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process an input, by the means of the fork-server client: a program that is started for each
 * input, greets nobody and is ended with all it started.
 */
#include "engine/native.h"

#include <errno.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/deadline.h"
#include "engine/forkserver_internal.h"
#include "sys/proc.h"

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

/* 0 when it has ended, -ETIME, -ECANCELED. */
static int wait_end(const struct forkserver *fs)
{
    cleanup_close int pidfd = pidfd_open(fs->server, 0);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    struct deadline d;
    int left_ms;

    if (pidfd < 0)
        return -errno;
    deadline_begin(&d, fs->server, fs->opts.run_ms);
    while ((left_ms = deadline_left_ms(&d)) > 0) {
        if (poll(&p, 1, left_ms < PROC_CANCEL_MS ? left_ms : PROC_CANCEL_MS) > 0)
            return 0;
        if (forkserver_cancelled(fs))
            return -ECANCELED;
    }
    return -ETIME;
}

int native_run(struct native *n, const void *data, size_t size, struct forkserver_run *ret,
               struct err *err)
{
    struct forkserver_run run = {.end = FORKSERVER_OK, .exit_code = -1};
    struct forkserver *fs = n->fs;
    int64_t began_us;
    int status = 0, rc;

    if (size > FORKSERVER_INPUT_BYTES)
        return err_set(err, -EFBIG, "an input of %zu bytes; %u is the most", size,
                       FORKSERVER_INPUT_BYTES);
    rc = forkserver_input_put(fs, data, size, err);
    if (rc < 0)
        return rc;
    (void)lseek(fs->text_fd, 0, SEEK_SET);
    began_us = deadline_now_us();
    rc = forkserver_spawn(fs, NULL, NULL, 0, err);
    if (rc < 0)
        return rc;
    rc = wait_end(fs);
    if (rc == -ECANCELED)
        return forkserver_give_up(fs, err);
    run.wall_us = deadline_now_us() - began_us;
    /* It is waited for only when it has ended by itself. */
    forkserver_stop(fs, rc == 0 ? &status : NULL);
    if (rc == -ETIME)
        run.end = FORKSERVER_TIMEOUT;
    else if (rc < 0)
        return err_sys(err, rc, "%s", fs->path);
    else
        (void)forkserver_judge(fs, (uint32_t)status, false, &run);
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
