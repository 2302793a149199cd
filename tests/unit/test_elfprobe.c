/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Harness files as compilers make them, stripped, cut at many lengths and with their bytes turned. What the compilers of
 * this machine cannot build is skipped aloud.
 */
#include <elf.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/elfprobe.h"
#include "sys/proc.h"

static char dir[] = "/tmp/fz-elfprobe.XXXXXX";

static const char afl_source[] =
    "#include <string.h>\n#include <unistd.h>\n"
    "__AFL_FUZZ_INIT();\n"
    "int main(void) {\n"
    "  __AFL_INIT();\n"
    "  unsigned char *b = __AFL_FUZZ_TESTCASE_BUF;\n"
    "  while (__AFL_LOOP(1000)) {\n"
    "    int n = __AFL_FUZZ_TESTCASE_LEN;\n"
    "    if (n > 8 && !strcmp((char *)b, \"hello\") && *(int *)b == 0x12345678) return 1;\n"
    "  }\n  return 0;\n}\n";
/* The same loop without test cases in shared memory. */
static const char stdin_source[] = "#include <unistd.h>\n"
                                   "int main(void) { char c; while (__AFL_LOOP(9)) "
                                   "if (read(0, &c, 1) == 1 && c == 'x') return 1; return 0; }\n";
static const char plain_source[] = "int main(int c, char **v) { return v[0][c] + c; }\n";
static const char fuzzer_source[] =
    "int LLVMFuzzerTestOneInput(const char *d, long n) { return n > 3 && d[0] == 'a'; }\n";

/* dir/name built by command "ENV... CC FLAGS" from source; false when that compiler or option is missing. */
static bool build(const char *name, const char *command, const char *source)
{
    char *in = xasprintf("%s/%s.c", dir, name);
    struct strv argv = {0};
    struct proc_result r = {0};
    struct err err;
    bool ok;

    assert_int_equal(file_write_atomic(AT_FDCWD, in, source, strlen(source), 0600), 0);
    strv_add(&argv, "/bin/sh");
    strv_add(&argv, "-c");
    strv_addf(&argv, "AFL_QUIET=1 %s -o %s/%s %s", command, dir, name, in);
    ok = proc_run(&(struct proc_spec){.argv = &argv, .timeout_ms = 60000, .max_out = 4096}, &r,
                  &err) == 0 &&
         !r.timed_out && WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0;
    if (!ok)
        print_message("SKIPPED: %s cannot be built by \"%s\"\n", name, command);
    proc_result_clear(&r);
    strv_clear(&argv);
    free(in);
    return ok;
}

static struct elfprobe probe(const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    struct elfprobe e;
    struct err err = {0};
    int r = elfprobe_read(path, &e, &err);

    if (r < 0)
        print_message("%s\n", err.msg);
    assert_int_equal(r, 0);
    free(path);
    return e;
}

static void a_persistent_harness_shows_what_it_is(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("afl", "afl-clang-fast", afl_source))
        skip();
    e = probe("afl");
    assert_true(e.elf && e.instrumented && e.persistent && e.deferred && e.shm_testcase);
    assert_false(e.asan || e.ubsan || e.msan || e.tsan || e.lsan || e.libfuzzer || e.kit);
    assert_false(e.is_static || e.is_script);
    assert_false(e.cmplog);
    assert_true(e.cmplog_certain);
    assert_true(e.map_size > 0 && e.map_size < 1000);
    assert_int_not_equal(e.protocol, ELFPROBE_PROTO_NONE);
    assert_int_equal(strlen(e.sha256), 64);
    assert_true(strlen(e.build_id) >= 16);
}

static void a_stdin_harness_has_no_shared_test_cases(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("stdin", "afl-clang-fast", stdin_source))
        skip();
    e = probe("stdin");
    assert_true(e.instrumented && e.persistent);
    assert_false(e.shm_testcase || e.deferred);
}

static void a_cmplog_build_is_told_by_its_calls_even_stripped(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("cmplog", "AFL_LLVM_CMPLOG=1 afl-clang-fast", afl_source) ||
        !build("cmplog-s", "AFL_LLVM_CMPLOG=1 afl-clang-fast -s", afl_source))
        skip();
    e = probe("cmplog");
    assert_true(e.cmplog && e.cmplog_certain && e.instrumented);
    e = probe("cmplog-s");
    assert_true(e.cmplog && e.cmplog_certain && e.persistent && e.shm_testcase);
}

