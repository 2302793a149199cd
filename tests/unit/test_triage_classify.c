/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports in, words out: tests/fixtures/triage/CASE/{in,want}. The first line of
 * "in" tells how the run ended, the rest is what it wrote to stderr. Most reports
 * come from real programs under clang 14 and gcc 12; the others are bent by hand.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "triage/classify.h"
#include "triage/report_sanitizer.h"
#include "triage/signature.h"

#include <fcntl.h>

#define FIXTURES "tests/fixtures/triage"

static void load_run(const char *text, struct replay_run *run, char *target, char *build_id)
{
    char end[16];
    const char *body = strchr(text, '\n');

    assert_non_null(body);
    assert_int_equal(
        sscanf(text, "end=%15s %d target=%63s build_id=%64s", end, &run->code, target, build_id),
        4);
    if (strcmp(end, "signal") == 0)
        run->end = REPLAY_SIGNAL;
    else if (strcmp(end, "exit") == 0)
        run->end = REPLAY_EXIT;
    else if (strcmp(end, "timeout") == 0)
        run->end = REPLAY_TIMEOUT;
    else
        run->end = REPLAY_OOM;
    run->err_text = xstrdup(body + 1);
}

static char *words_of(const char *text)
{
    struct replay_run run = {0};
    struct verdict_of_run v;
    char target[64], build_id[65], bucket[13] = "";
    char *words;

    load_run(text, &run, target, build_id);
    classify_run(&run, target, build_id, &v);
    if (v.signature[0] != '\0')
        signature_bucket(target, v.signature, bucket);
    words = xasprintf("class %s\nkind %s\nseverity %d\nsignature %s\nbucket %s\nwhy %s\n", v.class_,
                      v.kind, v.severity, v.signature, bucket, v.why);
    replay_run_clear(&run);
    return words;
}

static void each_report_gives_its_words(void **state)
{
    DIR *dir = opendir(FIXTURES);
    const struct dirent *de;
    int n = 0, wrong = 0;

    (void)state;
    assert_non_null(dir);
    while ((de = readdir(dir)) != NULL) {
        char *in, *want = NULL, *got, *in_path, *want_path;
        size_t size;

        if (de->d_name[0] == '.')
            continue;
        in_path = xasprintf(FIXTURES "/%s/in", de->d_name);
        want_path = xasprintf(FIXTURES "/%s/want", de->d_name);
        assert_int_equal(file_read(AT_FDCWD, in_path, 1 << 20, &in, &size), 0);
        got = words_of(in);
        if (getenv("GOLDEN_UPDATE") != NULL)
            assert_int_equal(file_write_atomic(AT_FDCWD, want_path, got, strlen(got), 0644), 0);
        if (file_read(AT_FDCWD, want_path, 1 << 16, &want, &size) != 0 || strcmp(want, got) != 0) {
            print_error("%s: want\n%sgot\n%s", de->d_name, want != NULL ? want : "(no file)\n",
                        got);
            wrong++;
        }
        n++;
        free(in);
        free(want);
        free(got);
        free(in_path);
        free(want_path);
    }
    (void)closedir(dir);
    assert_int_equal(wrong, 0);
    assert_true(n >= 40);
}

static void a_report_cut_anywhere_is_read_without_harm(void **state)
{
    static const char *const cases[] = {"asan-heap-read", "ubsan-null-member", "tsan-data-race",
                                        "libc-assert",    "cxx-names",         "rust-panic"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *path = xasprintf(FIXTURES "/%s/in", cases[i]), *in;
        size_t size, head;

        assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &in, &size), 0);
        head = (size_t)(strchr(in, '\n') - in) + 1;
        for (size_t cut = size; cut > head; cut--) {
            char *part = xstrndup(in, cut), *words;

            words = words_of(part);
            assert_non_null(strstr(words, "class "));
            free(words);
            free(part);
        }
        free(in);
        free(path);
    }
}

