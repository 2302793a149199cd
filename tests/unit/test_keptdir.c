/* SPDX-License-Identifier: Apache-2.0 */
/* The corpus between two runs: there is the old one or the new one, and what is not whole does not count. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "corpus/keptdir.h"
#include "farm/seeds.h"

struct place {
    char state[64];
    char *in, *kept;
};

static int setup(void **state)
{
    struct place *p = xcalloc(1, sizeof(*p));

    (void)snprintf(p->state, sizeof(p->state), "/tmp/fz-kept.XXXXXX");
    assert_non_null(mkdtemp(p->state));
    p->in = path_join(p->state, "in");
    assert_int_equal(mkdir(p->in, 0700), 0);
    p->kept = keptdir_path(p->state, "c", "t");
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;

    assert_int_equal(path_remove_tree(p->state), 0);
    free(p->in);
    free(p->kept);
    free(p);
    return 0;
}

static void put(const char *dir, const char *name, const char *text)
{
    cleanup_free char *path = path_join(dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static size_t count(const struct place *p, size_t *ret_damaged)
{
    struct strv list = {0};
    struct err err = {0};
    size_t n;

    assert_int_equal(keptdir_list(p->state, p->kept, &list, ret_damaged, &err), 0);
    n = list.n;
    strv_clear(&list);
    return n;
}

static int write_files(const struct place *p, const struct strv *files, size_t *ret_n)
{
    struct err err = {0};
    uint64_t bytes = 0;

    return keptdir_write(p->state, p->kept, files->v, files->n, ret_n, &bytes, &err);
}

static void each_content_is_kept_once_by_its_hash(void **state)
{
    const struct place *p = *state;
    struct strv files = {0};
    size_t n = 0, damaged = 9;

    assert_int_equal(count(p, &damaged), 0);
    put(p->in, "a", "same");
    put(p->in, "b", "same");
    put(p->in, "c", "other");
    for (const char *s = "abcd"; *s != '\0'; s++) /* d is not there */
        strv_addf(&files, "%s/%c", p->in, *s);
    assert_int_equal(write_files(p, &files, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(count(p, &damaged), 2);
    assert_int_equal(damaged, 0);
    strv_clear(&files);
}

static void the_new_one_takes_the_place_of_the_old(void **state)
{
    const struct place *p = *state;
    cleanup_free char *left = xasprintf("%s.new", p->kept);
    struct strv files = {0};
    size_t n = 0, damaged;
    struct keptdir_sum sum;
    struct err err = {0};

    put(p->in, "a", "first");
    strv_addf(&files, "%s/a", p->in);
    assert_int_equal(write_files(p, &files, &n), 0);
    put(p->in, "a", "second");
    put(p->in, "b", "third");
    strv_addf(&files, "%s/b", p->in);
    assert_int_equal(mkdir(left, 0700), 0); /* of a writer that was killed */
    put(left, "half", "x");
    assert_int_equal(write_files(p, &files, &n), 0);
    assert_int_equal(count(p, &damaged), 2);
    assert_int_equal(damaged, 0);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(keptdir_sum(p->state, NULL, &sum, &err), 0);
    assert_int_equal(sum.corpora, 1);
    assert_int_equal(sum.files, 2);
    assert_int_equal(keptdir_sum(p->state, "none", &sum, &err), 0);
    assert_int_equal(sum.corpora, 0);
    strv_clear(&files);
}

static void what_is_not_whole_does_not_count(void **state)
{
    const struct place *p = *state;
    struct strv files = {0};
    size_t n = 0, damaged = 0;

    put(p->in, "a", "good");
    strv_addf(&files, "%s/a", p->in);
    assert_int_equal(write_files(p, &files, &n), 0);
    put(p->kept, "0000000000000000000000000000000000000000000000000000000000000000", "bad");
    put(p->kept, "README", "words");
    {
        cleanup_free char *fifo =
            path_join(p->kept, "1111111111111111111111111111111111111111111111111111111111111111");

        assert_int_equal(mkfifo(fifo, 0600), 0);
    }
    assert_int_equal(count(p, &damaged), 1);
    assert_int_equal(damaged, 3);
    strv_clear(&files);
}

static void no_link_is_followed(void **state)
{
    const struct place *p = *state;
    cleanup_free char *corpora = path_join(p->state, "corpora");
    struct strv files = {0};
    size_t n = 0;

    put(p->in, "a", "x");
    strv_addf(&files, "%s/a", p->in);
    assert_int_equal(symlink(p->in, corpora), 0);
    assert_int_equal(write_files(p, &files, &n), -ELOOP);
    strv_clear(&files);
}

static void copies_get_names_of_their_own(void **state)
{
    const struct place *p = *state;
    cleanup_free char *one = path_join(p->in, "one"), *two = path_join(p->in, "two");
    cleanup_free char *to = path_join(p->state, "to"), *second = path_join(to, "1-a");
    struct strv files = {0};
    struct err err = {0};

    assert_int_equal(mkdir(one, 0700), 0);
    assert_int_equal(mkdir(two, 0700), 0);
    put(one, "a", "1");
    put(two, "a", "2");
    strv_addf(&files, "%s/a", one);
    strv_addf(&files, "%s/a", two);
    assert_int_equal(keptdir_copy(p->state, to, files.v, files.n, &err), 0);
    assert_int_equal(access(second, F_OK), 0);
    strv_clear(&files);
}

static void the_time_is_by_the_slowest_input_with_a_floor(void **state)
{
    (void)state;
    assert_int_equal(seeds_timeout_ms(0, 2000), 0);
    assert_int_equal(seeds_timeout_ms(1, 2000), SEEDS_TIMEOUT_MIN_MS);
    assert_int_equal(seeds_timeout_ms(20000, 2000), 100);
    assert_int_equal(seeds_timeout_ms(20001, 2000), 110);
    assert_int_equal(seeds_timeout_ms(100000, 2000), 500);
    assert_int_equal(seeds_timeout_ms(900000, 2000), 1000);
    assert_int_equal(seeds_timeout_ms(900000, 60000), 4500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_content_is_kept_once_by_its_hash, setup, teardown),
        cmocka_unit_test_setup_teardown(the_new_one_takes_the_place_of_the_old, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_whole_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(no_link_is_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_get_names_of_their_own, setup, teardown),
        cmocka_unit_test(the_time_is_by_the_slowest_input_with_a_floor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
