/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an instance shows from outside: its files and its figures.
 *
 * Only crashes and hangs are watched. The folder above them would tell of every test case of a target that reads
 * "@@": afl-fuzz makes that file anew for each execution.
 */
#include "farm/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/collect.h"
#include "farm/health.h"
#include "store/rotation.h"
#include "sys/proc.h"

#define STATS_LOOK_MS 5000 /* at fuzzer_stats of one that sends datagrams */

static int on_file(sd_event_source *s, const struct inotify_event *event, void *userdata)
{
    (void)s;
    (void)event;
    collect_push(userdata);
    return 0;
}

/* Watches dir unless the watch looks at that very folder already. True when the watch is new. */
static bool watch_dir(struct instance *in, const char *name, sd_event_source **source,
                      uint64_t *ino)
{
    cleanup_free char *path = path_join(in->out_dir, name);
    struct stat st;
    int r;

    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return false;
    if (*source != NULL && *ino == st.st_ino)
        return false;
    *source = sd_event_source_disable_unref(*source);
    r = sd_event_add_inotify(in->farm->loop, source, path,
                             IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW, on_file,
                             in);
    if (r < 0) {
        in->unwatched = true;
        if (!in->farm->unwatched_told) /* what one has not got, none has */
            log_warn("%s: cannot watch %s: %s, looking every 5 s at what cannot be watched",
                     in->spec->full_id, name,
                     r == -ENOSPC ? "fs.inotify.max_user_watches is used up" : strerror(-r));
        in->farm->unwatched_told = true;
        return true;
    }
    *ino = st.st_ino;
    return true;
}

bool instance_watches(const struct instance *in)
{
    return ((in->crashes != NULL && in->hangs != NULL) || in->unwatched) && !in->scan_failed;
}

void instance_watch_files(struct instance *in)
{
    bool fresh;

    in->unwatched = false;
    fresh = watch_dir(in, "crashes", &in->crashes, &in->crashes_ino);
    fresh |= watch_dir(in, "hangs", &in->hangs, &in->hangs_ino);
    if (fresh || in->scan_failed || in->crashes == NULL || in->hangs == NULL)
        collect_push(in);
}

void instance_unwatch_files(struct instance *in)
{
    in->crashes = sd_event_source_disable_unref(in->crashes);
    in->hangs = sd_event_source_disable_unref(in->hangs);
}

void instance_take_stats(struct instance *in, const struct stats *st)
{
    int64_t now_ms = clock_now_ms(), total, edges;
    bool news;

    /* Sessions add up; one that was resumed reports what the session before had saved as its own. */
    if (!in->execs_seen && st->execs_done > 0) {
        in->execs_seen = true;
        if (in->execs_saved > 0 && st->execs_done >= in->execs_saved) {
            in->execs_base -= in->execs_saved;
            if (in->execs_base < 0)
                in->execs_base = 0;
        }
    }
    in->stats = *st;
    total = in->execs_base + st->execs_done;
    news = total > in->execs_total;
    if (news)
        in->execs_total = total;
    /*
     * AFL++ counts the first byte of the map among the edges, where the loop of a persistent program leaves a mark and no edge is.
     * Source: instrumentation/afl-compiler-rt.o.c, __afl_persistent_loop.
     */
    edges = st->edges_found - (in->spec->persistent && st->edges_found > 0);
    if (edges > in->edges_max)
        in->edges_max = edges;
    if (!news)
        return;
    in->news_ms = now_ms;
    if (in->state == INSTANCE_STARTING)
        instance_event(in, INSTANCE_EV_ALIVE);
    else
        instance_event(in, INSTANCE_EV_PROGRESS);
}

/* The figures of this very afl-fuzz: the first complete file of a session says that the dry run is over. */
static void read_stats_file(struct instance *in)
{
    cleanup_free char *path = path_join(in->out_dir, "fuzzer_stats");
    cleanup_free char *text = NULL;
    struct stats st = in->stats;
    struct stat sb;
    int64_t mtime_ms, now_ms = clock_wall_ms();
    size_t size;

    in->stats_looked_ms = clock_now_ms();
    if (in->afl.pid == 0 || lstat(path, &sb) != 0)
        return;
    mtime_ms = sb.st_mtim.tv_sec * 1000LL + sb.st_mtim.tv_nsec / 1000000;
    if (mtime_ms == in->stats_mtime_ms)
        return;
    if (file_read_below(in->farm->state_dir, path, STATS_MAX_BYTES, &text, &size) < 0 ||
        stats_parse(text, size, &st) < 0 || st.fuzzer_pid != in->afl.pid)
        return;
    in->stats_mtime_ms = mtime_ms;
    if (st.run_time_s == 0) /* a rate over a few milliseconds says nothing */
        st.execs_per_sec = 0;
    /* Datagrams are a second old; where there are any, the file adds only what they lack. */
    if (in->stats.have_statsd && now_ms - mtime_ms > 2000) {
        struct stats old = in->stats;

        st.execs_done = old.execs_done;
        st.execs_per_sec = old.execs_per_sec;
        st.edges_found = old.edges_found;
        st.corpus_count = old.corpus_count;
        st.pending_favs = old.pending_favs;
        st.pending_total = old.pending_total;
        st.cycles_done = old.cycles_done;
        st.saved_crashes = old.saved_crashes;
        st.saved_hangs = old.saved_hangs;
    }
    instance_take_stats(in, &st);
    instance_event(in, INSTANCE_EV_UP);
}

/* An afl-fuzz that waits for a word of its fork server waits for ever, and so does all below it. */
static bool stands_still(struct instance *in, const struct health *h, int64_t now_ms)
{
    uint64_t life;

    if ((in->state != INSTANCE_STARTING && in->state != INSTANCE_CALIBRATING) || in->held ||
        in->draining || in->execs_seen || in->afl.pid <= 0) {
        in->life_ms = 0;
        return false;
    }
    if (proc_tree_life(in->afl.pid, &life) < 0 || in->life_ms == 0 || life != in->life) {
        in->life = life;
        in->life_ms = now_ms;
    }
    return now_ms - in->life_ms > health_stuck_ms(h);
}

void instance_tick(struct instance *in, int64_t now_ms)
{
    struct health h = {
        .exec_timeout_ms =
            in->target->timeout_ms > 0 ? in->target->timeout_ms : in->stats.exec_timeout_ms,
        .hang_timeout_ms = in->target->hang_timeout_ms,
        .init_timeout_ms = in->target->init_timeout_ms,
        .n_inputs = in->target->n_seeds + in->stats.corpus_count,
        .window_ms = in->farm->stall_ms,
        .telemetry = in->stats.have_statsd,
    };
    int64_t window_ms;

    /* Datagrams have all that moves from second to second. */
    if (!in->stats.have_statsd || in->state != INSTANCE_FUZZING || in->draining ||
        now_ms - in->stats_looked_ms >= STATS_LOOK_MS)
        read_stats_file(in);
    if (!in->draining && !in->held && in->rotation < ROTATION_MAX &&
        (in->stats.saved_crashes >= in->farm->rotate_crashes ||
         in->stats.saved_hangs >= in->farm->rotate_hangs))
        instance_event(in, INSTANCE_EV_FULL);
    if (stands_still(in, &h, now_ms))
        instance_restart(in, INSTANCE_STUCK);
    window_ms = health_window_ms(&h, in->state);
    if (window_ms > 0 && !in->draining && now_ms - in->news_ms > window_ms)
        instance_event(in, INSTANCE_EV_QUIET);
}
