/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzd: the supervisor of one state directory.
 *
 * Here the modules are wired together and the daemon's own life is kept: lock, socket, signals, and when to leave. Inside the
 * loop nothing exits and nothing blocks; planning, probing and replay happen in other processes.
 */
#include "fuzzd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/version.h"
#include "ctl/proto.h"
#include "sys/lock.h"
#include "sys/nofile.h"
#include "sys/scope.h"

#define IDLE_MS         5000
#define IDLE_LOOK_MS    1000
#define LOG_MAX_BYTES   (4LL << 20)
#define LOCK_LINE_BYTES 120

struct options {
    const char *state;
    const char *cgroup; /* back-end, NULL: the best there is */
    int ready_fd;
    bool foreground, check, debug;
};

static const char usage_text[] =
    "usage: fuzzd [--state DIR] [--foreground] [--cgroup v2|v1|none] [--ready-fd N] [--debug]\n"
    "       fuzzd --check | --version | --help\n";

static int options_parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"state", required_argument, NULL, 's'},
        {"foreground", no_argument, NULL, 'f'},
        {"cgroup", required_argument, NULL, 'g'},
        {"ready-fd", required_argument, NULL, 'r'},
        {"debug", no_argument, NULL, 'd'},
        {"check", no_argument, NULL, 'c'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    uint64_t n;
    int opt;

    *o = (struct options){.ready_fd = -1};
    while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (opt) {
        case 's':
            o->state = optarg;
            break;
        case 'f':
            o->foreground = true;
            break;
        case 'g':
            o->cgroup = optarg;
            break;
        case 'd':
            o->debug = true;
            break;
        case 'c':
            o->check = true;
            break;
        case 'r':
            if (parse_u64(optarg, 1023, &n) < 0 || fcntl((int)n, F_GETFD) < 0) {
                (void)fprintf(stderr, "fuzzd: --ready-fd: \"%s\" is not an open descriptor\n",
                              optarg);
                return EXIT_USAGE;
            }
            o->ready_fd = (int)n;
            break;
        case 'V':
            (void)printf("fuzzd %s%s%s%s\n", version_string(), version_git()[0] != '\0' ? " (" : "",
                         version_git(), version_git()[0] != '\0' ? ")" : "");
            return EXIT_DONE;
        case 'h':
            (void)fputs(usage_text, stdout);
            return EXIT_DONE;
        default:
            (void)fputs(usage_text, stderr);
            return EXIT_USAGE;
        }
    }
    if (optind != argc || (o->cgroup != NULL && strcmp(o->cgroup, "v2") != 0 &&
                           strcmp(o->cgroup, "v1") != 0 && strcmp(o->cgroup, "none") != 0)) {
        (void)fputs(usage_text, stderr);
        return EXIT_USAGE;
    }
    return -1;
}

/* ---- Life of the loop ---------------------------------------------------------------- */

/* Stops all campaigns in order, their artifacts gathered, and leaves. */
static int daemon_end(struct daemon *d, const char *why)
{
    struct run *run;

    (void)sd_notify(0, "STOPPING=1");
    d->terminating = true;
    if (TAILQ_EMPTY(&d->runs))
        return sd_event_exit(d->loop, 0);
    TAILQ_FOREACH (run, &d->runs, link)
        run_stop(run, why);
    return 0;
}

/* False when the lock in the state directory is not ours any more: no client will ever find us again. */
static bool state_dir_is_ours(const struct daemon *d)
{
    cleanup_free char *lock = path_join(d->state_dir, "fuzzd.lock");

    return file_lies_at(d->lock_fd, AT_FDCWD, lock);
}

