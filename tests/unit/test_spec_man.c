/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzd-campaign(5) against the key table: every key once, in the table's order, with
 * the table's default, and no key that the table does not know.
 */
#include "spec/spec_keys.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"

static const char page[] = "orchestrator/man/fuzzd-campaign.5";

/* What stands after key's item up to the next item or the end of the list. Caller frees. */
static char *entry_after(const char *item)
{
    const char *start = strchr(item, '\n');
    assert_non_null(start);
    const char *next = strstr(start, "\n.It "), *end = strstr(start, "\n.El");
    if (next == NULL || (end != NULL && end < next))
        next = end;
    assert_non_null(next);
    return xstrndup(start, (size_t)(next - start) + 1);
}

static void the_page_has_every_key_in_order_and_no_other(void **state)
{
    (void)state;
    cleanup_free char *text = NULL;
    assert_int_equal(file_read(AT_FDCWD, page, 1 << 20, &text, NULL), 0);
    static const char mark[] = "\n.It Cm ";
    const char *at = text;
    size_t row = 0;
    while ((at = strstr(at, mark)) != NULL) {
        at += sizeof(mark) - 1;
        cleanup_free char *name = xstrndup(at, strcspn(at, "\n"));
        if (row == spec_keys_count)
            fail_msg("the page documents %s, which the table does not have", name);
        if (strcmp(name, spec_keys[row].name) != 0)
            fail_msg("the page has %s where the table has %s", name, spec_keys[row].name);
        row++;
    }
    if (row < spec_keys_count)
        fail_msg("the page does not document %s", spec_keys[row].name);
}

static void the_page_has_every_default(void **state)
{
    (void)state;
    cleanup_free char *text = NULL;
    assert_int_equal(file_read(AT_FDCWD, page, 1 << 20, &text, NULL), 0);
    const char *item = text;
    for (size_t row = 0; row < spec_keys_count; row++) {
        const struct spec_key *k = &spec_keys[row];
        cleanup_free char *mark = xasprintf("\n.It Cm %s\n", k->name);
        item = strstr(item + 1, mark); /* sections may have a key of one name each */
        assert_non_null(item);
        cleanup_free char *entry = entry_after(item + 1);
        cleanup_free char *want = xasprintf("\nDefault: %s\n", k->def != NULL ? k->def : "");
        if (k->def != NULL && strstr(entry, want) == NULL)
            fail_msg("%s: the page does not say \"Default: %s\"", k->name, k->def);
        if (k->def == NULL && strcmp(k->name, "name") != 0 && strstr(entry, "Default:") != NULL)
            fail_msg("%s: the page gives a default, the table has none", k->name);
    }
}

/* Whether the table of keys in the README has the key of that section: a row "| `[section]` | `key`, ... |". */
static bool readme_has(const char *text, const char *section, const char *key)
{
    cleanup_free char *mark = xasprintf("\n| `[%s]` |", section);
    cleanup_free char *want = xasprintf("`%s`", key);
    const char *row = strstr(text, mark);

    if (row == NULL)
        return false;
    cleanup_free char *line = xstrndup(row + 1, strcspn(row + 1, "\n"));
    return strstr(line, want) != NULL;
}

static void the_readme_names_every_key(void **state)
{
    static const struct {
        unsigned scope;
        const char *section;
    } of[] = {{SPEC_CAMPAIGN, "campaign"},
              {SPEC_LIMITS, "limits"},
              {SPEC_TARGET, "target NAME"},
              {SPEC_PLANT, "plant NAME"}};
    cleanup_free char *text = NULL;

    (void)state;
    assert_int_equal(file_read(AT_FDCWD, "README.md", 1 << 20, &text, NULL), 0);
    for (size_t row = 0; row < spec_keys_count; row++) {
        const struct spec_key *k = &spec_keys[row];

        for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
            if (k->scope == (SPEC_LIMITS | SPEC_TARGET) && of[i].scope == SPEC_TARGET)
                continue; /* told once, for [limits] */
            if ((k->scope & of[i].scope) != 0 && !readme_has(text, of[i].section, k->name))
                fail_msg("README.md does not name %s of [%s]", k->name, of[i].section);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_has_every_key_in_order_and_no_other),
        cmocka_unit_test(the_page_has_every_default),
        cmocka_unit_test(the_readme_names_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
