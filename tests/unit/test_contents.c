/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs by content, and the names they get among others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "corpus/contents.h"
#include "corpus/outfolder.h"
#include "corpus/pack.h"

static char *top;

static int setup(void **ctx)
{
    (void)ctx;
    top = xstrdup("/tmp/fz-contents.XXXXXX");
    return mkdtemp(top) != NULL ? 0 : -1;
}

static int teardown(void **ctx)
{
    int rc = path_remove_tree(top);

    (void)ctx;
    free(top);
    return rc;
}

static void put(struct inputs *list, const char *name, const void *data, size_t size)
{
    cleanup_free char *path = path_join(top, name);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, data, size, 0600), 0);
    inputs_add_file(list, path);
}

static void put_gone(struct inputs *list)
{
    cleanup_free char *path = path_join(top, "gone");

    inputs_add_file(list, path);
}

static void the_first_of_a_content_counts(void **ctx)
{
    cleanup_free char *large = xcalloc(1, (1 << 20) + 1);
    struct inputs list = {0};
    struct contents c;

    (void)ctx;
    put(&list, "z", "one", 3);
    put(&list, "a", "one", 3);
    put(&list, "empty", "", 0);
    put(&list, "b", "two", 3);
    put(&list, "large", large, (1 << 20) + 1);
    put_gone(&list);
    assert_int_equal(contents_find(&list, NULL, &c), 0);
    assert_int_equal(c.kind[0], CONTENTS_FIRST);
    assert_int_equal(c.kind[1], CONTENTS_COPY);
    assert_int_equal(c.kind[2], CONTENTS_FIRST);
    assert_int_equal(c.kind[3], CONTENTS_FIRST);
    assert_int_equal(c.kind[4], CONTENTS_UNREAD);
    assert_int_equal(c.kind[5], CONTENTS_UNREAD);
    assert_int_equal(c.count[CONTENTS_FIRST], 3);
    assert_int_equal(c.count[CONTENTS_COPY], 1);
    assert_int_equal(c.count[CONTENTS_UNREAD], 2);
    contents_clear(&c);
    inputs_clear(&list);
}

static void names_tell_where_an_input_is_from(void **ctx)
{
    static const struct {
        const char *root, *path, *want;
    } cases[] = {
        {"/c/seeds", "/c/seeds/a", "seeds-a"},
        {"/c/seeds//", "/c/seeds/sub/a", "seeds-a"},
        {"out/t", "out/t/main/queue/id:000001,orig:x", "main-id:000001,orig:x"},
        {"out/t/main", "out/t/main/queue/id:1", "main-id:1"},
        {"queue", "queue/a", "queue-a"},
        {"a/b", "a/b", "b"},
        {"d", "d/-x", "d--x"},
        {".", "./x", "_-x"},
        {"-d", "-d/x", "_d-x"},
        {"d", "d/a\nb c\xff", "d-a_b_c_"},
        {"B.tar.zst", "B.tar.zst/inputs/0a", "B.tar.zst-0a"},
    };

    (void)ctx;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *name = contents_name(cases[i].root, cases[i].path);

        assert_string_equal(name, cases[i].want);
    }
}

static void a_name_is_never_too_long(void **ctx)
{
    cleanup_free char *own = xcalloc(1, 256), *path = NULL, *name = NULL;

    (void)ctx;
    memset(own, 'n', 255);
    path = xasprintf("d/%s", own);
    name = contents_name("d", path);
    assert_int_equal(strlen(name), 200);
}

