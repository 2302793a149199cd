/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl's side of the control socket. When no daemon answers and the caller wants one, it starts fuzzd as tmux starts its
 * server: detached, told ready by a byte on a pipe; of several clients that do so at once, the loser's fuzzd leaves
 * quietly (its exit code is EXIT_LOCKED) and the loser connects to the winner's.
 */
#include "ctl/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/path.h"
#include "ctl/proto.h"
#include "sys/lock.h"
#include "sys/proc.h"
#include "sys/sock.h"

#define START_TIMEOUT_MS 15000
#define START_RETRY_MS   50
#define KEPT_MS          15000 /* for systemd to start a service's fuzzd again; RestartSec is 2 s */

struct client {
    int fd;
    json_int_t next_id, waiting_for;
    struct proto_buf in;
};

static void sleep_ms(int64_t ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};

    (void)nanosleep(&ts, NULL);
}

/* What a daemon that failed to start said: the text it left in its stderr file. */
static int startup_failure(int words_fd, int status, struct err *err)
{
    char text[512] = "";
    ssize_t n = pread(words_fd, text, sizeof text - 1, 0);

    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        text[--n] = '\0';
    if (n > 0)
        return err_set(err, -ECONNREFUSED, "fuzzd did not start: %s", text);
    char how[64];
    return err_set(err, -ECONNREFUSED, "fuzzd did not start: %s",
                   proc_status_text(how, sizeof how, status));
}

/* Starts fuzzd and waits for its ready byte. 0, -EAGAIN (another one was faster, or it was killed over it), or -errno with err. */
static int daemon_start(const char *state_dir, struct err *err)
{
    cleanup_free char *program = path_find_program("fuzzd");
    if (program == NULL)
        return err_set(err, -ENOENT, "fuzzd is neither beside fuzzctl nor installed");

    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_sys(err, -errno, "pipe");
    cleanup_close int ready_r = pipe_fds[0];
    cleanup_close int ready_w = pipe_fds[1];
    cleanup_close int words = memfd_create("fuzzd-stderr", MFD_CLOEXEC);

    struct strv argv = {0};
    strv_add(&argv, program);
    strv_add(&argv, "--state");
    strv_add(&argv, state_dir);
    strv_add(&argv, "--ready-fd");
    strv_add(&argv, "3");
    struct proc_spawn spawn = {
        .argv = &argv,
        .cwd = "/",
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = words,
        .keep_fd = {ready_w, -1, -1},
        .new_session = true,
    };
    pid_t pid;
    cleanup_close int pidfd = -1;
    int rc = proc_start(&spawn, &pid, &pidfd);
    strv_clear(&argv);
    if (rc < 0)
        return err_sys(err, rc, "cannot run %s", program);
    (void)close(steal_fd(&ready_w));

    struct pollfd pfd = {.fd = ready_r, .events = POLLIN};
    int n;
    do
        n = poll(&pfd, 1, START_TIMEOUT_MS);
    while (n < 0 && errno == EINTR);
    char byte;
    if (n > 0 && read(ready_r, &byte, 1) == 1) {
        (void)waitpid(pid, NULL, 0); /* the launching process; the daemon itself has left it */
        return 0;
    }
    if (n == 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return err_set(err, -ETIMEDOUT, "fuzzd was not ready within %d s", START_TIMEOUT_MS / 1000);
    }
    int status = 0;
    (void)waitpid(pid, &status, 0);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == EXIT_LOCKED || WEXITSTATUS(status) == 128 + SIGKILL))
        return -EAGAIN;
    return startup_failure(words, status, err);
}

/* A fuzzd of a service that did not end in order: systemd starts the next one, and ours would only be in its way. */
static bool is_kept(const char *state_dir)
{
    cleanup_free char *path = path_join(state_dir, "fuzzd.lock");
    char line[256];
    size_t n, k = strlen(PROTO_KEPT);

    if (lock_last(path, line, sizeof line) < 0)
        return false;
    n = strlen(line);
    return n >= k && strcmp(line + n - k, PROTO_KEPT) == 0;
}

