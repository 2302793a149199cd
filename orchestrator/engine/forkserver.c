/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs inputs in a fork server. What the server says is hostile: a status that no wait status is,
 * a pid that is not of its child, silence; each ends the server, is told as FORKSERVER_LOST, and
 * the next input gets a fresh one.
 */
#include "engine/forkserver.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/deadline.h"
#include "engine/forkserver_internal.h"

#define GRACE_MS       1000
#define MSAN_EXIT_CODE 86 /* AFL++ include/config.h: MSAN_ERROR */
#define LSAN_EXIT_CODE 23

struct forkserver *forkserver_new(const struct forkserver_opts *opts, enum forkserver_kind kind)
{
    struct forkserver *fs = xcalloc(1, sizeof(*fs));

    fs->kind = kind;
    fs->opts = *opts;
    /* The program's folder is another than ours. */
    fs->path = realpath(opts->path, NULL);
    if (fs->path == NULL)
        fs->path = xstrdup(opts->path);
    str_set(&fs->preload, opts->preload);
    if (opts->args != NULL)
        strv_copy(&fs->args, opts->args);
    if (opts->env != NULL)
        strv_copy(&fs->env, opts->env);
    if (opts->procs != NULL)
        strv_copy(&fs->procs, opts->procs);
    if (fs->opts.start_ms <= 0)
        fs->opts.start_ms = FORKSERVER_START_MS;
    if (fs->opts.run_ms <= 0)
        fs->opts.run_ms = FORKSERVER_RUN_MS;
    if (fs->opts.map_bytes == 0)
        fs->opts.map_bytes = FORKSERVER_MAP_BYTES;
    fs->ring.fd = fs->greet_pidfd = fs->scratch_fd = -1;
    fs->control_fd = fs->control_end_fd = fs->status_fd = fs->input_fd = fs->text_fd = -1;
    fs->text = xmalloc(FORKSERVER_TEXT_BYTES + 1);
    return fs;
}

int forkserver_open(const struct forkserver_opts *opts, struct forkserver **ret, struct err *err)
{
    struct forkserver *fs = forkserver_new(opts, FORKSERVER_KIND_FORK);
    int rc = forkserver_start(fs, err);

    if (rc < 0) {
        forkserver_close(fs);
        return rc;
    }
    *ret = fs;
    return 0;
}

void forkserver_close(struct forkserver *fs)
{
    if (fs == NULL)
        return;
    forkserver_stop(fs, NULL);
    if (fs->map != NULL)
        (void)shmdt(fs->map);
    if (fs->testcase != NULL)
        (void)shmdt(fs->testcase);
    ring_drop(&fs->ring);
    if (fs->input_fd >= 0)
        (void)close(fs->input_fd);
    if (fs->text_fd >= 0)
        (void)close(fs->text_fd);
    forkserver_folder_close(fs);
    free(fs->path);
    free(fs->preload);
    free(fs->text);
    strv_clear(&fs->args);
    strv_clear(&fs->env);
    strv_clear(&fs->procs);
    free(fs);
}

int forkserver_input_put(struct forkserver *fs, const void *data, size_t size, struct err *err)
{
    uint32_t n = (uint32_t)size;
    int rc;

    if (fs->greeting.shm_testcase) {
        memcpy(fs->testcase, &n, sizeof(n));
        if (size > 0)
            memcpy(fs->testcase + sizeof(n), data, size);
        return 0;
    }
    rc = forkserver_input_ready(fs, err);
    if (rc < 0)
        return rc;
    if (lseek(fs->input_fd, 0, SEEK_SET) < 0 || ftruncate(fs->input_fd, 0) < 0)
        return err_sys(err, -errno, "cannot empty the input's file");
    if (size > 0 && file_write_all(fs->input_fd, data, size) < 0)
        return err_sys(err, -errno, "cannot write the input's file");
    (void)lseek(fs->input_fd, 0, SEEK_SET);
    return 0;
}

/* The server is of no use any more: it goes, and what is told of the input is that nothing is known. */
static int lost(struct forkserver *fs, enum forkserver_loss loss, struct forkserver_run *ret)
{
    int status = 0;

    forkserver_stop(fs, &status);
    fs->lost_runs++;
    ret->end = FORKSERVER_LOST;
    ret->loss = loss;
    ret->signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ret->exit_code = WIFEXITED(status) && status != 0 ? WEXITSTATUS(status) : -1;
    return 0;
}

enum forkserver_loss forkserver_loss_of(int rc)
{
    return rc == -ETIMEDOUT ? FORKSERVER_SILENT : rc < 0 ? FORKSERVER_DIED : FORKSERVER_BABBLED;
}

