/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzd's side of the control socket.
 *
 * A client is only ever freed by client_reap, never under the feet of its own callback; a ticket outlives its client as a
 * number that means nothing. Whatever a peer sends or does not read costs at most its own connection.
 */
#include "ctl/server.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "ctl/proto.h"
#include "sys/sock.h"

#define SERVER_SOCKET      "fuzzd.sock"
#define SERVER_MAX_CLIENTS 64
#define SERVER_MAX_PENDING 32         /* requests of one client without an answer */
#define SERVER_MAX_BACKLOG (16 << 20) /* bytes of answers it has not read */
#define SERVER_READ_BYTES  65536

struct client {
    TAILQ_ENTRY(client) link;
    struct server *server;
    int fd;
    sd_event_source *io;
    struct proto_buf in;
    char *out;
    size_t out_used, out_size;
    int n_pending;
    bool busy; /* its callback is on the stack */
    bool dead;
};

struct pending {
    TAILQ_ENTRY(pending) link;
    uint64_t ticket;
    struct client *client;
    json_int_t id;
};

struct server {
    sd_event *loop;
    int fd;
    char *path;
    dev_t dev; /* of the socket file */
    ino_t ino;
    sd_event_source *listen_io;
    server_fn *fn;
    void *ctx;
    TAILQ_HEAD(clients, client) clients;
    TAILQ_HEAD(pendings, pending) pendings;
    int n_clients;
    uint64_t next_ticket;
    int64_t last_call_ms;
};

static void pending_free(struct server *s, struct pending *p)
{
    TAILQ_REMOVE(&s->pendings, p, link);
    p->client->n_pending--;
    free(p);
}

static void client_free(struct client *c)
{
    struct server *s = c->server;
    struct pending *p, *next;

    TAILQ_FOREACH_SAFE (p, &s->pendings, link, next)
        if (p->client == c)
            pending_free(s, p);
    TAILQ_REMOVE(&s->clients, c, link);
    s->n_clients--;
    s->last_call_ms = clock_now_ms();
    sd_event_source_disable_unref(c->io);
    (void)close(c->fd);
    proto_buf_clear(&c->in);
    free(c->out);
    free(c);
}

static void client_reap(struct client *c)
{
    if (c->dead && !c->busy)
        client_free(c);
}

