/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of the control socket, over a real socket: answers now and later, and peers that behave badly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/path.h"
#include "ctl/proto.h"
#include "ctl/server.h"
#include "sys/sock.h"

struct fixture {
    char dir[64];
    sd_event *loop;
    struct server *server;
    uint64_t held[8]; /* tickets of "hold" */
    size_t n_held, n_calls;
};

static void on_request(void *ctx, uint64_t ticket, const char *verb, const json_t *request)
{
    struct fixture *f = ctx;

    f->n_calls++;
    if (strcmp(verb, "hold") == 0)
        f->held[f->n_held++ % 8] = ticket;
    else if (strcmp(verb, "refuse") == 0)
        server_refuse(f->server, ticket, 4, "already running: run X");
    else if (strcmp(verb, "big") == 0)
        server_answer(f->server, ticket,
                      json_pack("{s:o}", "data", json_deep_copy(json_object_get(request, "data"))));
    else
        server_answer(f->server, ticket, json_pack("{s:s}", "echo", verb));
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct err err = {0};

    assert_non_null(f);
    memcpy(f->dir, "/tmp/fz-server-XXXXXX", sizeof("/tmp/fz-server-XXXXXX"));
    assert_non_null(mkdtemp(f->dir));
    assert_true(sd_event_new(&f->loop) >= 0);
    assert_int_equal(server_new(f->loop, f->dir, on_request, f, &f->server, &err), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    server_free(f->server);
    sd_event_unref(f->loop);
    assert_int_equal(path_remove_tree(f->dir), 0);
    free(f);
    return 0;
}

/* Turns the loop until nothing happens for a moment. */
static void turn(struct fixture *f)
{
    while (sd_event_run(f->loop, 20000) > 0)
        ;
}

static int connect_to(struct fixture *f)
{
    int fd = sock_connect(f->dir, "fuzzd.sock");

    assert_true(fd >= 0);
    return fd;
}

static void say(int fd, const char *text)
{
    size_t n = strlen(text);

    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* The next line, or NULL when the server closed the connection. */
static json_t *hear(struct fixture *f, int fd)
{
    struct proto_buf b = {0};
    json_t *j = NULL;
    char c;

    for (int i = 0; i < 100000000; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, 0) == 0) {
            turn(f);
            if (poll(&p, 1, 1000) == 0)
                fail_msg("no answer");
        }
        if (recv(fd, &c, 1, 0) <= 0)
            break;
        assert_int_equal(proto_buf_add(&b, &c, 1), 0);
        if (c == '\n')
            break;
    }
    (void)proto_buf_next(&b, &j);
    proto_buf_clear(&b);
    return j;
}

static json_int_t id_of(const json_t *j)
{
    return json_integer_value(json_object_get(j, "id"));
}

static void server_answers_with_the_id_of_the_request(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);

    say(fd, "{\"version\":1,\"id\":7,\"verb\":\"ping\"}\n{\"version\":1,\"id\":8,\"verb\":"
            "\"refuse\"}\n");
    json_t *a = hear(f, fd), *b = hear(f, fd);
    assert_int_equal(id_of(a), 7);
    assert_true(json_is_true(json_object_get(a, "ok")));
    assert_string_equal(json_string_value(json_object_get(a, "echo")), "ping");
    assert_int_equal(id_of(b), 8);
    assert_true(json_is_false(json_object_get(b, "ok")));
    assert_int_equal(json_integer_value(json_object_get(b, "exit")), 4);
    json_decref(a);
    json_decref(b);
    (void)close(fd);
}

static void server_answers_later_and_out_of_order(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);

    say(fd,
        "{\"version\":1,\"id\":1,\"verb\":\"hold\"}\n{\"version\":1,\"id\":2,\"verb\":\"ping\"}\n");
    json_t *a = hear(f, fd);
    assert_int_equal(id_of(a), 2);
    server_answer(f->server, f->held[0], json_object());
    json_t *b = hear(f, fd);
    assert_int_equal(id_of(b), 1);
    server_answer(f->server, f->held[0], json_object()); /* a second answer is nobody's */
    json_decref(a);
    json_decref(b);
    (void)close(fd);
}

static void server_takes_a_ticket_of_a_client_that_has_gone(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);

    say(fd, "{\"version\":1,\"id\":1,\"verb\":\"hold\"}\n");
    turn(f);
    assert_int_equal(f->n_held, 1);
    (void)close(fd);
    turn(f);
    assert_int_equal(server_clients(f->server), 0);
    server_answer(f->server, f->held[0], json_object());
    server_refuse(f->server, 123456, 1, "nobody");
}