static void an_asan_build_is_told_from_one_with_ubsan(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("asan", "AFL_USE_ASAN=1 afl-clang-fast", afl_source) ||
        !build("both", "AFL_USE_ASAN=1 afl-clang-fast -fsanitize=undefined", afl_source))
        skip();
    e = probe("asan");
    assert_true(e.asan && e.instrumented && !e.asan_dynamic && !e.ubsan);
    assert_false(e.msan || e.tsan || e.lsan);
    e = probe("both");
    assert_true(e.asan && e.ubsan);
}

static void a_shared_asan_runtime_is_seen(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("gasan", "gcc -fsanitize=address", plain_source))
        skip();
    e = probe("gasan");
    assert_true(e.asan && e.asan_dynamic && !e.instrumented);
    assert_int_equal(e.protocol, ELFPROBE_PROTO_NONE);
}

static void a_libfuzzer_program_is_not_an_afl_harness(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("lf", "clang -fsanitize=fuzzer", fuzzer_source))
        skip();
    e = probe("lf");
    assert_false(e.driver);
    assert_true(e.libfuzzer && !e.instrumented && !e.ubsan && !e.asan);
}

static void a_build_for_source_coverage_is_told(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("cov", "clang -fprofile-instr-generate -fcoverage-mapping", plain_source))
        skip();
    e = probe("cov");
    assert_true(e.coverage && !e.instrumented);
    if (build("pgo", "clang -fprofile-instr-generate", plain_source)) {
        e = probe("pgo");
        assert_false(e.coverage);
    }
}

static void an_entry_linked_by_afl_is_a_driver(void **state)
{
    struct elfprobe e;

    (void)state;
    if (!build("driver", "afl-clang-fast -fsanitize=fuzzer", fuzzer_source))
        skip();
    e = probe("driver");
    assert_true(e.driver && e.instrumented && e.persistent && !e.libfuzzer);
    if (build("afl2", "afl-clang-fast", afl_source)) {
        e = probe("afl2");
        assert_false(e.driver);
    }
}

static void plain_and_static_programs_are_neither(void **state)
{
    struct elfprobe e;

    (void)state;
    assert_true(build("plain", "cc", plain_source));
    e = probe("plain");
    assert_true(e.elf && !e.instrumented && !e.is_static);
    assert_int_equal(e.map_size, 0);
    if (!build("static", "cc -static", plain_source))
        skip();
    assert_true(probe("static").is_static);
}

static void the_protocol_is_told_by_the_words_of_the_runtime(void **state)
{
    static const struct {
        const char *words;
        enum elfprobe_protocol protocol;
    } cases[] = {
        {"__AFL_SHM_ID\\0reading from afl-fuzz", ELFPROBE_PROTO_OLD},
        {"__AFL_SHM_ID\\0wrong forkserver message from AFL++ tool", ELFPROBE_PROTO_NEW},
        {"__AFL_SHM_ID", ELFPROBE_PROTO_UNKNOWN},
        {"reading from afl-fuzz", ELFPROBE_PROTO_NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *source =
            xasprintf("char words[] = \"%s\"; int main(void) { return 0; }\n", cases[i].words);

        assert_true(build("words", "cc", source));
        assert_int_equal(probe("words").protocol, cases[i].protocol);
        free(source);
    }
}

static void a_mark_across_a_read_boundary_is_found(void **state)
{
    /* The mark begins at each place around the end of the first megabyte of the file. */
    static const char mark[] = "##SIG_AFL_PERSISTENT##";
    char *path = xasprintf("%s/edge", dir);

    (void)state;
    assert_true(build("edge0", "cc", "char w[] = \"__AFL_SHM_ID\"; int main(void) { return 0; }"));
    for (int at = (1 << 20) - (int)sizeof(mark); at <= 1 << 20; at += 3) {
        char *from = xasprintf("%s/edge0", dir), *data;
        size_t size;
        int fd;

        assert_int_equal(file_read(AT_FDCWD, from, 1 << 20, &data, &size), 0);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, data, size, 0), size);
        assert_int_equal(pwrite(fd, mark, sizeof(mark) - 1, at), sizeof(mark) - 1);
        (void)close(fd);
        assert_true(probe("edge").persistent);
        free(data);
        free(from);
    }
    free(path);
}

