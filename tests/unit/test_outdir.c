/* SPDX-License-Identifier: Apache-2.0 */
/* What a resume finds: nothing of the queue is lost, nothing unfit stays in the way, nothing is deleted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "farm/outdir.h"

static char top[64], out[96], told[200];

static char *at(const char *name)
{
    static char path[4][400];
    static int n;

    n = (n + 1) % 4;
    (void)snprintf(path[n], sizeof(path[n]), "%s/%s", out, name);
    return path[n];
}

static void put(const char *name, const char *text)
{
    assert_int_equal(file_write_atomic(AT_FDCWD, at(name), text, strlen(text), 0600), 0);
}

static void folder(const char *name)
{
    assert_int_equal(path_mkdirs(at(name), 0700), 0);
}

static bool is_there(const char *name)
{
    struct stat st;

    return lstat(at(name), &st) == 0;
}

static void holds(const char *name, const char *want)
{
    cleanup_free char *text = NULL;
    size_t size;

    assert_int_equal(file_read(AT_FDCWD, at(name), 4096, &text, &size), 0);
    assert_string_equal(text, want);
}

static bool stats_usable(void)
{
    cleanup_free char *text = NULL;
    size_t size;

    return file_read(AT_FDCWD, at("fuzzer_stats"), 4096, &text, &size) == 0 &&
           outdir_stats_usable(text);
}

static void mend(bool strict)
{
    assert_int_equal(outdir_mend(top, out, strict, told, sizeof(told)), 0);
}

#define GOOD "start_time        : 5\nlast_update       : 7\nrun_time          : 2\n"

static int setup(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof(top), "/tmp/fz-outdir.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    (void)snprintf(out, sizeof(out), "%s/out", top);
    folder("queue/.state/deterministic_done");
    folder("crashes");
    folder("hangs");
    put("queue/id:000000,orig:a", "a");
    put("queue/id:000001,src:000000", "b");
    put("fuzzer_stats", GOOD);
    put("fuzz_bitmap", "map");
    put("plot_data", "# x\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return path_remove_tree(top);
}

static void a_sound_folder_stays_as_it_is(void **state)
{
    (void)state;
    mend(false);
    assert_string_equal(told, "");
    holds("fuzzer_stats", GOOD);
    holds("fuzz_bitmap", "map");
    assert_false(is_there(OUTDIR_ASIDE));
}

static void a_folder_that_is_not_there_is_no_fault(void **state)
{
    (void)state;
    (void)path_remove_tree(out);
    mend(false);
    assert_false(is_there(""));
}

static void figures_that_cannot_be_read_go_aside_and_the_queue_can_be_resumed(void **state)
{
    static const char *const bad[] = {"",
                                      "start_time        : 5\n",
                                      "start_time        : x\nlast_update       : 7\n",
                                      "start_time        : 5\nlast_upd",
                                      "\001\002\003",
                                      "last_update       : 7\nstart_time        : 5\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put("fuzzer_stats", bad[i]);
        mend(false);
        assert_string_equal(told, "fuzzer_stats");
        assert_true(stats_usable());
        assert_true(is_there("queue/id:000001,src:000000"));
    }
}

static void figures_that_are_missing_are_put_there_or_the_queue_would_be_deleted(void **state)
{
    (void)state;
    assert_int_equal(unlink(at("fuzzer_stats")), 0);
    mend(false);
    assert_true(stats_usable());
}

static void figures_in_the_form_of_a_folder_a_link_or_a_fifo_go_aside(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(unlink(at("fuzzer_stats")), 0);
        if (i == 0)
            folder("fuzzer_stats/x");
        else if (i == 1)
            assert_int_equal(symlink("/etc/passwd", at("fuzzer_stats")), 0);
        else
            assert_int_equal(mkfifo(at("fuzzer_stats"), 0600), 0);
        mend(false);
        assert_string_equal(told, "fuzzer_stats");
        assert_true(stats_usable());
    }
}

static void a_queue_that_is_gone_begins_anew_and_what_was_found_stays(void **state)
{
    (void)state;
    put("crashes/id:000000,sig:06", "boom");
    assert_int_equal(path_remove_tree(at("queue")), 0);
    mend(false);
    assert_string_equal(told, "fuzzer_stats");
    assert_false(is_there("fuzzer_stats"));
    assert_false(is_there("crashes"));
    assert_false(is_there("hangs"));
}

static void a_resume_that_was_cut_off_loses_nothing_of_the_queue(void **state)
{
    (void)state;
    /* In the middle of clearing _resume: the queue is whole, _resume is not. */
    folder("_resume/.state/deterministic_done");
    put("_resume/.state/deterministic_done/id:000000,orig:a", "");
    assert_int_equal(link(at("queue/id:000000,orig:a"), at("_resume/id:000000,orig:a")), 0);
    /* In the middle of filling the queue: this one is not there yet. */
    put("_resume/id:000002,src:000001", "c");
    /* Of one name, and another content. */
    put("_resume/id:000001,src:000000", "other");
    mend(false);
    assert_false(is_there("_resume"));
    holds("queue/id:000000,orig:a", "a");
    holds("queue/id:000001,src:000000", "b");
    holds("queue/id:000001,src:000000,resumed", "other");
    holds("queue/id:000002,src:000001", "c");
    assert_string_equal(told, "");
}

