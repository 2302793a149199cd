/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch mode against the fork server of the same build, input by input; with a harness whose inputs
 * end in every way; and with one that lies in every word it can. Each test ends with the same
 * processes, descriptors and segments as it began with.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "engine/batch.h"
#include "engine/runner.h"
#include "plan/elfprobe.h"
#include "census.h"

#define INPUTS  1200 /* of each target, its seeds among them */
#define TARGETS 4
#define ENDS_MS 800 /* the fork server counts time in which a loaded host lets nobody run */

static char dir[] = "/tmp/fz-batch.XXXXXX";
static char *build; /* the folder of tests/ and harnesses/ */

/* ---- inputs and what came of them ---- */
struct outcome {
    int calls, code;
    struct forkserver_run run;
    bool after_others;
    uint64_t hash;
    size_t edges;
    char text[256];
    uint8_t *map;
};

struct set {
    uint8_t **data;
    size_t *size, n;
    bool back; /* handed out from the last to the first */
    struct outcome *out;
};

static size_t place(const struct set *s, size_t index)
{
    return s->back ? s->n - 1 - index : index;
}

static int read_one(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    const struct set *s = ctx;
    const size_t at = place(s, index);

    *ret_data = s->data[at];
    *ret_size = s->size[at];
    return 0;
}

static void done_one(void *ctx, const struct runner_result *r)
{
    struct set *s = ctx;
    struct outcome *o = &s->out[place(s, r->index)];

    o->calls++;
    o->code = r->code;
    o->run = r->run;
    o->after_others = r->after_others;
    if (r->code < 0)
        return;
    o->hash = r->map_hash;
    o->edges = r->edges;
    (void)snprintf(o->text, sizeof(o->text), "%.*s", (int)r->text_bytes, r->text);
    free(o->map);
    o->map = NULL;
    if (r->map != NULL) {
        o->map = xmalloc(r->map_bytes);
        memcpy(o->map, r->map, r->map_bytes);
    }
}

static void set_add(struct set *s, const void *data, size_t size)
{
    s->data = xreallocarray(s->data, s->n + 1, sizeof(*s->data));
    s->size = xreallocarray(s->size, s->n + 1, sizeof(*s->size));
    s->data[s->n] = xmalloc(size + 1);
    memcpy(s->data[s->n], data, size);
    s->size[s->n++] = size;
}

static void outcomes_free(struct outcome *out, size_t n)
{
    for (size_t i = 0; out != NULL && i < n; i++)
        free(out[i].map);
    free(out);
}

static void set_clear(struct set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->data[i]);
    free(s->data);
    free(s->size);
}

/* Seeds of a target, and variants of them: the same every time. */
static void set_fill(struct set *s, const char *target)
{
    cleanup_free char *path = xasprintf("seeds/%s", target);
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    uint32_t state = 12345;
    size_t seeds;

    assert_true(n > 2);
    for (int i = 0; i < n; i++) {
        cleanup_free char *file = path_join(path, names[i]->d_name);
        cleanup_free char *data = NULL;
        size_t size;

        if (names[i]->d_name[0] != '.' && strcmp(names[i]->d_name, "README.txt") != 0) {
            assert_int_equal(file_read(AT_FDCWD, file, 1 << 20, &data, &size), 0);
            set_add(s, data, size);
        }
        free(names[i]);
    }
    free(names);
    seeds = s->n;
    for (size_t i = 0; s->n < INPUTS + seeds; i++) {
        size_t size = s->size[i % seeds] < 4000 ? s->size[i % seeds] : 4000;
        cleanup_free uint8_t *data = xmalloc(size + 1);

        memcpy(data, s->data[i % seeds], size);
        for (size_t k = 0; k <= i % 5 && size > 0; k++) {
            state = state * 1103515245U + 12345U;
            data[state / 7 % size] = (uint8_t)(state >> 16);
            size -= size > 1 && state % 11 == 0;
        }
        set_add(s, data, size);
    }
}

static struct outcome *run_set(struct set *s, const char *program, enum runner_engine engine,
                               int workers, int64_t run_ms)
{
    struct runner_job job = {.program = {.path = program, .run_ms = run_ms},
                             .engine = engine,
                             .inputs = s->n,
                             .workers = workers,
                             .read = read_one,
                             .read_keeps = true,
                             .done = done_one,
                             .ctx = s};
    struct elfprobe elf;
    struct err err = {0};

    assert_int_equal(elfprobe_read(program, &elf, &err), 0);
    assert_true(elf.batch);
    job.program.persistent = elf.persistent;
    job.program.deferred = elf.deferred;
    s->out = xcalloc(s->n, sizeof(*s->out));
    if (runner_run(&job, &err) < 0)
        fail_msg("%s: %s", program, err.msg);
    for (size_t i = 0; i < s->n; i++)
        assert_int_equal(s->out[i].calls, 1);
    return s->out;
}