static int on_idle(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct daemon *d = userdata;
    bool busy = !TAILQ_EMPTY(&d->runs) || queue_pending(d->queue, NULL) > 0 ||
                server_clients(d->server) > 0 ||
                clock_now_ms() - server_last_call_ms(d->server) < IDLE_MS;

    (void)usec;
    daemon_look_at_ends(d);
    if (!d->terminating && !state_dir_is_ours(d)) {
        log_error("%s is gone or another's, stopping", d->state_dir);
        (void)daemon_end(d, "its state directory is gone");
    }
    if (!busy && !d->foreground) {
        log_info("nothing to do, leaving");
        return sd_event_exit(d->loop, 0);
    }
    (void)sd_event_source_set_time_relative(s, (TAILQ_EMPTY(&d->runs) ? IDLE_LOOK_MS : IDLE_MS) *
                                                   1000ULL);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int on_reap(sd_event_source *s, void *userdata)
{
    struct daemon *d = userdata;

    (void)s;
    daemon_reap(d);
    if (d->terminating && TAILQ_EMPTY(&d->runs))
        return sd_event_exit(d->loop, 0);
    return 0;
}

static int on_term(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
    (void)s;
    log_info("signal %u, stopping", si->ssi_signo);
    return daemon_end(userdata, "fuzzd was told to end");
}

static int loop_init(struct daemon *d, struct err *err)
{
    sigset_t mask;
    int r;

    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGTERM);
    (void)sigaddset(&mask, SIGINT);
    (void)sigaddset(&mask, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &mask, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);

    r = sd_event_new(&d->loop);
    if (r >= 0)
        r = sd_event_add_signal(d->loop, NULL, SIGTERM, on_term, d);
    if (r >= 0)
        r = sd_event_add_signal(d->loop, NULL, SIGINT, on_term, d);
    if (r >= 0)
        r = sd_event_add_time_relative(d->loop, &d->idle, CLOCK_MONOTONIC, IDLE_LOOK_MS * 1000ULL,
                                       200000, on_idle, d);
    if (r >= 0)
        r = sd_event_add_defer(d->loop, &d->reaper, on_reap, d);
    /* Only where systemd asks for it: a loop that turns is a daemon that answers. */
    if (r >= 0)
        r = sd_event_set_watchdog(d->loop, 1);
    if (r >= 0)
        r = sd_event_source_set_enabled(d->reaper, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, r, "cannot set up the event loop") : 0;
}

/* ---- Start and end ------------------------------------------------------------------- */

static void lock_line(const struct daemon *d, bool kept, char line[LOCK_LINE_BYTES])
{
    char at[24];

    (void)snprintf(line, LOCK_LINE_BYTES, "pid %d, since %s%s", (int)getpid(),
                   clock_iso8601(at, sizeof(at), d->started_at_ms), kept ? PROTO_KEPT : "");
}

static int take_state_dir(struct daemon *d, struct err *err)
{
    static const char *const folders[] = {"store", "campaigns", "locks", "bundles"};
    cleanup_free char *lock = path_join(d->state_dir, "fuzzd.lock");
    char line[LOCK_LINE_BYTES], holder[256] = "";
    int r = path_mkdirs(d->state_dir, 0700);

    if (r < 0)
        return err_sys(err, r, "%s", d->state_dir);
    lock_line(d, d->foreground && getenv("NOTIFY_SOCKET") != NULL, line);
    d->lock_fd = lock_take(lock, line, holder, sizeof(holder));
    if (d->lock_fd == -EWOULDBLOCK)
        return err_set(err, -EBUSY, "already running: %s", holder);
    if (d->lock_fd == -ELOOP || d->lock_fd == -EINVAL)
        return err_set(err, d->lock_fd, "%s is not a regular file", lock);
    if (d->lock_fd < 0)
        return err_sys(err, d->lock_fd, "%s", lock);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        cleanup_free char *path = path_join(d->state_dir, folders[i]);

        r = path_mkdirs_below(d->state_dir, path, 0700);
        if (r == -ELOOP)
            return err_set(err, r, "%s is a symbolic link, refused", path);
        if (r < 0)
            return err_sys(err, r, "%s", path);
    }
    return 0;
}

/* enter: asks systemd for a scope first, where it can give one. */
static struct cgroup_root *open_cgroups(const char *state_dir, const char *force, bool enter)
{
    static const char fs[] = "/sys/fs/cgroup";
    struct cgroup_root *root;
    struct err err = {0};
    char prefix[32];

    if (path_mkdirs(state_dir, 0700) < 0 || cgroup_prefix(state_dir, prefix, sizeof(prefix)) < 0)
        return NULL;
    if (enter && (force == NULL || strcmp(force, "v2") == 0) &&
        scope_enter_own(fs, prefix, &err) < 0)
        log_warn("%s, going on without a scope", err.msg);
    root = cgroup_root_open(fs, prefix, force);
    if (err.msg[0] != '\0' && cgroup_root_holds(root) == 0)
        cgroup_root_lacks(root, err.msg);
    return root;
}

static int daemon_open(struct daemon *d, struct err *err)
{
    int r = take_state_dir(d, err);

    if (r == 0)
        r = db_open(d->state_dir, true, &d->db, err);
    if (r == 0)
        r = loop_init(d, err);
    if (r == 0)
        r = triage_init(d, err);
    if (r == 0)
        r = farm_new(d->loop, d->db, d->state_dir, d->cgroups, &triage_events, d, &d->farm, err);
    if (r == 0)
        r = serve_init(d, err);
    return r;
}

