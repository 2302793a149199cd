/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and joined paths by value; making, measuring and removing trees on a real
 * file system, with the trees a hostile program would leave.
 */
#include "base/path.h"

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

static char *top;

static int make_top(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    top = xasprintf("%s/fz-path.XXXXXX", tmp != NULL ? tmp : "/tmp");
    return mkdtemp(top) == NULL ? -1 : 0;
}

static int drop_top(void **state)
{
    (void)state;
    int r = path_remove_tree(top);
    free(top);
    return r;
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    (void)close(fd);
}

static void a_component_is_one_plain_name(void **state)
{
    (void)state;
    char name[300];
    assert_true(path_component_ok("id:000,sig:06"));
    assert_true(path_component_ok("..."));
    assert_false(path_component_ok(""));
    assert_false(path_component_ok("."));
    assert_false(path_component_ok(".."));
    assert_false(path_component_ok("a/b"));
    assert_false(path_component_ok("a\nb"));
    memset(name, 'a', sizeof(name));
    name[255] = '\0';
    assert_true(path_component_ok(name));
    name[255] = 'a';
    name[256] = '\0';
    assert_false(path_component_ok(name));
}

static void an_instance_name_is_what_afl_takes(void **state)
{
    (void)state;
    assert_true(path_name_ok("chunk_frame-2", 50));
    assert_true(path_name_ok("abc", 3));
    assert_false(path_name_ok("abcd", 3));
    assert_false(path_name_ok("", 50));
    assert_false(path_name_ok("-x", 50));
    assert_false(path_name_ok("a.b", 50));
    assert_false(path_name_ok("a b", 50));
    assert_false(path_name_ok("caf\xc3\xa9", 50));
}

static void paths_are_joined_and_folded(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *name, *want;
    } rows[] = {
        {"/a", "b", "/a/b"},       {"/a/", "./b//c/.", "/a/b/c"},
        {"/a", "../b", "/a/../b"}, {"/a", "/x//y", "/x/y"},
        {"/", "b", "/b"},          {"/a", "", "/a"},
        {"/a", ".", "/a"},         {"/", ".", "/"},
        {".", "b", "b"},           {".", ".", "."},
        {"a", ".b", "a/.b"},       {"a", "..", "a/.."},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_free char *got = path_resolve(rows[i].dir, rows[i].name);
        assert_string_equal(got, rows[i].want);
    }
    cleanup_free char *joined = path_join("/a/", "b");
    assert_string_equal(joined, "/a/b");
    cleanup_free char *below = path_join("a", "b");
    assert_string_equal(below, "a/b");
    cleanup_free char *top_only = path_join("", "b");
    assert_string_equal(top_only, "/b");
    cleanup_free char *folder = path_join("/a/", "");
    assert_string_equal(folder, "/a/");
}

