/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of committed seeds: what may be added, and that an addition is whole or not there at all,
 * whichever write fails and whichever call the process dies in.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fault/shim.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "corpus/promote.h"
#include "corpus/seedset.h"
#include "fault.h"

#define OLD_TEXT "Our own words on these seeds.\n"

static const struct seedset_origin origin = {"camp", "RUN", "main", "queue/id:000001,+cov"};
static struct seedset *set;

static void put(const char *dir, const char *name, const char *text)
{
    cleanup_free char *path = path_join(dir, name);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0644), 0);
}

static char *get(const char *dir, const char *name)
{
    cleanup_free char *path = path_join(dir, name);
    char *data = NULL;
    size_t size;

    return file_read(AT_FDCWD, path, 1 << 20, &data, &size) == 0 ? data : NULL;
}

static void make_folder(const char *dir)
{
    put(dir, "000-one", "one");
    put(dir, "007-two", "two");
    put(dir, "README.txt", OLD_TEXT);
}

static void end_set(void)
{
    seedset_close(set);
    set = NULL;
}

static int add_three(const char *dir)
{
    cleanup_free char *name = NULL;
    struct err err = {0};
    int r = seedset_open(dir, &set, &err);

    if (r == 0)
        r = seedset_add(set, "three", 5, "reach-x", &origin, &name, &err);
    end_set();
    return r == -EEXIST ? 0 : r;
}

/* Seen by somebody who opens it next: both the seed and its record, or neither, and nothing else. */
static void check_folder(const char *dir, bool done)
{
    struct err err = {0};
    char sha256[65], tree[65];
    long files = 0;

    hash_sha256_hex("three", 5, sha256);
    if (seedset_open(dir, &set, &err) < 0)
        fail_msg("%s", err.msg);
    bool there = seedset_find(set, sha256) != NULL;
    end_set();
    cleanup_free char *three = get(dir, "008-reach-x"), *records = get(dir, "README.txt");
    cleanup_free char *one = get(dir, "000-one"), *two = get(dir, "007-two");
    assert_non_null(records);
    assert_int_equal(strncmp(records, OLD_TEXT, strlen(OLD_TEXT)), 0);
    assert_true(there || !done);
    if (there) {
        assert_string_equal(three, "three");
        assert_non_null(strstr(records, sha256));
        assert_non_null(strstr(records, "\tcamp\tRUN\tmain\tqueue/id:000001,+cov\n"));
    } else {
        assert_null(three);
        assert_string_equal(records, OLD_TEXT);
    }
    assert_string_equal(one, "one");
    assert_string_equal(two, "two");
    assert_int_equal(file_tree_sha256(dir, NULL, tree, &files, NULL), 0);
    assert_int_equal(files, there ? 4 : 3);
}

static void an_addition_is_whole_or_not_there(void **ctx)
{
    const struct fault_case c = {"seedset", make_folder, add_three, check_folder, end_set};

    (void)ctx;
    assert_true(fault_sweep(&c) >= 3 * 6);
}

