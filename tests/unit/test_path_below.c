/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of ours reached, made and wiped without following a link; the state directory's own check. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/lock.h"

static char *dir, *top, *outside;

static int setup(void **ctx)
{
    char made[] = "/tmp/fz-below.XXXXXX";
    cleanup_free char *precious = NULL;

    (void)ctx;
    assert_non_null(mkdtemp(made));
    dir = xstrdup(made);
    top = path_join(dir, "state");
    outside = path_join(dir, "outside");
    precious = path_join(outside, "t.main/precious");
    assert_int_equal(path_mkdirs(top, 0700), 0);
    cleanup_free char *parent = path_dirname(precious);
    assert_int_equal(path_mkdirs(parent, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, precious, "x", 1, 0600), 0);
    return 0;
}

/* Whatever the test did, nothing outside is gone and nothing is new there. */
static int teardown(void **ctx)
{
    cleanup_free char *precious = path_join(outside, "t.main/precious"), *data = NULL;
    char hex[65];
    size_t size;
    long n = 0;

    (void)ctx;
    assert_int_equal(file_read(AT_FDCWD, precious, 10, &data, &size), 0);
    assert_int_equal(file_tree_sha256(outside, NULL, hex, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(path_remove_tree(dir), 0);
    free(dir);
    free(top);
    free(outside);
    return 0;
}

static void folders_are_made_and_opened_below_the_top(void **ctx)
{
    cleanup_free char *path = path_join(top, "a/b/c"), *odd = xasprintf("%s//a/./b", top);
    cleanup_free char *up = path_join(top, "a/../../outside"), *no = path_join(top, "a/x");

    (void)ctx;
    assert_int_equal(path_mkdirs_below(top, path, 0700), 0);
    assert_int_equal(path_mkdirs_below(top, path, 0700), 0);
    assert_int_equal(path_mkdirs_below(top, top, 0700), 0);
    assert_int_equal(path_open_below(top, no, 0), -ENOENT);
    assert_int_equal(path_open_below(top, outside, 0), -EXDEV);
    assert_int_equal(path_open_below(top, up, 0), -EINVAL);
    assert_int_equal(path_open_below(top, odd, 0), -EINVAL);
}

static void another_spelling_of_the_top_is_the_same_top(void **ctx)
{
    cleanup_free char *link = path_join(dir, "spelling"),
                      *path = path_join(dir, "spelling/state/a");
    cleanup_free char *made = path_join(top, "a");

    (void)ctx;
    assert_int_equal(symlink(dir, link), 0);
    assert_int_equal(path_mkdirs_below(top, path, 0700), 0);
    assert_int_equal(access(made, F_OK), 0);
    assert_int_equal(path_remove_tree_below(top, path), 0);
    assert_int_equal(access(made, F_OK), -1);
}

static void put_link(const char *name, const char *to)
{
    cleanup_free char *path = path_join(top, name);

    assert_int_equal(symlink(to, path), 0);
}

static void a_link_on_the_way_is_refused_wherever_it_leads(void **ctx)
{
    const char *const where[] = {outside, "/etc/passwd", "nowhere", "scratch"};

    (void)ctx;
    for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
        cleanup_free char *path = path_join(top, "scratch/t.main"),
                          *link = path_join(top, "scratch");
        cleanup_free char *file = path_join(top, "scratch/t.main/precious"), *data = NULL;
        size_t size;

        put_link("scratch", where[i]);
        assert_int_equal(path_mkdirs_below(top, path, 0700), -ELOOP);
        assert_int_equal(path_mkdirs_below(top, link, 0700), -ELOOP);
        assert_int_equal(path_remove_tree_below(top, path), -ELOOP);
        assert_int_equal(file_read_below(top, file, 10, &data, &size), -ELOOP);
        assert_int_equal(unlink(link), 0);
    }
}

static void a_link_in_the_last_place_is_wiped_and_not_what_it_leads_to(void **ctx)
{
    cleanup_free char *scratch = path_join(top, "scratch"), *path = path_join(scratch, "t.main");
    cleanup_free char *in = path_join(outside, "t.main"), *inner = path_join(path, "link");

    (void)ctx;
    assert_int_equal(path_mkdirs(scratch, 0700), 0);
    put_link("scratch/t.main", in);
    assert_int_equal(path_remove_tree_below(top, path), 0);
    assert_int_equal(path_mkdirs_below(top, path, 0700), 0);
    assert_int_equal(symlink(in, inner), 0);
    assert_int_equal(path_remove_tree_below(top, path), 0);
    assert_int_equal(access(path, F_OK), -1);
}

static void what_is_no_folder_is_refused(void **ctx)
{
    cleanup_free char *fifo = path_join(top, "fifo"), *below = path_join(top, "fifo/a");

    (void)ctx;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(path_mkdirs_below(top, below, 0700), -ENOTDIR);
    assert_int_equal(path_open_below(top, fifo, 0), -ENOTDIR);
}

static void a_lock_is_a_regular_file(void **ctx)
{
    cleanup_free char *fifo = path_join(top, "fifo"), *link = path_join(top, "link");
    cleanup_free char *folder = path_join(top, "folder"), *lock = path_join(top, "lock");
    cleanup_free char *precious = path_join(outside, "t.main/precious");
    char holder[64];
    int fd;

    (void)ctx;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    put_link("link", precious);
    assert_int_equal(lock_take(fifo, "me", holder, sizeof(holder)), -EINVAL);
    assert_int_equal(lock_take(link, "me", holder, sizeof(holder)), -ELOOP);
    assert_true(lock_take(folder, "me", holder, sizeof(holder)) < 0);
    fd = lock_take(lock, "me", holder, sizeof(holder));
    assert_true(fd >= 0);
    (void)close(fd);
}

static void the_state_directory_is_ours_alone(void **ctx)
{
    cleanup_free char *link = path_join(dir, "link"), *no = path_join(dir, "no");
    cleanup_free char *file = path_join(outside, "t.main/precious");
    struct err err;

    (void)ctx;
    assert_int_equal(path_state_check(top, &err), 0);
    assert_int_equal(path_state_check(no, &err), 0);
    assert_int_equal(chmod(top, 0755), 0);
    assert_int_equal(path_state_check(top, &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(chmod(top, i == 0 ? 0770 : 0702), 0);
        assert_int_equal(path_state_check(top, &err), -EPERM);
        assert_non_null(strstr(err.msg, "chmod go-w"));
    }
    assert_int_equal(chmod(top, 0700), 0);
    assert_int_equal(symlink(top, link), 0);
    assert_int_equal(path_state_check(link, &err), -ELOOP);
    assert_non_null(strstr(err.msg, "symbolic link"));
    assert_int_equal(path_state_check(file, &err), -ENOTDIR);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(top, 4711, 4711), 0);
    assert_int_equal(path_state_check(top, &err), -EPERM);
    assert_non_null(strstr(err.msg, "belongs to user 4711"));
    assert_int_equal(chown(top, 0, 0), 0);
}

static void put(const char *name)
{
    cleanup_free char *path = path_join(top, name);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, "x", 1, 0600), 0);
}