static void assert_same(const char *program, const struct set *s, const struct outcome *a,
                        const struct outcome *b, size_t map_bytes)
{
    for (size_t i = 0; i < s->n; i++) {
        if (a[i].code != b[i].code || a[i].run.end != b[i].run.end ||
            a[i].run.signo != b[i].run.signo || a[i].run.exit_code != b[i].run.exit_code)
            fail_msg("%s: input %zu: end %d %d %d, in a batch %d %d %d", program, i, a[i].run.end,
                     a[i].run.signo, a[i].run.exit_code, b[i].run.end, b[i].run.signo,
                     b[i].run.exit_code);
        /* Where a run was cut off is chance, and how far a second process came. */
        if (a[i].run.end == FORKSERVER_TIMEOUT || a[i].run.end == FORKSERVER_LOST ||
            (s->size[i] == 1 && s->data[i][0] == 'F'))
            continue;
        if (a[i].hash != b[i].hash || a[i].edges != b[i].edges ||
            memcmp(a[i].map, b[i].map, map_bytes) != 0)
            fail_msg("%s: input %zu: %zu edges, in a batch %zu", program, i, a[i].edges,
                     b[i].edges);
    }
}

static size_t map_bytes_of(const char *program)
{
    struct forkserver_opts o = {.path = program};
    struct batch *b = NULL;
    struct err err = {0};
    size_t n;

    if (batch_open(&o, 0, &b, &err) < 0)
        fail_msg("%s", err.msg);
    n = batch_map_bytes(b);
    batch_close(b);
    return n;
}

static void equal_in_two_orders(const char *target, const char *variant)
{
    cleanup_free char *program = xasprintf("%s/harnesses/%s/%s", build, target, variant);
    const size_t map_bytes = map_bytes_of(program);
    struct set s = {0};
    struct outcome *one_by_one, *batch, *back, *both;

    set_fill(&s, target);
    one_by_one = run_set(&s, program, RUNNER_FORK, 1, 5000);
    batch = run_set(&s, program, RUNNER_BATCH, 1, 5000);
    assert_same(program, &s, one_by_one, batch, map_bytes);
    s.back = true;
    back = run_set(&s, program, RUNNER_BATCH, 1, 5000);
    assert_same(program, &s, one_by_one, back, map_bytes);
    both = run_set(&s, program, RUNNER_BATCH, 2, 5000);
    assert_same(program, &s, one_by_one, both, map_bytes);
    outcomes_free(one_by_one, s.n);
    outcomes_free(batch, s.n);
    outcomes_free(back, s.n);
    outcomes_free(both, s.n);
    set_clear(&s);
}

static void verdicts_and_maps_are_those_of_the_fork_server(void **state)
{
    static const char *const target[] = {"chunk_frame", "control_json", "negotiation_frame",
                                         "session_opseq"};
    static const char *const variant[] = {"afl", "cmplog", "laf", "asan"};

    (void)state;
    for (size_t t = 0; t < TARGETS; t++) {
        for (size_t v = 0; v < 4; v++)
            equal_in_two_orders(target[t], variant[v]);
    }
}

/* ---- every way to end ---- */
static const char *const ends[] = {"abc", "A1", "az\xff", "S",  "9", "abd", "G", "L",
                                   "E",   "O",  "K",      "W",  "P", "Ab",  "F", "D",
                                   "C",   "",   "zzz",    "A2", "Q", "m",   "",  "abe"};
#define ENDS (sizeof(ends) / sizeof(*ends))

static void ends_set(struct set *s)
{
    for (size_t i = 0; i < ENDS; i++) {
        set_add(s, ends[i], strlen(ends[i]));
        for (size_t k = 0; k < 40; k++) {
            char well[16];

            set_add(s, well, (size_t)snprintf(well, sizeof(well), "m%zu-%zu", i, k));
        }
    }
}