int client_open(const char *state_dir, bool start, struct client **ret, struct err *err)
{
    int64_t until_ms = clock_now_ms() + START_TIMEOUT_MS;
    int64_t kept_until_ms = clock_now_ms() + KEPT_MS;
    int fd;

    if (start) {
        int rc = path_mkdirs(state_dir, 0700);
        if (rc < 0)
            return err_sys(err, rc, "%s", state_dir);
    }
    for (;;) {
        fd = sock_connect(state_dir, "fuzzd.sock");
        if (fd >= 0)
            break;
        if (!start || (fd != -ENOENT && fd != -ECONNREFUSED))
            return err_sys(err, fd, "%s/fuzzd.sock", state_dir);
        if (clock_now_ms() < kept_until_ms && is_kept(state_dir)) {
            sleep_ms(START_RETRY_MS);
            continue;
        }
        int rc = daemon_start(state_dir, err);
        if (rc == -EAGAIN && clock_now_ms() < until_ms) {
            sleep_ms(START_RETRY_MS);
            continue;
        }
        if (rc == -EAGAIN)
            return err_set(err, -ECONNREFUSED,
                           "a fuzzd holds %s but does not answer, or is killed each time",
                           state_dir);
        if (rc < 0)
            return rc;
    }
    struct client *c = xcalloc(1, sizeof *c);
    c->fd = fd;
    c->next_id = 1;
    *ret = c;
    return 0;
}

void client_close(struct client *c)
{
    if (c == NULL)
        return;
    (void)close(c->fd);
    proto_buf_clear(&c->in);
    free(c);
}

/* Waits for the answer with this id; answers to calls that timed out before are dropped. */
static int answer_read(struct client *c, json_int_t id, int64_t timeout_ms, json_t **ret,
                       struct err *err)
{
    int64_t until_ms = clock_now_ms() + timeout_ms;

    for (;;) {
        json_t *j = NULL;
        int rc = proto_buf_next(&c->in, &j);
        if (rc < 0)
            return err_set(err, rc,
                           "fuzzd answered something that is not of this protocol version");
        if (rc > 0) {
            if (json_integer_value(json_object_get(j, "id")) == id) {
                *ret = j;
                return 0;
            }
            json_decref(j);
            continue;
        }
        int64_t left_ms = timeout_ms < 0 ? -1 : until_ms - clock_now_ms();
        if (timeout_ms >= 0 && left_ms <= 0)
            return err_set(err, -ETIMEDOUT, "fuzzd did not answer within %lld ms",
                           (long long)timeout_ms);
        struct pollfd pfd = {.fd = c->fd, .events = POLLIN};
        int n = poll(&pfd, 1, left_ms > 1000000 ? 1000000 : (int)left_ms);
        if (n < 0) {
            if (errno == EINTR)
                return -EINTR; /* the caller looks at its signals and calls again */
            return err_sys(err, -errno, "poll");
        }
        if (n == 0)
            continue;
        char chunk[65536];
        ssize_t got = read(c->fd, chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return err_set(err, -ECONNRESET, "fuzzd closed the connection");
        rc = proto_buf_add(&c->in, chunk, (size_t)got);
        if (rc < 0)
            return err_set(err, rc, "fuzzd's answer is too long");
    }
}

int client_call(struct client *c, const char *verb, const json_t *args, int64_t timeout_ms,
                json_t **ret, struct err *err)
{
    json_t *request = args == NULL ? json_object() : json_deep_copy(args);
    json_int_t id = c->next_id++;

    json_object_set_new(request, "version", json_integer(PROTO_VERSION));
    json_object_set_new(request, "id", json_integer(id));
    json_object_set_new(request, "verb", json_string(verb));
    cleanup_free char *line = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(request);
    if (line == NULL)
        return err_set(err, -EINVAL, "the request cannot be put as JSON");
    if (strlen(line) >= PROTO_MAX_LINE)
        return err_set(err, -E2BIG, "the request is larger than %d bytes", PROTO_MAX_LINE);
    int rc = file_write_all(c->fd, line, strlen(line));
    if (rc == 0)
        rc = file_write_all(c->fd, "\n", 1);
    if (rc < 0)
        return err_sys(err, rc, "fuzzd");
    c->waiting_for = id;
    return answer_read(c, id, timeout_ms, ret, err);
}

int client_call_again(struct client *c, int64_t timeout_ms, json_t **ret, struct err *err)
{
    return answer_read(c, c->waiting_for, timeout_ms, ret, err);
}
