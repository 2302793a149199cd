/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeds in runs of at most KITRUN_FILES, so that a command line never grows past
 * what the kernel takes, and one by one for programs without the kit.
 */
#include "triage/seedrun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "plan/elfprobe.h"
#include "sys/drop.h"
#include "triage/classify.h"
#include "triage/json_util.h"
#include "triage/kitrun.h"
#include "triage/reach.h"
#include "triage/replay_env.h"

#define PATHS_MAX_BYTES  (256 * 1024) /* of one command line */
#define REQUIRED_MS      10000
#define REQUIRED_MAX     65536
#define REACH_MAX_BYTES  (1 << 20)
#define FOREIGN_LIMIT_MS 5000

/* The readable seeds of a list, as kitrun takes them. */
struct batch {
    const struct seed *seeds[KITRUN_FILES];
    const char *paths[KITRUN_FILES];
    size_t n, told; /* so many of n, and the next of a run is that */
    const struct seedrun *s;
    struct seedrun_sum *sum;
};

int seedrun_probe(struct seedrun *s, const char *path, struct err *err)
{
    struct elfprobe elf = {0};
    int r = elfprobe_read(path, &elf, err);

    if (r < 0)
        return r;
    s->prog.path = path;
    s->prog.kit = elf.kit;
    s->prog.asan = elf.asan;
    s->prog.msan = elf.msan;
    s->prog.tsan = elf.tsan;
    s->prog.ubsan = elf.ubsan;
    s->prog.takes_file = elf.driver || elf.libfuzzer;
    s->prog.twice = true;
    (void)strlcpy(s->build_id, elf.build_id, sizeof(s->build_id));
    return 0;
}

static size_t count_readable(const struct seedlist *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->v[i].error == 0;
    return n;
}

/* The next batch from *pos on. False when there is none. */
static bool batch_next(const struct seedlist *l, size_t *pos, struct batch *b)
{
    size_t bytes = 0;

    for (b->n = b->told = 0; *pos < l->n && b->n < KITRUN_FILES; (*pos)++) {
        const struct seed *seed = &l->v[*pos];

        if (seed->error != 0)
            continue;
        bytes += strlen(seed->path) + 1;
        if (b->n > 0 && bytes > PATHS_MAX_BYTES)
            break;
        b->seeds[b->n] = seed;
        b->paths[b->n++] = seed->path;
    }
    return b->n > 0;
}

static void tell(const struct seedrun *s, struct seedrun_sum *sum, const struct seed *seed,
                 const struct seedrun_result *r)
{
    if (r->pass)
        sum->passed++;
    else
        sum->failed++;
    if (s->fn != NULL)
        s->fn(s->ctx, seed, r);
}

static void on_line(void *ctx, size_t i, const struct kitrun_line *line)
{
    struct batch *b = ctx;
    struct seedrun_result r = {
        .pass = strcmp(line->class_, "pass") == 0, .signal = line->signal, .ms = line->ms};

    (void)strlcpy(r.class_, line->class_, sizeof(r.class_));
    (void)strlcpy(r.inv, line->inv, sizeof(r.inv));
    (void)strlcpy(r.detail, line->detail, sizeof(r.detail));
    (void)i;
    tell(b->s, b->sum, b->seeds[b->told++], &r);
}

/* The next n of a batch. 0 with all of them told, or with the budget over; -errno as kitrun. */
static int run_next(struct batch *b, size_t n, int64_t deadline_ms, struct kitrun_end *ret,
                    struct err *err)
{
    struct seedrun_sum *sum = b->sum;
    const struct kitrun k = {.prog = &b->s->prog,
                             .paths = b->paths + b->told,
                             .n = n,
                             .deadline_ms = deadline_ms,
                             .fn = on_line,
                             .ctx = b};
    int r = kitrun(&k, ret, err);

    sum->over = ret->late;
    sum->self_test = ret->self_test && sum->passed + sum->failed == 0;
    (void)strlcpy(sum->words, ret->words, sizeof(sum->words));
    return r;
}

/*
 * The program was lost at the next input. When it comes up without it and is lost in it alone, too, that is what this input does. 0 when it
 * is told, -errno.
 */
