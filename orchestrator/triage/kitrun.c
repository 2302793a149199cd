/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a replay program. It runs what is under test, so nothing it prints
 * is believed: a result counts when it is a JSON object that names the next input,
 * and every length is bounded.
 */
#include "triage/kitrun.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/path.h"
#include "sys/drop.h"
#include "sys/proc.h"
#include "sys/proc_child.h"
#include "triage/json_util.h"
#include "triage/replay_env.h"

#define LINE_MAX_BYTES (128 * 1024) /* a path of PATH_MAX, each byte escaped, and the rest */
#define TAIL_BYTES     16384        /* of stderr */
#define LOOK_MS        500          /* whether it is stopped */
#define FAIL_WORD      "FZ-FAIL "

/* The program, and what has come of it. */
struct session {
    const struct kitrun *k;
    struct kitrun_end *end;
    struct err *err;
    pid_t pid;
    int pidfd, out_fd, err_fd;
    char line[LINE_MAX_BYTES];
    size_t len;
    char tail[TAIL_BYTES + 1];
    size_t tail_len;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static const char *name_of(const struct session *s)
{
    return s->k->prog->path;
}

/* A last line of stderr, or the FZ-FAIL line when there is one, printable. */
static void take_words(struct session *s)
{
    const char *at = NULL, *from = s->tail;
    char raw[sizeof(s->end->words)];
    size_t n;

    s->tail[s->tail_len] = '\0';
    while (s->tail_len > 0 && s->tail[s->tail_len - 1] == '\n')
        s->tail[--s->tail_len] = '\0';
    for (const char *p = s->tail; (p = strstr(p, FAIL_WORD)) != NULL; p++) {
        if (p == s->tail || p[-1] == '\n')
            at = p;
    }
    if (at == NULL && (at = strrchr(from, '\n')) != NULL)
        at++;
    if (at == NULL)
        at = from;
    n = strcspn(at, "\n");
    if (n >= sizeof(raw))
        n = sizeof(raw) - 1;
    for (size_t i = 0; i < n; i++)
        raw[i] = at[i] >= 0x20 && at[i] <= 0x7e ? at[i] : '?';
    raw[n] = '\0';
    (void)strlcpy(s->end->words, raw, sizeof(s->end->words));
}

static bool is_fail_line(const char *words)
{
    return strncmp(words, FAIL_WORD, strlen(FAIL_WORD)) == 0;
}

/* "132 passed, 0 failed" */
static bool is_closing(const char *line)
{
    unsigned long a, b;
    int n = -1;

    return sscanf(line, "%lu passed, %lu failed%n", &a, &b, &n) == 2 && n > 0 && line[n] == '\0';
}

/* A name that is not UTF-8 is escaped in ways of its own: only its place in the order tells it. */
static bool names(const json_t *j, const char *path)
{
    const char *file = json_str(j, "file", NULL);

    return file != NULL && (strcmp(file, path) == 0 || !text_utf8_ok(path, strlen(path)));
}

static int odd_line(struct session *s)
{
    char shown[120], cut[40];

    (void)strlcpy(cut, s->line, sizeof(cut));
    return err_set(s->err, -EPROTO, "%s printed a line that is no result: \"%s%s\"", name_of(s),
                   text_printable(shown, sizeof(shown), cut),
                   strlen(s->line) >= sizeof(cut) ? "..." : "");
}

static int take_line(struct session *s)
{
    struct kitrun_line r = {0};
    const char *class_;
    json_t *j;

    s->line[s->len] = '\0';
    if (memchr(s->line, '\0', s->len) == NULL && is_closing(s->line))
        return 0;
    j = json_loadb(s->line, s->len, JSON_REJECT_DUPLICATES, NULL);
    class_ = json_str(j, "class", "");
    if (s->end->done >= s->k->n || class_[0] == '\0' || strlen(class_) >= sizeof(r.class_) ||
        class_[strspn(class_, "abcdefghijklmnopqrstuvwxyz-")] != '\0' ||
        !names(j, s->k->paths[s->end->done])) {
        json_decref(j);
        return odd_line(s);
    }
    (void)strlcpy(r.class_, class_, sizeof(r.class_));
    (void)json_text_ascii(r.inv, sizeof(r.inv), json_str(j, "inv", ""));
    (void)json_text_ascii(r.detail, sizeof(r.detail), json_str(j, "detail", ""));
    r.signal = (int)json_int(j, "signal", 0);
    r.ms = json_number_value(json_object_get(j, "ms"));
    json_decref(j);
    s->k->fn(s->k->ctx, s->end->done++, &r);
    return 0;
}

static int take_out(struct session *s, const char *buf, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (buf[i] == '\n') {
            int r = take_line(s);

            s->len = 0;
            if (r < 0)
                return r;
        } else if (s->len + 1 < sizeof(s->line)) {
            s->line[s->len++] = buf[i];
        } else {
            s->line[s->len] = '\0';
            return odd_line(s);
        }
    }
    return 0;
}

