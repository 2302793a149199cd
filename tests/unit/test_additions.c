/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs for a target that is fuzzed: how they are put down, and how it is told what became of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "ctl/added_watch.h"
#include "farm/additions.h"

static char top[] = "/tmp/fz-additions.XXXXXX";
static struct plan_instance mains[1];
static struct plan_target target = {
    .name = (char *)(uintptr_t) "t", .instances = mains, .n_instances = 1};
static struct plan plan = {.targets = &target, .n_targets = 1};
static char *dir, *out;

static int setup(void **ctx)
{
    (void)ctx;
    (void)snprintf(top, sizeof(top), "/tmp/fz-additions.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    plan.run_dir = top;
    dir = plan_additions_dir(top, "t");
    out = path_join(top, "out");
    mains[0] = (struct plan_instance){.is_main = true, .out_dir = out};
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    strv_clear(&mains[0].argv);
    free(dir);
    free(out);
    return path_remove_tree(top);
}

static int put(const char *text, char sha256[65], bool *present)
{
    struct err err = {0};

    return additions_put(&plan, &target, text, strlen(text), sha256, present, &err);
}

static void a_plan_reads_them_when_its_main_has_the_folder(void **ctx)
{
    (void)ctx;
    assert_false(additions_read(&plan, &target));
    strv_add(&mains[0].argv, "--");
    strv_add(&mains[0].argv, "-F");
    strv_add(&mains[0].argv, dir);
    assert_false(additions_read(&plan, &target));
    strv_clear(&mains[0].argv);
    strv_add(&mains[0].argv, "-F");
    strv_add(&mains[0].argv, dir);
    assert_true(additions_read(&plan, &target));
    mains[0].is_main = false;
    assert_false(additions_read(&plan, &target));
    assert_null(additions_out(&target));
    mains[0].is_main = true;
}

static void each_file_is_newer_than_all_before(void **ctx)
{
    time_t last = 0;

    (void)ctx;
    for (int i = 0; i < 5; i++) {
        cleanup_free char *text = xasprintf("input %d", i), *path = NULL;
        bool present = true;
        char sha256[65];
        struct stat st;

        assert_int_equal(put(text, sha256, &present), 0);
        assert_false(present);
        path = path_join(dir, sha256);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_mtime > last);
        assert_int_equal(st.st_size, strlen(text));
        last = st.st_mtime;
    }
}

static void a_content_is_there_once(void **ctx)
{
    char sha256[65], again[65];
    bool present = true;

    (void)ctx;
    assert_int_equal(put("same", sha256, &present), 0);
    assert_int_equal(put("same", again, &present), 0);
    assert_true(present);
    assert_string_equal(sha256, again);
}

static void what_afl_passes_over_is_refused(void **ctx)
{
    cleanup_free char *large = xcalloc(1, ADDITIONS_FILE_BYTES + 1);
    char sha256[65];
    bool present;
    struct err err = {0};

    (void)ctx;
    assert_int_equal(put("", sha256, &present), -EINVAL);
    assert_int_equal(
        additions_put(&plan, &target, large, ADDITIONS_FILE_BYTES + 1, sha256, &present, &err),
        -EFBIG);
    assert_int_equal(
        additions_put(&plan, &target, large, ADDITIONS_FILE_BYTES, sha256, &present, &err), 0);
}

static void a_link_leads_nowhere(void **ctx)
{
    cleanup_free char *add = path_join(top, "add"), *other = path_join(top, "other");
    char sha256[65];
    bool present;

    (void)ctx;
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(symlink(other, add), 0);
    assert_true(put("x", sha256, &present) < 0);
    assert_int_equal(rmdir(other), 0); /* still empty */
}