static int run_suspect(struct batch *b, int64_t deadline_ms, struct err *err)
{
    struct seedrun_result res = {.class_ = "crash", .inv = REPLAY_PARENT_WORDS};
    struct seedrun_sum start = {0};
    struct kitrun_end end = {0};
    struct err why = {0};
    int r;

    if (seedrun_start(b->s, &start, &why) < 0)
        return -ECHILD;
    r = run_next(b, 1, deadline_ms, &end, &why);
    if (r < 0 && !end.lost)
        return err_set(err, r, "%s", why.msg);
    if (r == 0)
        return 0;
    (void)json_text_ascii(res.detail, sizeof(res.detail), why.msg);
    tell(b->s, b->sum, b->seeds[b->told++], &res);
    return 0;
}

static int run_kit(const struct seedrun *s, const struct seedlist *l, int64_t deadline_ms,
                   struct seedrun_sum *sum, struct err *err)
{
    struct batch b = {.s = s, .sum = sum};
    size_t pos = 0;
    int r = 0;

    while (r == 0 && !sum->over && batch_next(l, &pos, &b)) {
        while (r == 0 && !sum->over && b.told < b.n) {
            struct kitrun_end end = {0};

            r = run_next(&b, b.n - b.told, deadline_ms, &end, err);
            if (r < 0 && end.lost)
                r = run_suspect(&b, deadline_ms, err);
        }
    }
    return r;
}

static bool cancelled(const struct seedrun *s)
{
    return s->prog.cancel != NULL && *s->prog.cancel != 0;
}

static int run_foreign(const struct seedrun *s, const struct seedlist *l, int64_t deadline_ms,
                       struct seedrun_sum *sum, struct err *err)
{
    struct replay_program prog = s->prog;
    int first = 0;

    if (prog.timeout_ms <= 0)
        prog.timeout_ms = FOREIGN_LIMIT_MS;
    for (size_t i = 0; i < l->n; i++) {
        struct replay_run run = {0};
        struct verdict_of_run v = {0};
        struct seedrun_result res = {0};
        int r;

        if (l->v[i].error != 0)
            continue;
        if (deadline_ms > 0 && clock_now_ms() >= deadline_ms) {
            sum->over = true;
            break;
        }
        /* A link was listed for where it leads. */
        cleanup_free char *real = realpath(l->v[i].path, NULL);
        struct err why = {0};

        r = replay_once(&prog, real != NULL ? real : l->v[i].path, &run, &why);
        if (r < 0 && cancelled(s))
            return err_set(err, -ECANCELED, "%s: interrupted", prog.path);
        if (r < 0) {
            /* One that cannot be run keeps the others from nothing. */
            if (first == 0)
                first = err_set(err, r, "%s", why.msg);
            continue;
        }
        classify_run(&run, s->target, s->build_id, &v);
        res.pass = v.evidence == EVIDENCE_NONE;
        (void)strlcpy(res.class_, res.pass ? "pass" : v.class_, sizeof(res.class_));
        (void)strlcpy(res.inv, res.pass ? "" : v.kind, sizeof(res.inv));
        (void)strlcpy(res.detail, res.pass ? "" : v.signature, sizeof(res.detail));
        res.signal = run.end == REPLAY_SIGNAL ? run.code : run.end == REPLAY_OOM ? SIGKILL : 0;
        res.ms = (double)run.wall_ms;
        replay_run_clear(&run);
        tell(s, sum, &l->v[i], &res);
    }
    return first;
}

int seedrun_all(const struct seedrun *s, const struct seedlist *l, struct seedrun_sum *ret,
                struct err *err)
{
    int64_t deadline_ms = s->budget_ms > 0 ? clock_now_ms() + s->budget_ms : 0;
    int r;

    memset(ret, 0, sizeof(*ret));
    r = s->prog.kit ? run_kit(s, l, deadline_ms, ret, err)
                    : run_foreign(s, l, deadline_ms, ret, err);
    ret->left = count_readable(l) - ret->passed - ret->failed;
    return r;
}

static void on_nothing(void *ctx, size_t i, const struct kitrun_line *line)
{
    (void)ctx;
    (void)i;
    (void)line;
}

