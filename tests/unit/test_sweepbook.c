/* SPDX-License-Identifier: Apache-2.0 */
/* What the sweep remembers of what it has run: nothing is believed that is not whole, nothing is known that was not written. */
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
#include "triage/sweepbook.h"
#include "triage/sweeplist.h"

struct place {
    char dir[64];
    char *file;
};

static int setup(void **state)
{
    struct place *p = xcalloc(1, sizeof(*p));

    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/fz-book.XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    p->file = path_join(p->dir, "sweep/target");
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;

    assert_int_equal(path_remove_tree(p->dir), 0);
    free(p->file);
    free(p);
    return 0;
}

static struct sweepbook *open_book(const struct place *p)
{
    struct sweepbook *b = NULL;
    struct err err = {0};

    if (sweepbook_open(p->dir, p->file, &b, &err) < 0)
        fail_msg("%s", err.msg);
    return b;
}

static uint64_t key_of(const char *instance, const char *name, int64_t size)
{
    return sweepbook_key(&(struct sweepbook_file){
        .instance = instance, .name = name, .size_bytes = size, .mtime_ns = 5});
}

static void what_was_flushed_is_known_by_the_next(void **state)
{
    struct sweepbook *b = open_book(*state);
    char text[32];

    for (int i = 0; i < 5000; i++) {
        (void)snprintf(text, sizeof(text), "input %d", i % 2500);
        sweepbook_add(b, key_of("main", text, i), sweepbook_content(text, strlen(text)));
    }
    assert_int_equal(sweepbook_contents(b), 2500);
    assert_int_equal(sweepbook_flush(b), 0);
    sweepbook_close(b);
    b = open_book(*state);
    assert_int_equal(sweepbook_contents(b), 2500);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(text, sizeof(text), "input %d", i % 2500);
        assert_true(sweepbook_has_file(b, key_of("main", text, i)));
        assert_false(sweepbook_has_file(b, key_of("san", text, i)));
        assert_true(sweepbook_has_content(b, sweepbook_content(text, strlen(text))));
    }
    assert_false(sweepbook_has_content(b, sweepbook_content("", 0)));
    sweepbook_close(b);
}

static void what_was_not_flushed_is_forgotten(void **state)
{
    struct sweepbook *b = open_book(*state);

    sweepbook_add(b, 7, sweepbook_content("a", 1));
    assert_true(sweepbook_has_file(b, 7));
    sweepbook_close(b);
    b = open_book(*state);
    assert_false(sweepbook_has_file(b, 7));
    assert_int_equal(sweepbook_contents(b), 0);
    sweepbook_close(b);
}

static void a_cut_record_is_written_over_and_a_changed_one_does_not_count(void **state)
{
    const struct place *p = *state;
    struct sweepbook *b = open_book(p);
    struct stat st;
    FILE *f;

    sweepbook_add(b, 1, sweepbook_content("a", 1));
    sweepbook_add(b, 2, sweepbook_content("b", 1));
    sweepbook_add(b, 3, sweepbook_content("c", 1));
    assert_int_equal(sweepbook_flush(b), 0);
    sweepbook_close(b);
    assert_int_equal(stat(p->file, &st), 0);
    assert_int_equal(st.st_size, 96);
    assert_int_equal(truncate(p->file, 96 - 5), 0);
    f = fopen(p->file, "r+");
    assert_non_null(f);
    (void)fputc('x', f);
    assert_int_equal(fclose(f), 0);
    b = open_book(p);
    assert_false(sweepbook_has_file(b, 1));
    assert_true(sweepbook_has_file(b, 2));
    assert_false(sweepbook_has_file(b, 3));
    sweepbook_add(b, 4, sweepbook_content("d", 1));
    assert_int_equal(sweepbook_flush(b), 0);
    sweepbook_close(b);
    b = open_book(p);
    assert_true(sweepbook_has_file(b, 2));
    assert_true(sweepbook_has_file(b, 4));
    assert_int_equal(sweepbook_contents(b), 2);
    sweepbook_close(b);
}

