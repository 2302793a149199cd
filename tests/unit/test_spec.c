/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specs in, faults or the spec in force out. Each folder of tests/fixtures/spec is one
 * case: in.ini beside the text that is wanted, every fault and warning, and for a spec
 * without faults the effective text, which must also load back to itself. The files
 * that specs name are made here. GOLDEN_UPDATE=1 rewrites the wanted texts.
 */
#include "spec/spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sort.h"
#include "spec/ini.h"
#include "spec/spec_keys.h"

#define CASES_MAX 200

static char fixtures[PATH_MAX], top[PATH_MAX];

static void put(const char *path, const char *text, mode_t mode)
{
    cleanup_free char *dir = path_dirname(path);
    if (path_mkdirs(dir, 0700) < 0 ||
        file_write_atomic(AT_FDCWD, path, text, strlen(text), mode) < 0)
        fail_msg("cannot write %s", path);
}

/* The tree that the specs of the fixtures speak of; the working directory from here on. */
static int make_tree(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *dir = xasprintf("%s/fz-spec.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL || realpath(dir, top) == NULL || chdir(top) < 0)
        return -1;
    static const char *const programs[] = {"harness", "cmplog", "asan", "replay", "laf"};
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        cleanup_free char *path = path_join("bin", programs[i]);
        put(path, "#!/bin/sh\n", 0755);
    }
    put("bin/mutator.so", "x", 0644);
    put("bin/plain", "x", 0644);
    put("seeds/a", "x", 0644);
    put("nested/deep/a", "x", 0644);
    put("readme/README.txt", "x", 0644);
    put("readme/none", "", 0644);
    put("src/a.c", "x", 0644);
    put("a.dict", "x", 0644);
    put("odd ;name/a", "x", 0644);
    if (mkdir("empty", 0700) < 0)
        return -1;
    return unsetenv("FUZZ_RUNTIME_SECS");
}

static int drop_tree(void **state)
{
    (void)state;
    return chdir("/") < 0 ? -1 : path_remove_tree(top);
}

/* Copies text with the name of the temporary folder as DIR. Caller frees. */
static char *without_top(const char *text)
{
    char *out = NULL;
    size_t size = 0, len = strlen(top);
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    while (*text != '\0') {
        if (strncmp(text, top, len) == 0) {
            (void)fputs("DIR", f);
            text += len;
        } else {
            (void)fputc(*text++, f);
        }
    }
    (void)fclose(f);
    return out;
}

/* Faults, then the effective text if there were none. Caller frees. */
static char *outcome(const char *path, char **ret_effective)
{
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    char *out = NULL, *effective = NULL;
    size_t size = 0, esize = 0;
    int r = spec_load(path, NULL, &spec, &faults, &err);
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    assert_true(r == 0 || r == -EINVAL);
    assert_int_equal(r == 0, spec_faults_errors(&faults) == 0);
    assert_int_equal(r == 0, spec != NULL);
    spec_faults_print(&faults, path, f);
    if (r == 0) {
        FILE *e = open_memstream(&effective, &esize);
        assert_non_null(e);
        spec_print_effective(spec, e);
        (void)fclose(e);
        (void)fputs(effective, f);
    }
    (void)fclose(f);
    spec_free(spec);
    spec_faults_clear(&faults);
    *ret_effective = effective;
    return out;
}

static void a_fixture_gives_what_is_wanted(void **state)
{
    cleanup_free char *in = xasprintf("%s/%s/in.ini", fixtures, (char *)*state);
    cleanup_free char *want_path = xasprintf("%s/%s/want", fixtures, (char *)*state);
    cleanup_free char *text = NULL, *want = NULL, *effective = NULL, *again = NULL;
    size_t size;
    assert_int_equal(file_read(AT_FDCWD, in, 1 << 20, &text, &size), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, "c.ini", text, size, 0600), 0);
    /* What "plants" may name lies beside the spec. */
    cleanup_free char *more_path = xasprintf("%s/%s/plants.ini", fixtures, (char *)*state);
    cleanup_free char *more = NULL;
    (void)unlink("plants.ini");
    if (file_read(AT_FDCWD, more_path, 1 << 20, &more, &size) == 0)
        assert_int_equal(file_write_atomic(AT_FDCWD, "plants.ini", more, size, 0600), 0);
    cleanup_free char *raw = outcome("c.ini", &effective);
    cleanup_free char *got = without_top(raw);
    if (getenv("GOLDEN_UPDATE") != NULL)
        assert_int_equal(file_write_atomic(AT_FDCWD, want_path, got, strlen(got), 0644), 0);
    assert_int_equal(file_read(AT_FDCWD, want_path, 1 << 20, &want, &size), 0);
    assert_string_equal(got, want);
    if (effective == NULL)
        return;
    put("effective.ini", effective, 0600);
    cleanup_free char *back = outcome("effective.ini", &again);
    assert_non_null(back);
    assert_string_equal(again, effective);
}

