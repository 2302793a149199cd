/* SPDX-License-Identifier: Apache-2.0 */
/* What a self-test tells: a line whenever something ends, the table, the same as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "ctl/selftest.h"

static const char *variant(const struct selftest_item *it)
{
    static const char *const names[] = {"plain", "asan", "cmplog"};

    return it->plant != NULL ? names[it->plant->variant] : "control";
}

static size_t count(const struct selftest *st, enum selftest_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < st->n_items; i++)
        n += st->items[i].state == state;
    return n;
}

static const char *seconds(char *buf, size_t size, int64_t ms)
{
    if (ms < 0)
        return "-";
    (void)snprintf(buf, size, "%.1fs", (double)ms / 1000.0);
    return buf;
}

static const char *number(char *buf, size_t size, int64_t n)
{
    return n < 0 ? "-" : format_count(buf, size, (double)n);
}

void selftest_progress(const struct selftest *st, const struct selftest_item *it, const char *what)
{
    char execs[32], took[32];
    size_t done = count(st, SELFTEST_PASSED) + count(st, SELFTEST_FAILED);

    if (st->env->json || st->env->quiet)
        return;
    printf("[%*zu/%zu] %-24s %s", st->n_items > 9 ? 2 : 1, done, st->n_items, selftest_name(st, it),
           what);
    if (it->state == SELFTEST_PASSED && it->plant != NULL && it->found_execs >= 0)
        printf(" %s after %s executions, %s", it->found,
               number(execs, sizeof(execs), it->found_execs),
               seconds(took, sizeof(took), it->found_ms));
    else if (it->state == SELFTEST_PASSED)
        printf(" %s", it->found);
    else if (it->state == SELFTEST_FAILED)
        printf(" %s", it->why);
    putchar('\n');
    (void)fflush(stdout);
}

void selftest_table(const struct selftest *st)
{
    char execs[32], budget[32], took[32];

    printf("\n%-24s %-20s %-8s %-6s %-20s %8s %8s %8s\n", "PLANT", "TARGET", "VARIANT", "RESULT",
           "FOUND", "EXECS", "OF", "TIME");
    for (size_t i = 0; i < st->n_items; i++) {
        const struct selftest_item *it = &st->items[i];
        bool control = it->plant == NULL;

        printf("%-24s %-20s %-8s %-6s %-20s %8s %8s %8s\n", control ? "-" : it->plant->name,
               st->spec->targets[it->target].name, variant(it),
               it->state == SELFTEST_PASSED ? "ok" : "FAILED",
               it->found[0] != '\0' ? it->found : "-",
               number(execs, sizeof(execs), control ? it->execs_done : it->found_execs),
               number(budget, sizeof(budget), it->execs),
               seconds(took, sizeof(took), control ? -1 : it->found_ms));
    }
    for (size_t i = 0; i < st->n_items; i++)
        if (st->items[i].state == SELFTEST_FAILED)
            printf("%s: %s\n", selftest_name(st, &st->items[i]), st->items[i].why);
}

static json_t *number_json(int64_t n)
{
    return n < 0 ? json_null() : json_integer((json_int_t)n);
}

json_t *selftest_json(const struct selftest *st)
{
    json_t *list = json_array();

    for (size_t i = 0; i < st->n_items; i++) {
        const struct selftest_item *it = &st->items[i];
        bool control = it->plant == NULL;

        json_array_append_new(
            list, json_pack("{s:o, s:s, s:s, s:b, s:s*, s:s*, s:o, s:o, s:o, s:o, s:I}", "plant",
                            control ? json_null() : json_string(it->plant->name), "target",
                            st->spec->targets[it->target].name, "variant", variant(it), "ok",
                            (int)(it->state == SELFTEST_PASSED), "found",
                            it->found[0] != '\0' ? it->found : NULL, "why",
                            it->why[0] != '\0' ? it->why : NULL, "found_execs",
                            number_json(it->found_execs), "found_ms", number_json(it->found_ms),
                            "execs_done", number_json(it->execs_done), "file",
                            it->seen_file[0] != '\0' ? json_string(it->seen_file) : json_null(),
                            "execs", (json_int_t)it->execs));
    }
    return json_pack("{s:i, s:s, s:o, s:I, s:I}", "version", 1, "spec", st->spec_path, "items",
                     list, "passed", (json_int_t)count(st, SELFTEST_PASSED), "failed",
                     (json_int_t)(st->n_items - count(st, SELFTEST_PASSED)));
}