int seedrun_start(const struct seedrun *s, struct seedrun_sum *ret, struct err *err)
{
    const char *path = "/dev/null", *tmp = getenv("TMPDIR");
    cleanup_free char *empty =
        xasprintf("%s/fz-empty.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    cleanup_close int fd = mkstemp(empty);
    struct kitrun_end end = {0};
    struct kitrun k = {.prog = &s->prog, .paths = &path, .n = 1, .fn = on_nothing};
    int r;

    memset(ret, 0, sizeof(*ret));
    if (fd < 0)
        return err_sys(err, -errno, "%s", empty);
    path = empty;
    r = kitrun(&k, &end, err);
    (void)unlink(empty);
    ret->self_test = end.self_test;
    (void)strlcpy(ret->words, end.words, sizeof(ret->words));
    return r;
}

/* One short run with its output. 0 with a result to clear, or -errno; a run that did not end well is one. */
static int run_plain(const struct seedrun *s, const struct strv *argv, int64_t timeout_ms,
                     size_t max_out, struct proc_result *ret, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *dir =
        xasprintf("%s/fz-replay.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    struct strv env = {0};
    struct proc_spec ps = {.argv = argv,
                           .env = &env,
                           .cwd = dir,
                           .timeout_ms = timeout_ms,
                           .max_out = max_out,
                           .sweep = true,
                           .cancel = s->prog.cancel,
                           .cgroup_procs_fd = {-1, -1, -1, -1}};
    char how[64];
    int r;

    if (drop_mkdtemp(dir) < 0)
        return err_sys(err, -errno, "%s", dir);
    replay_env_make(&s->prog, &env);
    replay_env_scratch(dir, &env);
    r = proc_run(&ps, ret, err);
    if (r == 0 && (ret->timed_out || !WIFEXITED(ret->status) || WEXITSTATUS(ret->status) != 0)) {
        r = err_set(err, ret->timed_out ? -ETIME : -ECHILD, "%s %s: %s", s->prog.path, argv->v[1],
                    ret->timed_out ? "no end in time"
                                   : proc_status_text(how, sizeof(how), ret->status));
        proc_result_clear(ret);
    }
    strv_clear(&env);
    (void)path_remove_tree(dir);
    return r;
}

int seedrun_required(const struct seedrun *s, json_t **ret, struct err *err)
{
    struct proc_result pr = {0};
    struct strv argv = {0};
    json_t *ids = json_array();
    char *rest, *line;
    int r;

    strv_add(&argv, s->prog.path);
    strv_add(&argv, "--required");
    r = run_plain(s, &argv, REQUIRED_MS, REQUIRED_MAX, &pr, err);
    for (rest = r == 0 ? pr.out : NULL; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != '\0' && json_array_append_new(ids, json_string(line)) < 0)
            r = err_set(err, -EPROTO, "%s --required printed an id that is no text", s->prog.path);
    }
    if (pr.out != NULL)
        proc_result_clear(&pr);
    strv_clear(&argv);
    if (r < 0)
        json_decref(ids);
    else
        *ret = ids;
    return r;
}

int seedrun_reach(const struct seedrun *s, const struct seedlist *l, json_t **ret, struct err *err)
{
    int64_t one_ms = s->prog.timeout_ms > 0 ? s->prog.timeout_ms : KITRUN_TIMEOUT;
    json_t *sum = json_object();
    struct batch b = {.s = s};
    size_t pos = 0;
    int r = 0;

    while (r == 0 && batch_next(l, &pos, &b)) {
        struct proc_result pr = {0};
        struct strv argv = {0};

        strv_add(&argv, s->prog.path);
        strv_add(&argv, "--reach");
        strv_add(&argv, "--timeout");
        strv_addf(&argv, "%lld", (long long)one_ms);
        for (size_t i = 0; i < b.n; i++)
            strv_add(&argv, b.paths[i]);
        r = run_plain(s, &argv, KITRUN_SILENT_MS + (one_ms + 1000) * (int64_t)b.n, REACH_MAX_BYTES,
                      &pr, err);
        if (r == 0 && !reach_add(pr.out, sum))
            r = err_set(err, -EPROTO, "%s --reach printed no counts", s->prog.path);
        if (pr.out != NULL)
            proc_result_clear(&pr);
        strv_clear(&argv);
    }
    if (r < 0)
        json_decref(sum);
    else
        *ret = sum;
    return r;
}