static void a_folder_is_whole_or_not_there(void **ctx)
{
    cleanup_free char *out = path_join(top, "out"), *first = path_join(out, "n");
    struct inputs list = {0};
    struct err err = {0};
    uint64_t bytes = 0;
    struct stat st;

    (void)ctx;
    put(&list, "a", "one", 3);
    put(&list, "b", "three", 5);
    put_gone(&list);
    struct outfolder_file files[] = {{0, "n"}, {1, "n"}, {2, NULL}};
    assert_true(outfolder_write(out, &list, files, 3, NULL, &bytes, &err) < 0);
    assert_int_not_equal(stat(out, &st), 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(outfolder_check(out, &err), 0);
    assert_int_equal(outfolder_write(out, &list, files, 2, NULL, &bytes, &err), 0);
    assert_int_equal(bytes, 8);
    assert_int_equal(stat(first, &st), 0);
    assert_int_equal(st.st_size, 3);
    assert_true(outfolder_check(out, &err) < 0);
    assert_true(outfolder_write(out, &list, files, 1, NULL, &bytes, &err) <
                0); /* not over one that is there */
    assert_int_equal(stat(first, &st), 0);
    inputs_clear(&list);
}

static void an_interrupt_is_heeded_and_leaves_nothing(void **ctx)
{
    cleanup_free char *out = path_join(top, "out");
    const volatile sig_atomic_t cancelled = SIGTERM;
    struct inputs list = {0};
    struct contents c = {0};
    struct err err = {0};
    uint64_t bytes = 0;

    (void)ctx;
    put(&list, "a", "one", 3);
    struct outfolder_file files[] = {{0, "n"}};
    assert_int_equal(contents_find(&list, &cancelled, &c), -ECANCELED);
    assert_null(c.kind);
    assert_int_equal(outfolder_write(out, &list, files, 1, &cancelled, &bytes, &err), -ECANCELED);
    assert_int_equal(bytes, 0);
    DIR *dir = opendir(top);
    assert_non_null(dir);
    for (const struct dirent *de; (de = readdir(dir)) != NULL;)
        assert_null(strstr(de->d_name, "out"));
    (void)closedir(dir);
    inputs_clear(&list);
}

/* Writes as fuzzctl does, and is killed in the middle of it: by its size, as no clock is that exact. */
static void write_and_die(const struct inputs *list, const char *folder, const char *file)
{
    static const char *const name[] = {"n"};
    const struct outfolder_file files[] = {{0, "n"}};
    const struct rlimit small = {16, 16}, no_core = {0, 0};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        uint64_t bytes;

        (void)signal(SIGXFSZ, SIG_DFL);
        if (setrlimit(RLIMIT_CORE, &no_core) == 0 && setrlimit(RLIMIT_FSIZE, &small) == 0) {
            if (folder != NULL)
                (void)outfolder_write(folder, list, files, 1, NULL, &bytes, NULL);
            else
                (void)pack_write(file, list, name, NULL, &bytes, NULL);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXFSZ);
}

/* Entries of top whose names begin so. */
static int count(const char *begin)
{
    cleanup_dir DIR *dir = opendir(top);
    int n = 0;

    assert_non_null(dir);
    for (const struct dirent *de; (de = readdir(dir)) != NULL;)
        n += strncmp(de->d_name, begin, strlen(begin)) == 0;
    return n;
}

static void what_a_killed_writer_left_goes_with_the_next(void **ctx)
{
    static const char *const name[] = {"n"};
    static const char *const foreign[] = {"out.fuzz.tmp-", "out.fuzz.tmp-7x", "out.tmp-7",
                                          "out.fuzz.tmp"};
    cleanup_free char *out = path_join(top, "out"), *file = path_join(top, "out.tar");
    cleanup_free char *open_one = path_join(top, "out.fuzz.tmp-1");
    cleanup_free char *other = path_join(top, "out.fuzz.tmp-2");
    const struct outfolder_file files[] = {{0, "n"}};
    struct inputs list = {0};
    struct err err = {0};
    uint64_t bytes = 0;
    cleanup_close int fd = -1;

    (void)ctx;
    put(&list, "a", "more than sixteen bytes", 23);
    write_and_die(&list, out, NULL);
    assert_int_equal(count("out"), 1);
    write_and_die(&list, NULL, file);
    assert_int_equal(count("out"), 2);
    /* One that is held, one that everybody may read, and other names stay. */
    assert_int_equal(mkdir(open_one, 0700), 0);
    fd = open(open_one, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(mkdir(other, 0755), 0);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        cleanup_free char *path = path_join(top, foreign[i]);

        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(outfolder_write(out, &list, files, 1, NULL, &bytes, &err), 0);
    assert_int_equal(pack_write(file, &list, name, NULL, &bytes, &err), 0);
    assert_int_equal(count("out"), 2 + 2 + 4);
    assert_int_equal(count("out.fuzz.tmp-1"), 1);
    assert_int_equal(count("out.tar"), 1);
    inputs_clear(&list);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_of_a_content_counts),
        TEST(names_tell_where_an_input_is_from),
        TEST(what_a_killed_writer_left_goes_with_the_next),
        TEST(a_name_is_never_too_long),
        TEST(an_interrupt_is_heeded_and_leaves_nothing),
        TEST(a_folder_is_whole_or_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