static void a_folder_of_other_files_is_no_state_directory(void **ctx)
{
    struct err err;

    (void)ctx;
    put(".hidden");
    put("lost+found");
    assert_int_equal(path_state_check(top, &err), 0);
    put("cache"); /* all there is when a plan was shown before anything ran */
    assert_int_equal(path_state_check(top, &err), 0);
    put("seed-1");
    assert_int_equal(path_state_check(top, &err), -ENOTEMPTY);
    assert_non_null(strstr(err.msg, "no state directory"));
    put("fuzzd.lock"); /* one of ours, in which somebody left a file */
    assert_int_equal(path_state_check(top, &err), 0);
}

static void the_state_directory_is_named_without_going_up(void **ctx)
{
    static const char *const cases[][2] = {{"state/../new", "new"},
                                           {"no/../new", "new"},
                                           {"state/..", ""},
                                           {"outside/t.main/../../state", "state"},
                                           {"to/../beside", "outside/beside"},
                                           {"a..b/..c", "a..b/..c"}};
    cleanup_free char *to = path_join(dir, "to"), *where = path_join(outside, "t.main");
    struct err err;

    (void)ctx;
    assert_int_equal(symlink(where, to), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *arg = path_join(dir, cases[i][0]),
                          *want = path_resolve(dir, cases[i][1]);
        cleanup_free char *got = path_state_dir(arg, &err);

        assert_string_equal(got, want);
    }
    cleanup_free char *root = path_state_dir("/..", &err);
    assert_string_equal(root, "/");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(folders_are_made_and_opened_below_the_top),
        T(another_spelling_of_the_top_is_the_same_top),
        T(a_link_on_the_way_is_refused_wherever_it_leads),
        T(a_link_in_the_last_place_is_wiped_and_not_what_it_leads_to),
        T(what_is_no_folder_is_refused),
        T(a_lock_is_a_regular_file),
        T(the_state_directory_is_ours_alone),
        T(a_folder_of_other_files_is_no_state_directory),
        T(the_state_directory_is_named_without_going_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
