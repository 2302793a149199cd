/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a shell, read back by a shell. */
#include "base/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "sys/proc.h"

static char *quoted(const char *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    shell_quote(out, s);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void a_shell_reads_back_what_was_quoted(void **state)
{
    static const char *const words[] = {
        "plain/path", "two words",   "it's",      "$HOME `id` \"x\" \\", "a*?[b]",     "",
        "-n",         "caf\xc3\xa9", "q\001\xff", "%s\x1b[2J'\\",        "line\nline", "end\n"};
    (void)state;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        cleanup_free char *word = quoted(words[i]);
        cleanup_free char *script = xasprintf("printf '%%s|' %s", word);
        cleanup_free char *want = xasprintf("%s|", words[i]);
        struct strv argv = {0};
        struct proc_spec ps = {
            .argv = &argv, .timeout_ms = 10000, .max_out = 4096, .cgroup_procs_fd = {-1}};
        struct proc_result pr = {0};

        strv_add(&argv, "/bin/sh");
        strv_add(&argv, "-c");
        strv_add(&argv, script);
        assert_int_equal(proc_run(&ps, &pr, NULL), 0);
        assert_string_equal(pr.out, want);
        proc_result_clear(&pr);
        strv_clear(&argv);
    }
}

static void no_control_byte_is_left_in_a_word(void **state)
{
    cleanup_free char *word = quoted("a\001b\x1b[2J\x7f\xc2\x9b\xff");
    (void)state;

    for (const char *p = word; *p != '\0'; p++)
        assert_true(*p >= 0x20 && *p <= 0x7e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_reads_back_what_was_quoted),
        cmocka_unit_test(no_control_byte_is_left_in_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
