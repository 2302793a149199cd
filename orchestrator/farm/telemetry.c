/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StatsD receiver. Anyone on this host may send to it, so a datagram changes figures of an instance of ours that runs now
 * and nothing else, and a flood is read in bounded portions a turn.
 */
#include "farm/telemetry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "farm/campaign.h"
#include "farm/farm.h"
#include "farm/instance.h"
#include "farm/stats.h"
#include "sys/sock.h"

#define TELEMETRY_META     "statsd_port"
#define TELEMETRY_PER_TURN 128
#define TELEMETRY_TURN_MS  50 /* what comes within it is read in one turn */
#define TELEMETRY_LOOKS    32 /* a second, for who has a port */

struct telemetry {
    struct farm *farm;
    int fd;
    uint16_t port;
    sd_event_source *source;
    struct instance **sender; /* by its own port; in is at in->statsd_port and nowhere else */
    int64_t looks_ms;
    int looks; /* since looks_ms */
};

/* The first instance of that -M/-S name whose afl-fuzz has that socket open. */
static struct instance *find_sender(struct telemetry *t, const char *name, uint64_t inode)
{
    struct campaign *c;

    TAILQ_FOREACH (c, &t->farm->campaigns, link) {
        for (size_t i = 0; i < c->plan->n_targets; i++) {
            for (size_t k = 0; k < c->plan->targets[i].n_instances; k++) {
                struct instance *in = c->targets[i]->instances[k];

                if (in->afl.pid > 0 && strcmp(in->name, name) == 0 &&
                    sock_is_open_in(in->afl.pid, inode))
                    return in;
            }
        }
    }
    return NULL;
}

void telemetry_forget(struct telemetry *t, struct instance *in)
{
    if (in->statsd_port != 0)
        t->sender[in->statsd_port] = NULL;
    in->statsd_port = 0;
}

static void learn(struct telemetry *t, struct instance *in, uint16_t port)
{
    telemetry_forget(t, in);
    if (t->sender[port] != NULL)
        t->sender[port]->statsd_port = 0;
    t->sender[port] = in;
    in->statsd_port = port;
    in->statsd_pid = in->afl.pid;
}

/*
 * AFL++ 4.2x tags its figures with the -M/-S name, which other targets have too, and not with our banner: the
 * sender is then told by the socket. Who is not known is looked for, a few times a second, as anyone may send; who is
 * known costs no walk, as all of them send.
 */
static struct instance *find_by_port(struct telemetry *t, const char *name, uint16_t port)
{
    const int64_t now_ms = clock_now_ms();
    struct instance *in = t->sender[port];
    uint64_t inode;

    if (in != NULL && in->afl.pid > 0 && in->afl.pid == in->statsd_pid &&
        strcmp(in->name, name) == 0)
        return in;
    if (now_ms - t->looks_ms >= 1000) {
        t->looks_ms = now_ms;
        t->looks = 0;
    }
    if (t->looks++ >= TELEMETRY_LOOKS || sock_udp_inode(port, &inode) < 0)
        return NULL;
    in = find_sender(t, name, inode);
    if (in != NULL)
        learn(t, in, port);
    return in;
}

static void take_datagram(struct telemetry *t, const char *data, size_t size, uint16_t port)
{
    char name[STATS_MAX_NAME];
    struct stats st;
    struct instance *in;

    if (stats_statsd_name(data, size, name, sizeof(name)) < 0)
        return;
    in = farm_find_instance(t->farm, name);
    if (in == NULL)
        in = find_by_port(t, name, port);
    if (in == NULL)
        return;
    st = in->stats;
    if (stats_parse_statsd(data, size, name, sizeof(name), &st) == 0)
        instance_take_stats(in, &st);
}

static int on_readable(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
    struct telemetry *t = userdata;
    char buf[STATS_MAX_DGRAM + 1];

    (void)s;
    (void)revents;
    for (int i = 0; i < TELEMETRY_PER_TURN; i++) {
        struct sockaddr_in from = {0};
        socklen_t from_size = sizeof(from);
        ssize_t n =
            recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from, &from_size);

        if (n < 0)
            break;
        if (from_size < sizeof(from) || from.sin_family != AF_INET ||
            from.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
            continue;
        take_datagram(t, buf, (size_t)n, ntohs(from.sin_port));
    }
    return 0;
}

int telemetry_new(struct farm *farm, struct telemetry **ret, struct err *err)
{
    struct telemetry *t = xcalloc(1, sizeof(*t));
    cleanup_free char *kept = db_meta_get(farm->db, TELEMETRY_META);
    uint64_t want = 0;
    char text[16];
    int r;

    t->farm = farm;
    t->sender = xcalloc(UINT16_MAX + 1, sizeof(struct instance *));
    if (kept == NULL || parse_u64(kept, UINT16_MAX, &want) < 0)
        want = 0;
    t->fd = sock_udp_loopback((uint16_t)want, &t->port);
    if (t->fd < 0 && want != 0)
        t->fd = sock_udp_loopback(0, &t->port);
    if (t->fd < 0) {
        r = err_sys(err, t->fd, "cannot open a UDP socket on 127.0.0.1");
        free(t->sender);
        free(t);
        return r;
    }
    r = sd_event_add_io(farm->loop, &t->source, t->fd, EPOLLIN, on_readable, t);
    if (r >= 0)
        r = sd_event_source_set_ratelimit(t->source, TELEMETRY_TURN_MS * 1000ULL, 1);
    if (r < 0) {
        r = err_sys(err, r, "cannot watch the StatsD socket");
        telemetry_free(t);
        return r;
    }
    if (t->port != want) {
        (void)snprintf(text, sizeof(text), "%u", (unsigned)t->port);
        r = db_meta_set(farm->db, TELEMETRY_META, text, err);
        if (r < 0) {
            telemetry_free(t);
            return r;
        }
    }
    *ret = t;
    return 0;
}

void telemetry_free(struct telemetry *t)
{
    if (t == NULL)
        return;
    sd_event_source_disable_unref(t->source);
    if (t->fd >= 0)
        (void)close(t->fd);
    free(t->sender);
    free(t);
}

uint16_t telemetry_port(const struct telemetry *t)
{
    return t->port;
}