static void a_queue_that_was_only_renamed_is_renamed_back(void **state)
{
    (void)state;
    assert_int_equal(rename(at("queue"), at("_resume")), 0);
    mend(false);
    assert_false(is_there("_resume"));
    holds("queue/id:000001,src:000000", "b");
    assert_true(stats_usable());
}

static void what_is_foreign_in_a_resume_goes_aside_with_it(void **state)
{
    (void)state;
    folder("_resume/sub");
    mend(false);
    assert_string_equal(told, "_resume");
    assert_false(is_there("_resume"));
}

static void after_a_refusal_all_but_queue_and_findings_goes_aside(void **state)
{
    (void)state;
    folder("queue/sub");
    put("queue/.state/zzz", "x");
    put("queue/note", "x");
    put("fastresume.bin", "xx");
    put("crashes/id:000000,sig:06", "boom");
    mend(true);
    assert_true(stats_usable());
    assert_false(is_there("fuzz_bitmap"));
    assert_false(is_there("fastresume.bin"));
    assert_false(is_there("queue/sub"));
    assert_false(is_there("queue/.state"));
    assert_false(is_there("queue/note"));
    holds("queue/id:000001,src:000000", "b");
    holds("crashes/id:000000,sig:06", "boom");
    mend(true);
    holds("queue/id:000001,src:000000", "b");
}

static void a_link_at_the_place_of_a_folder_is_refused(void **state)
{
    static const char *const names[] = {"queue", "crashes", "hangs", "_resume", ".synced"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char kept[400];

        (void)snprintf(kept, sizeof(kept), "%s.kept", at("queue"));
        bool was = is_there(names[i]);
        if (was)
            assert_int_equal(rename(at(names[i]), kept), 0);
        assert_int_equal(symlink("/tmp", at(names[i])), 0);
        assert_int_equal(outdir_mend(top, out, true, told, sizeof(told)), -ELOOP);
        assert_string_equal(told, "");
        assert_int_equal(unlink(at(names[i])), 0);
        if (was)
            assert_int_equal(rename(kept, at(names[i])), 0);
    }
    assert_int_equal(rename(at("queue"), at("real")), 0);
    assert_int_equal(symlink("real", at("queue")), 0);
    assert_int_equal(outdir_mend(top, out, false, told, sizeof(told)), -ELOOP);
    holds("real/id:000001,src:000000", "b");
}

static void an_instance_folder_or_out_that_is_a_link_is_refused(void **state)
{
    char kept[200];

    (void)state;
    (void)snprintf(kept, sizeof(kept), "%s/real", top);
    assert_int_equal(rename(out, kept), 0);
    assert_int_equal(symlink("real", out), 0);
    assert_int_equal(outdir_mend(top, out, false, told, sizeof(told)), -ELOOP);
    assert_int_equal(unlink(out), 0);
    assert_int_equal(rename(kept, out), 0);
    mend(false);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sound_folder_stays_as_it_is),
        TEST(a_folder_that_is_not_there_is_no_fault),
        TEST(figures_that_cannot_be_read_go_aside_and_the_queue_can_be_resumed),
        TEST(figures_that_are_missing_are_put_there_or_the_queue_would_be_deleted),
        TEST(figures_in_the_form_of_a_folder_a_link_or_a_fifo_go_aside),
        TEST(a_queue_that_is_gone_begins_anew_and_what_was_found_stays),
        TEST(a_resume_that_was_cut_off_loses_nothing_of_the_queue),
        TEST(a_queue_that_was_only_renamed_is_renamed_back),
        TEST(what_is_foreign_in_a_resume_goes_aside_with_it),
        TEST(after_a_refusal_all_but_queue_and_findings_goes_aside),
        TEST(a_link_at_the_place_of_a_folder_is_refused),
        TEST(an_instance_folder_or_out_that_is_a_link_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
