/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzer_stats and StatsD as real afl-fuzz writes them, cut anywhere, and made up to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "farm/stats.h"

static char *load(const char *path, size_t *ret_size)
{
    char *text = NULL;

    assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &text, ret_size), 0);
    return text;
}

static void stats_reads_what_4_04c_writes(void **state)
{
    (void)state;
    struct stats st = {0};
    size_t size;
    char *text = load("tests/fixtures/stats/afl-4.04c/in", &size);

    assert_int_equal(stats_parse(text, size, &st), 0);
    assert_true(st.have_stats);
    assert_false(st.have_statsd);
    assert_int_equal(st.execs_done, 109752);
    assert_int_equal(st.fuzzer_pid, 24375);
    assert_int_equal((int64_t)(st.execs_per_sec * 100 + 0.5), 2210959);
    assert_int_equal((int64_t)(st.stability_pct * 100 + 0.5), 8571);
    assert_int_equal(st.edges_found, 7);
    assert_int_equal(st.total_edges, 16);
    assert_int_equal(st.saved_crashes, 1);
    assert_int_equal(st.cycles_wo_finds, 53);
    assert_string_equal(st.afl_version, "4.04c");
    free(text);
}

static void stats_reads_what_4_21c_writes(void **state)
{
    (void)state;
    struct stats st = {0};
    size_t size;
    char *text = load("tests/fixtures/stats/afl-4.21c/in", &size);

    assert_int_equal(stats_parse(text, size, &st), 0);
    assert_int_equal(st.execs_done, 2501234);
    assert_int_equal(st.edges_found, 1890);
    assert_int_equal(st.last_find_s, 1726000113);
    assert_int_equal(st.exec_timeout_ms, 40);
    /* It wrapped below zero. */
    assert_int_equal(st.pending_favs, 0);
    assert_int_equal(st.pending_total, 51);
    assert_string_equal(st.afl_version, "4.21c");
    free(text);
}

static void stats_torn_at_any_length_changes_nothing(void **state)
{
    (void)state;
    const struct stats before = {.execs_done = 42, .edges_found = 3};
    size_t size;
    char *text = load("tests/fixtures/stats/afl-4.04c/in", &size);

    for (size_t n = 0; n < size; n++) {
        /* Its own allocation, so that a sanitizer sees a read past the end. */
        char *cut = malloc(n + 1);
        struct stats st = before;

        assert_non_null(cut);
        memcpy(cut, text, n);
        assert_int_equal(stats_parse(cut, n, &st), -EAGAIN);
        assert_memory_equal(&st, &before, sizeof(st));
        free(cut);
    }
    free(text);
}

static void stats_skips_hostile_values(void **state)
{
    (void)state;
    struct stats st = {0};
    size_t size;
    char *text = load("tests/fixtures/stats/hostile/in", &size);

    assert_int_equal(stats_parse(text, size, &st), 0);
    assert_int_equal(st.edges_found, 77);
    assert_int_equal(st.start_time_s, 0);
    assert_int_equal(st.last_update_s, 0);
    assert_int_equal(st.execs_done, 0); /* not the one behind command_line either */
    assert_true(st.execs_per_sec >= 0 && st.execs_per_sec <= 0);
    assert_int_equal(st.corpus_count, 0);
    assert_int_equal(st.fuzzer_pid, 0);
    assert_int_equal(st.saved_crashes, 0);
    assert_string_equal(st.afl_version, "");
    free(text);
}

/* Read on behind the name of a key, some byte is zero as the one that ends it is. */
static void stats_knows_no_name_with_a_zero_byte_in_it(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 256; n++) {
        struct stats st = {0};
        char line[300] = "edges_found";

        memset(line + 12, 'x', n - 1);
        memcpy(line + 11 + n, " : 5\n", 5);
        (void)stats_parse(line, 11 + n + 5, &st);
        assert_int_equal(st.edges_found, 0);
    }
}

static void stats_refuses_an_endless_file(void **state)
{
    (void)state;
    struct stats st = {0};
    size_t size = STATS_MAX_BYTES + 1;
    char *text = malloc(size);

    assert_non_null(text);
    memset(text, '\n', size);
    assert_int_equal(stats_parse(text, size, &st), -EAGAIN);
    assert_int_equal(stats_parse(text, STATS_MAX_BYTES, &st), -EAGAIN);
    free(text);
}

static void statsd_reads_what_4_04c_sends(void **state)
{
    (void)state;
    struct stats st = {.stability_pct = 99.5, .total_edges = 16};
    char name[STATS_MAX_NAME];
    size_t size;
    char *text = load("tests/fixtures/statsd/afl-4.04c/in", &size);

    assert_int_equal(stats_parse_statsd(text, size, name, sizeof(name), &st), 0);
    assert_string_equal(name, "camp/tgt/main");
    assert_true(st.have_statsd);
    assert_int_equal(st.execs_done, 22747);
    assert_int_equal(st.cycles_done, 11);
    assert_int_equal(st.edges_found, 7);
    assert_int_equal(st.total_crashes, 1);
    assert_string_equal(st.afl_version, "4.04c");
    /* What StatsD does not carry stays. */
    assert_int_equal(st.total_edges, 16);
    assert_true(st.stability_pct > 99);
    free(text);
}