static void an_addition_cut_off_by_a_kill_is_finished_or_taken_back(void **ctx)
{
    long at = 1;

    (void)ctx;
    for (;; at++) {
        cleanup_free char *dir = fault_folder();
        int status;

        make_folder(dir);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            fault_arm(dir, FAULT_KILL, false, at);
            _exit(add_three(dir) == 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        bool killed = WIFSIGNALED(status);
        if (killed)
            assert_int_equal(WTERMSIG(status), SIGKILL);
        else
            assert_int_equal(WEXITSTATUS(status), 0);
        check_folder(dir, !killed);
        assert_int_equal(add_three(dir), 0);
        check_folder(dir, true);
        assert_int_equal(path_remove_tree(dir), 0);
        if (!killed)
            break;
    }
    assert_true(at > 8);
}

static void the_same_bytes_are_refused_by_the_seed_that_has_them(void **ctx)
{
    cleanup_free char *dir = fault_folder(), *name = NULL;
    struct err err = {0};

    (void)ctx;
    make_folder(dir);
    assert_int_equal(seedset_open(dir, &set, &err), 0);
    assert_int_equal(seedset_add(set, "two", 3, "x", &origin, &name, &err), -EEXIST);
    assert_non_null(strstr(err.msg, "007-two"));
    assert_null(name);
    end_set();
    assert_int_equal(path_remove_tree(dir), 0);
}

static void numbers_go_on_and_a_person_s_text_stays(void **ctx)
{
    cleanup_free char *dir = fault_folder(), *first = NULL, *second = NULL, *text = NULL;
    struct seedset_origin odd = {.file = "queue/a\tb\nc\xff"};
    struct err err = {0};

    (void)ctx;
    put(dir, "099-last", "x");
    put(dir, "12-short-number", "y");
    put(dir, "9999999999-long-number", "z");
    put(dir, "README.txt", "no line end");
    assert_int_equal(seedset_open(dir, &set, &err), 0);
    assert_int_equal(seedset_add(set, "", 0, "empty", &odd, &first, &err), 0);
    assert_int_equal(seedset_add(set, "b", 1, "b", &origin, &second, &err), 0);
    end_set();
    assert_string_equal(first, "100-empty");
    assert_string_equal(second, "101-b");
    text = get(dir, "README.txt");
    assert_int_equal(strncmp(text, "no line end\n100-empty\t", 22), 0);
    assert_non_null(strstr(text, "\t-\t-\t-\tqueue/a\\x09b\\x0ac\\xff\n101-b\t"));
    assert_int_equal(path_remove_tree(dir), 0);
}

static void two_at_a_time_are_refused(void **ctx)
{
    cleanup_free char *dir = fault_folder();
    struct seedset *other = NULL;
    struct err err = {0};

    (void)ctx;
    assert_int_equal(seedset_open(dir, &set, &err), 0);
    assert_int_equal(seedset_open(dir, &other, &err), -EAGAIN);
    assert_null(other);
    end_set();
    assert_int_equal(seedset_open(dir, &set, &err), 0);
    end_set();
    assert_int_equal(path_remove_tree(dir), 0);
}

static void what_afl_fuzz_would_cut_is_refused(void **ctx)
{
    cleanup_free char *dir = fault_folder(), *name = NULL, *big = xcalloc(1, SEEDSET_SEED_MAX + 1);
    struct err err = {0};

    (void)ctx;
    assert_int_equal(seedset_open(dir, &set, &err), 0);
    assert_int_equal(seedset_add(set, big, SEEDSET_SEED_MAX + 1, "big", &origin, &name, &err),
                     -EFBIG);
    assert_int_equal(seedset_add(set, big, SEEDSET_SEED_MAX, "big", &origin, &name, &err), 0);
    end_set();
    assert_int_equal(path_remove_tree(dir), 0);
}

static void a_slug_has_letters_digits_and_single_dashes(void **ctx)
{
    static const char *const cases[][2] = {
        {"invariant C3", "invariant-c3"},   {"--a//b..", "a-b"}, {"\xff\n\t", ""}, {"", ""},
        {"../../etc/passwd", "etc-passwd"},
    };

    (void)ctx;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *slug = promote_slug(cases[i][0]);

        assert_string_equal(slug, cases[i][1]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_addition_is_whole_or_not_there),
        cmocka_unit_test(an_addition_cut_off_by_a_kill_is_finished_or_taken_back),
        cmocka_unit_test(the_same_bytes_are_refused_by_the_seed_that_has_them),
        cmocka_unit_test(numbers_go_on_and_a_person_s_text_stays),
        cmocka_unit_test(two_at_a_time_are_refused),
        cmocka_unit_test(what_afl_fuzz_would_cut_is_refused),
        cmocka_unit_test(a_slug_has_letters_digits_and_single_dashes),
    };

    (void)argc;
    fault_reexec(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
