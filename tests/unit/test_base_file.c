/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files in and out, the log's bound, hashes, and the small modules of base/.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"

static char *top;
static int dirfd_top = -1;

static int make_top(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    top = xasprintf("%s/fz-file.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(top) == NULL)
        return -1;
    dirfd_top = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dirfd_top < 0 ? -1 : 0;
}

static int drop_top(void **state)
{
    (void)state;
    (void)close(dirfd_top);
    int r = path_remove_tree(top);
    free(top);
    return r;
}

static void a_file_is_written_whole_and_read_back(void **state)
{
    (void)state;
    cleanup_free char *data = NULL;
    size_t size = 0;
    struct stat st;
    assert_int_equal(file_write_atomic(dirfd_top, "f", "one\0two", 7, 0600), 0);
    assert_int_equal(file_read(dirfd_top, "f", 7, &data, &size), 0);
    assert_int_equal(size, 7);
    assert_memory_equal(data, "one\0two", 8);
    assert_int_equal(file_write_atomic(dirfd_top, "f", "", 0, 0644), 0);
    assert_int_equal(fstatat(dirfd_top, "f", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    free(data);
    data = NULL;
    assert_int_equal(file_read(dirfd_top, "f", 0, &data, &size), 0);
    assert_int_equal(size, 0);
}

static void reading_refuses_what_is_too_large_or_no_file(void **state)
{
    (void)state;
    char *data = NULL;
    size_t size = 7;
    assert_int_equal(file_write_atomic(dirfd_top, "big", "12345678", 8, 0600), 0);
    assert_int_equal(file_read(dirfd_top, "big", 7, &data, &size), -EFBIG);
    assert_int_equal(symlinkat("big", dirfd_top, "lnk"), 0);
    assert_int_equal(file_read(dirfd_top, "lnk", 100, &data, &size), -ELOOP);
    assert_int_equal(mkfifoat(dirfd_top, "fifo", 0600), 0);
    assert_int_equal(file_read(dirfd_top, "fifo", 100, &data, &size), -EINVAL);
    assert_int_equal(mkdirat(dirfd_top, "dir", 0700), 0);
    assert_int_equal(file_read(dirfd_top, "dir", 100, &data, &size), -EINVAL);
    assert_int_equal(file_read(dirfd_top, "none", 100, &data, &size), -ENOENT);
    assert_null(data);
    assert_int_equal(size, 7);
    assert_int_equal(file_read_follow(dirfd_top, "lnk", 100, &data, &size), 0);
    assert_int_equal(size, 8);
    free(data);
}

static void a_proc_file_is_read_without_a_known_size(void **state)
{
    (void)state;
    cleanup_free char *data = NULL;
    char *none = NULL;
    assert_int_equal(file_read_proc("/proc/self/status", 1 << 16, &data), 0);
    assert_non_null(strstr(data, "Pid:"));
    assert_int_equal(file_read_proc("/proc/self/status", 10, &none), -EFBIG);
    assert_null(none);
}

static void a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    struct stat st;
    cleanup_free char *tmp = xasprintf("dir2.tmp-%ld", (long)getpid());
    assert_int_equal(mkdirat(dirfd_top, "dir2", 0700), 0);
    assert_true(file_write_atomic(dirfd_top, "dir2", "x", 1, 0600) < 0);
    assert_int_equal(fstatat(dirfd_top, tmp, &st, 0), -1);
    assert_int_equal(fstatat(dirfd_top, "dir2", &st, 0), 0);
    assert_int_equal(file_write_atomic(dirfd_top, "no/such", "x", 1, 0600), -ENOENT);
}

static pid_t dead_pid(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static char *temporary(const char *of, pid_t pid)
{
    char *name = xasprintf("%s.tmp-%ld", of, (long)pid);
    cleanup_close int fd = openat(dirfd_top, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return name;
}

static bool is_there(const char *name)
{
    struct stat st;

    return fstatat(dirfd_top, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void what_a_killed_write_left_is_swept_and_nothing_else(void **state)
{
    (void)state;
    const pid_t dead = dead_pid();
    cleanup_free char *gone = temporary("plan.json", dead);
    cleanup_free char *twice = temporary("a.tmp-1", dead);
    cleanup_free char *own = temporary("own", getpid());
    cleanup_free char *living = temporary("living", getppid());
    cleanup_free char *folder = xasprintf("folder.tmp-%ld", (long)dead);
    cleanup_free char *link = xasprintf("link.tmp-%ld", (long)dead);
    cleanup_free char *pipe = xasprintf("pipe.tmp-%ld", (long)dead);
    cleanup_free char *held = temporary("held", dead), *padded = NULL, *nameless = NULL;
    cleanup_free char *tail = xasprintf("near.tmp-%lda", (long)dead);
    const char *const near[] = {"near.tmp-",  "near.tmp-12a",         tail,      "near.tmp--5",
                                "near.tmp-0", "near.tmp-99999999999", "near.tmp"};

    padded = xasprintf("near.tmp-0%ld", (long)dead);
    nameless = xasprintf(".tmp-%ld", (long)dead);
    assert_int_equal(mkdirat(dirfd_top, folder, 0700), 0);
    assert_int_equal(symlinkat("plan.json", dirfd_top, link), 0);
    assert_int_equal(mkfifoat(dirfd_top, pipe, 0600), 0);
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
        assert_int_equal(file_write_atomic(dirfd_top, near[i], "x", 1, 0600), 0);
    assert_int_equal(file_write_atomic(dirfd_top, padded, "x", 1, 0600), 0);
    assert_int_equal(file_write_atomic(dirfd_top, nameless, "x", 1, 0600), 0);
    cleanup_close int fd = openat(dirfd_top, held, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    /* Somebody else's: only root can make one. */
    cleanup_free char *foreign = temporary("foreign", dead);
    if (geteuid() == 0)
        assert_int_equal(fchownat(dirfd_top, foreign, 65534, 65534, 0), 0);

    beside_sweep_writes(dirfd_top);
    assert_false(is_there(gone));
    assert_false(is_there(twice));
    assert_false(is_there(own)); /* nothing is being written by us now: of one that had our pid */
    assert_true(is_there(living));
    assert_true(is_there(folder));
    assert_true(is_there(link));
    assert_true(is_there(pipe));
    assert_true(is_there(held));
    assert_true(is_there(padded));
    assert_true(is_there(nameless));
    assert_int_equal(is_there(foreign), geteuid() == 0);
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
        assert_true(is_there(near[i]));
}

static void hashes_are_those_of_sha256(void **state)
{
    (void)state;
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    char hex[65] = "";
    uint64_t size = 0;
    hash_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, abc);
    assert_true(hash_hex_ok(hex));
    hex[0] = 'B';
    assert_false(hash_hex_ok(hex));
    assert_false(hash_hex_ok("ba78"));
    assert_int_equal(file_write_atomic(dirfd_top, "abc", "abc", 3, 0600), 0);
    assert_int_equal(file_sha256(dirfd_top, "abc", 3, hex, &size), 0);
    assert_string_equal(hex, abc);
    assert_int_equal(size, 3);
    assert_int_equal(file_sha256(dirfd_top, "abc", 2, hex, NULL), -EFBIG);
}

static void a_tree_has_a_hash_of_names_and_bytes(void **state)
{
    (void)state;
    char a[65], b[65], c[65];
    long n = 0;
    cleanup_free char *tree = path_join(top, "tree");
    assert_int_equal(mkdirat(dirfd_top, "tree", 0700), 0);
    assert_int_equal(mkdirat(dirfd_top, "tree/s", 0700), 0);
    assert_int_equal(file_write_atomic(dirfd_top, "tree/x", "1", 1, 0600), 0);
    assert_int_equal(file_write_atomic(dirfd_top, "tree/s/y", "2", 1, 0600), 0);
    assert_int_equal(file_tree_sha256(tree, NULL, a, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(file_tree_sha256(tree, "y", b, &n, NULL), 0);
    assert_string_equal(a, b);
    assert_int_equal(n, 1);
    assert_int_equal(file_write_atomic(dirfd_top, "tree/x", "3", 1, 0600), 0);
    assert_int_equal(file_tree_sha256(tree, NULL, b, NULL, NULL), 0);
    assert_string_not_equal(a, b);
    assert_int_equal(renameat(dirfd_top, "tree/x", dirfd_top, "tree/z"), 0);
    assert_int_equal(file_tree_sha256(tree, NULL, c, NULL, NULL), 0);
    assert_string_not_equal(b, c);
    assert_int_equal(file_tree_sha256("/no/such/tree", NULL, c, NULL, NULL), -ENOENT);
}

static void a_log_never_grows_past_its_bound(void **state)
{
    (void)state;
    struct stat one, two;
    cleanup_free char *path = path_join(top, "log");
    cleanup_free char *data = NULL;
    log_init("test", LOG_LEVEL_INFO);
    assert_int_equal(log_to_file(path, 16384), 0);
    for (int i = 0; i < 1000; i++)
        log_warn("line %d with \x1b[31m colour", i);
    log_debug("not shown");
    assert_int_equal(fstatat(dirfd_top, "log", &one, 0), 0);
    assert_int_equal(fstatat(dirfd_top, "log.1", &two, 0), 0);
    assert_true(one.st_size <= 8192 && two.st_size <= 8192 && two.st_size > 7000);
    assert_int_equal(file_read(dirfd_top, "log", 8192, &data, NULL), 0);
    assert_non_null(strstr(data, "test: warning: line 999 with \\x1b[31m colour\n"));
    assert_null(strstr(data, "not shown"));
    assert_true(log_to_file("/no/such/folder/log", 1) < 0);
}

static void an_error_text_is_one_safe_line(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, -EINVAL, "bad \"%s\"", "a\nb\x1b"), -EINVAL);
    assert_string_equal(err.msg, "bad \"a\\x0ab\\x1b\"");
    err_wrap(&err, "file %d", 3);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.msg, "file 3: bad \"a\\x0ab\\x1b\"");
    assert_int_equal(err_sys(&err, -ENOENT, "x"), -ENOENT);
    assert_string_equal(err.msg, "x: No such file or directory");
    assert_int_equal(err_set(NULL, -EPERM, "x"), -EPERM);
    (void)err_set(&err, 0, "caf\xc3\xa9 \xc2\x9bm");
    assert_string_equal(err.msg, "caf\xc3\xa9 \\xc2\\x9bm");
    (void)err_set(&err, 0, "a\xff\xe2\x82z \xe2\x82\xac \xc3");
    assert_string_equal(err.msg, "a\\xff\\xe2\\x82z \xe2\x82\xac \\xc3");
    char many[4000];
    memset(many, '\n', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    (void)err_set(&err, 0, "%s", many);
    assert_true(strlen(err.msg) < sizeof(err.msg) && strlen(err.msg) > 1000);
}

static void a_list_is_always_ready_for_exec(void **state)
{
    (void)state;
    struct strv a = {0}, b = {0};
    strv_add(&a, "A=1");
    strv_addf(&a, "B=%d", 2);
    assert_null(a.v[2]);
    strv_env_set(&a, "A", "3");
    strv_env_set(&a, "C", "");
    assert_int_equal(a.n, 3);
    assert_string_equal(strv_env(&a, "A"), "3");
    assert_string_equal(strv_env(&a, "C"), "");
    assert_null(strv_env(&a, "AB"));
    strv_copy(&b, &a);
    assert_string_equal(b.v[1], "B=2");
    strv_clear(&a);
    assert_null(a.v);
    strv_copy(&b, &a);
    assert_int_equal(b.n, 0);
    char *s = NULL;
    str_set(&s, "abc");
    str_set(&s, s + 1);
    assert_string_equal(s, "bc");
    str_set(&s, NULL);
    assert_null(s);
}

static void times_have_fixed_forms(void **state)
{
    (void)state;
    char buf[40], other[40];
    assert_string_equal(clock_iso8601(buf, sizeof(buf), 1796138499123), "2026-12-01T15:21:39Z");
    assert_string_equal(clock_basic(buf, sizeof(buf), 1796138499123), "20261201T152139Z");
    assert_string_equal(clock_iso8601(buf, sizeof(buf), 0), "");
    assert_int_equal(clock_span_ms(1000, 3500), 2500);
    assert_int_equal(clock_span_ms(3500, 1000), 0);
    assert_int_equal(strlen(clock_boot_id(buf, sizeof(buf))), 32);
    for (int i = 0; i < 1000; i++) {
        (void)clock_ulid(buf, sizeof(buf));
        (void)clock_ulid(other, sizeof(other));
        assert_int_equal(strlen(buf), 26);
        assert_true(strcmp(buf, other) < 0);
    }
    int64_t before = clock_now_ms();
    assert_true(before > 0 && clock_now_ms() >= before);
}

static void a_write_never_puts_a_file_in_the_place_of_a_device(void **state)
{
    (void)state;
    cleanup_free char *pipe = xasprintf("%s/pipe", top);
    cleanup_free char *link = xasprintf("%s/link", top);
    cleanup_free char *data = NULL;
    char got[8] = "";
    struct stat st;
    size_t size = 0;

    assert_int_equal(mkfifo(pipe, 0600), 0);
    cleanup_close int fd = open(pipe, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_write_atomic(dirfd_top, "pipe", "x", 1, 0600), -EEXIST);
    assert_int_equal(file_write_named(pipe, "x", 1, 0600), 0);
    assert_int_equal(read(fd, got, sizeof(got)), 1);
    assert_int_equal(lstat(pipe, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));

    assert_int_equal(symlinkat("behind", dirfd_top, "link"), 0);
    assert_int_equal(file_write_named(link, "two", 3, 0600), 0);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(file_read(dirfd_top, "behind", 3, &data, &size), 0);
    assert_int_equal(size, 3);
    assert_int_equal(file_write_named("/dev/full", "x", 1, 0600), -ENOSPC);
}

static void what_of_a_tree_cannot_be_read_is_named(void **state)
{
    (void)state;
    cleanup_free char *dir = path_join(top, "named");
    cleanup_free char *shut = path_join(top, "named/a/shut");
    cleanup_free char *file = path_join(top, "named/a/file");
    int status = 0;

    assert_int_equal(path_mkdirs(shut, 0755), 0);
    assert_int_equal(file_write_named(file, "x", 1, 0644), 0);
    assert_int_equal(chmod(top, 0755), 0);
    /* Root reads everything: as somebody else, from within, as the way there may be shut. */
    cleanup_close int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(dir), 0);
    pid_t pid = fork();

    if (pid == 0) {
        struct err err = {0};
        char hex[65];
        bool ok = file_tree_sha256(".", NULL, hex, NULL, &err) == 0 && chmod(shut, 0) == 0 &&
                  chmod(file, 0) == 0 && (geteuid() != 0 || setresuid(65534, 65534, 65534) == 0);

        ok = ok && file_tree_sha256(".", NULL, hex, NULL, &err) == -EACCES &&
             strstr(err.msg, "./a/shut cannot be read: Permission denied") != NULL;
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(rmdir(shut), 0);
    pid = fork();
    if (pid == 0) {
        struct err err = {0};
        char hex[65];
        bool ok = geteuid() != 0 || setresuid(65534, 65534, 65534) == 0;

        ok = ok && file_tree_sha256(".", NULL, hex, NULL, &err) == -EACCES &&
             strstr(err.msg, "./a/file cannot be read: Permission denied") != NULL;
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fchdir(back), 0);
}

static void a_tree_over_its_bound_is_told_and_not_read(void **state)
{
    (void)state;
    cleanup_free char *dir = xasprintf("%s/huge", top);
    cleanup_free char *file = xasprintf("%s/huge/f", top);
    char hex[65];

    assert_int_equal(mkdir(dir, 0700), 0);
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    (void)close(fd);
    int64_t before = clock_now_ms();
    assert_int_equal(file_tree_sha256(dir, NULL, hex, NULL, NULL), -EFBIG);
    assert_true(clock_now_ms() - before < 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_written_whole_and_read_back),
        cmocka_unit_test(reading_refuses_what_is_too_large_or_no_file),
        cmocka_unit_test(a_proc_file_is_read_without_a_known_size),
        cmocka_unit_test(a_failed_write_leaves_nothing),
        cmocka_unit_test(what_a_killed_write_left_is_swept_and_nothing_else),
        cmocka_unit_test(hashes_are_those_of_sha256),
        cmocka_unit_test(a_tree_has_a_hash_of_names_and_bytes),
        cmocka_unit_test(a_write_never_puts_a_file_in_the_place_of_a_device),
        cmocka_unit_test(what_of_a_tree_cannot_be_read_is_named),
        cmocka_unit_test(a_tree_over_its_bound_is_told_and_not_read),
        cmocka_unit_test(a_log_never_grows_past_its_bound),
        cmocka_unit_test(an_error_text_is_one_safe_line),
        cmocka_unit_test(a_list_is_always_ready_for_exec),
        cmocka_unit_test(times_have_fixed_forms),
    };
    return cmocka_run_group_tests(tests, make_top, drop_top);
}
