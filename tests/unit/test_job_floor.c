/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edges of a rejected input, as a job measures them: those that the fork server counts for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "engine/forkserver.h"
#include "engine/map.h"
#include "plan/elfprobe.h"
#include "triage/job.h"

static const char *build;

static json_t *floor_of(const char *path)
{
    json_t *job = json_pack("{s:s, s:s, s:{s:s, s:s, s:b, s:b}, s:I, s:[], s:[]}", "job", "floor",
                            "target", "t", "program", "role", "harness", "path", path, "kit", 0,
                            "asan", 0, "memory_bytes", (json_int_t)0, "args", "env");
    json_t *answer = job_run(job);

    json_decref(job);
    return answer;
}

/* What a campaign's first execution of it counts. */
static size_t edges_by_server(const char *path)
{
    struct forkserver_opts opts = {.path = path};
    struct forkserver_run run;
    struct forkserver *fs = NULL;
    struct elfprobe elf;
    struct err err = {0};
    size_t n;

    assert_int_equal(elfprobe_read(path, &elf, &err), 0);
    opts.persistent = elf.persistent;
    opts.deferred = elf.deferred;
    assert_int_equal(forkserver_open(&opts, &fs, &err), 0);
    assert_int_equal(forkserver_run(fs, "", 1, &run, &err), 0);
    n = map_edges(forkserver_map(fs), forkserver_map_bytes(fs));
    forkserver_close(fs);
    return n;
}

static void a_rejected_input_has_the_edges_that_a_campaign_counts(void **state)
{
    static const char *const programs[] = {"tests/engine/persistent", "tests/engine/stdin",
                                           "tests/engine/static", "tests/engine/kit-afl",
                                           "harnesses/chunk_frame/afl"};

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        cleanup_free char *path = xasprintf("%s/%s", build, programs[i]);
        json_t *answer = floor_of(path);

        assert_true(json_is_true(json_object_get(answer, "ok")));
        assert_int_equal(json_integer_value(json_object_get(answer, "edges")),
                         edges_by_server(path));
        json_decref(answer);
    }
}

static void what_cannot_be_measured_is_said(void **state)
{
    static const struct {
        const char *path, *words;
    } cases[] = {{"/bin/true", "is not built by AFL++"},
                 {"/nowhere/at/all", "/nowhere/at/all"},
                 {"", "no program"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *answer = floor_of(cases[i].path);
        const char *error = json_string_value(json_object_get(answer, "error"));

        assert_false(json_is_true(json_object_get(answer, "ok")));
        assert_non_null(error);
        assert_non_null(strstr(error, cases[i].words));
        json_decref(answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rejected_input_has_the_edges_that_a_campaign_counts),
        cmocka_unit_test(what_cannot_be_measured_is_said),
    };

    build = getenv("BUILD");
    if (build == NULL)
        build = "build";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
