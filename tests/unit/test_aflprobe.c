/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The installed afl-fuzz and some that are not installed: scripts that print help in the form of other versions and
 * call variables mistyped as afl-fuzz does.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/aflprobe.h"

static char dir[] = "/tmp/fz-aflprobe.XXXXXX";

/* As of 4.21c: colours, -P, -a, -z, values of -p in another order, values of -l with X and R. */
#define HELP_421                                                                                   \
    "\\033[0;36mafl-fuzz++4.21c\\033[0m based on afl\\n\\nafl-fuzz [ options ] -- /path/to/app\\n" \
    "\\nRequired parameters:\\n  -i dir        - input directory\\n  -o dir        - output\\n"    \
    "\\nExecution control settings:\\n"                                                            \
    "  -P strategy   - set fix mutation strategy: explore (new coverage),\\n"                      \
    "                  exploit (trigger crashes). Or a number of seconds\\n"                       \
    "  -p schedule   - power schedules:\\n"                                                        \
    "                  explore(default), fast, exploit, seek, rare, mmopt, coe, lin\\n"            \
    "                  quad -- see the FAQ\\n"                                                     \
    "  -t msec       - timeout\\n  -m megs       - memory limit\\n"                                \
    "\\nMutator settings:\\n"                                                                      \
    "  -a type       - target input format, \"text\" or \"binary\"\\n"                             \
    "  -g minlength  - min\\n  -G maxlength  - max\\n  -L minutes    - MOpt\\n"                    \
    "  -c program    - CmpLog binary. To disable use -c -.\\n"                                     \
    "  -l cmplog_opts - values (e.g. \"2ATR\"):\\n"                                                \
    "                  1=small files, 2=larger files (default), 3=all files,\\n"                   \
    "                  A=arithmetic solving, T=transformational solving,\\n"                       \
    "                  X=extreme transform solving, R=random colorization bytes.\\n"               \
    "\\nOther stuff:\\n  -Z            - sequential\\n  -x dict_file  - dictionary\\n"             \
    "  -s seed       - seed\\n  -M/-S id      - distributed mode (-M sets -Z)\\n"                  \
    "  -z            - skip the enhanced deterministic fuzzing\\n"                                 \
    "                  (note that the old -d and -D flags are ignored.)\\n"                        \
    "  -T text       - banner\\n"                                                                  \
    "\\nEnvironment variables used:\\nASAN_OPTIONS: custom\\n"                                     \
    "AFL_FINAL_SYNC: sync a final time\\nAFL_INPUT_LEN_MIN/AFL_INPUT_LEN_MAX: like -g/-G\\n"       \
    "AFL_NO_COLOR or AFL_NO_COLOUR: no colour\\nAFL_NO_UI: no screen, see AFL_FORCE_UI\\n"

/* A script named name in dir that logs each run, complains about variables but those of known, and prints help. */
static char *fake(const char *name, const char *help, const char *known, const char *more)
{
    char *path = xasprintf("%s/%s", dir, name);
    char *text = xasprintf(
        "#!/bin/sh\necho run >>%s/runs\n%s\n"
        "env | grep '^AFL_' | while IFS= read -r v; do case \" %s \" in\n"
        "*\" ${v%%%%=*} \"*) ;;\n"
        "*) printf '\\033[1;93m[!] \\033[1;97mWARNING: \\033[0mMistyped AFL environment variable: "
        "%%s\\033[0m\\n' \"$v\" >&2 ;; esac; done\n"
        "printf '%s'\nexit 1\n# AFL_IN_FILE\n",
        dir, more, known, help);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0700), 0);
    free(text);
    return path;
}

static int runs(void)
{
    char *path = xasprintf("%s/runs", dir);
    struct stat st;
    int n = stat(path, &st) == 0 ? (int)(st.st_size / 4) : 0;

    free(path);
    return n;
}

static void the_installed_afl_fuzz_answers(void **state)
{
    struct aflprobe *p = NULL;
    struct err err = {0};
    int r = aflprobe_run(NULL, NULL, &p, &err);

    (void)state;
    if (r == -ENOENT) {
        print_message("SKIPPED: no afl-fuzz here\n");
        skip();
    }
    assert_int_equal(r, 0);
    assert_true(p->version_num >= 400);
    assert_int_equal(p->new_forkserver, p->version_num >= 420);
    for (const char *f = "ioMSTspmxcltLZ"; *f != '\0'; f++)
        assert_true(aflprobe_has_flag(p, *f));
    assert_false(aflprobe_has_flag(p, 'h'));
    assert_true(aflprobe_has_value(p, 'p', "fast"));
    assert_true(aflprobe_has_value(p, 'p', "quad"));
    assert_false(aflprobe_has_value(p, 'p', "qua"));
    assert_true(aflprobe_has_value(p, 'l', "2AT"));
    assert_false(aflprobe_has_value(p, 'l', "9"));
    assert_true(aflprobe_has_env(p, "AFL_STATSD_TAGS_FLAVOR"));
    assert_true(aflprobe_has_env(p, "AFL_NO_AFFINITY"));
    assert_true(aflprobe_has_env(p, "AFL_BENCH_UNTIL_CRASH"));
    assert_false(aflprobe_has_env(p, "AFL_NO_SUCH_VARIABLE_AT_ALL"));
    if (strcmp(p->version, "4.04c") == 0) {
        assert_false(aflprobe_has_flag(p, 'P') || aflprobe_has_flag(p, 'a'));
        assert_false(aflprobe_has_env(p, "AFL_FINAL_SYNC"));
        assert_false(aflprobe_has_env(p, "AFL_OLD_CHILD_SYNC"));
        assert_false(aflprobe_has_value(p, 'l', "2ATX"));
    }
    aflprobe_free(p);
}

