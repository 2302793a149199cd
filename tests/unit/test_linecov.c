/* SPDX-License-Identifier: Apache-2.0 */
/* What llvm-cov export prints: what is taken of it, in which order, and what is passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/linecov.h"

#define FILE_OF(name, covered, count)                                                              \
    "{\"filename\":\"" name "\",\"summary\":{\"lines\":{\"count\":" count ",\"covered\":" covered  \
    "},\"functions\":{\"count\":2,\"covered\":1},\"regions\":{\"count\":4"                         \
    ",\"covered\":3}}}"
#define FUNCTION_OF(name, file, line, count)                                                       \
    "{\"name\":\"" name "\",\"filenames\":[\"" file "\"],\"count\":" count ",\"regions\":[[" line  \
    ",1,9,2," count ",0,0,0],[" line ",1,9,2,0,0,0,2]]}"
#define DOC(files, functions)                                                                      \
    "{\"data\":[{\"files\":[" files "],\"functions\":[" functions                                  \
    "]}],\"type\":\"llvm.coverage.json.export\",\"version\":\"2.0.1\"}"

static struct linecov parse(const char *text, bool kit)
{
    struct linecov l = {0};
    struct err err = {0};

    assert_int_equal(linecov_parse(text, strlen(text), kit, &l, &err), 0);
    return l;
}

static void parts_are_told_by_path_and_only_in_kit_builds(void **ctx)
{
    static const struct {
        const char *path;
        enum linecov_part part;
    } cases[] = {
        {"/a/harnesses/sdk/fz_run.c", LINECOV_KIT},
        {"/a/harnesses/sdk/main_replay.c", LINECOV_KIT},
        {"sdk/fz.h", LINECOV_KIT},
        {"/sdk/lib.c", LINECOV_LIBRARY},
        {"/a/notsdk/fz_run.c", LINECOV_LIBRARY},
        {"/a/sdk/deeper/fz_run.c", LINECOV_LIBRARY},
        {"/a/targets/x/invariants.c", LINECOV_HARNESS},
        {"/a/targets/x/neg_oracle.c", LINECOV_HARNESS},
        {"/a/targets/x/oracle_table.c", LINECOV_HARNESS},
        {"/a/targets/x/oracles.c", LINECOV_LIBRARY},
        {"/oracle/x.c", LINECOV_LIBRARY},
        {"", LINECOV_LIBRARY},
    };

    (void)ctx;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(linecov_part_of(cases[i].path, true), cases[i].part);
        assert_int_equal(linecov_part_of(cases[i].path, false), LINECOV_LIBRARY);
    }
}

static void what_is_missing_comes_first(void **ctx)
{
    struct linecov l = parse(
        DOC(FILE_OF("/s/b.c", "9", "10") "," FILE_OF("/s/a.c", "1", "10") "," FILE_OF(
                "/s/sdk/fz_x.c", "0", "10") "," FILE_OF("/s/none.h", "0", "0"),
            FUNCTION_OF("called", "/s/a.c", "1", "3") "," FUNCTION_OF(
                "kit", "/s/sdk/fz_x.c", "1", "0") "," FUNCTION_OF("a.c:quiet", "/s/a.c", "7", "0")),
        true);

    (void)ctx;
    assert_int_equal(l.n_files, 3);
    assert_string_equal(l.files[0].path, "/s/sdk/fz_x.c");
    assert_string_equal(l.files[1].path, "/s/a.c");
    assert_string_equal(l.files[2].path, "/s/b.c");
    assert_int_equal(l.parts[LINECOV_LIBRARY].lines.covered, 10);
    assert_int_equal(l.parts[LINECOV_LIBRARY].lines.count, 20);
    assert_int_equal(l.parts[LINECOV_KIT].lines.count, 10);
    assert_int_equal(l.n_functions, 3);
    assert_string_equal(l.functions[0].name, "quiet");
    assert_false(l.functions[0].covered);
    assert_int_equal(l.functions[0].line, 7);
    assert_string_equal(l.functions[1].name, "kit");
    assert_string_equal(l.functions[2].name, "called");
    assert_int_equal(l.functions[2].regions.count, 1);
    assert_int_equal(l.functions[2].regions.covered, 1);
    linecov_clear(&l);
}

static void instances_of_a_function_are_one(void **ctx)
{
    struct linecov l =
        parse(DOC(FILE_OF("/s/t.h", "1", "2"),
                  FUNCTION_OF("_Z1fIiE", "/s/t.h", "4", "0") "," FUNCTION_OF(
                      "_Z1fIcE", "/s/t.h", "4", "2") "," FUNCTION_OF("_Z1gv", "/s/t.h", "9", "0")),
              false);

    (void)ctx;
    assert_int_equal(l.n_functions, 2);
    assert_int_equal(l.functions[0].line, 9);
    assert_true(l.functions[1].covered);
    linecov_clear(&l);
}

static void odd_members_are_passed_over(void **ctx)
{
    struct linecov l =
        parse(DOC("7,{},{\"filename\":3},{\"filename\":\"/x.c\",\"summary\":[]}," FILE_OF(
                      "/y.c", "-5", "10") "," FILE_OF("/z.c", "50", "10"),
                  "null,{\"name\":\"f\"},{\"name\":\"f\",\"filenames\":[]},"
                  "{\"name\":\"g\",\"filenames\":[\"/y.c\"],\"regions\":[1,[],[\"a\"]]}"),
              true);

    (void)ctx;
    assert_int_equal(l.n_files, 2);
    assert_int_equal(l.files[0].sum.lines.covered, 0);
    assert_int_equal(l.files[1].sum.lines.covered, 0);
    assert_int_equal(l.n_functions, 1);
    assert_false(l.functions[0].covered);
    linecov_clear(&l);
}

static void what_is_no_export_is_refused(void **ctx)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"data\":[]}",
                                      "{\"data\":[{\"files\":{},\"functions\":[]}]}",
                                      "{\"data\":[{\"files\":[]}]}"};

    (void)ctx;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct linecov l = {.n_files = 77};
        struct err err = {0};

        assert_true(linecov_parse(bad[i], strlen(bad[i]), true, &l, &err) < 0);
        assert_int_equal(l.n_files, 77);
        assert_true(err.msg[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told_by_path_and_only_in_kit_builds),
        cmocka_unit_test(what_is_missing_comes_first),
        cmocka_unit_test(instances_of_a_function_are_one),
        cmocka_unit_test(odd_members_are_passed_over),
        cmocka_unit_test(what_is_no_export_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
