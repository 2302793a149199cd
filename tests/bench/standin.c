/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for afl-fuzz where many instances are measured and fuzzing is not: writes what afl-fuzz 4.04c writes, as often as that
 * one does, and sleeps in between. It answers the question of plan/aflprobe.c, sends StatsD once a second, rewrites fuzzer_stats in
 * place every 60 s, adds a line to plot_data every 5 s and ends at SIGTERM with its last figures. It runs no target.
 *
 * SIM_FIND_S and SIM_CRASH_S in its environment: seconds between two queue entries (5) and two crashes (0: none). SIM_TAG=id:
 * figures are tagged with the -M/-S name, as AFL++ 4.2x does, and not with the banner.
 * Source: AFLplusplus 4.04c include/config.h (STATS_UPDATE_SEC, PLOT_UPDATE_SEC), src/afl-fuzz-stats.c, src/afl-fuzz-statsd.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VERSION         "++4.04c"
#define STATS_S         60
#define PLOT_S          5
#define EXECS_PER_S     1500
#define DATAGRAM_GAUGES 20

extern char **environ;

static const char help[] =
    "afl-fuzz" VERSION " based on afl by Michal Zalewski and a large online community\n\n"
    "afl-fuzz [ options ] -- /path/to/fuzzed_app [ ... ]\n\n"
    "Required parameters:\n"
    "  -i dir        - input directory with test cases\n"
    "  -o dir        - output directory for fuzzer findings\n\n"
    "Execution control settings:\n"
    "  -p schedule   - power schedules compute a seed's performance score:\n"
    "                  fast(default), explore, exploit, seek, rare, mmopt, coe, lin\n"
    "                  quad -- see docs/FAQ.md for more information\n"
    "  -t msec       - timeout for each run (auto-scaled, default 1000 ms). Add a '+'\n"
    "                  to auto-calculate the timeout, the value being the maximum.\n"
    "  -m megs       - memory limit for child process (0 MB, 0 = no limit [default])\n\n"
    "Fuzzing behavior settings:\n"
    "  -Z            - sequential queue selection instead of weighted random\n"
    "  -x dict_file  - fuzzer dictionary (see README.md, specify up to 4 times)\n\n"
    "Test settings:\n"
    "  -s seed       - use a fixed seed for the RNG\n\n"
    "Other stuff:\n"
    "  -M/-S id      - distributed mode (-M sets -Z and disables trimming)\n"
    "  -F path       - sync to a foreign fuzzer queue directory (requires -M, can\n"
    "                  be specified up to 32 times)\n"
    "  -T text       - text banner to show on the screen\n\n";

static const char *const known[] = {
    "AFL_AUTORESUME",       "AFL_CUSTOM_MUTATOR_LIBRARY",
    "AFL_DISABLE_TRIM",     "AFL_FINAL_SYNC",
    "AFL_HANG_TMOUT",       "AFL_FORKSRV_INIT_TMOUT",
    "AFL_IMPORT_FIRST",     "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES",
    "AFL_NO_AFFINITY",      "AFL_NO_UI",
    "AFL_PRELOAD",          "AFL_SKIP_CPUFREQ",
    "AFL_STATSD",           "AFL_STATSD_HOST",
    "AFL_STATSD_PORT",      "AFL_STATSD_TAGS_FLAVOR",
    "AFL_TESTCACHE_SIZE",   "AFL_SYNC_TIME",
    "AFL_FAST_CAL",         "AFL_CMPLOG_ONLY_NEW",
    "AFL_EXPAND_HAVOC_NOW",
};

struct sim {
    const char *out, *id, *banner, *tag;
    char dir[4096];
    char command[1024];
    int64_t started_s;
    long entries, seeds, crashes, edges;
    int64_t last_find_s, last_crash_s;
    int udp;
    unsigned phase; /* so that not all write in one second */
};

static volatile sig_atomic_t ended;

static void on_term(int sig)
{
    (void)sig;
    ended = 1;
}

static void die(const char *what)
{
    (void)fprintf(stderr, "\n[-] PROGRAM ABORT : %s: %s\n", what, strerror(errno));
    exit(1);
}

static int answer_help(void)
{
    (void)fputs(help, stdout);
    (void)fputs("Environment variables used:\n", stdout);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        (void)printf("%s: as in afl-fuzz\n", known[i]);
    for (char **e = environ; *e != NULL; e++) {
        size_t n = strcspn(*e, "=");
        bool there = strncmp(*e, "AFL_", 4) != 0;

        for (size_t i = 0; !there && i < sizeof(known) / sizeof(known[0]); i++)
            there = strlen(known[i]) == n && memcmp(known[i], *e, n) == 0;
        if (!there)
            (void)fprintf(stderr, "[!] WARNING: Mistyped AFL environment variable: %.*s\n", (int)n,
                          *e);
    }
    return 1;
}

