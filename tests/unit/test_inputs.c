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
    };

    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