static void help_of_4_21c_is_understood(void **state)
{
    char *path = fake("a421", HELP_421, "AFL_STATSD AFL_NO_UI AFL_FINAL_SYNC", "");
    struct aflprobe *p = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(aflprobe_run(path, NULL, &p, &err), 0);
    assert_string_equal(p->version, "4.21c");
    assert_int_equal(p->version_num, 421);
    assert_true(p->new_forkserver);
    assert_string_equal(p->flags, "GLMPSTZacgilmopstxz");
    assert_true(aflprobe_has_value(p, 'P', "explore") && aflprobe_has_value(p, 'P', "exploit"));
    assert_true(aflprobe_has_value(p, 'a', "text") && aflprobe_has_value(p, 'a', "binary"));
    assert_false(aflprobe_has_value(p, 'a', "ascii"));
    assert_true(aflprobe_has_value(p, 'p', "explore") && aflprobe_has_value(p, 'p', "fast"));
    assert_true(aflprobe_has_value(p, 'l', "2ATXR"));
    assert_true(aflprobe_has_env(p, "AFL_STATSD"));        /* not called mistyped */
    assert_true(aflprobe_has_env(p, "AFL_FINAL_SYNC"));    /* both */
    assert_true(aflprobe_has_env(p, "AFL_INPUT_LEN_MAX")); /* in the help only */
    assert_true(aflprobe_has_env(p, "AFL_NO_COLOUR"));
    assert_false(aflprobe_has_env(p, "AFL_FORCE_UI")); /* prose is no vow */
    assert_false(aflprobe_has_env(p, "AFL_AUTORESUME"));
    assert_false(aflprobe_has_env(p, "AFL_IN_FILE"));
    aflprobe_free(p);
    free(path);
}

static void a_version_of_5_is_newer_than_4(void **state)
{
    static const char help[] = "afl-fuzz++5.02c based on afl\\n  -i dir - in\\n  -o dir - out\\n";
    char *path = fake("a5", help, "AFL_OLD_CHILD_SYNC AFL_STATSD", "");
    struct aflprobe *p = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(aflprobe_run(path, NULL, &p, &err), 0);
    assert_int_equal(p->version_num, 502);
    assert_true(p->new_forkserver);
    assert_true(aflprobe_has_env(p, "AFL_OLD_CHILD_SYNC"));
    aflprobe_free(p);
    free(path);
    assert_int_equal(aflprobe_version_num("4.04c"), 404);
    assert_int_equal(aflprobe_version_num("5.0"), 500);
    assert_int_equal(aflprobe_version_num("4.33a-dev"), 433);
    assert_int_equal(aflprobe_version_num("dev"), 0);
    assert_int_equal(aflprobe_version_num("4."), 0);
    assert_int_equal(aflprobe_version_num("4.123"), 0);
    assert_int_equal(aflprobe_version_num(""), 0);
}

static void silence_on_variables_vouches_for_nothing(void **state)
{
    /* One that never says "mistyped": only names of its help count. */
    char *path =
        fake("quiet", HELP_421, "", "unset $(env | sed -n 's/^\\(AFL_[A-Z_]*\\)=.*/\\1/p')");
    struct aflprobe *p = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(aflprobe_run(path, NULL, &p, &err), 0);
    assert_true(aflprobe_has_env(p, "AFL_NO_UI"));
    assert_false(aflprobe_has_env(p, "AFL_STATSD"));
    aflprobe_free(p);
    free(path);
}

