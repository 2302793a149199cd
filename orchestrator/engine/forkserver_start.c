/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greeting and end of a fork server. The server gets the parent-death signal; its child is killed
 * by us, by the preload library when we are gone, and by the cgroup where there is one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "engine/forkserver_internal.h"
#include "sys/gate.h"
#include "sys/guard.h"
#include "sys/proc.h"
#include "sys/proc_child.h"

#define FD_CONTROL 198 /* the server reads it; FORKSRV_FD of AFL++'s config.h */
#define FD_STATUS  199
#define ENDED_MS   200

bool forkserver_cancelled(const struct forkserver *fs)
{
    return fs->opts.cancel != NULL && *fs->opts.cancel != 0;
}

int forkserver_give_up(struct forkserver *fs, struct err *err)
{
    forkserver_stop(fs, NULL);
    return err_set(err, -ECANCELED, "%s: interrupted", fs->path);
}

/*
 * Waits for the server, up to size bytes. Their number, or -ETIMEDOUT, -EPIPE (closed, or it ended and left its end to somebody),
 * -ECANCELED, -errno. A server that answers is not kept waiting by a look at the flag.
 */
static ssize_t hear(const struct forkserver *fs, int64_t deadline_ms, void *buf, size_t size)
{
    for (;;) {
        struct pollfd p[] = {{.fd = fs->status_fd, .events = POLLIN},
                             {.fd = fs->greet_pidfd, .events = POLLIN}};
        const int64_t left = deadline_ms - clock_now_ms();
        const int64_t wait = left < PROC_CANCEL_MS ? left : PROC_CANCEL_MS;
        int n = poll(p, 2, wait > 0 ? (int)wait : 0);
        ssize_t got;

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n <= 0 && forkserver_cancelled(fs))
            return -ECANCELED;
        if (n == 0 && wait == left)
            return -ETIMEDOUT;
        if (n <= 0)
            continue;
        /* What it said before it ended was said before this. */
        if (p[0].revents == 0 && poll(p, 1, 0) == 0)
            return -EPIPE;
        got = read(fs->status_fd, buf, size);
        if (got > 0)
            return got;
        if (got == 0)
            return -EPIPE;
        if (errno != EINTR)
            return -errno;
    }
}

int forkserver_word(struct forkserver *fs, int64_t deadline_ms, uint32_t *ret)
{
    while (fs->heard < sizeof(*ret)) {
        ssize_t n = hear(fs, deadline_ms, fs->words + fs->heard, sizeof(fs->words) - fs->heard);

        if (n < 0)
            return (int)n;
        fs->heard += (size_t)n;
    }
    memcpy(ret, fs->words, sizeof(*ret));
    fs->heard -= sizeof(*ret);
    memmove(fs->words, fs->words + sizeof(*ret), fs->heard);
    return 0;
}

static int skip_bytes(struct forkserver *fs, uint32_t left, int64_t deadline_ms)
{
    size_t had = fs->heard < left ? fs->heard : left;
    char buf[4096];

    fs->heard -= had;
    memmove(fs->words, fs->words + had, fs->heard);
    left -= (uint32_t)had;
    while (left > 0) {
        ssize_t n = hear(fs, deadline_ms, buf, left < sizeof(buf) ? left : sizeof(buf));

        if (n < 0)
            return (int)n;
        left -= (uint32_t)n;
    }
    return 0;
}

/* A harness in batch mode: one word, and the size of its map in the ring. */
static int greet_batch(struct forkserver *fs, int64_t deadline_ms, struct err *err)
{
    uint32_t word, version, map_bytes;
    int rc = forkserver_word(fs, deadline_ms, &word);

    if (rc == 0)
        rc = forkserver_word(fs, deadline_ms, &version);
    if (rc < 0)
        return rc;
    map_bytes = __atomic_load_n(&fs->ring.said->map_bytes, __ATOMIC_ACQUIRE);
    if (word != FZ_RING_HELLO || version != FZ_RING_VERSION)
        return err_set(err, -EPROTO,
                       "the harness began batch mode with 0x%08x %u, which the kit never says",
                       word, version);
    if (map_bytes == 0 || map_bytes > HANDSHAKE_MAP_MAX)
        return err_set(err, -EPROTO,
                       "the harness's coverage map is said to have %u bytes; 1 to %d are possible",
                       map_bytes, HANDSHAKE_MAP_MAX);
    fs->greeting = (struct handshake){.map_bytes = map_bytes};
    return 0;
}

