/* SPDX-License-Identifier: Apache-2.0 */
/* The working folder of a job goes with its record, and nothing else goes, whatever a record says. */
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
#include "triage/scratch.h"

static char top[64], record[96];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof(top), "/tmp/fz-scratch.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    (void)snprintf(record, sizeof(record), "%s/triage.job", top);
    return setenv("TMPDIR", top, 1);
}

static int teardown(void **state)
{
    (void)state;
    return path_remove_tree(top);
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void put(const char *path, const char *text)
{
    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600), 0);
}

/* A folder with something in it, and the record that names it. Caller frees. */
static char *folder(const char *name, mode_t mode)
{
    char *path = path_join(top, name);
    cleanup_free char *file = path_join(path, "precious");

    assert_int_equal(mkdir(path, 0700), 0);
    put(file, "x");
    assert_int_equal(chmod(path, mode), 0);
    put(record, path);
    return path;
}

static void it_goes_with_its_record(void **state)
{
    cleanup_free char *dir = NULL;

    (void)state;
    assert_int_equal(scratch_make(record, &dir), 0);
    assert_true(is_there(dir));
    assert_true(is_there(record));
    scratch_remove(record, dir);
    assert_false(is_there(dir));
    assert_false(is_there(record));
}

static void one_that_was_left_is_swept(void **state)
{
    cleanup_free char *dir = NULL, *below = NULL;

    (void)state;
    assert_int_equal(scratch_make(record, &dir), 0);
    below = path_join(dir, "a/b");
    assert_int_equal(path_mkdirs(below, 0700), 0);
    scratch_sweep(record);
    assert_false(is_there(dir));
    assert_false(is_there(record));
    scratch_sweep(record);
}

static void names_that_we_do_not_give_are_left_alone(void **state)
{
    static const char *const names[] = {"precious", "fz-job.", "fz-job.0123456789abcdeg",
                                        "fz-job.0123456789abcdef0", "xfz-job.0123456789abcdef"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_free char *path = folder(names[i], 0700);

        scratch_sweep(record);
        assert_true(is_there(path));
        assert_false(is_there(record));
    }
}

static void a_link_or_an_open_folder_is_left_alone(void **state)
{
    cleanup_free char *target = folder("elsewhere", 0700);
    cleanup_free char *link = path_join(top, "fz-job.0123456789abcdef");
    cleanup_free char *open = NULL;

    (void)state;
    assert_int_equal(symlink(target, link), 0);
    put(record, link);
    scratch_sweep(record);
    assert_true(is_there(link));
    assert_int_equal(rmdir(target) == 0, 0); /* what it leads to is not emptied */
    open = folder("fz-job.fedcba9876543210", 0755);
    scratch_sweep(record);
    assert_true(is_there(open));
}

static void a_record_that_is_odd_is_only_removed(void **state)
{
    static const char *const odd[] = {"", "\n", "fz-job.0123456789abcdef", "/", "//", "/tmp/\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        put(record, odd[i]);
        scratch_sweep(record);
        assert_false(is_there(record));
    }
}

static void without_a_place_for_the_record_a_job_has_a_folder_all_the_same(void **state)
{
    cleanup_free char *dir = NULL;

    (void)state;
    assert_int_equal(scratch_make("/nowhere/at/all", &dir), 0);
    scratch_remove("/nowhere/at/all", dir);
    assert_false(is_there(dir));
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    assert_int_equal(scratch_make(record, &dir), -ENOENT);
    assert_false(is_there(record));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_goes_with_its_record),
        TEST(one_that_was_left_is_swept),
        TEST(names_that_we_do_not_give_are_left_alone),
        TEST(a_link_or_an_open_folder_is_left_alone),
        TEST(a_record_that_is_odd_is_only_removed),
        TEST(without_a_place_for_the_record_a_job_has_a_folder_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
