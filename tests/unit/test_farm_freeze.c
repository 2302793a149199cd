/* SPDX-License-Identifier: Apache-2.0 */
/* When a campaign is frozen and thawed, and the account of it: by value, with readings and a clock made up. Counting a tree: on a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "farm/freeze.h"
#include "farm/guard.h"
#include "farm/usage.h"

static const struct guard_limits limits = {
    .pressure_pct = 40, .floor_bytes = 1000, .disk_bytes = 1000};

static struct guard_reading reading(double pressure_pct, int64_t free_bytes, int64_t used_bytes)
{
    return (struct guard_reading){pressure_pct, free_bytes, used_bytes};
}

static bool pressure_at(struct guard *g, double pct, int64_t now_ms)
{
    struct guard_reading r = reading(pct, -1, -1);

    guard_take(g, &limits, &r, now_ms);
    return g->on[GUARD_PRESSURE];
}

static bool floor_at(struct guard *g, int64_t free_bytes)
{
    struct guard_reading r = reading(-1, free_bytes, -1);

    guard_take(g, &limits, &r, 0);
    return g->on[GUARD_FLOOR];
}

static bool disk_at(struct guard *g, int64_t used_bytes)
{
    struct guard_reading r = reading(-1, -1, used_bytes);

    guard_take(g, &limits, &r, 0);
    return g->on[GUARD_DISK];
}

static void guard_freezes_above_the_pressure_ceiling_only(void **state)
{
    (void)state;
    struct guard g = {0};

    assert_false(pressure_at(&g, 40.0, 0));
    assert_true(pressure_at(&g, 40.01, 1000));
}

static void guard_thaws_after_ten_calm_seconds(void **state)
{
    (void)state;
    struct guard g = {0};

    assert_true(pressure_at(&g, 90, 0));
    assert_true(pressure_at(&g, 31, 1000));
    assert_true(pressure_at(&g, 0, 10999));
    assert_false(pressure_at(&g, 0, 11000));
    assert_false(pressure_at(&g, 39, 12000));
}

static void guard_begins_to_count_the_calm_anew_when_it_is_broken(void **state)
{
    (void)state;
    struct guard g = {0};

    assert_true(pressure_at(&g, 90, 0));
    assert_true(pressure_at(&g, 10, 1000));
    assert_true(pressure_at(&g, 33, 9000)); /* between 80 % of the ceiling and the ceiling */
    assert_true(pressure_at(&g, 10, 10000));
    assert_true(pressure_at(&g, 10, 19999));
    assert_false(pressure_at(&g, 10, 20000));
}

static void guard_is_not_moved_by_what_it_cannot_read(void **state)
{
    (void)state;
    struct guard g = {0};

    assert_false(pressure_at(&g, -1, 0));
    assert_true(pressure_at(&g, 90, 1000));
    assert_true(pressure_at(&g, -1, 60000));
    assert_true(floor_at(&g, 0));
    assert_true(floor_at(&g, -1));
    assert_true(disk_at(&g, 1001));
    assert_true(disk_at(&g, -1));
}

static void guard_keeps_the_floor_and_ten_percent_more(void **state)
{
    (void)state;
    struct guard g = {0};

    assert_false(floor_at(&g, 1000));
    assert_true(floor_at(&g, 999));
    assert_true(floor_at(&g, 1099));
    assert_false(floor_at(&g, 1100));
}

static void guard_holds_the_disk_budget_until_a_tenth_is_gone(void **state)
{
    (void)state;
    struct guard g = {0};

    assert_false(disk_at(&g, 1000));
    assert_true(disk_at(&g, 1001));
    assert_true(disk_at(&g, 901));
    assert_false(disk_at(&g, 900));
}

static void guard_without_a_limit_never_freezes(void **state)
{
    (void)state;
    const struct guard_limits none = {0};
    struct guard g = {.on = {true, true, true}};
    struct guard_reading r = reading(100, 0, INT64_MAX);

    guard_take(&g, &none, &r, 0);
    for (int i = 0; i < GUARD_CAUSES; i++)
        assert_false(g.on[i]);
}