static int greet(struct forkserver *fs, struct err *err)
{
    int64_t deadline_ms = clock_now_ms() + fs->opts.start_ms;
    int next = HANDSHAKE_WORD;

    if (fs->kind == FORKSERVER_KIND_BATCH)
        return greet_batch(fs, deadline_ms, err);
    handshake_init(&fs->greeting);
    while (next != HANDSHAKE_DONE) {
        uint32_t word, reply;
        bool has_reply;
        int rc;

        if (next == HANDSHAKE_SKIP) {
            rc = skip_bytes(fs, fs->greeting.skip_bytes, deadline_ms);
            next = rc < 0 ? rc : handshake_skipped(&fs->greeting);
        } else {
            rc = forkserver_word(fs, deadline_ms, &word);
            if (rc == 0)
                next = handshake_word(&fs->greeting, word, &has_reply, &reply, err);
            if (rc == 0 && next < 0)
                return next;
            if (rc == 0 && has_reply)
                rc = file_write_all(fs->control_fd, &reply, sizeof(reply));
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Why there was no greeting, once the program has been ended. */
static int no_greeting(struct forkserver *fs, int rc, bool ended, int wait_status, struct err *err)
{
    char how[128];
    size_t n = 0;
    const char *text = forkserver_text(fs, &n);
    size_t line = 0;

    if (rc == -ETIMEDOUT && fs->kind == FORKSERVER_KIND_BATCH)
        return err_set(err, rc, "%s: the harness did not begin batch mode within %lld ms", fs->path,
                       (long long)fs->opts.start_ms);
    if (rc == -ETIMEDOUT)
        return err_set(err, rc,
                       "%s: no fork server answered within %lld ms: is the program built with "
                       "afl-clang-fast or the like, and does it get as far as its main?",
                       fs->path, (long long)fs->opts.start_ms);
    if (rc != -EPIPE)
        return err_sys(err, rc, "%s: fork server", fs->path);
    if (!ended)
        return err_set(err, rc,
                       "%s: closed file descriptor 199, on which its fork server is to speak",
                       fs->path);
    while (line < n && line < 200 && text[line] != '\n' && text[line] != '\0')
        line++;
    return err_set(err, -EPIPE, "%s: ended before its %s: %s%s%.*s", fs->path,
                   fs->kind == FORKSERVER_KIND_BATCH ? "batch mode began" : "fork server was up",
                   proc_status_text(how, sizeof(how), wait_status), line > 0 ? ": " : "", (int)line,
                   text);
}

/* Whoever ends closes what it has a little earlier. */
static bool has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return pidfd < 0 || poll(&p, 1, ENDED_MS) == 1;
}

static int start_once(struct forkserver *fs, struct err *err)
{
    static const int at[] = {FD_CONTROL, FD_STATUS};
    static const int batch_at[] = {FZ_RING_FD, FZ_RING_CONTROL, FZ_RING_STATUS};
    cleanup_close int status = -1;
    int to_server[2], from_server[2], wait_status = 0, rc;
    bool ended;

    if (pipe2(to_server, O_CLOEXEC) < 0)
        return err_sys(err, -errno, "pipe");
    /* Our copy of its end stays open, so that a word to a dead server is no SIGPIPE. */
    fs->control_end_fd = to_server[0];
    fs->control_fd = to_server[1];
    if (pipe2(from_server, O_CLOEXEC) < 0) {
        rc = -errno;
        forkserver_stop(fs, NULL);
        return err_sys(err, rc, "pipe");
    }
    fs->status_fd = from_server[0];
    status = from_server[1];
    fs->starts++;
    fs->was_killed = 0;
    fs->child_waits = false;
    fs->heard = 0;
    (void)lseek(fs->text_fd, 0, SEEK_SET);
    if (fs->kind == FORKSERVER_KIND_BATCH) {
        ring_head(&fs->ring);
        rc = forkserver_spawn(fs, (const int[]){fs->ring.fd, fs->control_end_fd, status}, batch_at,
                              3, err);
    } else
        rc = forkserver_spawn(fs, (const int[]){fs->control_end_fd, status}, at, 2, err);
    if (rc < 0) {
        forkserver_stop(fs, NULL);
        return rc;
    }
    (void)close(steal_fd(&status));
    fs->greet_pidfd = pidfd_open(fs->server, 0);
    rc = greet(fs, err);
    ended = rc == -EPIPE && has_ended(fs->greet_pidfd);
    if (fs->greet_pidfd >= 0)
        (void)close(steal_fd(&fs->greet_pidfd));
    if (rc == 0)
        return 0;
    if (rc == -ECANCELED)
        return forkserver_give_up(fs, err);
    forkserver_stop(fs, &wait_status);
    if (rc == -EPROTO) {
        err_wrap(err, "%s", fs->path);
        return rc;
    }
    return no_greeting(fs, rc, ended, wait_status, err);
}

int forkserver_start(struct forkserver *fs, struct err *err)
{
    const uint32_t before = fs->starts > 0 ? fs->greeting.map_bytes : 0;
    int rc;

    if (forkserver_cancelled(fs))
        return forkserver_give_up(fs, err);
    rc = forkserver_files_open(fs, err);
    if (rc == 0 && fs->map == NULL)
        rc = forkserver_room_make(fs, fs->opts.map_bytes, err);
    if (rc == 0)
        rc = start_once(fs, err);
    if (rc == 0 && fs->greeting.map_bytes > fs->map_room) {
        forkserver_stop(fs, NULL);
        rc = forkserver_room_make(fs, fs->greeting.map_bytes, err);
        if (rc == 0)
            rc = start_once(fs, err);
    }
    if (rc == 0 && (fs->greeting.map_bytes > fs->map_room ||
                    (before != 0 && before != fs->greeting.map_bytes))) {
        forkserver_stop(fs, NULL);
        return err_set(err, -EPROTO,
                       "%s: started again, its coverage map has another size (%u bytes, %u before)",
                       fs->path, fs->greeting.map_bytes, before);
    }
    return rc;
}

bool forkserver_kill_child(const struct forkserver *fs)
{
    /* A pid that the server made up is of another session; a child that left the session is found in the tree. */
    if (fs->child <= 1 || fs->server <= 0)
        return false;
    if (session_kill_member(fs->server, fs->child) == 0)
        return true;
    proc_child_kill_tree(fs->server);
    return true;
}

void forkserver_stop(struct forkserver *fs, int *ret_status)
{
    int status = 0;
    pid_t ended;

    if (ret_status != NULL)
        *ret_status = 0;
    if (fs->server > 0) {
        /* One that goes down by itself says how; it has closed its pipe, so it will not be long. */
        int64_t deadline_ms = clock_now_ms() + (ret_status != NULL ? 200 : 0);

        while ((ended = waitpid(fs->server, &status, WNOHANG)) == 0 && clock_now_ms() < deadline_ms)
            (void)poll(NULL, 0, 2);
        if (ended == 0) {
            proc_child_kill_tree(fs->server);
            (void)kill(fs->server, SIGKILL);
            while (waitpid(fs->server, &status, 0) < 0 && errno == EINTR)
                ;
            status = 0;
        }
        /* Whom a server that died by itself leaves behind. */
        (void)session_kill(fs->server);
        guard_drop(fs->opts.guard, fs->server);
        if (ret_status != NULL)
            *ret_status = status;
    }
    fs->server = 0;
    fs->child = 0;
    if (fs->control_fd >= 0)
        (void)close(steal_fd(&fs->control_fd));
    if (fs->control_end_fd >= 0)
        (void)close(steal_fd(&fs->control_end_fd));
    if (fs->status_fd >= 0)
        (void)close(steal_fd(&fs->status_fd));
}
