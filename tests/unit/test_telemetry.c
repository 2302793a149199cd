/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that bear the -M/-S name alone, as AFL++ 4.2x sends them: whose they are is told by the sender's socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "farm/campaign.h"
#include "farm/farm.h"
#include "farm/instance.h"
#include "farm/target.h"
#include "farm/telemetry.h"
#include "sys/proc.h"
#include "sys/sock.h"

/* Two targets, each with an instance named main: the first is a process without sockets, the second is this one. */
struct place {
    struct farm farm;
    struct err err;
    char *state;
    struct plan plan;
    struct plan_target plan_targets[2];
    struct plan_instance specs[2];
    struct instance instances[2], *first[2];
    struct target targets[2], *list[2];
    struct campaign campaign;
    int other[2]; /* held open by the first: its end is ours */
};

static pid_t sleeper(int *ends)
{
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char byte;

        (void)close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        _exit(0);
    }
    (void)close(ends[0]);
    return pid;
}

static int set_up(void **state)
{
    static char ids[2][16] = {"c/a/main", "c/b/main"}, name[] = "main";
    char dir[] = "/tmp/fz-telemetry.XXXXXX";
    struct place *p = xcalloc(1, sizeof(*p));
    struct farm *f = &p->farm;

    if (mkdtemp(dir) == NULL)
        return -1;
    p->state = xstrdup(dir);
    TAILQ_INIT(&f->campaigns);
    assert_true(sd_event_new(&f->loop) >= 0);
    assert_int_equal(db_open(p->state, true, &f->db, &p->err), 0);
    assert_int_equal(telemetry_new(f, &f->telemetry, &p->err), 0);
    p->plan.n_targets = 2;
    p->plan.targets = p->plan_targets;
    p->campaign.plan = &p->plan;
    p->campaign.targets = p->list;
    for (size_t i = 0; i < 2; i++) {
        struct instance *in = &p->instances[i];

        p->specs[i].full_id = ids[i];
        p->specs[i].name = name;
        p->plan_targets[i].n_instances = 1;
        in->farm = f;
        in->spec = &p->specs[i];
        in->name = name;
        in->state = INSTANCE_FUZZING;
        in->afl.pid = i == 0 ? sleeper(p->other) : getpid();
        p->first[i] = in;
        p->targets[i].instances = &p->first[i];
        p->list[i] = &p->targets[i];
        ids_add(&f->ids, in);
    }
    TAILQ_INSERT_TAIL(&f->campaigns, &p->campaign, link);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;

    (void)close(p->other[1]);
    (void)waitpid(p->instances[0].afl.pid, NULL, 0);
    for (size_t i = 0; i < 2; i++)
        ids_remove(&p->farm.ids, &p->instances[i]);
    telemetry_free(p->farm.telemetry);
    db_close(p->farm.db);
    sd_event_unref(p->farm.loop);
    assert_int_equal(path_remove_tree(p->state), 0);
    free(p->state);
    free(p);
    return 0;
}

/* Sends "execs" as the instance of that name from fd, and lets the farm read it. */
static void tell(struct place *p, int fd, const char *name, long execs)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(telemetry_port(p->farm.telemetry)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char text[256];
    int n = snprintf(text, sizeof(text),
                     "fuzzing.execs_done:%ld|g|#banner:%s,afl_version:++4.21c\n", execs, name);

    assert_int_equal(sendto(fd, text, (size_t)n, 0, (struct sockaddr *)&to, sizeof(to)), n);
    for (int i = 0; i < 3; i++)
        assert_true(sd_event_run(p->farm.loop, 100000) >= 0);
}

static int sender(uint16_t *port)
{
    int fd = sock_udp_loopback(0, port);

    assert_true(fd >= 0);
    return fd;
}

static void a_name_that_two_have_is_told_by_the_socket(void **state)
{
    struct place *p = *state;
    uint16_t port;
    int fd = sender(&port);

    tell(p, fd, "main", 100);
    assert_int_equal(p->instances[0].execs_total, 0);
    assert_int_equal(p->instances[1].execs_total, 100);
    assert_int_equal(p->instances[1].statsd_port, port);
    tell(p, fd, "main", 200);
    assert_int_equal(p->instances[1].execs_total, 200);
    (void)close(fd);
}

static void one_that_works_in_a_later_folder_is_known_by_that_name(void **state)
{
    struct place *p = *state;
    char name[] = "main_r2";
    uint16_t port;
    int fd = sender(&port);

    p->instances[1].name = name;
    tell(p, fd, "main_r2", 100);
    assert_int_equal(p->instances[1].execs_total, 100);
    tell(p, fd, "main", 900); /* the name of its first folder is not its own now */
    assert_int_equal(p->instances[1].execs_total, 100);
    (void)close(fd);
}

static void the_next_session_and_the_next_socket_are_found_again(void **state)
{
    struct place *p = *state;
    uint16_t port, next;
    int fd = sender(&port);

    tell(p, fd, "main", 100);
    p->instances[1].afl.pid = 0; /* it ended */
    tell(p, fd, "main", 150);
    assert_int_equal(p->instances[1].execs_total, 100);
    p->instances[1].afl.pid = getpid();
    (void)close(fd);
    fd = sender(&next);
    tell(p, fd, "main", 200);
    assert_int_equal(p->instances[1].execs_total, 200);
    assert_int_equal(p->instances[1].statsd_port, next);
    (void)close(fd);
}

static void a_port_of_one_that_is_gone_is_nobodys(void **state)
{
    struct place *p = *state;
    uint16_t port;
    int fd = sender(&port);

    tell(p, fd, "main", 100);
    telemetry_forget(p->farm.telemetry, &p->instances[1]);
    assert_int_equal(p->instances[1].statsd_port, 0);
    p->instances[1].afl.pid = 0;
    tell(p, fd, "main", 300);
    assert_int_equal(p->instances[1].execs_total, 100);
    assert_int_equal(p->instances[0].execs_total, 0);
    telemetry_forget(NULL, &p->instances[1]);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_that_two_have_is_told_by_the_socket, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_works_in_a_later_folder_is_known_by_that_name,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_next_session_and_the_next_socket_are_found_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_port_of_one_that_is_gone_is_nobodys, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