static void a_bad_end_costs_that_input_only(void **state)
{
    static const char *const variant[] = {"kit-afl", "kit-asan"};

    (void)state;
    for (size_t v = 0; v < 2; v++) {
        cleanup_free char *program = xasprintf("%s/tests/engine/%s", build, variant[v]);
        const size_t map_bytes = map_bytes_of(program);
        struct set s = {0};
        struct outcome *one_by_one, *batch, *back;

        ends_set(&s);
        one_by_one = run_set(&s, program, RUNNER_FORK, 1, ENDS_MS);
        batch = run_set(&s, program, RUNNER_BATCH, 1, ENDS_MS);
        assert_same(program, &s, one_by_one, batch, map_bytes);
        s.back = true;
        back = run_set(&s, program, RUNNER_BATCH, 2, ENDS_MS);
        assert_same(program, &s, one_by_one, back, map_bytes);
        for (size_t i = 0; i < s.n; i++) {
            assert_false(batch[i].after_others);
            if (s.size[i] > 0 && s.data[i][0] == 'A')
                assert_non_null(strstr(batch[i].text, "class=invariant inv=K1 detail=byte"));
            if (s.size[i] > 0 && s.data[i][0] == 'C')
                assert_non_null(strstr(batch[i].text, "inv=K1 detail=unheard"));
            if (s.size[i] > 0 && s.data[i][0] == 'L')
                assert_true(batch[i].run.wall_us >= 290000);
        }
        outcomes_free(one_by_one, s.n);
        outcomes_free(batch, s.n);
        outcomes_free(back, s.n);
        set_clear(&s);
    }
}

static void who_fails_behind_others_only_is_told_apart(void **state)
{
    cleanup_free char *program = xasprintf("%s/tests/engine/kit-afl", build);
    struct set s = {0};
    struct outcome *o;

    (void)state;
    set_add(&s, "X", 1);
    set_add(&s, "x", 1);
    set_add(&s, "X", 1);
    set_add(&s, "abc", 3);
    for (size_t e = 0; e < 2; e++) {
        o = run_set(&s, program, e == 0 ? RUNNER_BATCH : RUNNER_FORK, 1, 1000);
        for (size_t i = 0; i < s.n; i++) {
            assert_int_equal(o[i].run.end, FORKSERVER_OK);
            assert_int_equal(o[i].after_others, i == 2);
        }
        outcomes_free(o, s.n);
    }
    set_clear(&s);
}

/* ---- the ring itself ---- */
struct count {
    size_t done, lost;
    enum forkserver_loss loss; /* of the last that was lost */
    size_t edges;
};

static void count_done(void *ctx, size_t index, const struct batch_result *r)
{
    struct count *c = ctx;

    (void)index;
    c->done++;
    c->lost += r->run.end == FORKSERVER_LOST;
    if (r->run.end == FORKSERVER_LOST)
        c->loss = r->run.loss;
    c->edges = r->edges;
}

static void large_inputs_many_inputs_and_fresh_processes(void **state)
{
    cleanup_free char *program = xasprintf("%s/tests/engine/kit-afl", build);
    struct forkserver_opts o = {.path = program};
    cleanup_free struct batch_input *in = xcalloc(25000, sizeof(*in));
    cleanup_free char *large = xcalloc(1, FORKSERVER_INPUT_BYTES + 1);
    struct count c = {0};
    const struct batch_calls calls = {.done = count_done, .ctx = &c};
    struct batch *b = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(batch_open(&o, 0, &b, &err), 0);
    for (size_t i = 0; i < 25000; i++)
        in[i] = (struct batch_input){"abc", 3};
    assert_int_equal(batch_run(b, in, 25000, &calls, &err), 0);
    assert_int_equal(c.done, 25000);
    assert_int_equal(c.lost, 0);
    assert_int_equal(batch_children(b), 3);
    assert_int_equal(batch_starts(b), 1);
    /* More than the ring holds at once. */
    for (size_t i = 0; i < 20; i++)
        in[i] = (struct batch_input){large, FORKSERVER_INPUT_BYTES - i};
    c = (struct count){0};
    assert_int_equal(batch_run(b, in, 20, &calls, &err), 0);
    assert_int_equal(c.done, 20);
    assert_int_equal(c.lost, 0);
    in[0].size = FORKSERVER_INPUT_BYTES + 1;
    assert_int_equal(batch_run(b, in, 1, &calls, &err), -EFBIG);
    assert_int_equal(c.done, 20);
    assert_int_equal(batch_run(b, in, 0, &calls, &err), 0);
    batch_close(b);
}