static void server_takes_a_request_byte_by_byte(void **state)
{
    static const char line[] = "{\"version\":1,\"id\":3,\"verb\":\"ping\"}\n";
    struct fixture *f = *state;
    int fd = connect_to(f);

    for (size_t i = 0; i < sizeof(line) - 1; i++) {
        assert_int_equal(send(fd, line + i, 1, 0), 1);
        (void)sd_event_run(f->loop, 0);
    }
    json_t *a = hear(f, fd);
    assert_int_equal(id_of(a), 3);
    json_decref(a);
    (void)close(fd);
}

static void server_drops_a_bad_peer_and_no_other(void **state)
{
    static const char *const bad[] = {
        "nonsense\n",
        "[]\n",
        "{\"version\":2,\"id\":1,\"verb\":\"ping\"}\n",
        "{\"version\":1,\"verb\":\"ping\"}\n",
        "{\"version\":1,\"id\":\"x\",\"verb\":\"ping\"}\n",
        "{\"version\":1,\"id\":1}\n",
        "\xff\xfe\n",
    };
    struct fixture *f = *state;
    int good = connect_to(f);

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int fd = connect_to(f);
        char c;

        say(fd, bad[i]);
        turn(f);
        assert_int_equal(recv(fd, &c, 1, 0), 0);
        (void)close(fd);
    }
    assert_int_equal(f->n_calls, 0);
    say(good, "{\"version\":1,\"id\":1,\"verb\":\"ping\"}\n");
    json_t *a = hear(f, good);
    assert_int_equal(id_of(a), 1);
    json_decref(a);
    (void)close(good);
}

static void server_drops_a_line_without_end(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);
    size_t size = 1 << 20, sent = 0;
    char *block = malloc(size);

    assert_non_null(block);
    memset(block, 'a', size);
    while (sent <= PROTO_MAX_LINE + 2 * size) {
        ssize_t n = send(fd, block, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN)
            break;
        sent += n > 0 ? (size_t)n : 0;
        (void)sd_event_run(f->loop, 0);
    }
    turn(f);
    assert_int_equal(server_clients(f->server), 0);
    free(block);
    (void)close(fd);
}

static void server_drops_a_peer_that_does_not_read(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);
    size_t n = 4 << 20;
    char *line = malloc(n + 200);

    assert_non_null(line);
    memcpy(line, "{\"version\":1,\"id\":1,\"verb\":\"big\",\"data\":\"", 41);
    memset(line + 41, 'a', n);
    memcpy(line + 41 + n, "\"}\n", 4);
    for (int i = 0; i < 8 && (i == 0 || server_clients(f->server) > 0); i++) {
        size_t at = 0, size = strlen(line);

        while (at < size) {
            ssize_t w = send(fd, line + at, size - at, MSG_NOSIGNAL | MSG_DONTWAIT);

            if (w < 0 && errno != EAGAIN)
                break;
            at += w > 0 ? (size_t)w : 0;
            (void)sd_event_run(f->loop, 0);
        }
        turn(f);
    }
    assert_int_equal(server_clients(f->server), 0);
    free(line);
    (void)close(fd);
}

static void server_bounds_requests_without_an_answer(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);

    for (int i = 0; i < 100; i++)
        (void)send(fd, "{\"version\":1,\"id\":1,\"verb\":\"hold\"}\n", 35, MSG_NOSIGNAL);
    turn(f);
    assert_int_equal(server_clients(f->server), 0);
    assert_in_range(f->n_calls, 1, 64);
    (void)close(fd);
}

static void server_bounds_clients(void **state)
{
    struct fixture *f = *state;
    int fds[80];

    for (int i = 0; i < 80; i++) {
        fds[i] = connect_to(f);
        turn(f);
    }
    assert_in_range(server_clients(f->server), 1, 64);
    for (int i = 0; i < 80; i++)
        (void)close(fds[i]);
    turn(f);
    assert_int_equal(server_clients(f->server), 0);
}

static void server_removes_its_socket(void **state)
{
    struct fixture *f = *state;

    server_free(f->server);
    f->server = NULL;
    assert_int_equal(sock_connect(f->dir, "fuzzd.sock"), -ENOENT);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(server_answers_with_the_id_of_the_request),
        T(server_answers_later_and_out_of_order),
        T(server_takes_a_ticket_of_a_client_that_has_gone),
        T(server_takes_a_request_byte_by_byte),
        T(server_drops_a_bad_peer_and_no_other),
        T(server_drops_a_line_without_end),
        T(server_drops_a_peer_that_does_not_read),
        T(server_bounds_requests_without_an_answer),
        T(server_bounds_clients),
        T(server_removes_its_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