static void any_bytes_are_read_without_harm(void **state)
{
    static const char *const pieces[] = {"==1==ERROR: AddressSanitizer: ",
                                         "\n    #0 0x1 in ",
                                         "(",
                                         ")",
                                         " ",
                                         "/x.c:1:2",
                                         "\n",
                                         "runtime error: ",
                                         ": Assertion `",
                                         "' failed",
                                         "FZ-FAIL target=",
                                         " class=",
                                         " inv=",
                                         "+0x",
                                         "\x80\xff",
                                         "READ of size",
                                         "unknown address 0x",
                                         "thread '",
                                         "panicked at ",
                                         "::h",
                                         "#",
                                         "    #1 ",
                                         "operator()",
                                         "free(): ",
                                         ",",
                                         "'",
                                         "0x"};
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[512] = "";
        struct replay_run run = {.end = REPLAY_SIGNAL, .code = 6, .err_text = text};
        struct verdict_of_run v;
        size_t len = 0;

        for (int i = 0; i < 14; i++) {
            const char *p;

            seed = seed * 1103515245u + 12345u;
            p = pieces[(seed >> 16) % (sizeof(pieces) / sizeof(pieces[0]))];
            if (len + strlen(p) >= sizeof(text))
                break;
            memcpy(text + len, p, strlen(p) + 1);
            len += strlen(p);
        }
        classify_run(&run, "t", "", &v);
        assert_true(v.severity >= 1 && v.severity <= 5);
        assert_true(v.signature[0] != '\0');
    }
}

/* repro.sh searches the marker in what the program writes. */
static void a_marker_is_words_of_the_text(void **state)
{
    static const struct {
        char text[120];
        enum evidence evidence;
        const char *marker;
    } t[] = {
        {"==1==ERROR: AddressSanitizer: some new fault on address 0x1\n", EVIDENCE_SANITIZER,
         "some new fault"},
        {"==1==ERROR: AddressSanitizer: CHECK failed: x.cpp:1\n", EVIDENCE_SANITIZER,
         "CHECK failed"},
        {"==1==ERROR: AddressSanitizer: heap\x80overflow on\n", EVIDENCE_SANITIZER, "heap"},
        {"WARNING: ThreadSanitizer: data race (pid=1)\n", EVIDENCE_SANITIZER, "data race"},
        {"x: a.c:1: f: Assertion `n == \xc3\xa9' failed.\n", EVIDENCE_LIBC, "Assertion `n == "},
        {"FZ-FAIL target=t class=invariant inv=C1 detail=x\n", EVIDENCE_KIT, " inv=C1 "},
        /* torn, maybe within C13 */
        {"FZ-FAIL target=t class=invariant inv=C1", EVIDENCE_SIGNAL, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        char text[sizeof(t[i].text)];
        struct replay_run run = {.end = REPLAY_SIGNAL, .code = 6, .err_text = text};
        struct verdict_of_run v;

        memcpy(text, t[i].text, sizeof(text));
        classify_run(&run, "t", "", &v);
        assert_int_equal(v.evidence, t[i].evidence);
        assert_string_equal(v.marker, t[i].marker);
        assert_non_null(strstr(text, v.marker));
    }
}

static void function_names_lose_what_builds_differ_in(void **state)
{
    static const struct {
        const char *in, *want;
    } t[] = {
        {"parse", "parse"},
        {"parse.part.0", "parse"},
        {"parse.constprop.0.isra.0", "parse"},
        {"ns::Parser::next(char const*, int) const", "ns::Parser::next"},
        {"(anonymous namespace)::go(int)", "go"},
        {"ns::F::operator()(int)", "ns::F::operator()"},
        {"mod::item::h0123456789abcdef", "mod::item"},
        {"non-virtual thunk to A::b()", "A::b"},
        {"", ""},
    };
    char buf[160];

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
        assert_string_equal(signature_function(buf, sizeof(buf), t[i].in), t[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_report_gives_its_words),
        cmocka_unit_test(a_report_cut_anywhere_is_read_without_harm),
        cmocka_unit_test(any_bytes_are_read_without_harm),
        cmocka_unit_test(a_marker_is_words_of_the_text),
        cmocka_unit_test(function_names_lose_what_builds_differ_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
