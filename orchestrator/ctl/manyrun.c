/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, interruption and progress of verbs that run many inputs, said in the same words by each. */
#include "ctl/manyrun.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "ctl/replay_scope.h"

#define TIMEOUT_MAX_MS (3600 * INT64_C(1000))
#define PROGRESS_MS    200
#define BAR            20   /* columns */
#define LEFT_AFTER_MS  1000 /* before that it is a guess */

volatile sig_atomic_t manyrun_stop;

int manyrun_option(const struct cmd_entry *e, struct manyrun_limits *l, int opt, const char *arg)
{
    uint64_t n;

    switch (opt) {
    case MANYRUN_OPT_JOBS:
        if (parse_u64(arg, MANYRUN_JOBS_MAX, &n) < 0 || n == 0)
            return cmd_fail(e, EXIT_USAGE, "--jobs %s: allowed is 1 to %d", arg, MANYRUN_JOBS_MAX);
        l->jobs = (int)n;
        return EXIT_DONE;
    case MANYRUN_OPT_TIMEOUT:
        if (parse_duration_ms(arg, &l->timeout_ms) < 0 || l->timeout_ms <= 0 ||
            l->timeout_ms > TIMEOUT_MAX_MS)
            return cmd_fail(e, EXIT_USAGE,
                            "--timeout %s: allowed is a time up to 1h, as in 500ms or 10s", arg);
        return EXIT_DONE;
    case MANYRUN_OPT_MEMORY:
        if (parse_size_bytes(arg, &l->memory_bytes) < 0 ||
            l->memory_bytes < REPLAY_SCOPE_MEMORY_MIN)
            return cmd_fail(e, EXIT_USAGE,
                            "--memory %s: allowed is a size of 16M or more, as in 512M or 2G", arg);
        return EXIT_DONE;
    default:
        return -1;
    }
}

void manyrun_defaults(struct manyrun_limits *l)
{
    l->timeout_ms = l->timeout_ms > 0 ? l->timeout_ms : MANYRUN_TIMEOUT_MS;
    l->memory_bytes = l->memory_bytes > 0 ? l->memory_bytes : MANYRUN_MEMORY_BYTES;
}

/* Whether there is one of that name. */
static bool find_engine(const char *name, bool maps, enum runner_engine *ret)
{
    for (int i = 0; i < RUNNER_ENGINES; i++) {
        *ret = (enum runner_engine)i;
        if (strcmp(name, runner_engine_name(*ret)) == 0)
            return !maps || *ret != RUNNER_NATIVE;
    }
    return false;
}

int manyrun_engine(const struct cmd_entry *e, const char *name, bool maps, const char *program,
                   const struct elfprobe *elf, enum runner_engine *ret)
{
    enum runner_engine engine = runner_engine_best(elf);
    struct err err = {0};

    if (strcmp(name, "auto") != 0 && !find_engine(name, maps, &engine))
        return cmd_fail(e, EXIT_USAGE, "--engine %s: allowed are auto, fork, batch%s", name,
                        maps ? "" : ", native");
    if (runner_engine_check(engine, elf, &err) < 0)
        return cmd_fail(e, EXIT_USAGE, "--engine %s: %s %s", name, program, err.msg);
    *ret = engine;
    return EXIT_DONE;
}

static void on_signal(int sig)
{
    manyrun_stop = sig;
}

/* Who started us with nohup wants us to outlive the terminal. */
static void catch_hangup(const struct sigaction *sa)
{
    struct sigaction now;

    if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        (void)sigaction(SIGHUP, sa, NULL);
}

void manyrun_catch(void)
{
    const struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    (void)sigaction(SIGINT, &sa, NULL);
    (void)sigaction(SIGTERM, &sa, NULL);
    catch_hangup(&sa);
}

void manyrun_catch_all(void)
{
    const struct sigaction sa = {.sa_handler = on_signal};

    (void)sigaction(SIGINT, &sa, NULL);
    (void)sigaction(SIGTERM, &sa, NULL);
    catch_hangup(&sa);
}

void manyrun_progress_begin(struct manyrun_progress *p, const struct cmd_env *env)
{
    *p = (struct manyrun_progress){.on = isatty(STDERR_FILENO) && !env->quiet,
                                   .began_ms = clock_now_ms()};
}

void manyrun_progress_show(struct manyrun_progress *p, size_t done, size_t all, const char *more)
{
    const int64_t now_ms = clock_now_ms(), took_ms = now_ms - p->began_ms;
    const double rate = took_ms > 0 ? 1000.0 * (double)done / (double)took_ms : 0;
    const size_t filled = all > 0 ? (size_t)((double)BAR * (double)done / (double)all) : 0;
    char count[32], left[32] = "-", bar[BAR + 1];

    if (!p->on || now_ms - p->shown_ms < PROGRESS_MS)
        return;
    p->shown_ms = now_ms;
    if (rate > 0 && took_ms >= LEFT_AFTER_MS)
        format_duration(left, sizeof(left), (int64_t)((double)(all - done) / rate) * 1000);
    for (size_t i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r\033[K[%s] %zu of %zu%s, %s/s, %s left", bar, done, all, more,
            format_count(count, sizeof(count), rate), left);
    (void)fflush(stderr);
}

void manyrun_progress_clear(struct manyrun_progress *p)
{
    if (p->on)
        fputs("\r\033[K", stderr);
}