static int64_t now_s(void)
{
    return (int64_t)time(NULL);
}

static long setting(const char *name, long usual)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : usual;
}

static int open_below(const struct sim *s, const char *name, int flags)
{
    char path[4352];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    fd = open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

__attribute__((format(printf, 3, 4))) static void put(const struct sim *s, int fd, const char *fmt,
                                                      ...)
{
    char text[4096];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0 || write(fd, text, (size_t)n) != n)
        die(s->dir);
}

static void make_dir(const struct sim *s, const char *name)
{
    char path[4352];

    (void)snprintf(path, sizeof(path), "%s%s%s", s->dir, name[0] != '\0' ? "/" : "", name);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        die(path);
}

static long execs(const struct sim *s, int64_t at_s)
{
    return 10 + (long)(at_s - s->started_s) * EXECS_PER_S;
}

static void write_stats(const struct sim *s, int64_t at_s)
{
    int fd = open_below(s, "fuzzer_stats", O_TRUNC);

    put(s, fd,
        "start_time        : %lld\nlast_update       : %lld\nrun_time          : %lld\n"
        "fuzzer_pid        : %d\ncycles_done       : %lld\ncycles_wo_finds   : 0\n"
        "execs_done        : %ld\nexecs_per_sec     : %d.00\nexecs_ps_last_min : %d.00\n"
        "corpus_count      : %ld\ncorpus_favored    : %ld\ncorpus_found      : %ld\n"
        "corpus_imported   : 0\ncorpus_variable   : 0\nmax_depth         : 3\n"
        "cur_item          : 1\npending_favs      : 1\npending_total     : 2\n"
        "stability         : 100.00%%\nbitmap_cvg        : 4.75%%\nsaved_crashes     : %ld\n"
        "saved_hangs       : 0\nlast_find         : %lld\nlast_crash        : %lld\n"
        "last_hang         : 0\nexecs_since_crash : 0\nexec_timeout      : 20\n"
        "slowest_exec_ms   : 0\npeak_rss_mb       : 4\ncpu_affinity      : -1\n"
        "edges_found       : %ld\ntotal_edges       : 4096\nvar_byte_count    : 0\n"
        "havoc_expansion   : 0\nauto_dict_entries : 0\ntestcache_size    : 17\n"
        "testcache_count   : 4\ntestcache_evict   : 0\nafl_banner        : %s\n"
        "afl_version       : " VERSION "\ntarget_mode       : persistent shmem_testcase deferred \n"
        "command_line      : %s\n",
        (long long)s->started_s, (long long)at_s, (long long)(at_s - s->started_s), (int)getpid(),
        (long long)((at_s - s->started_s) / 30), execs(s, at_s), EXECS_PER_S, EXECS_PER_S,
        s->seeds + s->entries, s->entries, s->entries, s->crashes, (long long)s->last_find_s,
        (long long)s->last_crash_s, s->edges, s->banner, s->command);
    (void)close(fd);
}

static void write_plot(const struct sim *s, int64_t at_s)
{
    int fd = open_below(s, "plot_data", O_APPEND);

    put(s, fd, "%lld, %lld, 1, %ld, 2, 1, 4.75%%, %ld, 0, 3, %d.00, %ld, %ld\n",
        (long long)(at_s - s->started_s), (long long)((at_s - s->started_s) / 30),
        s->seeds + s->entries, s->crashes, EXECS_PER_S, execs(s, at_s), s->edges);
    (void)close(fd);
}

static void send_statsd(const struct sim *s, int64_t at_s)
{
    const struct {
        const char *name;
        long value;
    } gauges[DATAGRAM_GAUGES] = {
        {"cycle_done", (long)(at_s - s->started_s) / 30},
        {"cycles_wo_finds", 0},
        {"execs_done", execs(s, at_s)},
        {"execs_per_sec", EXECS_PER_S},
        {"corpus_count", s->seeds + s->entries},
        {"corpus_favored", s->entries},
        {"corpus_found", s->entries},
        {"corpus_imported", 0},
        {"max_depth", 3},
        {"cur_item", 1},
        {"pending_favs", 1},
        {"pending_total", 2},
        {"corpus_variable", 0},
        {"saved_crashes", s->crashes},
        {"saved_hangs", 0},
        {"total_crashes", s->crashes},
        {"slowest_exec_ms", 0},
        {"edges_found", s->edges},
        {"var_byte_count", 0},
        {"havoc_expansion", 0},
    };
    char text[8192];
    size_t n = 0;

    if (s->udp < 0)
        return;
    for (size_t i = 0; i < DATAGRAM_GAUGES && n < sizeof(text); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "fuzzing.%s:%ld|g|#banner:%s,afl_version:" VERSION "\n",
                              gauges[i].name, gauges[i].value, s->tag);
    (void)send(s->udp, text, n < sizeof(text) ? n : sizeof(text) - 1, MSG_DONTWAIT);
}

