/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of an instance that AFL++ would save no more into: their names, and the way of a queue from one into the next. */
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

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "farm/outdir.h"
#include "store/rotation.h"

struct place {
    char *state, *first, *second;
};

static void put(const char *dir, const char *name)
{
    cleanup_free char *path = path_join(dir, name);
    cleanup_free char *parent = path_dirname(path);

    assert_int_equal(path_mkdirs(parent, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, name, strlen(name), 0600), 0);
}

static bool there(const char *dir, const char *name)
{
    cleanup_free char *path = path_join(dir, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static int set_up(void **state)
{
    char dir[] = "/tmp/fz-rotation.XXXXXX";
    struct place *p = xcalloc(1, sizeof(*p));

    if (mkdtemp(dir) == NULL)
        return -1;
    p->state = xstrdup(dir);
    p->first = xasprintf("%s/out/t/main", dir);
    p->second = xasprintf("%s/out/t/main_r2", dir);
    put(p->first, "queue/id:000000,orig:a");
    put(p->first, "queue/.state/deterministic_done/id:000000,orig:a");
    put(p->first, ".synced/s1");
    put(p->first, "crashes/id:000000,sig:06");
    put(p->first, "fuzzer_stats");
    put(p->first, "is_main_node");
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;

    (void)path_remove_tree(p->state);
    free(p->state);
    free(p->first);
    free(p->second);
    free(p);
    return 0;
}

static void make_second(const struct place *p)
{
    assert_int_equal(mkdir(p->second, 0700), 0);
}

static void what_lies_in_the_way_of_the_next_folder_is_gone_around(void **state)
{
    const struct place *p = *state;
    cleanup_free char *link = rotation_of(p->first, 4);
    cleanup_free char *fifth = rotation_of(p->first, 5);

    make_second(p);
    put(p->state, "out/t/main_r3");
    assert_int_equal(symlink("main", link), 0);
    assert_int_equal(rotation_last(p->first), 2);
    assert_int_equal(rotation_free(p->first, 2), 5);
    assert_int_equal(rotation_free(p->first, 6), 6);
    assert_int_equal(rotation_free(p->first, ROTATION_MAX + 1), 0);
    assert_int_equal(mkdir(fifth, 0700), 0);
    assert_int_equal(rotation_last(p->first), 5);
    assert_int_equal(rotation_before(p->first, 5), 2);
    assert_int_equal(rotation_before(p->first, 2), 1);
    assert_true(rotation_is_folder(p->first, 1));
    assert_true(rotation_is_folder(p->first, 2));
    assert_false(rotation_is_folder(p->first, 3));
    assert_false(rotation_is_folder(p->first, 4));
    assert_false(rotation_is_folder(p->first, 6));
}

static void rotation_names_begin_with_the_second(void **state)
{
    (void)state;
    cleanup_free char *one = rotation_of("main", 1);
    cleanup_free char *two = rotation_of("main", 2);

    assert_string_equal(one, "main");
    assert_string_equal(two, "main_r2");
}

static void rotation_last_is_the_highest_folder(void **state)
{
    struct place *p = *state;
    cleanup_free char *newest = NULL;

    assert_int_equal(rotation_last(p->first), 1);
    put(p->first, "../main_r2/x");
    put(p->first, "../main_r10/x");
    assert_int_equal(rotation_last(p->first), 10);
    newest = rotation_newest(p->first);
    assert_string_equal(strrchr(newest, '/'), "/main_r10");
    assert_int_equal(rotation_last("/nowhere/main"), 1);
}

static void rotation_takes_nothing_else_for_a_folder(void **state)
{
    struct place *p = *state;

    put(p->first, "../main_r3"); /* a file */
    put(p->first, "../main_r04/x");
    put(p->first, "../main_r/x");
    put(p->first, "../main_r1x/x");
    put(p->first, "../main_r10000/x");
    put(p->first, "../main2_r5/x");
    assert_int_equal(rotation_last(p->first), 1);
}

static void take_over_moves_queue_and_marks_and_keeps_the_rest(void **state)
{
    struct place *p = *state;

    make_second(p);
    assert_int_equal(outdir_take_over(p->state, p->first, p->second), 0);
    assert_true(there(p->second, "queue/id:000000,orig:a"));
    assert_true(there(p->second, "queue/.state/deterministic_done/id:000000,orig:a"));
    assert_true(there(p->second, ".synced/s1"));
    assert_false(there(p->second, "crashes"));
    assert_false(there(p->first, "queue"));
    assert_false(there(p->first, "is_main_node"));
    assert_true(there(p->first, "crashes/id:000000,sig:06"));
    assert_true(there(p->first, "fuzzer_stats"));
}

static void take_over_is_done_once(void **state)
{
    struct place *p = *state;

    make_second(p);
    assert_int_equal(outdir_take_over(p->state, p->first, p->second), 0);
    put(p->first, "queue/id:000001,other");
    assert_int_equal(outdir_take_over(p->state, p->first, p->second), 0);
    assert_true(there(p->first, "queue/id:000001,other"));
    assert_true(there(p->second, "queue/id:000000,orig:a"));
}

static void take_over_goes_on_where_it_was_cut_off(void **state)
{
    struct place *p = *state;
    cleanup_free char *from = path_join(p->first, ".synced");
    cleanup_free char *to = path_join(p->second, ".synced");

    make_second(p);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(outdir_take_over(p->state, p->first, p->second), 0);
    assert_true(there(p->second, ".synced/s1"));
    assert_true(there(p->second, "queue/id:000000,orig:a"));
}

static void take_over_makes_a_cut_off_resume_whole(void **state)
{
    struct place *p = *state;

    make_second(p);
    put(p->first, "_resume/id:000001,src:000000");
    assert_int_equal(outdir_take_over(p->state, p->first, p->second), 0);
    assert_true(there(p->second, "queue/id:000000,orig:a"));
    assert_true(there(p->second, "queue/id:000001,src:000000"));
}

static void take_over_leaves_a_resume_of_the_new_folder_alone(void **state)
{
    struct place *p = *state;

    make_second(p);
    put(p->second, "_resume/id:000001,src:000000");
    assert_int_equal(outdir_take_over(p->state, p->first, p->second), 0);
    assert_true(there(p->first, "queue/id:000000,orig:a"));
    assert_false(there(p->second, "queue"));
}

static void take_over_follows_no_link(void **state)
{
    struct place *p = *state;
    cleanup_free char *queue = path_join(p->first, "queue");
    cleanup_free char *aside = path_join(p->state, "elsewhere");

    make_second(p);
    assert_int_equal(rename(queue, aside), 0);
    assert_int_equal(symlink(aside, queue), 0);
    assert_int_equal(outdir_take_over(p->state, p->first, p->second), -ELOOP);
    assert_false(there(p->second, "queue"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_lies_in_the_way_of_the_next_folder_is_gone_around,
                                        set_up, tear_down),
        cmocka_unit_test(rotation_names_begin_with_the_second),
        cmocka_unit_test_setup_teardown(rotation_last_is_the_highest_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rotation_takes_nothing_else_for_a_folder, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(take_over_moves_queue_and_marks_and_keeps_the_rest, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(take_over_is_done_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(take_over_goes_on_where_it_was_cut_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(take_over_makes_a_cut_off_resume_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(take_over_leaves_a_resume_of_the_new_folder_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(take_over_follows_no_link, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
