/* SPDX-License-Identifier: Apache-2.0 */
/* The order that "after" makes of targets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "spec/waves.h"

#define NODES_MAX 8

/* "a:b,c" is a node a after b and c. */
static size_t nodes_make(const char *const *text, struct wave_node *nodes, struct strv *after,
                         char names[][8])
{
    size_t n = 0;

    for (; text[n] != NULL; n++) {
        const char *s = text[n] + strcspn(text[n], ":");

        memset(&after[n], 0, sizeof(after[n]));
        memset(names[n], 0, 8);
        memcpy(names[n], text[n], (size_t)(s - text[n]));
        while (*s != '\0') {
            size_t len = strcspn(++s, ",");

            strv_take(&after[n], xstrndup(s, len));
            s += len;
        }
        nodes[n] = (struct wave_node){names[n], &after[n]};
    }
    return n;
}

static void check(const char *const *text, int want_r, const int *want, const char *cycle)
{
    struct wave_node nodes[NODES_MAX] = {{0}};
    struct strv after[NODES_MAX];
    char names[NODES_MAX][8];
    int waves[NODES_MAX];
    size_t n = nodes_make(text, nodes, after, names);
    cleanup_free char *way = waves_cycle(nodes, n, 0);

    assert_int_equal(waves_of(nodes, n, waves), want_r);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(waves[i], want[i]);
    if (cycle == NULL)
        assert_null(way);
    else
        assert_string_equal(way, cycle);
    for (size_t i = 0; i < n; i++)
        strv_clear(&after[i]);
}

#define TEXT(...) ((const char *const[]){__VA_ARGS__, NULL})
#define WANT(...) ((const int[]){__VA_ARGS__})

static void a_target_comes_one_wave_after_the_latest_it_waits_for(void **state)
{
    (void)state;
    check(TEXT("a", "b"), 0, WANT(0, 0), NULL);
    check(TEXT("d:c,a", "a", "b:a", "c:b"), 0, WANT(3, 0, 1, 2), NULL);
}

static void an_unknown_name_counts_for_nothing(void **state)
{
    (void)state;
    check(TEXT("a:nobody", "b:a,nobody"), 0, WANT(0, 1), NULL);
}

static void those_in_a_circle_and_behind_it_have_no_wave(void **state)
{
    (void)state;
    check(TEXT("a:b", "b:a", "c:b", "d"), -ELOOP, WANT(-1, -1, -1, 0), "a after b after a");
    check(TEXT("a:a"), -ELOOP, WANT(-1), "a after a");
    check(TEXT("a:b,c", "b:d", "c:a", "d:a"), -ELOOP, WANT(-1, -1, -1, -1), "a after c after a");
}

static void whoever_only_waits_for_a_circle_is_in_none(void **state)
{
    (void)state;
    check(TEXT("x:a", "a:b", "b:a"), -ELOOP, WANT(-1, -1, -1), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_comes_one_wave_after_the_latest_it_waits_for),
        cmocka_unit_test(an_unknown_name_counts_for_nothing),
        cmocka_unit_test(those_in_a_circle_and_behind_it_have_no_wave),
        cmocka_unit_test(whoever_only_waits_for_a_circle_is_in_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