bool forkserver_judge(struct forkserver *fs, uint32_t word, bool killed, struct forkserver_run *ret)
{
    int status = (int)word;

    if (word > 0xffffU)
        return false;
    if (WIFSTOPPED(status)) {
        /* Done, and waiting for the next; or stopped before our signal struck. */
        fs->was_killed = killed;
        fs->child_waits = !killed;
        return WSTOPSIG(status) == SIGSTOP;
    }
    if (WIFSIGNALED(status)) {
        ret->signo = WTERMSIG(status);
        ret->end = killed && ret->signo == SIGKILL ? FORKSERVER_TIMEOUT : FORKSERVER_CRASH;
        fs->was_killed = ret->end == FORKSERVER_TIMEOUT;
        if (ret->end == FORKSERVER_TIMEOUT)
            ret->signo = 0;
        return true;
    }
    if (!WIFEXITED(status))
        return false;
    ret->exit_code = WEXITSTATUS(status);
    if (ret->exit_code == MSAN_EXIT_CODE || ret->exit_code == LSAN_EXIT_CODE)
        ret->end = FORKSERVER_CRASH;
    return true;
}

int forkserver_run(struct forkserver *fs, const void *data, size_t size, struct forkserver_run *ret,
                   struct err *err)
{
    struct forkserver_run run = {.end = FORKSERVER_OK, .exit_code = -1};
    int64_t began_us, deadline_ms;
    uint32_t word;
    bool killed = false;
    int rc;

    if (size > FORKSERVER_INPUT_BYTES)
        return err_set(err, -EFBIG, "an input of %zu bytes; AFL++ takes %u at most", size,
                       FORKSERVER_INPUT_BYTES);
    if (!fs->answered && fs->lost_runs >= FORKSERVER_LOST_MAX)
        return err_set(err, -EPROTO,
                       "%s: its fork server comes up, but ended or was silent in each of its first "
                       "%d runs",
                       fs->path, FORKSERVER_LOST_MAX);
    if (fs->server <= 0) {
        rc = forkserver_start(fs, err);
        if (rc < 0)
            return rc;
    }
    rc = forkserver_input_put(fs, data, size, err);
    if (rc < 0)
        return rc;
    memset(fs->map, 0, fs->greeting.map_bytes);
    (void)lseek(fs->text_fd, 0, SEEK_SET);
    __sync_synchronize();
    *ret = run;
    began_us = deadline_now_us();
    /* The clock is cut to ms: one more, or an input had less than its time. */
    deadline_ms = clock_now_ms() + fs->opts.run_ms + 1;
    rc = file_write_all(fs->control_fd, &fs->was_killed, sizeof(fs->was_killed));
    if (rc == 0)
        rc = forkserver_word(fs, deadline_ms + GRACE_MS, &word);
    if (rc < 0)
        return rc == -ECANCELED ? forkserver_give_up(fs, err)
                                : lost(fs, forkserver_loss_of(rc), ret);
    fs->was_killed = 0;
    fs->child_waits = false;
    if (word == 0 || word > INT32_MAX || handshake_is_error(&fs->greeting, word, NULL))
        return lost(fs, FORKSERVER_BABBLED, ret);
    fs->child = (pid_t)word;
    rc = forkserver_word(fs, deadline_ms, &word);
    if (rc == -ETIMEDOUT) {
        killed = true;
        if (!forkserver_kill_child(fs))
            return lost(fs, FORKSERVER_BABBLED, ret);
        rc = forkserver_word(fs, clock_now_ms() + GRACE_MS, &word);
    }
    run.wall_us = deadline_now_us() - began_us;
    if (rc == -ECANCELED)
        return forkserver_give_up(fs, err);
    if (rc < 0)
        return lost(fs, forkserver_loss_of(rc), ret);
    if (!forkserver_judge(fs, word, killed, &run))
        return lost(fs, FORKSERVER_BABBLED, ret);
    fs->answered = true;
    *ret = run;
    return 0;
}

void forkserver_fresh(struct forkserver *fs)
{
    if (fs->server <= 0 || !fs->child_waits)
        return;
    /* The server is told as of a child that ran out of time: it reaps it and forks another. */
    if (forkserver_kill_child(fs))
        fs->was_killed = 1;
    else
        forkserver_stop(fs, NULL);
    fs->child_waits = false;
}

bool forkserver_waits(const struct forkserver *fs)
{
    return fs->server > 0 && fs->child_waits;
}

uint8_t *forkserver_map(struct forkserver *fs)
{
    return fs->map;
}

size_t forkserver_map_bytes(const struct forkserver *fs)
{
    return fs->greeting.map_bytes;
}

const char *forkserver_text(struct forkserver *fs, size_t *ret_size)
{
    off_t end = lseek(fs->text_fd, 0, SEEK_CUR);
    ssize_t n;

    if (end < 0 || end > FORKSERVER_TEXT_BYTES)
        end = FORKSERVER_TEXT_BYTES;
    n = pread(fs->text_fd, fs->text, (size_t)end, 0);
    *ret_size = n > 0 ? (size_t)n : 0;
    fs->text[*ret_size] = '\0';
    return fs->text;
}

const struct handshake *forkserver_greeting(const struct forkserver *fs)
{
    return &fs->greeting;
}

long forkserver_starts(const struct forkserver *fs)
{
    return fs->starts;
}
