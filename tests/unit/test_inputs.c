/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading inputs: what is no file is refused without blocking, and reading leaves no trace in a
 * corpus of ours, nor fails in one of somebody else.
 */
#include "corpus/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
/* clang-format on */

#define MAX     64
#define NOBODY  65534
#define LONGAGO 1000000000

static char top[] = "/tmp/fuzzd-inputs.XXXXXX";

static char *file_make(const char *name, const char *text)
{
    const struct timespec times[2] = {{.tv_sec = LONGAGO}, {.tv_sec = LONGAGO + 1}};
    char *path = path_join(top, name);
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}

static void assert_reads(const char *path, const char *want)
{
    uint8_t *data = NULL;
    size_t size = 0;

    assert_int_equal(inputs_read_file(path, MAX, &data, &size), 0);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(data, want, size);
    free(data);
}

static void reading_leaves_the_time_of_access(void **state)
{
    (void)state;
    cleanup_free char *path = file_make("ours", "some bytes");
    struct stat st;

    assert_reads(path, "some bytes");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_atim.tv_sec, LONGAGO);
    assert_int_equal(unlink(path), 0);
}

static void what_is_no_input_is_refused_at_once(void **state)
{
    (void)state;
    cleanup_free char *empty = file_make("empty", "");
    cleanup_free char *fifo = path_join(top, "fifo");
    char long_text[MAX + 2] = {0};
    uint8_t *data = NULL;
    size_t size = 0;

    memset(long_text, 'x', MAX + 1);
    cleanup_free char *large = file_make("large", long_text);
    assert_reads(empty, "");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(inputs_read_file(fifo, MAX, &data, &size), -EINVAL);
    assert_int_equal(inputs_read_file("/dev/zero", MAX, &data, &size), -EINVAL);
    assert_int_equal(inputs_read_file(top, MAX, &data, &size), -EINVAL);
    assert_int_equal(inputs_read_file(large, MAX, &data, &size), -EFBIG);
    assert_int_equal(unlink(large), 0);
    assert_int_equal(inputs_read_file(large, MAX, &data, &size), -ENOENT);
    assert_null(data);
    assert_int_equal(unlink(empty), 0);
    assert_int_equal(unlink(fifo), 0);
}

static void a_corpus_of_another_user_is_read_too(void **state)
{
    (void)state;
    cleanup_free char *first = file_make("first", "one");
    cleanup_free char *second = file_make("second", "two");

    if (geteuid() == 0) {
        assert_int_equal(chmod(top, 0755), 0);
        assert_int_equal(chmod(first, 0644), 0);
        assert_int_equal(chmod(second, 0644), 0);
        assert_int_equal(seteuid(NOBODY), 0);
    }
    assert_reads(first, "one");
    assert_reads(second, "two");
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(unlink(first), 0);
    assert_int_equal(unlink(second), 0);
}

static bool takes(const char *dir, const char *out)
{
    cleanup_free char *path = path_join(top, dir), *made = path_join(top, out);

    return inputs_takes(path, made);
}

static void folder(const char *name)
{
    cleanup_free char *path = path_join(top, name);

    assert_int_equal(path_mkdirs(path, 0700), 0);
}

static void what_is_made_in_a_folder_of_inputs_is_one_of_them(void **state)
{
    cleanup_free char *setup = NULL;

    (void)state;
    folder("plain/sub");
    folder("plain-2");
    folder("afl/main/queue");
    folder("afl/other");
    setup = file_make("afl/main/fuzzer_setup", "");
    assert_true(takes("plain", "plain/new"));
    assert_true(takes("plain/", "plain/sub/new//"));
    assert_true(takes("plain", "plain-2/../plain/new.tar"));
    assert_false(takes("plain", "plain-2/new"));
    assert_false(takes("plain", "new"));
    assert_false(takes("plain", "plain"));
    assert_false(takes("plain", "plain/.new"));
    assert_false(takes("plain", "plain/gone/new")); /* which cannot be made */
    assert_false(takes("gone", "gone/new"));
    /* Of AFL++ output the queues alone are taken. */
    assert_false(takes("afl", "afl/new"));
    assert_false(takes("afl", "afl/main/new"));
    assert_false(takes("afl/main", "afl/main/new"));
    assert_true(takes("afl", "afl/main/queue/new"));
    assert_true(takes("afl/main", "afl/main/queue/new"));
    assert_true(takes("afl/other", "afl/other/new"));
}

static void links_in_folders_are_passed_over_and_counted(void **state)
{
    cleanup_free char *link = path_join(top, "links/link"), *dir = path_join(top, "links");
    struct inputs list = {0};
    struct err err = {0};

    (void)state;
    folder("links");
    assert_int_equal(symlink("nowhere", link), 0);
    assert_int_equal(inputs_add(&list, dir, &err), 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(list.passed_over, 1);
    inputs_clear(&list);
}

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(top) != NULL ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    return path_remove_tree(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_leaves_the_time_of_access),
        cmocka_unit_test(what_is_no_input_is_refused_at_once),
        cmocka_unit_test(a_corpus_of_another_user_is_read_too),
        cmocka_unit_test(what_is_made_in_a_folder_of_inputs_is_one_of_them),
        cmocka_unit_test(links_in_folders_are_passed_over_and_counted),
    };

    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