static void guard_reads_the_kernels_pressure_file(void **state)
{
    (void)state;
    double pct = -1;

    assert_int_equal(guard_parse_psi("some avg10=12.34 avg60=0.10 avg300=0.00 total=77072\n"
                                     "full avg10=0.00 avg60=0.00 avg300=0.00 total=17563\n",
                                     &pct),
                     0);
    assert_true(pct > 12.33 && pct < 12.35);
    assert_int_equal(guard_parse_psi("full avg10=1.00 x\nsome avg10=100.00 avg60=1", &pct), 0);
    assert_true(pct > 99.99);
}

static void guard_refuses_what_is_no_pressure_file(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "\n",
        "full avg10=1.00 avg60=0.00\n",
        "some avg10=\n",
        "some avg10=x\n",
        "some avg10=1.2.3 \n",
        "some avg10=101 \n",
        "some avg10=99999999999999999999 \n",
        "some avg10=-1 \n",
        " some avg10=1 \n",
    };
    double pct = 7;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(guard_parse_psi(bad[i], &pct), -EBADMSG);
    assert_true(pct > 6.9 && pct < 7.1);
}

static void guard_says_what_is_short(void **state)
{
    (void)state;
    const struct guard_limits lim = {40, 2LL << 30, 10LL << 30};
    struct guard_reading r = reading(53.4, 1800LL << 20, 11LL << 30);
    char buf[256];

    assert_string_equal(guard_words(buf, sizeof(buf), GUARD_PRESSURE, &lim, &r, "/s"),
                        "memory pressure of the host is 53 %, at most 40 %");
    assert_string_equal(guard_words(buf, sizeof(buf), GUARD_FLOOR, &lim, &r, "/s"),
                        "1.8G free in /s, at least 2G stay free");
    assert_string_equal(guard_words(buf, sizeof(buf), GUARD_DISK, &lim, &r, "/s"),
                        "the run holds 11G on disk, its budget is 10G");
}

static void freeze_lasts_until_the_last_cause_is_gone(void **state)
{
    (void)state;
    struct freeze f = {0};

    assert_true(freeze_add(&f, FREEZE_USER, "paused", 1000, 5000));
    assert_false(freeze_add(&f, FREEZE_DISK, "full", 2000, 6000));
    assert_false(freeze_add(&f, FREEZE_DISK, "fuller", 3000, 7000));
    assert_false(freeze_remove(&f, FREEZE_USER, 4000));
    assert_string_equal(freeze_why(&f), "fuller");
    assert_false(freeze_remove(&f, FREEZE_PRESSURE, 5000));
    assert_true(freeze_remove(&f, FREEZE_DISK, 6000));
    assert_false(freeze_remove(&f, FREEZE_DISK, 7000));
    assert_null(freeze_why(&f));
    assert_int_equal(f.of[FREEZE_USER].total_ms, 3000);
    assert_int_equal(f.of[FREEZE_DISK].total_ms, 4000);
    assert_int_equal(f.of[FREEZE_DISK].times, 1);
}

static void freeze_is_the_same_after_it_was_stored(void **state)
{
    (void)state;
    struct freeze f = {0}, g = {0};
    json_t *j;

    (void)freeze_add(&f, FREEZE_PRESSURE, "pressure", 1000, 100000);
    (void)freeze_remove(&f, FREEZE_PRESSURE, 3000);
    (void)freeze_add(&f, FREEZE_USER, "paused by a user", 4000, 103000);
    j = freeze_to_json(&f, 6000);
    /* Another daemon, another clock, ten seconds later. */
    freeze_from_json(&g, j, 500000, 115000);
    json_decref(j);
    assert_int_equal(g.causes, f.causes);
    assert_string_equal(freeze_why(&g), "paused by a user");
    assert_int_equal(g.of[FREEZE_PRESSURE].total_ms, 2000);
    assert_int_equal(g.of[FREEZE_USER].since_at_ms, 103000);
    assert_true(freeze_remove(&g, FREEZE_USER, 501000));
    assert_int_equal(g.of[FREEZE_USER].total_ms, 13000);
}