static void the_answer_is_kept_by_the_files_hash(void **state)
{
    char *path = fake("kept", HELP_421, "AFL_STATSD", ""), *cache = xasprintf("%s/cache", dir);
    char *entry, *text;
    struct aflprobe *p = NULL, *q = NULL;
    struct err err = {0};
    json_t *a, *b;
    int before = runs();

    (void)state;
    assert_int_equal(aflprobe_run(path, cache, &p, &err), 0);
    assert_int_equal(runs(), before + 1);
    assert_int_equal(aflprobe_run(path, cache, &q, &err), 0);
    assert_int_equal(runs(), before + 1);
    a = aflprobe_to_json(p);
    b = aflprobe_to_json(q);
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    aflprobe_free(q);

    /* damaged: asked again, and mended */
    entry = xasprintf("%s/aflprobe-%s.json", cache, p->sha256);
    assert_int_equal(truncate(entry, 100), 0);
    assert_int_equal(aflprobe_run(path, cache, &q, &err), 0);
    assert_int_equal(runs(), before + 2);
    aflprobe_free(q);
    assert_int_equal(aflprobe_run(path, cache, &q, &err), 0);
    assert_int_equal(runs(), before + 2);
    aflprobe_free(q);

    /* another program of that name: another hash */
    free(fake("kept", HELP_421, "AFL_STATSD AFL_NO_UI", ""));
    assert_int_equal(aflprobe_run(path, cache, &q, &err), 0);
    assert_int_equal(runs(), before + 3);
    aflprobe_free(q);
    aflprobe_free(p);

    /* a cache that cannot be written is no fault */
    text = xasprintf("%s/kept/none", dir);
    assert_int_equal(aflprobe_run(path, text, &q, &err), 0);
    aflprobe_free(q);
    free(text);
    free(entry);
    free(cache);
    free(path);
}

static void what_is_no_afl_fuzz_is_refused_with_a_reason(void **state)
{
    char *other = fake("other", "ls (GNU coreutils) 9.1\\n", "", ""), *none, *text;
    struct aflprobe *p = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(aflprobe_run(other, NULL, &p, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "not AFL++"));
    assert_int_equal(chmod(other, 0600), 0);
    if (geteuid() != 0)
        assert_int_equal(aflprobe_run(other, NULL, &p, &err), -EACCES);
    none = xasprintf("%s/none", dir);
    assert_int_equal(aflprobe_run(none, NULL, &p, &err), -ENOENT);
    text = xstrdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", dir, 1), 0);
    unsetenv("AFL_FUZZ");
    assert_int_equal(aflprobe_run(NULL, NULL, &p, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "afl++"));
    assert_int_equal(setenv("PATH", text, 1), 0);
    free(text);
    free(none);
    free(other);
}

static void a_damaged_answer_is_not_taken(void **state)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"path\":\"/x\",\"version\":\"4.04c\",\"flags\":\"io\",\"sha256\":\"zz\"}",
        "{\"path\":\"x\",\"version\":\"4.04c\",\"version_num\":404,\"flags\":\"io\",\"flag_forms\":"
        "[],"
        "\"env\":[],\"new_forkserver\":true,\"sha256\":\""
        "0123456789012345678901234567890123456789012345678901234567890123\"}",
        "{\"path\":\"/"
        "x\",\"version\":\"4.04c\",\"version_num\":404,\"flags\":\"io\",\"flag_forms\":[1],"
        "\"env\":[],\"new_forkserver\":true,\"sha256\":\""
        "0123456789012345678901234567890123456789012345678901234567890123\"}",
        "{\"path\":\"/"
        "x\",\"version\":\"4\\n\",\"version_num\":404,\"flags\":\"io\",\"flag_forms\":[],"
        "\"env\":[],\"new_forkserver\":true,\"sha256\":\""
        "0123456789012345678901234567890123456789012345678901234567890123\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *j = json_loads(bad[i], 0, NULL);
        struct aflprobe *p = NULL;
        struct err err = {0};

        assert_non_null(j);
        assert_int_equal(aflprobe_from_json(j, &p, &err), -EINVAL);
        assert_null(p);
        json_decref(j);
    }
}

static void hostile_help_is_read_within_bounds(void **state)
{
    char *big = xmalloc(200001);
    struct aflprobe p = {0};

    (void)state;
    memset(big, 'A', 200000);
    big[200000] = '\0';
    aflprobe_parse_help(&p, big);
    aflprobe_parse_help(&p, "\033[\033(\033[1;\n\033");
    aflprobe_parse_help(&p, "  -\n  -p\n  --\n  -pp\nAFL_\nAFL_: \nafl-fuzz++\n");
    for (int c = 1; c < 256; c++) {
        char line[32];

        (void)snprintf(line, sizeof(line), "  -%c x\n  -M/-%c id\n", c, c);
        aflprobe_parse_help(&p, line);
    }
    assert_int_equal(strlen(p.flags), 62);
    assert_null(p.version);
    assert_int_equal(p.env.n, 0);
    strv_clear(&p.flag_forms);
    free(big);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    return path_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_installed_afl_fuzz_answers),
        cmocka_unit_test(help_of_4_21c_is_understood),
        cmocka_unit_test(a_version_of_5_is_newer_than_4),
        cmocka_unit_test(silence_on_variables_vouches_for_nothing),
        cmocka_unit_test(the_answer_is_kept_by_the_files_hash),
        cmocka_unit_test(what_is_no_afl_fuzz_is_refused_with_a_reason),
        cmocka_unit_test(a_damaged_answer_is_not_taken),
        cmocka_unit_test(hostile_help_is_read_within_bounds),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