/* What it does told as what it is; where two words would do, neither is asked for. */
static void assert_told(const char *mode, enum forkserver_loss loss)
{
    static const struct {
        const char *mode;
        enum forkserver_loss loss;
    } told[] = {{"deaf", FORKSERVER_SILENT},       {"leaves", FORKSERVER_DIED},
                {"garbage", FORKSERVER_BABBLED},   {"pid-one", FORKSERVER_BABBLED},
                {"pid-none", FORKSERVER_BABBLED},  {"map-at", FORKSERVER_BABBLED},
                {"undone", FORKSERVER_BABBLED},    {"wrong-word", FORKSERVER_BABBLED},
                {"done-high", FORKSERVER_BABBLED}, {"done-none", FORKSERVER_BABBLED}};

    for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
        if (strcmp(told[i].mode, mode) == 0 && told[i].loss != loss)
            fail_msg("%s: told as %d, not %d", mode, (int)loss, (int)told[i].loss);
}

static void lie(const char *mode, bool opens, size_t lost)
{
    cleanup_free char *program = xasprintf("%s/tests/engine/liar", build);
    struct strv args = {0};
    struct forkserver_opts o = {.path = program, .args = &args, .start_ms = 1000, .run_ms = 50};
    const struct batch_input in[3] = {{"a", 1}, {"b", 1}, {"c", 1}};
    struct count c = {0};
    const struct batch_calls calls = {.done = count_done, .ctx = &c};
    int64_t began_ms = clock_now_ms();
    struct batch *b = NULL;
    struct err err = {0};
    int rc;

    strv_add(&args, mode);
    rc = batch_open(&o, 0, &b, &err);
    if (opens != (rc == 0))
        fail_msg("%s: open: %d %s", mode, rc, err.msg);
    if (rc < 0)
        assert_true(err.msg[0] != '\0');
    if (rc == 0) {
        rc = batch_run(b, in, 3, &calls, &err);
        if (rc == 0 && (c.done != 3 || c.lost != lost))
            fail_msg("%s: %zu results, %zu lost", mode, c.done, c.lost);
        if (rc == 0 && c.lost > 0)
            assert_told(mode, c.loss);
        if (rc < 0)
            assert_true(err.msg[0] != '\0' && c.done < 3);
    }
    batch_close(b);
    strv_clear(&args);
    if (clock_now_ms() - began_ms > 30000)
        fail_msg("%s: took %lld ms", mode, (long long)(clock_now_ms() - began_ms));
}

static void whatever_a_harness_writes_is_an_error_or_one_lost_input(void **state)
{
    static const char *const never_opens[] = {"silent",   "exits",     "dies",        "no-map",
                                              "huge-map", "bad-hello", "bad-version", "half-hello"};
    static const char *const all_lost[] = {
        "deaf",   "garbage",    "pid-one",       "pid-zero", "pid-none",  "ring",
        "never",  "index-high", "index-up-down", "hash",     "zero-hash", "other-map",
        "map-at", "map-at-one", "undone",        "state",    "said",      "closes",
        "leaves", "wrong-word", "done-high",     "done-none"};
    /* All have results by then. */
    static const char *const last_lost[] = {"ended", "ended-high", "ended-early"};

    (void)state;
    for (size_t i = 0; i < sizeof(never_opens) / sizeof(*never_opens); i++)
        lie(never_opens[i], false, 0);
    for (size_t i = 0; i < sizeof(all_lost) / sizeof(*all_lost); i++)
        lie(all_lost[i], true, 3);
    for (size_t i = 0; i < sizeof(last_lost) / sizeof(*last_lost); i++)
        lie(last_lost[i], true, 1);
    /* These lies are told to nobody. */
    lie("", true, 0);
    lie("cut", true, 0);
    lie("table", true, 0);
    lie("pid-engine", true, 0);
    lie("last", true, 0);
    lie("grows", true, 0);
}

static int rmdir_all(void **state)
{
    (void)state;
    free(build);
    return path_remove_tree(dir);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verdicts_and_maps_are_those_of_the_fork_server,
                                        census_begin, census_end),
        cmocka_unit_test_setup_teardown(a_bad_end_costs_that_input_only, census_begin, census_end),
        cmocka_unit_test_setup_teardown(who_fails_behind_others_only_is_told_apart, census_begin,
                                        census_end),
        cmocka_unit_test_setup_teardown(large_inputs_many_inputs_and_fresh_processes, census_begin,
                                        census_end),
        cmocka_unit_test_setup_teardown(whatever_a_harness_writes_is_an_error_or_one_lost_input,
                                        census_begin, census_end),
    };
    cleanup_free char *self = realpath(argv[0], NULL);
    char *at;

    (void)argc;
    if (self == NULL || mkdtemp(dir) == NULL)
        return 1;
    /* build/tests/unit/test_batch */
    for (int i = 0; i < 3 && (at = strrchr(self, '/')) != NULL; i++)
        *at = '\0';
    build = xstrdup(self);
    return cmocka_run_group_tests(tests, NULL, rmdir_all);
}