static void statsd_cut_at_any_length_is_read_by_whole_gauges(void **state)
{
    (void)state;
    char name[STATS_MAX_NAME];
    size_t size, taken = 0;
    char *text = load("tests/fixtures/statsd/afl-4.04c/in", &size);

    for (size_t n = 0; n < size; n++) {
        char *cut = malloc(n + 1);
        struct stats st = {0};

        assert_non_null(cut);
        memcpy(cut, text, n);
        if (stats_parse_statsd(cut, n, name, sizeof(name), &st) == 0) {
            taken++;
            assert_int_equal(strncmp(name, "camp/tgt/main", strlen(name)), 0);
            assert_true(st.execs_done == 0 || st.execs_done == 22747);
        }
        free(cut);
    }
    assert_true(taken > 0);
    free(text);
}

static void statsd_refuses_what_is_not_of_an_instance(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "fuzzing.execs_done:5|g",
        "fuzzing.execs_done:5|c|#banner:a/b/c",
        "fuzzing.execs_done:5|g|#afl_version:++4.04c",
        "fuzzing.execs_done:5|g|#banner:",
        "fuzzing.execs_done:-5|g|#banner:a/b/c",
        "fuzzing.execs_done:5e9|g|#banner:a/b/c",
        "fuzzing.unknown:5|g|#banner:a/b/c",
        "other.execs_done:5|g|#banner:a/b/c",
        "fuzzing.execs_done:99999999999999999999|g|#banner:a/b/c",
        /* two names in one datagram */
        "fuzzing.execs_done:5|g|#banner:a/b/c\nfuzzing.edges_found:5|g|#banner:a/b/d",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct stats before = {.execs_done = 42};
        struct stats st = before;
        char name[STATS_MAX_NAME];

        assert_int_equal(stats_parse_statsd(bad[i], strlen(bad[i]), name, sizeof(name), &st),
                         -EBADMSG);
        assert_memory_equal(&st, &before, sizeof(st));
    }
}

static void statsd_bounds_the_name(void **state)
{
    (void)state;
    char line[600] = "fuzzing.execs_done:5|g|#banner:", name[8];
    struct stats st = {0};
    size_t n = strlen(line);

    memset(line + n, 'a', 400);
    assert_int_equal(stats_parse_statsd(line, n + 400, name, sizeof(name), &st), -EBADMSG);
    assert_int_equal(stats_parse_statsd(line, n + 8, name, sizeof(name), &st), -EBADMSG);
    assert_int_equal(stats_parse_statsd(line, n + 7, name, sizeof(name), &st), 0);
    assert_string_equal(name, "aaaaaaa");
}

/* Figures of many instances are added up, and seconds become milliseconds. */
static void a_figure_that_could_wrap_a_sum_is_none(void **state)
{
    (void)state;
    static const char file[] = "execs_done : 140737488355327\nexecs_done : 140737488355328\n"
                               "edges_found : 999999999999999999\ncommand_line : x\n";
    static const char gram[] = "fuzzing.execs_done:140737488355328|g|#banner:a/b/c\n"
                               "fuzzing.edges_found:7|g|#banner:a/b/c\n";
    struct stats st = {0};
    char name[STATS_MAX_NAME];

    assert_int_equal(stats_parse(file, sizeof(file) - 1, &st), 0);
    assert_int_equal(st.execs_done, STATS_MAX_NUMBER);
    assert_int_equal(st.edges_found, 0);
    assert_int_equal(stats_parse_statsd(gram, sizeof(gram) - 1, name, sizeof(name), &st), 0);
    assert_int_equal(st.execs_done, STATS_MAX_NUMBER);
    assert_int_equal(st.edges_found, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stats_reads_what_4_04c_writes),
        cmocka_unit_test(stats_reads_what_4_21c_writes),
        cmocka_unit_test(stats_torn_at_any_length_changes_nothing),
        cmocka_unit_test(stats_skips_hostile_values),
        cmocka_unit_test(stats_knows_no_name_with_a_zero_byte_in_it),
        cmocka_unit_test(stats_refuses_an_endless_file),
        cmocka_unit_test(statsd_reads_what_4_04c_sends),
        cmocka_unit_test(statsd_cut_at_any_length_is_read_by_whole_gauges),
        cmocka_unit_test(statsd_refuses_what_is_not_of_an_instance),
        cmocka_unit_test(statsd_bounds_the_name),
        cmocka_unit_test(a_figure_that_could_wrap_a_sum_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