/* In order, so that nobody waits for systemd to start the next one. */
static void daemon_close(struct daemon *d)
{
    char line[LOCK_LINE_BYTES];

    while (!TAILQ_EMPTY(&d->runs))
        run_free(TAILQ_FIRST(&d->runs));
    serve_fini(d);
    farm_free(d->farm);
    triage_fini(d);
    sd_event_source_disable_unref(d->idle);
    sd_event_source_disable_unref(d->reaper);
    sd_event_unref(d->loop);
    db_close(d->db);
    if (d->cgroups != NULL)
        cgroup_prune(d->cgroups);
    cgroup_root_free(d->cgroups);
    if (d->lock_fd >= 0) {
        lock_line(d, false, line);
        lock_tell(d->lock_fd, line);
        (void)close(d->lock_fd);
    }
    free(d->state_dir);
}

static int check(const struct daemon *d)
{
    static const char *const programs[] = {"fuzz-keeper", "fuzz-triage"};
    int code = EXIT_DONE;

    (void)printf("state %s\n", d->state_dir);
    (void)printf("cgroups %s\n%s", cgroup_root_name(d->cgroups), cgroup_root_why(d->cgroups));
    if (cgroup_root_why(d->cgroups)[0] != '\0')
        (void)putchar('\n');
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        cleanup_free char *path = path_find_program(programs[i]);

        (void)printf("%s %s\n", programs[i], path != NULL ? path : "is missing");
        if (path == NULL)
            code = EXIT_ERROR;
    }
    return code;
}

static int run_daemon(struct daemon *d, const struct options *o, struct detach *dt)
{
    struct err err = {0};
    int r = nofile_raise();

    if (r < 0)
        log_warn("cannot raise the limit of open files: %s", strerror(-r));
    r = daemon_open(d, &err);
    if (r < 0) {
        log_error("%s", err.msg);
        return r == -EBUSY ? EXIT_LOCKED : EXIT_ERROR;
    }
    if (!o->foreground) {
        cleanup_free char *log = path_join(d->state_dir, "fuzzd.log");

        r = log_to_file(log, LOG_MAX_BYTES);
        if (r < 0)
            log_warn("%s: %s, going on without a log", log, strerror(-r));
    }
    log_info("fuzzd %s, pid %d, state %s, cgroups %s, from %s", version_string(), (int)getpid(),
             d->state_dir, cgroup_root_name(d->cgroups), cgroup_root_source(d->cgroups));
    daemon_adopt(d);
    detach_ready(dt);
    (void)sd_notifyf(0, "READY=1\nSTATUS=serving %s", d->state_dir);
    r = sd_event_loop(d->loop);
    if (r < 0)
        log_error("event loop: %s", strerror(-r));
    log_info("ended");
    return r < 0 ? EXIT_ERROR : EXIT_DONE;
}

int main(int argc, char **argv)
{
    struct daemon d = {.lock_fd = -1, .started_at_ms = clock_wall_ms()};
    struct detach dt = {.status_fd = -1, .ready_fd = -1};
    struct options o;
    struct err err = {0};
    int code = options_parse(argc, argv, &o), r;

    if (code >= 0)
        return code;
    log_init("fuzzd", o.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    (void)umask(077);
    TAILQ_INIT(&d.runs);
    TAILQ_INIT(&d.waiters);
    d.foreground = o.foreground;
    dt.ready_fd = o.ready_fd;
    d.state_dir = path_state_dir(o.state, &err);
    if (d.state_dir == NULL)
        fatal("%s", err.msg);
    r = path_state_check(d.state_dir, &err);
    if (r == -ENOTEMPTY) {
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    if (r < 0)
        fatal("%s", err.msg);
    if (!o.check && !o.foreground) {
        r = detach_daemon(&dt);
        if (r < 0)
            fatal("cannot fork: %s", strerror(-r));
    }
    d.cgroups = open_cgroups(d.state_dir, o.cgroup, !o.check);
    if (d.cgroups == NULL)
        fatal("%s: cannot be made or looked at", d.state_dir);
    if (o.check) {
        code = check(&d);
        daemon_close(&d);
        return code;
    }
    /* Joined after the lock is certain would be too late for the children made on the way. */
    r = cgroup_enter_ctl(d.cgroups);
    if (r < 0)
        log_warn("cannot leave the starter's cgroup: %s, ending with it", strerror(-r));
    code = run_daemon(&d, &o, &dt);
    daemon_close(&d);
    return code;
}