static void no_files_and_odd_files_are_refused_or_shown_as_such(void **state)
{
    struct elfprobe e;
    struct err err;
    char *script = xasprintf("%s/script", dir), *text = xasprintf("%s/text", dir);

    (void)state;
    assert_int_equal(elfprobe_read("/nonexistent/x", &e, &err), -ENOENT);
    assert_int_equal(elfprobe_read(dir, &e, &err), -EINVAL);
    assert_int_equal(elfprobe_read("/dev/null", &e, &err), -EINVAL);
    assert_int_equal(file_write_atomic(AT_FDCWD, script, "#!/bin/sh\n", 10, 0700), 0);
    assert_int_equal(elfprobe_read(script, &e, &err), 0);
    assert_true(e.is_script && !e.elf);
    assert_int_equal(file_write_atomic(AT_FDCWD, text, "x", 1, 0600), 0);
    assert_int_equal(elfprobe_read(text, &e, &err), -EACCES);
    assert_int_equal(chmod(text, 0700), 0);
    assert_int_equal(elfprobe_read(text, &e, &err), 0);
    assert_false(e.is_script || e.elf);
    free(script);
    free(text);
}

/* Writes data to dir/hostile and reads it: any answer will do, a crash or a hang will not. */
static void read_hostile(const char *data, size_t size)
{
    char *path = xasprintf("%s/hostile", dir);
    struct elfprobe e;
    struct err err;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, data, size), 0);
    (void)close(fd);
    assert_int_equal(elfprobe_read(path, &e, &err), 0);
    assert_int_equal(e.size_bytes, size);
    free(path);
}

static void a_cut_or_turned_file_gives_fewer_facts_and_no_fault(void **state)
{
    char *path = xasprintf("%s/whole", dir), *data;
    size_t size;
    uint32_t seed = 1;

    (void)state;
    if (!build("whole", "AFL_LLVM_CMPLOG=1 afl-clang-fast", afl_source))
        assert_true(build("whole", "cc -g", plain_source));
    assert_int_equal(file_read(AT_FDCWD, path, 16 << 20, &data, &size), 0);
    for (size_t n = 0; n < 200; n++)
        read_hostile(data, n);
    for (size_t n = 200; n < size; n += size / 97)
        read_hostile(data, n);
    /* headers: every field of the ELF header, then section headers, with silly values */
    for (size_t at = 16; at < sizeof(Elf64_Ehdr); at++)
        for (int v = 0; v < 2; v++) {
            char kept = data[at];

            data[at] = (char)(v ? 0xff : kept + 1);
            read_hostile(data, size);
            data[at] = kept;
        }
    for (int i = 0; i < 400; i++) {
        Elf64_Ehdr eh;
        size_t at;
        char kept;

        memcpy(&eh, data, sizeof(eh));
        seed = seed * 1103515245u + 12345u;
        at = eh.e_shoff + (seed >> 8) % ((size_t)eh.e_shnum * sizeof(Elf64_Shdr));
        kept = data[at];
        data[at] = (char)(seed >> 3);
        read_hostile(data, size);
        data[at] = kept;
    }
    free(data);
    free(path);
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
        cmocka_unit_test(a_persistent_harness_shows_what_it_is),
        cmocka_unit_test(a_stdin_harness_has_no_shared_test_cases),
        cmocka_unit_test(a_cmplog_build_is_told_by_its_calls_even_stripped),
        cmocka_unit_test(an_asan_build_is_told_from_one_with_ubsan),
        cmocka_unit_test(a_shared_asan_runtime_is_seen),
        cmocka_unit_test(a_libfuzzer_program_is_not_an_afl_harness),
        cmocka_unit_test(a_build_for_source_coverage_is_told),
        cmocka_unit_test(an_entry_linked_by_afl_is_a_driver),
        cmocka_unit_test(plain_and_static_programs_are_neither),
        cmocka_unit_test(the_protocol_is_told_by_the_words_of_the_runtime),
        cmocka_unit_test(a_mark_across_a_read_boundary_is_found),
        cmocka_unit_test(no_files_and_odd_files_are_refused_or_shown_as_such),
        cmocka_unit_test(a_cut_or_turned_file_gives_fewer_facts_and_no_fault),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
