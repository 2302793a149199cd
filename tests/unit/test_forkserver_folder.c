/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inputs do to the folder that their program works in, and to the file that it reads, is theirs: the next input has
 * its file, and none is ended for the files of others.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "engine/forkserver.h"
#include "engine/map.h"
#include "engine/native.h"
#include "engine/runner.h"
#include "plan/elfprobe.h"
#include "census.h"

static char dir[] = "/tmp/fz-folder.XXXXXX";
static char *build; /* the folder of tests/ */
static struct strv litters;

struct fixture {
    char *path;
    struct strv args;
    struct forkserver_opts opts;
};

static struct fixture fixture(const char *name, const char *arg)
{
    struct fixture f = {.path = path_join(build, name)};
    struct elfprobe elf;
    struct err err = {0};

    if (elfprobe_read(f.path, &elf, &err) < 0)
        fail_msg("%s", err.msg);
    if (arg != NULL)
        strv_add(&f.args, arg);
    f.opts = (struct forkserver_opts){.path = f.path,
                                      .scratch = dir,
                                      .env = &litters,
                                      .persistent = elf.persistent,
                                      .deferred = elf.deferred,
                                      .run_ms = 2000};
    return f;
}

static void fixture_clear(struct fixture *f)
{
    free(f->path);
    strv_clear(&f->args);
}

static const char *const spoilers[] = {"U", "Um", "Us", "Ud", "Ur", "Ul"};
#define SPOILERS (sizeof(spoilers) / sizeof(*spoilers))

static void run(struct forkserver *fs, const char *input, struct forkserver_run *ret)
{
    struct err err = {0};

    if (forkserver_run(fs, input, strlen(input), ret, &err) < 0)
        fail_msg("%s: %s", input, err.msg);
}

static void the_next_input_has_its_file_whatever_became_of_the_last(void **state)
{
    struct fixture f = fixture("engine/stdin", "@@");
    struct forkserver *fs = NULL;
    struct forkserver_run r;
    struct err err = {0};
    uint64_t hash;

    (void)state;
    f.opts.args = &f.args;
    assert_int_equal(forkserver_open(&f.opts, &fs, &err), 0);
    run(fs, "abc", &r);
    hash = map_hash(forkserver_map(fs), forkserver_map_bytes(fs));
    for (size_t i = 0; i < SPOILERS; i++) {
        run(fs, spoilers[i], &r);
        assert_int_equal(r.exit_code, 0);
        run(fs, "abc", &r);
        if (r.exit_code != 0 || hash != map_hash(forkserver_map(fs), forkserver_map_bytes(fs)))
            fail_msg("behind %s: exit code %d", spoilers[i], r.exit_code);
        run(fs, "A", &r);
        assert_int_equal(r.end, FORKSERVER_CRASH);
    }
    assert_int_equal(forkserver_starts(fs), 1);
    forkserver_close(fs);
    fixture_clear(&f);
}

static void and_has_it_where_each_input_is_a_process(void **state)
{
    struct fixture f = fixture("engine/stdin", "@@");
    struct native *n = NULL;
    struct forkserver_run r;
    struct err err = {0};

    (void)state;
    f.opts.args = &f.args;
    assert_int_equal(native_open(&f.opts, &n, &err), 0);
    for (size_t i = 0; i < SPOILERS; i++) {
        assert_int_equal(native_run(n, spoilers[i], strlen(spoilers[i]), &r, &err), 0);
        assert_int_equal(r.exit_code, 0);
        assert_int_equal(native_run(n, "E", 1, &r, &err), 0);
        assert_int_equal(r.exit_code, 3);
    }
    /* One process does not see what another left. */
    assert_int_equal(native_run(n, "I", 1, &r, &err), 0);
    assert_int_equal(native_run(n, "Q", 1, &r, &err), 0);
    assert_int_equal(r.end, FORKSERVER_OK);
    native_close(n);
    fixture_clear(&f);
}

static void two_servers_do_not_share_a_folder(void **state)
{
    struct fixture f = fixture("engine/stdin", "@@");
    struct forkserver *a = NULL, *b = NULL;
    struct forkserver_run r;
    struct err err = {0};

    (void)state;
    f.opts.args = &f.args;
    assert_int_equal(forkserver_open(&f.opts, &a, &err), 0);
    assert_int_equal(forkserver_open(&f.opts, &b, &err), 0);
    run(a, "I", &r);
    run(b, "Q", &r);
    assert_int_equal(r.end, FORKSERVER_OK);
    forkserver_close(a);
    run(b, "A", &r);
    assert_int_equal(r.end, FORKSERVER_CRASH);
    forkserver_close(b);
    assert_int_equal(rmdir(dir), 0); /* both are gone */
    assert_int_equal(mkdir(dir, 0700), 0);
    fixture_clear(&f);
}

/* ---- files that take too much ---- */
static const char *const littering[] = {"abc", "I", "Q", "abc", "Q", "9", "Q"};
#define LITTERING (sizeof(littering) / sizeof(*littering))

struct outcomes {
    enum forkserver_end end[LITTERING];
    bool after_others[LITTERING];
};

static int read_input(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    (void)ctx;
    *ret_size = strlen(littering[index]);
    *ret_data = xmalloc(*ret_size + 1);
    memcpy(*ret_data, littering[index], *ret_size + 1);
    return 0;
}

static void input_done(void *ctx, const struct runner_result *r)
{
    struct outcomes *o = ctx;

    o->end[r->index] = r->code < 0 ? FORKSERVER_LOST : r->run.end;
    o->after_others[r->index] = r->after_others;
}

static void nobody_is_ended_for_the_files_of_others(void **state)
{
    static const struct {
        const char *name;
        enum runner_engine engine;
    } ways[] = {{"engine/persistent", RUNNER_FORK},
                {"engine/stdin", RUNNER_FORK},
                {"engine/stdin", RUNNER_NATIVE},
                {"engine/kit-afl", RUNNER_BATCH},
                {"engine/kit-afl", RUNNER_FORK}};

    (void)state;
    for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
        struct fixture f = fixture(ways[w].name, NULL);
        struct outcomes o = {0};
        struct runner_job job = {.program = f.opts,
                                 .engine = ways[w].engine,
                                 .inputs = LITTERING,
                                 .workers = 1,
                                 .read = read_input,
                                 .done = input_done,
                                 .ctx = &o};
        struct err err = {0};

        if (runner_run(&job, &err) < 0)
            fail_msg("%s", err.msg);
        for (size_t i = 0; i < LITTERING; i++) {
            const enum forkserver_end want =
                littering[i][0] == '9' ? FORKSERVER_CRASH : FORKSERVER_OK;

            if (o.end[i] != want || o.after_others[i])
                fail_msg("%s by %s, input %zu: end %d%s", ways[w].name,
                         runner_engine_name(ways[w].engine), i, (int)o.end[i],
                         o.after_others[i] ? " behind others" : "");
        }
        fixture_clear(&f);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, census_begin, census_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_next_input_has_its_file_whatever_became_of_the_last),
        T(and_has_it_where_each_input_is_a_process),
        T(two_servers_do_not_share_a_folder),
        T(nobody_is_ended_for_the_files_of_others),
    };
    cleanup_free char *self = path_self_dir();
    int failed;

    if (mkdtemp(dir) == NULL)
        return 1;
    build = path_join(self, "..");
    strv_add(&litters, "LITTER=1");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    path_remove_tree(dir);
    free(build);
    strv_clear(&litters);
    return failed;
}