static const char minimal[] = "[target x]\nharness = bin/harness\nseeds = seeds\n";

static void blanks_around_a_path_are_printed_so_that_they_are_read(void **state)
{
    (void)state;
    cleanup_free char *text = xasprintf("%sdictionary = ./ d /.\n", minimal);
    cleanup_free char *effective = NULL, *again = NULL;

    put(" d ", "\"x\"\n", 0600);
    put("blank.ini", text, 0600);
    cleanup_free char *first = outcome("blank.ini", &effective);
    assert_non_null(effective);
    assert_non_null(strstr(effective, "\ndictionary = ./ d /.\n"));
    put("blank.ini", effective, 0600);
    cleanup_free char *second = outcome("blank.ini", &again);
    assert_non_null(first);
    assert_non_null(second);
    assert_string_equal(again, effective);
}

static struct spec *load(const char *text, const struct spec_overrides *ov)
{
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    put("o.ini", text, 0600);
    if (spec_load("o.ini", ov, &spec, &faults, &err) < 0) {
        spec_faults_print(&faults, "o.ini", stderr);
        fail_msg("%s", err.msg);
    }
    spec_faults_clear(&faults);
    return spec;
}

static void a_path_may_go_up_and_leads_where_it_says(void **state)
{
    (void)state;
    static const char text[] = "[target x]\nharness = ../bin/harness\nseeds = other/../seeds\n";
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    cleanup_free char *harness = path_join(top, "bin/harness");
    cleanup_free char *seeds = path_join(top, "nested/seeds");

    put("nested/up.ini", text, 0600);
    put("nested/seeds/a", "x", 0600);
    assert_int_equal(symlink("deep", "nested/other"), 0);
    assert_int_equal(spec_load("nested/up.ini", NULL, &spec, &faults, &err), 0);
    assert_string_equal(spec->targets[0].harness, harness);
    assert_string_equal(spec->targets[0].seeds, seeds);
    spec_faults_clear(&faults);
    spec_free(spec);
}

static void flag_beats_environment_beats_file(void **state)
{
    (void)state;
    cleanup_free char *text = xasprintf("[campaign]\nbudget = 3m\n%s", minimal);
    struct spec_overrides ov = {0};
    struct spec *spec = load(text, &ov);
    assert_int_equal(spec->budget_ms, 180000);
    assert_false(spec->has_seed);
    spec_free(spec);
    assert_int_equal(setenv("FUZZ_RUNTIME_SECS", "7", 1), 0);
    spec = load(text, NULL);
    assert_int_equal(spec->budget_ms, 7000);
    spec_free(spec);
    ov = (struct spec_overrides){
        .budget = "2s", .execs = "9", .cores = "1", .seed = "0", .name = "other"};
    spec = load(text, &ov);
    assert_int_equal(spec->budget_ms, 2000);
    assert_int_equal(spec->execs, 9);
    assert_string_equal(spec->cores, "1");
    assert_true(spec->has_seed && spec->seed == 0);
    assert_string_equal(spec->name, "other");
    spec_free(spec);
    assert_int_equal(unsetenv("FUZZ_RUNTIME_SECS"), 0);
}