static void freeze_takes_nothing_from_odd_rows(void **state)
{
    (void)state;
    static const char *const odd[] = {"{}", "[1, null, \"x\", []]", "[{\"cause\":\"user\"}]",
                                      "[{\"cause\":\"weather\",\"why\":\"rain\",\"now\":true}]",
                                      "[{\"cause\":7,\"why\":{},\"now\":true}]"};

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct freeze f = {0};
        json_t *j = json_loads(odd[i], 0, NULL);

        assert_non_null(j);
        freeze_from_json(&f, j, 1, 1);
        json_decref(j);
        assert_int_equal(f.causes, 0);
    }
}

static void put_file(const char *dir, const char *name, size_t size)
{
    char path[512];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < size; i++)
        assert_int_not_equal(fputc('x', f), EOF);
    assert_int_equal(fclose(f), 0);
}

static void usage_counts_a_tree_in_slices_and_follows_no_link(void **state)
{
    (void)state;
    char dir[] = "/tmp/fz-usage-XXXXXX", sub[64], link[80], other[80];
    struct usage *u;
    int64_t whole;
    int steps = 0;

    assert_non_null(mkdtemp(dir));
    (void)snprintf(sub, sizeof(sub), "%s/a", dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    for (int i = 0; i < 200; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "f%d", i);
        put_file(i % 2 == 0 ? dir : sub, name, 5000);
    }
    (void)snprintf(link, sizeof(link), "%s/link", dir);
    assert_int_equal(symlink("/usr", link), 0);
    (void)snprintf(other, sizeof(other), "%s/f0", dir);
    (void)snprintf(link, sizeof(link), "%s/a/second-name", dir);
    assert_int_equal(linkat(-100, other, -100, link, 0), 0);

    u = usage_new(dir);
    assert_int_equal(usage_bytes(u), -1);
    while (usage_bytes(u) < 0 && steps < 1000) {
        usage_step(u, 0, 0, 1000); /* a slice of no length: a batch a call */
        steps++;
    }
    assert_true(steps > 4);
    whole = path_tree_bytes(dir, 100000);
    /* The file of two names counts once here; the top folder itself does not. */
    assert_true(usage_bytes(u) > whole - 3 * 8192 && usage_bytes(u) <= whole);

    put_file(dir, "more", 400000);
    usage_step(u, 999, 1000, 1000);
    assert_true(usage_bytes(u) <= whole); /* not yet due */
    usage_step(u, 100000, 1000, 1000);
    assert_true(usage_bytes(u) > whole);
    usage_restart(u, 200000);
    assert_int_equal(usage_bytes(u), -1);
    assert_int_equal(path_remove_tree(dir), 0);
    usage_step(u, 200000, 1000, 1000);
    assert_int_equal(usage_bytes(u), 0);
    usage_free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard_freezes_above_the_pressure_ceiling_only),
        cmocka_unit_test(guard_thaws_after_ten_calm_seconds),
        cmocka_unit_test(guard_begins_to_count_the_calm_anew_when_it_is_broken),
        cmocka_unit_test(guard_is_not_moved_by_what_it_cannot_read),
        cmocka_unit_test(guard_keeps_the_floor_and_ten_percent_more),
        cmocka_unit_test(guard_holds_the_disk_budget_until_a_tenth_is_gone),
        cmocka_unit_test(guard_without_a_limit_never_freezes),
        cmocka_unit_test(guard_reads_the_kernels_pressure_file),
        cmocka_unit_test(guard_refuses_what_is_no_pressure_file),
        cmocka_unit_test(guard_says_what_is_short),
        cmocka_unit_test(freeze_lasts_until_the_last_cause_is_gone),
        cmocka_unit_test(freeze_is_the_same_after_it_was_stored),
        cmocka_unit_test(freeze_takes_nothing_from_odd_rows),
        cmocka_unit_test(usage_counts_a_tree_in_slices_and_follows_no_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
