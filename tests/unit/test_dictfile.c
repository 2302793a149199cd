/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/dictfile.h"

static char dir[] = "/tmp/fz-dict.XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) != NULL ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    return path_remove_tree(dir);
}

static int check_bytes(const char *text, size_t size, size_t *ret_tokens, struct err *err)
{
    cleanup_free char *path = path_join(dir, "d");

    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, size, 0600), 0);
    return dictfile_check(path, ret_tokens, err);
}

static void lines_that_afl_fuzz_takes(void **state)
{
    static const char *const good[] = {
        "\"a\"",
        "name=\"a\"",
        "  name_2 =\t \"a\"  ",
        "name@3=\"a\"",
        "name[12]=\"a\"",
        "name \"a\"",
        "=\"a\"",
        "\"a\"b\"", /* the last quote is the one that ends it */
        "\"\\\\ \\\" \\x0a\\xFF\"",
        "\"#\"",
        "\"a\"\r",
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t tokens = 0;

        if (check_bytes(good[i], strlen(good[i]), &tokens, &err) != 0)
            fail_msg("%s: %s", good[i], err.msg);
        assert_int_equal(tokens, 1);
    }
}

static void lines_that_it_only_warns_of(void **state)
{
    static const char *const bad[][2] = {
        {"word", "no value in quotes at its end"},
        {"\"", "no value in quotes behind"},
        {"\"open", "no value in quotes at its end"},
        {"\"a\" # comment", "no value in quotes at its end"},
        {"na-me=\"a\"", "no value in quotes behind"},
        {"#include <a.h>\nint main(void)", "line 2: no value"},
        {"\n\"a\"\nname=\"\"", "line 3: an empty value"},
        {"\"\\n\"", "a backslash before something else"},
        {"\"\\x1\"", "a backslash before something else"},
        {"\"\\\"", "a backslash before something else"},
        {"\"a\tb\"", "must be written as \\xNN"},
        {"\"\xc3\xa4\"", "must be written as \\xNN"},
    };
    struct err err;
    size_t tokens = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (check_bytes(bad[i][0], strlen(bad[i][0]), &tokens, &err) != -EINVAL)
            fail_msg("taken: %s", bad[i][0]);
        if (strstr(err.msg, bad[i][1]) == NULL || strstr(err.msg, "allowed: ") == NULL)
            fail_msg("%s: %s", bad[i][0], err.msg);
    }
    assert_int_equal(check_bytes("\0\"a\"", 4, &tokens, &err), -EINVAL);
    assert_int_equal(check_bytes("\x7f"
                                 "ELF\0\1",
                                 6, &tokens, &err),
                     -EINVAL);
    assert_int_equal(tokens, 77);
}

static void a_line_longer_than_it_reads(void **state)
{
    cleanup_free char *line = xmalloc(9000);
    struct err err;
    size_t tokens = 0;

    (void)state;
    memset(line, 'a', 9000);
    line[0] = line[8189] = line[8999] = '"';
    assert_int_equal(check_bytes(line, 8190, &tokens, &err), 0);
    assert_int_equal(check_bytes(line, 9000, &tokens, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "too long"));
}

static void no_token_is_counted_where_there_is_none(void **state)
{
    struct err err;
    size_t tokens = 1;

    (void)state;
    assert_int_equal(check_bytes("", 0, &tokens, &err), 0);
    assert_int_equal(tokens, 0);
    assert_int_equal(check_bytes("# none\n\n", 8, &tokens, &err), 0);
    assert_int_equal(tokens, 0);
    assert_int_equal(dictfile_check("/nowhere/d", &tokens, &err), -ENOENT);
}

static void the_committed_ones_are_good(void **state)
{
    glob_t found;
    struct err err;

    (void)state;
    assert_int_equal(glob("dictionaries/*.dict", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t tokens = 0;

        if (dictfile_check(found.gl_pathv[i], &tokens, &err) != 0)
            fail_msg("%s", err.msg);
        assert_true(tokens > 0);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_afl_fuzz_takes),
        cmocka_unit_test(lines_that_it_only_warns_of),
        cmocka_unit_test(a_line_longer_than_it_reads),
        cmocka_unit_test(no_token_is_counted_where_there_is_none),
        cmocka_unit_test(the_committed_ones_are_good),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