static void take_err(struct session *s, const char *buf, size_t n)
{
    if (n >= TAIL_BYTES) {
        buf += n - TAIL_BYTES;
        n = TAIL_BYTES;
    }
    if (s->tail_len + n > TAIL_BYTES) {
        size_t drop = s->tail_len + n - TAIL_BYTES;

        memmove(s->tail, s->tail + drop, s->tail_len - drop);
        s->tail_len -= drop;
    }
    memcpy(s->tail + s->tail_len, buf, n);
    s->tail_len += n;
}

/* Takes what a stream has: 1 there was something, 0 nothing now, or -errno. An ended stream is closed. */
static int drain(struct session *s, int *fd)
{
    static _Thread_local char buf[65536];
    ssize_t n;

    if (*fd < 0)
        return 0;
    n = read(*fd, buf, sizeof(buf));
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0) {
        (void)close(steal_fd(fd));
        return 0;
    }
    if (fd == &s->err_fd) {
        take_err(s, buf, (size_t)n);
        return 1;
    }
    int r = take_out(s, buf, (size_t)n);

    return r < 0 ? r : 1;
}

/* Until it has ended (0), the deadline (late), or something is wrong (-errno with err). */
static int follow(struct session *s, int64_t one_ms)
{
    const int64_t silent_ms = one_ms + KITRUN_SILENT_MS;
    int64_t news_ms = clock_now_ms();
    int r;

    for (;;) {
        struct pollfd p[3] = {{.fd = s->pidfd, .events = POLLIN},
                              {.fd = s->out_fd, .events = POLLIN},
                              {.fd = s->err_fd, .events = POLLIN}};
        int64_t now_ms = clock_now_ms(), until_ms = news_ms + silent_ms;

        if (s->k->prog->cancel != NULL && *s->k->prog->cancel != 0)
            return err_set(s->err, -ECANCELED, "%s: interrupted", name_of(s));
        if (s->k->deadline_ms > 0 && now_ms >= s->k->deadline_ms) {
            s->end->late = true;
            return 0;
        }
        if (now_ms >= news_ms + one_ms && proc_child_stopped(s->pid)) {
            s->end->lost = true;
            return err_set(s->err, -ECHILD, "%s was stopped after %zu of %zu inputs", name_of(s),
                           s->end->done, s->k->n);
        }
        if (now_ms >= until_ms)
            return err_set(s->err, -ETIME, "%s hangs: nothing for %lld s after %zu of %zu inputs",
                           name_of(s), (long long)silent_ms / 1000, s->end->done, s->k->n);
        if (s->k->deadline_ms > 0 && s->k->deadline_ms < until_ms)
            until_ms = s->k->deadline_ms;
        if (s->k->prog->cancel != NULL && until_ms > now_ms + PROC_CANCEL_MS)
            until_ms = now_ms + PROC_CANCEL_MS;
        if (until_ms > now_ms + LOOK_MS)
            until_ms = now_ms + LOOK_MS;
        if (poll(p, 3, (int)(until_ms - now_ms)) < 0 && errno != EINTR)
            return err_sys(s->err, -errno, "%s", name_of(s));
        /* What it prints on stderr is no sign that it gets on. */
        if ((r = drain(s, &s->out_fd)) < 0)
            return r;
        if (r > 0)
            news_ms = clock_now_ms();
        (void)drain(s, &s->err_fd);
        if (p[0].revents == 0)
            continue;
        while ((r = drain(s, &s->out_fd)) > 0)
            ;
        for (int i = 0; i < 64 && drain(s, &s->err_fd) > 0; i++)
            ;
        return r;
    }
}