static void client_flush(struct client *c)
{
    size_t done = 0;

    while (done < c->out_used) {
        ssize_t n = send(c->fd, c->out + done, c->out_used - done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (errno != EAGAIN)
                c->dead = true;
            break;
        }
        done += (size_t)n;
    }
    memmove(c->out, c->out + done, c->out_used - done);
    c->out_used -= done;
    if (!c->dead)
        (void)sd_event_source_set_io_events(c->io, c->out_used > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void client_send(struct client *c, const char *line)
{
    size_t n = strlen(line), need = c->out_used + n + 1;

    if (c->dead)
        return;
    if (need > SERVER_MAX_BACKLOG) {
        c->dead = true;
        return;
    }
    if (need > c->out_size) {
        c->out_size = need + 4096;
        c->out = xreallocarray(c->out, c->out_size, 1);
    }
    memcpy(c->out + c->out_used, line, n);
    c->out[need - 1] = '\n';
    c->out_used = need;
    client_flush(c);
}

static void answer(struct server *s, uint64_t ticket, json_t *body)
{
    struct pending *p;

    TAILQ_FOREACH (p, &s->pendings, link)
        if (p->ticket == ticket)
            break;
    if (p != NULL && body != NULL) {
        struct client *c = p->client;
        char *line;

        json_object_set_new(body, "version", json_integer(PROTO_VERSION));
        json_object_set_new(body, "id", json_integer(p->id));
        pending_free(s, p);
        line = json_dumps(body, JSON_COMPACT);
        if (line != NULL)
            client_send(c, line);
        else
            c->dead = true;
        free(line);
        client_reap(c);
    }
    json_decref(body);
}

void server_answer(struct server *s, uint64_t ticket, json_t *body)
{
    json_object_set_new(body, "ok", json_true());
    answer(s, ticket, body);
}

void server_refuse(struct server *s, uint64_t ticket, int exit_code, const char *text)
{
    json_t *body = json_object();
    json_t *words = json_string(text); /* NULL when it is not UTF-8 */

    json_object_set_new(body, "ok", json_false());
    json_object_set_new(body, "exit", json_integer(exit_code));
    json_object_set_new(body, "error", words != NULL ? words : json_string("refused"));
    answer(s, ticket, body);
}

static void take_request(struct client *c, const json_t *request)
{
    struct server *s = c->server;
    const char *verb = json_string_value(json_object_get(request, "verb"));
    const json_t *id = json_object_get(request, "id");
    struct pending *p;
    uint64_t ticket;

    if (verb == NULL || !json_is_integer(id) || c->n_pending >= SERVER_MAX_PENDING) {
        c->dead = true;
        return;
    }
    p = xcalloc(1, sizeof(*p));
    p->client = c;
    p->id = json_integer_value(id);
    p->ticket = ticket = ++s->next_ticket;
    c->n_pending++;
    TAILQ_INSERT_TAIL(&s->pendings, p, link);
    s->last_call_ms = clock_now_ms();
    s->fn(s->ctx, ticket, verb, request);
}

static void client_read(struct client *c)
{
    char *buf = xmalloc(SERVER_READ_BYTES);
    ssize_t n = recv(c->fd, buf, SERVER_READ_BYTES, MSG_DONTWAIT);
    json_t *request;
    int r = 0;

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        c->dead = true;
    if (n > 0)
        r = proto_buf_add(&c->in, buf, (size_t)n);
    free(buf);
    while (r >= 0 && !c->dead) {
        r = proto_buf_next(&c->in, &request);
        if (r <= 0)
            break;
        take_request(c, request);
        json_decref(request);
    }
    if (r < 0)
        c->dead = true;
}

static int on_client(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct client *c = userdata;

    (void)source;
    (void)fd;
    c->busy = true;
    if (revents & EPOLLOUT)
        client_flush(c);
    if (!c->dead && (revents & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        client_read(c);
    c->busy = false;
    client_reap(c);
    return 0;
}

static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct server *s = userdata;
    struct client *c;
    uid_t uid;
    pid_t pid;
    int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)source;
    (void)revents;
    if (conn < 0)
        return 0;
    if (s->n_clients >= SERVER_MAX_CLIENTS || sock_peer(conn, &uid, &pid) < 0 ||
        (uid != 0 && uid != geteuid())) {
        (void)close(conn);
        return 0;
    }
    c = xcalloc(1, sizeof(*c));
    c->server = s;
    c->fd = conn;
    TAILQ_INSERT_TAIL(&s->clients, c, link);
    s->n_clients++;
    s->last_call_ms = clock_now_ms();
    if (sd_event_add_io(s->loop, &c->io, conn, EPOLLIN, on_client, c) < 0)
        client_free(c);
    return 0;
}

int server_new(sd_event *loop, const char *state_dir, server_fn *fn, void *ctx, struct server **ret,
               struct err *err)
{
    struct server *s = xcalloc(1, sizeof(*s));
    struct stat st;
    int r;

    s->loop = loop;
    s->fn = fn;
    s->ctx = ctx;
    s->last_call_ms = clock_now_ms();
    TAILQ_INIT(&s->clients);
    TAILQ_INIT(&s->pendings);
    s->path = path_join(state_dir, SERVER_SOCKET);
    s->fd = sock_listen(state_dir, SERVER_SOCKET);
    if (s->fd < 0) {
        r = err_sys(err, s->fd, "%s", s->path);
        free(s->path);
        free(s);
        return r;
    }
    if (lstat(s->path, &st) == 0) {
        s->dev = st.st_dev;
        s->ino = st.st_ino;
    }
    r = sd_event_add_io(loop, &s->listen_io, s->fd, EPOLLIN, on_connect, s);
    if (r < 0) {
        r = err_sys(err, r, "cannot watch %s", s->path);
        server_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void server_free(struct server *s)
{
    struct stat st;

    if (s == NULL)
        return;
    while (!TAILQ_EMPTY(&s->clients))
        client_free(TAILQ_FIRST(&s->clients));
    sd_event_source_disable_unref(s->listen_io);
    /* Where the state directory was taken away, another's socket may be in this place. */
    if (lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
        (void)unlink(s->path);
    (void)close(s->fd);
    free(s->path);
    free(s);
}

int server_clients(const struct server *s)
{
    return s->n_clients;
}

int64_t server_last_call_ms(const struct server *s)
{
    return s->last_call_ms;
}