static void a_bad_override_is_a_fault_of_its_own_name(void **state)
{
    (void)state;
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    cleanup_free char *out = NULL;
    size_t size = 0;
    struct spec_overrides ov = {.execs = "many", .name = "a/b"};
    put("o.ini", minimal, 0600);
    assert_int_equal(setenv("FUZZ_RUNTIME_SECS", "1m", 1), 0);
    assert_int_equal(spec_load("o.ini", &ov, &spec, &faults, &err), -EINVAL);
    assert_int_equal(unsetenv("FUZZ_RUNTIME_SECS"), 0);
    assert_null(spec);
    FILE *f = open_memstream(&out, &size);
    spec_faults_print(&faults, "o.ini", f);
    (void)fclose(f);
    spec_faults_clear(&faults);
    assert_string_equal(
        out, "o.ini: FUZZ_RUNTIME_SECS: \"1m\" is not a number of seconds; allowed: a whole number "
             "from 1 to 315360000\n"
             "o.ini: --execs: \"many\" is not a whole number; allowed: a whole number from 1 to "
             "1000000000000000 or none\n"
             "o.ini: --name: \"a/b\" is not a name; allowed: 1 to 40 of A-Z a-z 0-9 _ -, the first "
             "not -\n");
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    assert_int_equal(spec_load("none.ini", NULL, &spec, &faults, &err), -ENOENT);
    assert_string_equal(err.msg, "none.ini: No such file or directory");
    assert_int_equal(spec_load("seeds", NULL, &spec, &faults, &err), -EISDIR);
    cleanup_free char *big = xmalloc(300000);
    memset(big, '#', 300000);
    assert_int_equal(file_write_atomic(AT_FDCWD, "big.ini", big, 300000, 0600), 0);
    assert_int_equal(spec_load("big.ini", NULL, &spec, &faults, &err), -EFBIG);
    assert_string_equal(err.msg, "big.ini: larger than 262144 bytes");
    assert_int_equal(faults.n, 0);
}

static void each_key_knows_its_line(void **state)
{
    (void)state;
    struct spec *spec = load("[limits]\nmemory = 1G\n\n[target limits-x]\nharness = bin/harness\n"
                             "memory = 2G\nseeds = seeds\nargs =\n  a\n  b\n",
                             NULL);
    assert_int_equal(spec_line(spec, "limits", "memory"), 2);
    assert_int_equal(spec_line(spec, "limits-x", "memory"), 6);
    assert_int_equal(spec_line(spec, "target limits-x", "args"), 8);
    assert_int_equal(spec_line(spec, "limits-x", "pids"), 0);
    assert_int_equal(spec_line(spec, "campaign", "name"), 0);
    assert_int_equal(spec_line(spec, "nobody", "memory"), 0);
    assert_int_equal(spec->targets[0].line, 4);
    assert_true(spec->targets[0].limits.memory_bytes == INT64_C(2) << 30);
    spec_free(spec);
}

static void a_broken_spec_can_still_be_looked_at(void **state)
{
    (void)state;
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    struct err err = {0};
    put("o.ini",
        "[target x]\nharness = bin/none\nseeds = seeds\ntimeout = q\n[target y]\n"
        "harness = bin/harness\n",
        0600);
    assert_int_equal(spec_read("o.ini", NULL, &spec, &faults, &err), 0);
    assert_int_equal(spec_faults_errors(&faults), 3);
    assert_null(spec->targets[0].harness);
    assert_non_null(spec->targets[0].seeds);
    assert_non_null(spec->targets[1].harness);
    spec_free(spec);
    spec_faults_clear(&faults);
}

static void the_number_of_faults_is_bounded(void **state)
{
    (void)state;
    struct spec_faults faults = {0};
    for (int i = 0; i < 5000; i++)
        spec_faults_add(&faults, i, "limits", "x", false, "bad");
    assert_int_equal(faults.n, 201);
    assert_string_equal(faults.v[200].msg, "more faults than are listed here");
    spec_faults_clear(&faults);
}

/* Every event as a line of text. */
static void print_event(void *arg, const struct ini_event *ev)
{
    (void)fprintf(arg, "%d%c%s|%s|%s\n", ev->line, "skm!"[ev->kind],
                  ev -> section != NULL ? ev -> section : "-", ev->key != NULL ? ev->key : "-",
                  ev->value != NULL ? ev->value : "-");
}

static char *events(const char *text, size_t size)
{
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    assert_non_null(f);
    ini_read(text, size, print_event, f);
    (void)fclose(f);
    return out;
}

static void comments_and_continuations_follow_fixed_rules(void **state)
{
    (void)state;
    static const char text[] = "; note\n"
                               "[s] ; note\r\n"
                               "a = 1 ; note\n"
                               "b=1;2 #3\n"
                               "c: x = y\n"
                               "d = ; note\n"
                               "e =;x\n"
                               "f =\n"
                               "\tone ;two\n"
                               "  ; note\n"
                               "\n"
                               "  # note\n"
                               "    \\;x\n"
                               "    \\\\\n"
                               "    \\x\n"
                               "    [s]";
    cleanup_free char *got = events(text, sizeof(text) - 1);
    assert_string_equal(got, "2ss|-|-\n"
                             "3ks|a|1\n"
                             "4ks|b|1;2 #3\n"
                             "5ks|c|x = y\n"
                             "6ks|d|\n"
                             "7ks|e|;x\n"
                             "8ks|f|\n"
                             "9ms|f|one ;two\n"
                             "13ms|f|;x\n"
                             "14ms|f|\\\n"
                             "15ms|f|\\x\n"
                             "16ms|f|[s]\n");
}