/* A file as afl-fuzz names and fills it; each is another input. */
static void add_file(const struct sim *s, const char *folder, long id, int64_t at_s, const char *op)
{
    char name[256];
    int fd;

    (void)snprintf(name, sizeof(name), "%s/id:%06ld,%ssrc:000000,time:%lld,execs:%ld,%s", folder,
                   id, strcmp(folder, "crashes") == 0 ? "sig:06," : "",
                   (long long)(at_s - s->started_s) * 1000, execs(s, at_s), op);
    fd = open_below(s, name, O_EXCL);
    put(s, fd, "%s %s %ld\n", s->banner, folder, id);
    (void)close(fd);
}

static void statsd_open(struct sim *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    s->udp = -1;
    if (getenv("AFL_STATSD") == NULL)
        return;
    to.sin_port = htons((uint16_t)setting("AFL_STATSD_PORT", 8125));
    s->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s->udp >= 0 && connect(s->udp, (struct sockaddr *)&to, sizeof(to)) < 0) {
        (void)close(s->udp);
        s->udp = -1;
    }
}

static void prepare(struct sim *s)
{
    static const char *const folders[] = {"", "queue", "queue/.state", "crashes", "hangs"};
    int fd;

    if (mkdir(s->out, 0700) < 0 && errno != EEXIST)
        die(s->out);
    (void)snprintf(s->dir, sizeof(s->dir), "%s/%s", s->out, s->id);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        make_dir(s, folders[i]);
    fd = open_below(s, "fuzzer_setup", O_TRUNC);
    put(s, fd, "# environment variables:\n# command line:\n%s\n", s->command);
    (void)close(fd);
    fd = open_below(s, "plot_data", O_APPEND);
    put(s, fd,
        "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, "
        "map_size, "
        "saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found\n");
    (void)close(fd);
    s->started_s = s->last_find_s = now_s();
    s->seeds = 1;
    s->edges = 100;
    for (const char *p = s->banner; *p != '\0'; p++)
        s->phase = s->phase * 31 + (unsigned char)*p;
}

static bool due(const struct sim *s, int64_t at_s, long every_s)
{
    return every_s > 0 && (at_s + s->phase) % every_s == 0;
}

static void run(struct sim *s)
{
    long find_s = setting("SIM_FIND_S", 5), crash_s = setting("SIM_CRASH_S", 0);
    int64_t at_s, before_s = 0;

    while (!ended) {
        struct timespec wait = {.tv_nsec = (long)(s->phase % 1000) * 1000000};

        at_s = now_s();
        wait.tv_sec = at_s + 1;
        if (at_s != before_s && due(s, at_s, find_s)) {
            add_file(s, "queue", s->seeds + s->entries++, at_s, "op:havoc,rep:2,+cov");
            s->edges += s->edges < 4000;
            s->last_find_s = at_s;
        }
        if (at_s != before_s && due(s, at_s, crash_s)) {
            add_file(s, "crashes", s->crashes++, at_s, "op:havoc,rep:2");
            s->last_crash_s = at_s;
        }
        if (due(s, at_s, PLOT_S))
            write_plot(s, at_s);
        if (due(s, at_s, STATS_S))
            write_stats(s, at_s);
        send_statsd(s, at_s);
        before_s = at_s;
        (void)clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &wait, NULL);
    }
    write_stats(s, now_s());
}

int main(int argc, char **argv)
{
    struct sigaction term = {.sa_handler = on_term};
    struct sim s = {.id = "default", .banner = "standin"};
    size_t n = 0;

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-hh") == 0 || strcmp(argv[i], "-h") == 0)
            return answer_help();
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            s.out = argv[++i];
        else if ((strcmp(argv[i], "-M") == 0 || strcmp(argv[i], "-S") == 0) && i + 1 < argc)
            s.id = argv[++i];
        else if (strcmp(argv[i], "-T") == 0 && i + 1 < argc)
            s.banner = argv[++i];
    }
    if (s.out == NULL)
        return answer_help();
    s.tag = getenv("SIM_TAG") != NULL ? s.id : s.banner;
    for (int i = 0; i < argc && n < sizeof(s.command); i++)
        n += (size_t)snprintf(s.command + n, sizeof(s.command) - n, "%s%s", i > 0 ? " " : "",
                              argv[i]);
    (void)sigaction(SIGTERM, &term, NULL);
    (void)sigaction(SIGINT, &term, NULL);
    prepare(&s);
    statsd_open(&s);
    write_stats(&s, s.started_s); /* the first one says that the dry run is over */
    run(&s);
    return 0;
}