static void failures_are_counted_by_what_they_show(void **state)
{
    struct sweepbook *b = open_book(*state);
    size_t failed, alike;

    for (int i = 0; i < 5; i++)
        sweepbook_add_fault(b, "overread in f", i < 2);
    sweepbook_add_fault(b, "overread in g", true);
    assert_int_equal(sweepbook_flush(b), 0);
    sweepbook_close(b);
    b = open_book(*state);
    assert_int_equal(sweepbook_alike(b, "overread in f"), 5);
    assert_int_equal(sweepbook_alike(b, "overread in g"), 1);
    assert_int_equal(sweepbook_alike(b, "overread in h"), 0);
    sweepbook_faults(b, &failed, &alike);
    assert_int_equal(failed, 6);
    assert_int_equal(alike, 3);
    assert_int_equal(sweepbook_contents(b), 0);
    sweepbook_close(b);
}

static void a_link_in_the_place_of_the_record_is_refused(void **state)
{
    const struct place *p = *state;
    cleanup_free char *folder = path_join(p->dir, "sweep"), *other = path_join(p->dir, "other");
    struct sweepbook *b = NULL;
    struct err err = {0};

    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink(other, p->file), 0);
    assert_true(sweepbook_open(p->dir, p->file, &b, &err) < 0);
    assert_int_equal(access(other, F_OK), -1);
    assert_int_equal(rmdir(folder), -1);
    assert_int_equal(unlink(p->file), 0);
    assert_int_equal(mkfifo(p->file, 0600), 0);
    assert_true(sweepbook_open(p->dir, p->file, &b, &err) < 0);
}

static void put(const char *dir, const char *name, const char *text)
{
    cleanup_free char *path = path_join(dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void only_entries_that_are_new_are_listed(void **state)
{
    const struct place *p = *state;
    struct strv queues = {0}, names = {0};
    struct sweepbook *b = open_book(p);
    struct sweeplist l;
    struct err err = {0};
    uint8_t *data = NULL;
    size_t size = 0;

    strv_addf(&queues, "%s/main", p->dir);
    strv_addf(&queues, "%s/gone", p->dir);
    strv_addf(&queues, "%s/second", p->dir);
    strv_add(&names, "main");
    strv_add(&names, "gone");
    strv_add(&names, "second");
    assert_int_equal(mkdir(queues.v[0], 0700), 0);
    assert_int_equal(mkdir(queues.v[2], 0700), 0);
    put(queues.v[0], "id:000000", "one");
    put(queues.v[0], ".hidden", "two");
    put(queues.v[2], "id:000000", "three");
    {
        cleanup_free char *folder = path_join(queues.v[0], "folder");
        cleanup_free char *link = path_join(queues.v[0], "link");
        cleanup_free char *fifo = path_join(queues.v[0], "fifo");

        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(symlink("id:000000", link), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
    }
    assert_int_equal(sweeplist_read(p->dir, &queues, &names, b, &l, &err), 0);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.total, 2);
    for (size_t i = 0; i < l.n; i++) {
        assert_int_equal(sweeplist_load(&l, i, 100, &data, &size), 0);
        assert_int_equal(size, l.v[i].dir == 0 ? 3 : 5);
        free(data);
    }
    assert_int_equal(sweeplist_load(&l, 0, 2, &data, &size), -EFBIG);
    sweepbook_add(b, l.v[0].key, sweepbook_content("one", 3));
    sweeplist_clear(&l);
    assert_int_equal(sweeplist_read(p->dir, &queues, &names, b, &l, &err), 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.total, 2);
    sweeplist_clear(&l);
    sweepbook_close(b);
    strv_clear(&queues);
    strv_clear(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_flushed_is_known_by_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_not_flushed_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_cut_record_is_written_over_and_a_changed_one_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(failures_are_counted_by_what_they_show, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_in_the_place_of_the_record_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(only_entries_that_are_new_are_listed, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