/* Lines that inih's own buffer would cut are read by the same rules. */
static void a_long_value_is_read_like_a_short_one(void **state)
{
    (void)state;
    for (size_t n = 150; n <= 4000; n += n < 260 ? 1 : 311) {
        cleanup_free char *pad = xmalloc(n + 1);
        memset(pad, 'v', n);
        pad[n] = '\0';
        cleanup_free char *text = xasprintf("[s]\nkey\t=  %s=1;2 ; note\n  %s ;x\n", pad, pad);
        cleanup_free char *want = xasprintf("1ss|-|-\n2ks|key|%s=1;2\n3ms|key|%s ;x\n", pad, pad);
        cleanup_free char *got = events(text, strlen(text));
        assert_string_equal(got, want);
    }
}

static void no_bytes_at_all_upset_the_reader(void **state)
{
    (void)state;
    static const char bytes[] = "\0\n\r\t =:;#[]\\a\xef\xbb\xbf\xc3";
    uint32_t x = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t n = 0;
        for (; n < sizeof(text); n++) {
            x = x * 1664525 + 1013904223;
            text[n] = bytes[(x >> 16) % (sizeof(bytes) - 1)];
        }
        cleanup_free char *got = events(text, n - x % 8);
        assert_non_null(got);
    }
}

static void every_default_of_the_table_is_a_value_it_allows(void **state)
{
    (void)state;
    struct spec *spec = load(minimal, NULL);
    assert_int_equal(spec->budget_ms, 600000);
    assert_int_equal(spec->execs, 0);
    assert_string_equal(spec->cores, "all-1");
    assert_int_equal(spec->limits.pids, 128);
    assert_int_equal(spec->targets[0].max_len, 65536);
    assert_true(spec->targets[0].limits.memory_bytes == INT64_C(2) << 30);
    spec_free(spec);
    for (size_t i = 0; i < spec_keys_count; i++) {
        assert_non_null(spec_keys[i].help);
        assert_ptr_equal(spec_key_find(spec_keys[i].name, spec_keys[i].scope), &spec_keys[i]);
    }
    assert_ptr_equal(spec_key_nearest("memroy", SPEC_LIMITS), spec_key_find("memory", SPEC_LIMITS));
    assert_null(spec_key_nearest("colour", SPEC_LIMITS));
    assert_null(spec_key_find("harness", SPEC_LIMITS));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(blanks_around_a_path_are_printed_so_that_they_are_read),
        cmocka_unit_test(a_path_may_go_up_and_leads_where_it_says),
        cmocka_unit_test(flag_beats_environment_beats_file),
        cmocka_unit_test(a_bad_override_is_a_fault_of_its_own_name),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(each_key_knows_its_line),
        cmocka_unit_test(a_broken_spec_can_still_be_looked_at),
        cmocka_unit_test(the_number_of_faults_is_bounded),
        cmocka_unit_test(comments_and_continuations_follow_fixed_rules),
        cmocka_unit_test(a_long_value_is_read_like_a_short_one),
        cmocka_unit_test(no_bytes_at_all_upset_the_reader),
        cmocka_unit_test(every_default_of_the_table_is_a_value_it_allows),
    };
    static struct CMUnitTest tests[CASES_MAX + sizeof(fixed) / sizeof(fixed[0])];
    struct strv names = {0};
    size_t n = sizeof(fixed) / sizeof(fixed[0]);
    if (realpath("tests/fixtures/spec", fixtures) == NULL)
        return 1;
    DIR *dir = opendir(fixtures);
    const struct dirent *de;
    while (dir != NULL && (de = readdir(dir)) != NULL) {
        if (de->d_name[0] != '.' && names.n < CASES_MAX)
            strv_add(&names, de->d_name);
    }
    if (dir != NULL)
        (void)closedir(dir);
    if (names.n == 0)
        return 1;
    array_sort(names.v, names.n, sizeof(*names.v), compare_names);
    memcpy(tests, fixed, sizeof(fixed));
    for (size_t i = 0; i < names.n; i++)
        tests[n++] =
            (struct CMUnitTest){names.v[i], a_fixture_gives_what_is_wanted, NULL, NULL, names.v[i]};
    int r = _cmocka_run_group_tests("spec", tests, n, make_tree, drop_tree);
    strv_clear(&names);
    return r;
}