/* ---- what became of them ---- */
static void touch(const char *folder, const char *name)
{
    cleanup_free char *path = path_join(folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

/* As afl-fuzz does: open, save in that folder when it is good for something, close. */
static void run_as_afl(const char *sha256, const char *folder, const char *name)
{
    cleanup_free char *path = path_join(dir, sha256);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    if (folder != NULL)
        touch(folder, name);
    assert_int_equal(close(fd), 0);
}

static void each_file_gets_what_happened_while_it_was_open(void **ctx)
{
    cleanup_free char *queue = path_join(out, "queue"), *crashes = path_join(out, "crashes"),
                      *hangs = path_join(out, "hangs");
    static const char *const texts[] = {"a", "b", "c", "d", "e"};
    struct added_file files[6] = {0};
    struct added_watch *w = NULL;
    struct err err = {0};
    bool present;

    (void)ctx;
    for (int i = 0; i < 5; i++)
        assert_int_equal(put(texts[i], files[i].sha256, &present), 0);
    memcpy(files[5].sha256, files[0].sha256, sizeof(files[5].sha256));
    /* The instance comes after the watch. */
    assert_int_equal(added_watch_open(dir, out, &w, &err), 0);
    assert_int_equal(path_mkdirs(queue, 0700), 0);
    assert_int_equal(path_mkdirs(crashes, 0700), 0);
    assert_int_equal(path_mkdirs(hangs, 0700), 0);
    assert_int_equal(added_watch_wait(w, files, 6, 300), 6);
    touch(queue, "id:000001,src:000000,op:havoc"); /* of nobody */
    run_as_afl(files[1].sha256, NULL, NULL);
    run_as_afl(files[0].sha256, queue, "id:000002,sync:added_0,src:000000");
    run_as_afl(files[2].sha256, crashes, "id:000000,sig:06,sync:added_0,src:000000");
    run_as_afl(files[3].sha256, hangs, "id:000000,sync:added_0,src:000000");
    touch(crashes, "id:000001,sig:06,src:000000");
    assert_int_equal(added_watch_wait(w, files, 6, 300), 1);
    assert_int_equal(files[0].state, ADDED_TAKEN);
    assert_string_equal(files[0].entry, "id:000002,sync:added_0,src:000000");
    assert_int_equal(files[1].state, ADDED_NOTHING_NEW);
    assert_int_equal(files[2].state, ADDED_CRASH);
    assert_int_equal(files[3].state, ADDED_HANG);
    assert_int_equal(files[4].state, ADDED_UNSEEN);
    assert_int_equal(files[5].state, ADDED_TAKEN); /* the same content under another name */
    added_watch_close(w);
}

static void an_instance_that_rotates_is_looked_at_in_its_newest_folder(void **ctx)
{
    cleanup_free char *queue = path_join(out, "queue"), *next = xasprintf("%s_r2", out),
                      *moved = path_join(next, "queue"),
                      *entry = path_join(moved, "id:000003,sync:added_0,src:000001");
    struct added_file files[2] = {0};
    struct added_watch *w = NULL;
    struct err err = {0};
    bool present;

    (void)ctx;
    assert_int_equal(put("seen", files[0].sha256, &present), 0);
    assert_int_equal(put("found", files[1].sha256, &present), 0);
    assert_int_equal(path_mkdirs(queue, 0700), 0);
    assert_int_equal(added_watch_open(dir, additions_out(&target), &w, &err), 0);
    assert_int_equal(added_watch_wait(w, files, 2, 300), 2);
    /* Its queue goes with it, and afl-fuzz makes a new one of it. */
    assert_int_equal(path_mkdirs(next, 0700), 0);
    assert_int_equal(rename(queue, moved), 0);
    assert_int_equal(path_remove_tree(moved), 0);
    assert_int_equal(path_mkdirs(moved, 0700), 0);
    assert_int_equal(added_watch_wait(w, files, 2, 300), 2);
    run_as_afl(files[0].sha256, moved, "id:000002,sync:added_0,src:000000");
    assert_int_equal(added_watch_wait(w, files, 2, 300), 1);
    assert_int_equal(files[0].state, ADDED_TAKEN);
    assert_int_equal(file_write_atomic(AT_FDCWD, entry, "found", 5, 0600), 0);
    added_watch_compare(w, files, 2);
    assert_int_equal(files[1].state, ADDED_TAKEN);
    added_watch_close(w);
}

static void what_nobody_saw_is_found_in_the_queue(void **ctx)
{
    cleanup_free char *queue = path_join(out, "queue"),
                      *entry = path_join(queue, "id:000007,sync:added_0,src:000000"),
                      *own = path_join(queue, "id:000001,src:000000,op:havoc");
    struct added_file files[2] = {0};
    struct added_watch *w = NULL;
    struct err err = {0};
    bool present;

    (void)ctx;
    assert_int_equal(put("imported", files[0].sha256, &present), 0);
    assert_int_equal(put("own", files[1].sha256, &present), 0);
    assert_int_equal(path_mkdirs(queue, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, entry, "imported", 8, 0600), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, own, "own", 3, 0600), 0);
    assert_int_equal(added_watch_open(dir, out, &w, &err), 0);
    added_watch_compare(w, files, 2);
    assert_int_equal(files[0].state, ADDED_TAKEN);
    assert_int_equal(files[1].state, ADDED_UNSEEN);
    added_watch_close(w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plan_reads_them_when_its_main_has_the_folder),
        TEST(each_file_is_newer_than_all_before),
        TEST(a_content_is_there_once),
        TEST(what_afl_passes_over_is_refused),
        TEST(a_link_leads_nowhere),
        TEST(each_file_gets_what_happened_while_it_was_open),
        TEST(an_instance_that_rotates_is_looked_at_in_its_newest_folder),
        TEST(what_nobody_saw_is_found_in_the_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