static int judge_end(struct session *s, int status)
{
    char how[64];

    if (s->end->done == s->k->n)
        return 0;
    take_words(s);
    s->end->self_test = s->end->done == 0 && WIFSIGNALED(status) && is_fail_line(s->end->words);
    if (s->end->self_test)
        return err_set(s->err, -ECHILD, "%s: its start-up self-test fails: %s", name_of(s),
                       s->end->words);
    s->end->lost = WIFSIGNALED(status);
    return err_set(s->err, -ECHILD, "%s ended (%s) after %zu of %zu inputs%s%s", name_of(s),
                   proc_status_text(how, sizeof(how), status), s->end->done, s->k->n,
                   s->end->words[0] != '\0' ? ": " : "", s->end->words);
}

static int pipe_from(int *ret_read, int *ret_write)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    *ret_read = fds[0];
    *ret_write = fds[1];
    return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int start(struct session *s, const char *dir)
{
    const struct replay_program *prog = s->k->prog;
    cleanup_close int out = -1, err = -1, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct strv argv = {0}, env = {0};
    struct proc_spawn ps = {.argv = &argv,
                            .env = &env,
                            .cwd = dir,
                            .stdin_fd = null,
                            .keep_fd = {-1, -1, -1},
                            .new_session = true,
                            .pdeathsig = SIGKILL,
                            .cgroup_procs_fd = {-1, -1, -1, -1}};
    int r = null < 0 ? -errno : pipe_from(&s->out_fd, &out);

    if (r == 0)
        r = pipe_from(&s->err_fd, &err);
    if (r == 0) {
        ps.stdout_fd = out;
        ps.stderr_fd = err;
        strv_add(&argv, prog->path);
        strv_add(&argv, "--timeout");
        strv_addf(&argv, "%" PRId64, prog->timeout_ms > 0 ? prog->timeout_ms : KITRUN_TIMEOUT);
        for (size_t i = 0; i < s->k->n; i++)
            strv_add(&argv, s->k->paths[i]);
        replay_env_make(prog, &env);
        replay_env_scratch(dir, &env);
        r = proc_start(&ps, &s->pid, &s->pidfd);
    }
    strv_clear(&argv);
    strv_clear(&env);
    return r;
}

static int run_in(struct session *s, const char *dir)
{
    int64_t one_ms = s->k->prog->timeout_ms > 0 ? s->k->prog->timeout_ms : KITRUN_TIMEOUT;
    int status = 0, r = start(s, dir);

    if (r < 0)
        return err_sys(s->err, r, "%s", name_of(s));
    r = follow(s, one_ms);
    if (r < 0)
        proc_child_kill_tree(s->pid);
    /* Not reaped yet: its number and that of its group are still its own. */
    (void)kill(-s->pid, SIGKILL);
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r == 0 && !s->end->late)
        r = judge_end(s, status);
    return r;
}

int kitrun(const struct kitrun *k, struct kitrun_end *ret, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *dir =
        xasprintf("%s/fz-replay.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    struct session *s;
    int r;

    memset(ret, 0, sizeof(*ret));
    if (k->n == 0 || k->n > KITRUN_FILES)
        return err_set(err, -EINVAL, "%s: no inputs, or too many at once",
                       base_name(k->prog->path));
    if (drop_mkdtemp(dir) < 0)
        return err_sys(err, -errno, "%s", dir);
    s = xcalloc(1, sizeof(*s));
    *s = (struct session){.k = k, .end = ret, .err = err, .pidfd = -1, .out_fd = -1, .err_fd = -1};
    r = run_in(s, dir);
    cleanup_close_fn(&s->pidfd);
    cleanup_close_fn(&s->out_fd);
    cleanup_close_fn(&s->err_fd);
    free(s);
    (void)path_remove_tree(dir);
    return r;
}