static void stem_and_folder_of_a_path(void **state)
{
    (void)state;
    static const struct {
        const char *path, *stem, *dir;
    } rows[] = {{"/a/b.ini", "b", "/a"}, {"b.tar.zst", "b.tar", "."}, {"/b", "b", "/"},
                {"a//b", "b", "a"},      {"/a/.ini", ".ini", "/a"},   {"a/", "", "a"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_free char *stem = path_stem(rows[i].path);
        cleanup_free char *dir = path_dirname(rows[i].path);
        assert_string_equal(stem, rows[i].stem);
        assert_string_equal(dir, rows[i].dir);
    }
}

static void missing_parents_are_made_and_links_refused(void **state)
{
    (void)state;
    cleanup_free char *deep = path_join(top, "m/n/o/");
    cleanup_free char *link = path_join(top, "link");
    cleanup_free char *below = path_join(top, "link/p");
    cleanup_free char *file = path_join(top, "file");
    cleanup_free char *under = path_join(top, "file/x");
    assert_int_equal(path_mkdirs(deep, 0700), 0);
    assert_int_equal(path_mkdirs(deep, 0700), 0);
    assert_int_equal(symlink("m", link), 0);
    assert_int_equal(path_mkdirs(link, 0700), -ENOTDIR);
    assert_int_equal(path_mkdirs(below, 0700), 0);
    touch(file);
    assert_int_equal(path_mkdirs(file, 0700), -ENOTDIR);
    assert_int_equal(path_mkdirs(under, 0700), -ENOTDIR);
    assert_int_equal(path_mkdirs("/", 0700), 0);
}

static void a_tree_is_removed_without_following_links(void **state)
{
    (void)state;
    cleanup_free char *tree = path_join(top, "tree");
    cleanup_free char *sub = path_join(top, "tree/a/b");
    cleanup_free char *shut = path_join(top, "tree/a");
    cleanup_free char *other = path_join(top, "other");
    cleanup_free char *kept = path_join(top, "other/kept");
    cleanup_free char *link = path_join(top, "tree/a/b/link");
    assert_int_equal(path_mkdirs(sub, 0700), 0);
    assert_int_equal(path_mkdirs(other, 0700), 0);
    touch(kept);
    assert_int_equal(symlink(other, link), 0);
    assert_int_equal(chmod(shut, 0), 0);
    assert_int_equal(path_remove_tree(tree), 0);
    assert_int_equal(access(tree, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(path_remove_tree(tree), 0);

    cleanup_free char *alone = path_join(top, "alone");
    assert_int_equal(symlink(other, alone), 0);
    assert_int_equal(path_remove_tree(alone), 0);
    assert_int_equal(access(kept, F_OK), 0);
}

static void a_tree_of_any_depth_is_removed(void **state)
{
    (void)state;
    cleanup_free char *tree = path_join(top, "deep");
    assert_int_equal(mkdir(tree, 0700), 0);
    int fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
    assert_int_equal(path_remove_tree(tree), 0);
    assert_int_equal(access(tree, F_OK), -1);
}

static void a_tree_is_measured_up_to_a_bound(void **state)
{
    (void)state;
    cleanup_free char *tree = path_join(top, "size");
    assert_int_equal(path_mkdirs(tree, 0700), 0);
    long long empty = path_tree_bytes(tree, 100);
    assert_true(empty >= 0);
    for (int i = 0; i < 4; i++) {
        cleanup_free char *file = xasprintf("%s/%d", tree, i);
        int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        char data[8192];
        memset(data, i + 1, sizeof(data));
        assert_int_equal(write(fd, data, sizeof(data)), (int)sizeof(data));
        assert_int_equal(fsync(fd), 0);
        (void)close(fd);
    }
    assert_true(path_tree_bytes(tree, 100) >= empty + 4 * 8192);
    assert_true(path_tree_bytes(tree, 2) < path_tree_bytes(tree, 100));
    cleanup_free char *none = path_join(top, "none");
    assert_true(path_tree_bytes(none, 100) == -ENOENT);
}

static void the_state_directory_is_flag_then_environment(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(setenv("FUZZ_STATE", "/x/y", 1), 0);
    cleanup_free char *flag = path_state_dir("/a//b", &err);
    assert_string_equal(flag, "/a/b");
    cleanup_free char *env = path_state_dir(NULL, &err);
    assert_string_equal(env, "/x/y");
    cleanup_free char *relative = path_state_dir("rel", &err);
    cleanup_free char *cwd = getcwd(NULL, 0);
    cleanup_free char *want = path_join(cwd, "rel");
    assert_string_equal(relative, want);
    assert_null(path_state_dir("", &err));
    assert_int_equal(unsetenv("FUZZ_STATE"), 0);
    cleanup_free char *def = path_state_dir(NULL, &err);
    if (geteuid() == 0)
        assert_string_equal(def, "/var/lib/fuzzd");
}

static void our_programs_are_found_beside_this_one(void **state)
{
    (void)state;
    cleanup_free char *self = path_self_dir();
    assert_non_null(self);
    cleanup_free char *found = path_find_program("test_base_path");
    cleanup_free char *want = path_join(self, "test_base_path");
    assert_string_equal(found, want);
    assert_null(path_find_program("no-such-program-of-ours"));
}

static void a_path_that_the_loader_cuts_is_told(void **state)
{
    (void)state;
    assert_true(path_preloadable("/usr/libexec/fuzzd/fuzz-preload.so"));
    assert_true(path_preloadable("/a\tb/fuzz-preload.so"));
    assert_false(path_preloadable("/my folder/fuzz-preload.so"));
    assert_false(path_preloadable("/a:b/fuzz-preload.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_component_is_one_plain_name),
        cmocka_unit_test(an_instance_name_is_what_afl_takes),
        cmocka_unit_test(paths_are_joined_and_folded),
        cmocka_unit_test(stem_and_folder_of_a_path),
        cmocka_unit_test(missing_parents_are_made_and_links_refused),
        cmocka_unit_test(a_tree_is_removed_without_following_links),
        cmocka_unit_test(a_tree_of_any_depth_is_removed),
        cmocka_unit_test(a_tree_is_measured_up_to_a_bound),
        cmocka_unit_test(the_state_directory_is_flag_then_environment),
        cmocka_unit_test(our_programs_are_found_beside_this_one),
        cmocka_unit_test(a_path_that_the_loader_cuts_is_told),
    };
    return cmocka_run_group_tests(tests, make_top, drop_top);
}
