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
#include <sys/wait.h>
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
    assert_false(path_preloadable("/a$LIB/fuzz-preload.so"));
    assert_false(path_preloadable("/${ORIGIN}/fuzz-preload.so"));
    assert_false(path_preloadable("/a/$x$PLATFORM"));
    assert_true(path_preloadable("/a$/$x/${y}/LIB/fuzz-preload.so"));
}

static char *below_top(const char *name)
{
    return path_join(top, name);
}

static void a_library_with_such_a_path_gets_a_name_that_can_be_loaded(void **state)
{
    (void)state;
    static const char *const folders[] = {"my folder", "a:b", "c$LIB"};
    cleanup_free char *place = below_top("place");
    char *names[3], *again, to[4096] = "";
    struct stat st;
    const mode_t mask = umask(077);

    for (size_t i = 0; i < 3; i++) {
        cleanup_free char *dir = below_top(folders[i]);
        cleanup_free char *path = path_join(dir, "fuzz-preload.so");

        assert_int_equal(mkdir(dir, 0700), 0);
        touch(path);
        names[i] = path_preload_link(place, path);
        assert_non_null(names[i]);
        assert_true(path_preloadable(names[i]));
        assert_non_null(strstr(names[i], "/fuzz-preload.so"));
        assert_int_equal(readlink(names[i], to, sizeof(to) - 1), strlen(path));
        assert_int_equal(strncmp(to, path, strlen(path)), 0);
        again = path_preload_link(place, path);
        assert_string_equal(again, names[i]);
        free(again);
    }
    (void)umask(mask);
    assert_int_equal(stat(place, &st), 0);
    assert_int_equal(st.st_mode & 07777, geteuid() == 0 ? 0755 : 0700);

    /* One that leads elsewhere is set right, one whose library is gone goes with the next that is made. */
    cleanup_free char *first = below_top("my folder/fuzz-preload.so");
    cleanup_free char *gone = below_top("a:b/fuzz-preload.so");
    cleanup_free char *other = below_top("place/other");
    assert_int_equal(unlink(names[0]), 0);
    assert_int_equal(symlink("/dev/null", names[0]), 0);
    assert_int_equal(symlink("/nowhere", other), 0);
    assert_int_equal(unlink(gone), 0);
    again = path_preload_link(place, first);
    assert_string_equal(again, names[0]);
    assert_int_equal(readlink(names[0], to, sizeof(to)), strlen(first));
    assert_int_equal(lstat(names[1], &st), -1);
    assert_int_equal(lstat(names[2], &st), 0);
    assert_int_equal(lstat(other, &st), 0);
    free(again);
    assert_null(path_preload_link(place, gone));

    /* What is no link is not replaced by force. */
    assert_int_equal(unlink(names[0]), 0);
    assert_int_equal(mkdir(names[0], 0700), 0);
    assert_null(path_preload_link(place, first));
    assert_int_equal(rmdir(names[0]), 0);
    for (size_t i = 0; i < 3; i++)
        free(names[i]);
}

static void two_that_make_the_same_name_at_once_both_have_it(void **state)
{
    (void)state;
    enum { N = 8, ROUNDS = 100 };
    cleanup_free char *dir = below_top("at once");
    cleanup_free char *path = path_join(dir, "fuzz-preload.so");
    pid_t pids[N];
    int status;

    assert_int_equal(mkdir(dir, 0700), 0);
    touch(path);
    for (int i = 0; i < N; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            bool ok = true;

            for (int k = 0; k < ROUNDS && ok; k++) {
                cleanup_free char *place = xasprintf("%s/round-%d", top, k);
                cleanup_free char *link = path_preload_link(place, path);

                ok = link != NULL && access(link, R_OK) == 0;
            }
            _exit(ok ? 0 : 1);
        }
        assert_true(pids[i] > 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
}

static void no_name_is_made_where_others_could_change_it(void **state)
{
    (void)state;
    cleanup_free char *library = below_top("a library");
    cleanup_free char *open_place = below_top("open-place"), *open_top = below_top("open-top");
    cleanup_free char *in_open = below_top("open-top/p"), *sticky = below_top("sticky");
    cleanup_free char *in_sticky = below_top("sticky/p"), *link = below_top("place-link");
    cleanup_free char *file = below_top("place-file"), *blank = below_top("place blank");
    cleanup_free char *whose = below_top("whose"), *none = below_top("none/place");
    struct stat st;

    touch(library);
    touch(file);
    assert_int_equal(mkdir(open_place, 0700), 0);
    assert_int_equal(chmod(open_place, 0775), 0);
    assert_null(path_preload_link(open_place, library));
    assert_int_equal(mkdir(open_top, 0700), 0);
    assert_int_equal(chmod(open_top, 0777), 0);
    assert_null(path_preload_link(in_open, library));
    assert_int_equal(lstat(in_open, &st), -1);
    assert_int_equal(mkdir(sticky, 0700), 0);
    assert_int_equal(chmod(sticky, 01777), 0);
    cleanup_free char *good = path_preload_link(in_sticky, library);
    assert_non_null(good);
    assert_int_equal(symlink(in_sticky, link), 0);
    assert_null(path_preload_link(link, library));
    assert_null(path_preload_link(file, library));
    assert_null(path_preload_link(blank, library));
    assert_null(path_preload_link(none, library));
    assert_null(path_preload_link("place", library));
    assert_null(path_preload_link("/", library));
    assert_null(path_preload_link("/proc/fuzzd", library)); /* closed to root, too */
    /* Somebody else's, which only root can make; for others root's. */
    assert_int_equal(mkdir(whose, 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(whose, 65534, 65534), 0);
    assert_null(path_preload_link(geteuid() == 0 ? whose : "/usr", library));
    /* And what lies in a folder of somebody else's. */
    cleanup_free char *in_whose = path_join(geteuid() == 0 ? whose : "/usr", "p");
    assert_null(path_preload_link(in_whose, library));
}

static void the_places_are_those_that_all_targets_pass(void **state)
{
    (void)state;
    struct strv places = {0};
    cleanup_free char *last = xasprintf("/tmp/fuzzd-%ld", (long)geteuid());
    const char *was = getenv("XDG_RUNTIME_DIR");
    cleanup_free char *kept = was != NULL ? xstrdup(was) : NULL;

    assert_int_equal(setenv("XDG_RUNTIME_DIR", "/run/user/7/", 1), 0);
    path_preload_places(&places);
    assert_int_equal(places.n, 2);
    assert_string_equal(places.v[0], geteuid() == 0 ? "/run/fuzzd" : "/run/user/7/fuzzd");
    assert_string_equal(places.v[1], last);
    strv_clear(&places);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "run", 1), 0);
    path_preload_places(&places);
    assert_int_equal(places.n, geteuid() == 0 ? 2 : 1);
    strv_clear(&places);
    (void)(kept != NULL ? setenv("XDG_RUNTIME_DIR", kept, 1) : unsetenv("XDG_RUNTIME_DIR"));
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
        cmocka_unit_test(a_library_with_such_a_path_gets_a_name_that_can_be_loaded),
        cmocka_unit_test(two_that_make_the_same_name_at_once_both_have_it),
        cmocka_unit_test(no_name_is_made_where_others_could_change_it),
        cmocka_unit_test(the_places_are_those_that_all_targets_pass),
    };
    return cmocka_run_group_tests(tests, make_top, drop_top);
}
